/*
 * Standard output. What was written cannot be taken back: after a failed write (a redirect to a
 * full disk) part of a line may stand there, so the next try starts on a line of its own. A closed
 * pipe never comes back and ends the output.
 */
#include <stdlib.h>

#include "config/config.h"
#include "outputs/output.h"
#include "platform/plat_file.h"

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
    struct plat_file *file;
    bool torn; /* the last write may have ended in the middle of a line */
};

static const char *stdout_format(const void *settings)
{
    const struct settings *s = settings;
    return s->style == STYLE_PRETTY ? "pretty" : NULL;
}

static void *stdout_create(const void *settings, const struct output_env *env, struct error *err)
{
    (void)settings;
    (void)env;
    struct out_stdout *self = calloc(1, sizeof(*self));
    if (!self) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    self->file = plat_file_stdout();
    return self;
}

static enum output_verdict stdout_send(
    void *self_, const struct delivery *delivery, struct output_report *report)
{
    struct out_stdout *self = self_;
    bool good = !self->torn || plat_file_write(self->file, span_text("\n"), &report->error);
    if (good) {
        good = plat_file_write(self->file, delivery->bytes, &report->error);
        self->torn = !good;
    }
    if (good) {
        return OUTPUT_DELIVERED;
    }
    return report->error.code == ERR_STOPPED ? OUTPUT_FATAL : OUTPUT_RETRY;
}

static void stdout_destroy(void *self_)
{
    struct out_stdout *self = self_;
    if (self) {
        plat_file_close(self->file);
        free(self);
    }
}

const struct output_ops output_stdout = {
    .name = "stdout",
    .fields = fields,
    .settings_size = sizeof(struct settings),
    .format = stdout_format,
    .create = stdout_create,
    .send = stdout_send,
    .destroy = stdout_destroy,
};
