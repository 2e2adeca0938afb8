/*
 * Standard output. A suspended terminal, or a pipe that is not read, blocks a send only as long as
 * the host wants to wait. Written bytes cannot be taken back: if a send stops early, the complete
 * records count as delivered. So does the record that was written partly; its rest is kept and
 * written first by the next send. The memory for the rest is reserved before the first byte is
 * written. So no line is torn or repeated, unless the process ends in the middle of one. A closed
 * pipe never recovers and ends the output.
 */
#include <stdlib.h>

#include "config/config.h"
#include "outputs/output.h"
#include "platform/plat_file.h"

enum {
    SLICE_MS = 100,
    ALONE_MS = 1000 /* wait if no host says when to stop */
};

enum style { STYLE_NDJSON, STYLE_PRETTY };

static const char *const style_names[] = {"ndjson", "pretty", NULL};

struct settings {
    int style; /* enum style */
};

static const struct config_field fields[] = {
    {CONFIG_ROW("style", ENUM, struct settings, style), .names = style_names,
        .default_text = "ndjson",
        .help = "ndjson: one event per line, for programs; pretty: indented, for people"},
    {.key = NULL},
};

struct out_stdout {
    bool (*stopping)(void *host);
    void *host;
    struct plat_file *file; /* NULL: not connected */
    struct buf rest;        /* rest of a partly written record, … */
    size_t rest_at;         /* … and how many bytes of it are written by now */
};

static const char *stdout_format(const void *settings)
{
    const struct settings *s = settings;
    return s->style == STYLE_PRETTY ? "pretty" : NULL;
}

static void *stdout_create(const void *settings, const struct output_env *env, struct error *err)
{
    (void)settings;
    struct out_stdout *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    buf_init(&self->rest, UINT32_MAX);
    self->stopping = env->stopping;
    self->host = env->host;
    return self;
}

static bool stdout_connect(void *self_, struct error *err)
{
    struct out_stdout *self = self_;
    if (!self->file) {
        self->file = plat_file_stdout_open(err);
    }
    return self->file != NULL;
}

static struct span rest_of(const struct out_stdout *self)
{
    return span_from(buf_span(&self->rest), self->rest_at);
}

static void stdout_disconnect(void *self_)
{
    struct out_stdout *self = self_;
    size_t written = 0;
    struct span rest = rest_of(self);
    if (self->file && rest.size) { /* last chance to complete the line */
        plat_file_write_some(self->file, rest, SLICE_MS, &written, NULL);
        self->rest_at += written;
    }
    plat_file_close(self->file);
    self->file = NULL;
}

static bool must_stop(const struct out_stdout *self, uint64_t waited_ms)
{
    return self->stopping ? self->stopping(self->host) : waited_ms >= ALONE_MS;
}

/* Write ${bytes} until all are written or it is time to stop. False: not all are written. */
static bool write_patiently(
    struct out_stdout *self, struct span bytes, size_t *ret_written, struct error *err)
{
    uint64_t waited_ms = 0;
    *ret_written = 0;
    for (;;) {
        size_t written;
        bool good = plat_file_write_some(self->file, bytes, SLICE_MS, &written, err);
        bytes = span_from(bytes, written);
        *ret_written += written;
        if (!good || bytes.size == 0) {
            return good;
        }
        waited_ms = written ? 0 : waited_ms + SLICE_MS;
        if (must_stop(self, waited_ms)) {
            return error_set(err, ERR_IO, "standard output: its reader has stopped reading");
        }
    }
}

static bool write_rest(struct out_stdout *self, struct error *err)
{
    struct span rest = rest_of(self);
    size_t written = 0;
    bool good = rest.size == 0 || write_patiently(self, rest, &written, err);
    self->rest_at += written;
    return good;
}

/* Make room for the rest of any of these records. */
static bool reserve(struct out_stdout *self, const struct delivery *delivery, struct error *err)
{
    uint32_t start = 0;
    uint32_t longest = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        uint32_t size = delivery->record_ends[i] - start;
        longest = size > longest ? size : longest;
        start += size;
    }
    buf_reset(&self->rest);
    self->rest_at = 0;
    return buf_reserve(&self->rest, longest) || error_set(err, ERR_MEMORY, "out of memory");
}

/* ${written} bytes are out. Keep the rest of the record in which they end. */
static void account(struct out_stdout *self, const struct delivery *delivery, size_t written,
    struct output_report *report)
{
    uint32_t start = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        uint32_t end = delivery->record_ends[i];
        report->records[i] = start < written ? RECORD_DELIVERED : RECORD_RETRY;
        if (start < written && written < end) {
            buf_add(&self->rest, delivery->bytes.data + written, end - written);
        }
        start = end;
    }
}

static enum output_verdict verdict_of(const struct error *err)
{
    return err->code == ERR_STOPPED ? OUTPUT_FATAL : OUTPUT_RETRY;
}

static enum output_verdict stdout_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_stdout *self = self_;
    size_t written = 0;
    if (!self->file) {
        error_set(&report->error, ERR_IO, "standard output is not open");
        return OUTPUT_RECONNECT;
    }
    if (!write_rest(self, &report->error)) {
        return verdict_of(&report->error);
    }
    if (!reserve(self, delivery, &report->error)) {
        return OUTPUT_RETRY;
    }
    if (write_patiently(self, delivery->bytes, &written, &report->error)) {
        return OUTPUT_DELIVERED;
    }
    if (report->error.code == ERR_STOPPED || written == 0) {
        return verdict_of(&report->error);
    }
    account(self, delivery, written, report);
    return OUTPUT_MIXED;
}

static void stdout_destroy(void *self_)
{
    struct out_stdout *self = self_;
    if (self) {
        stdout_disconnect(self);
        buf_fini(&self->rest);
        free(self);
    }
}

const struct output_ops output_stdout = {
    .name = "stdout",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .alone = true,
    .shows = true,
    .format = stdout_format,
    .create = stdout_create,
    .connect = stdout_connect,
    .send = stdout_send,
    .disconnect = stdout_disconnect,
    .destroy = stdout_destroy,
};
