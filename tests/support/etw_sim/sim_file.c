/*
 * A session's file, by the trace writer of the tests: it gets the records of one buffer after the
 * other, and since both sides fill buffers by the same rules, the file has the session's buffers.
 */
#include "support/etw_sim/sim_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "input/etl/etl_file.h"
#include "input/record/etl_record.h"
#include "platform/plat_file.h"
#include "support/etl_writer.h"

struct sim_file {
    FILE *out;
    struct etl_writer *writer;
    struct etl_options options;
    char path[SIM_TEXT_BYTES];
    uint64_t start;  /* of this session's part */
    uint64_t limit;  /* bytes; 0: none */
    uint32_t number; /* NEWFILE */
    uint32_t *slots; /* circular: events in each buffer of the ring */
    uint64_t buffers;
};

static uint64_t limit_of(const struct sim_session *s)
{
    uint64_t unit = s->mode & ETW_MODE_USE_KBYTES_FOR_SIZE ? 1024 : 1024 * 1024;
    return s->max_file_size * unit;
}

/* The session's path, %d replaced. */
static void make_path(const struct sim_session *s, struct sim_file *f)
{
    const char *counter = s->mode & ETW_MODE_NEWFILE ? strstr(s->file_text, "%d") : NULL;
    if (counter) {
        snprintf(f->path, sizeof(f->path), "%.*s%u%s", (int)(counter - s->file_text), s->file_text,
            f->number, counter + 2);
    } else {
        snprintf(f->path, sizeof(f->path), "%s", s->file_text);
    }
}

static bool is_used(const struct sim_session *s, const char *path)
{
    for (size_t i = 0; i < SIM_MAX_SESSIONS; i++) {
        const struct sim_session *other = s->sim->sessions[i];
        if (other && other != s && other->file && strcmp(other->file->path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* Appending requires equal buffer sizes and processor counts. */
static uint32_t check_append(const struct sim_session *s, const char *path, uint64_t *ret_size)
{
    struct etl_handles handles = {0};
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct etl_file *file = etl_file_open(path, NULL, &handles, &arena, NULL);
    uint32_t code = ETW_ERROR_BAD_PATHNAME;
    if (file) {
        const struct etl_info *info = etl_file_info(file);
        bool same = info->buffer_size == s->buffer_bytes &&
                    info->processors == s->sim->options.processors && info->clock_type == s->clock;
        *ret_size = file->bytes.size;
        code = same ? 0 : ETW_ERROR_INVALID_PARAMETER;
        etl_file_destroy(file);
    }
    arena_fini(&arena);
    return code;
}

static void set_options(const struct sim_session *s, struct sim_file *f)
{
    const struct etw_sim_options *o = &s->sim->options;
    f->options = (struct etl_options){.buffer_size = s->buffer_bytes,
        .processors = (uint16_t)o->processors,
        .single_stream = s->streams == 1 && o->processors > 1,
        .clock = (enum trace_clock_type)s->clock,
        .perf_frequency = o->perf_frequency,
        .cpu_mhz = o->cpu_mhz,
        .start_time = s->start_time,
        .start_raw = s->start_raw,
        .boot_time = s->sim->boot_time,
        .logger_id = s->id,
        .session_name = s->name_text,
        .file_name = f->path,
        .append = (s->mode & ETW_MODE_APPEND) != 0,
        .compression = s->mode & ETW_MODE_COMPRESSED ? ETL_XPRESS : ETL_STORED,
        .log_file_mode = s->mode,
        .max_file_size = s->max_file_size};
    f->limit = limit_of(s);
    if (s->mode & ETW_MODE_CIRCULAR) {
        uint64_t buffers = f->limit / s->buffer_bytes;
        f->options.circular_buffers = buffers > 2 ? (uint32_t)(buffers - 1) : 1;
        f->options.compression = ETL_STORED;
    }
}

static bool preallocate(const struct sim_file *f)
{
    const uint8_t zero = 0;
    struct etl_output out = etl_writer_to_file(f->out);
    return f->limit == 0 || out.write(out.self, f->limit - 1, span_make(&zero, 1));
}

/* Begin the file that f->path names. */
static uint32_t begin(const struct sim_session *s, struct sim_file *f)
{
    uint64_t offset = 0;
    make_path(s, f);
    if (is_used(s, f->path)) {
        return ETW_ERROR_BAD_PATHNAME;
    }
    bool append = s->mode & ETW_MODE_APPEND && plat_path_kind(f->path) == PLAT_PATH_FILE;
    uint32_t code = append ? check_append(s, f->path, &offset) : 0;
    if (code) {
        return code;
    }
    f->out = fopen(f->path, append ? "r+b" : "w+b");
    if (!f->out) {
        return errno == ENOENT ? ETW_ERROR_PATH_NOT_FOUND : ETW_ERROR_BAD_PATHNAME;
    }
    set_options(s, f);
    f->start = offset;
    f->buffers = 0;
    f->writer = etl_writer_create(&f->options, etl_writer_to_file(f->out), offset, NULL);
    bool ok = f->writer && (!(s->mode & ETW_MODE_PREALLOCATE) || preallocate(f)) &&
              etl_writer_flush(f->writer, NULL) && fflush(f->out) == 0;
    return ok ? 0 : ETW_ERROR_DISK_FULL;
}

/* Complete the header, and release preallocated space. */
static void finish(const struct sim_session *s, struct sim_file *f)
{
    uint64_t end = 0;
    if (f->writer) {
        etl_writer_lose_events(f->writer, 0, (uint32_t)s->counts.events_lost);
        etl_writer_close(f->writer, NULL);
        end = etl_writer_end(f->writer);
        etl_writer_destroy(f->writer);
        f->writer = NULL;
    }
    if (f->out) {
        fclose(f->out);
        f->out = NULL;
    }
    if (s->mode & ETW_MODE_PREALLOCATE && end) {
        struct plat_file *file = plat_file_open(f->path, PLAT_FILE_APPEND, NULL);
        if (file) {
            plat_file_truncate(file, end, NULL);
            plat_file_close(file);
        }
    }
}

uint32_t sim_file_open(struct sim_session *s)
{
    if (!s->file_text[0] || s->mode & ETW_MODE_BUFFERING) {
        return 0;
    }
    struct sim_file *f = calloc(1, sizeof(*f));
    if (!f) {
        return ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    f->number = 1;
    uint32_t code = begin(s, f);
    if (!code && f->options.circular_buffers) {
        f->slots = calloc(f->options.circular_buffers, sizeof(*f->slots));
        code = f->slots ? 0 : ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    if (code) {
        finish(s, f);
        free(f);
        return code;
    }
    s->file = f;
    return 0;
}

void sim_file_close(struct sim_session *s)
{
    if (s->file) {
        finish(s, s->file);
        free(s->file->slots);
        free(s->file);
        s->file = NULL;
    }
}

/* ---- buffers --------------------------------------------------------------------------------- */

static bool put_records(struct etl_writer *writer, const struct sim_chunk *chunk)
{
    struct span rest = span_from(span_make(chunk->data, chunk->used), SIM_BUFFER_HEADER);
    uint32_t size = 0;
    while (rest.size >= 8 && etl_record_frame(rest.data, &size) == ETL_FRAME_RECORD) {
        if (!etl_writer_put(writer, chunk->cpu, chunk->last_time, span_first(rest, size), NULL)) {
            return false;
        }
        rest = span_from(rest, (size + 7) & ~7u);
    }
    return true;
}

static bool write_chunk(struct sim_session *s, struct sim_chunk *chunk)
{
    struct sim_file *f = s->file;
    bool full = f->limit && !f->slots && !(s->mode & ETW_MODE_NEWFILE) &&
                etl_writer_end(f->writer) - f->start + s->buffer_bytes > f->limit;
    if (s->fail_disk || full) {
        s->fail_disk -= s->fail_disk != 0;
        etl_writer_lose_buffer(f->writer, chunk->cpu);
        return false;
    }
    bool ok = put_records(f->writer, chunk) &&
              (chunk->flags & SIM_FLAG_FLUSH_MARKER ? etl_writer_flush(f->writer, NULL)
                                                    : etl_writer_seal(f->writer, chunk->cpu, NULL));
    return fflush(f->out) == 0 && ok;
}

static void count_written(struct sim_session *s, const struct sim_chunk *chunk)
{
    struct sim_file *f = s->file;
    s->counts.in_file += chunk->events;
    if (f->slots) {
        uint32_t *slot = &f->slots[f->buffers % f->options.circular_buffers];
        s->counts.in_file -= *slot;
        s->counts.overwritten += *slot;
        *slot = chunk->events;
    }
    f->buffers++;
}

bool sim_file_write(struct sim_session *s, struct sim_chunk *chunk)
{
    struct sim_file *f = s->file;
    if (s->mode & ETW_MODE_NEWFILE && f->buffers &&
        etl_writer_end(f->writer) + s->buffer_bytes > f->limit) {
        sim_file_increment(s);
    }
    if (!f->writer || !write_chunk(s, chunk)) {
        s->log_buffers_lost++;
        s->counts.in_lost_log_buffers += chunk->events;
        return f->writer != NULL;
    }
    count_written(s, chunk);
    bool sequential = f->limit && !f->slots && !(s->mode & ETW_MODE_NEWFILE);
    return !sequential || etl_writer_end(f->writer) - f->start + s->buffer_bytes <= f->limit;
}

void sim_file_flush(struct sim_session *s)
{
    if (s->file && s->file->writer) {
        etl_writer_flush(s->file->writer, NULL);
        fflush(s->file->out);
    }
}

uint32_t sim_file_increment(struct sim_session *s)
{
    struct sim_file *f = s->file;
    if (!f || !(s->mode & ETW_MODE_NEWFILE)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    finish(s, f);
    f->number++;
    uint32_t code = begin(s, f);
    if (code) {
        finish(s, f);
    }
    return code;
}

uint32_t sim_file_rename(struct sim_session *s, const etw_char *file)
{
    char before[SIM_TEXT_BYTES];
    char wanted[SIM_TEXT_BYTES];
    sim_text_to_utf8(file, wanted, sizeof(wanted));
    if (strcmp(wanted, s->file_text) == 0) {
        return 0;
    }
    struct sim_file *old = s->file;
    memcpy(before, s->file_text, sizeof(before));
    memcpy(s->file_text, wanted, sizeof(wanted));
    s->file = NULL;
    uint32_t code = sim_file_open(s);
    if (code) {
        memcpy(s->file_text, before, sizeof(before));
        s->file = old;
        return code;
    }
    struct sim_file *opened = s->file;
    s->file = old;
    sim_file_close(s);
    s->file = opened;
    memset(s->file16, 0, sizeof(s->file16));
    memcpy(s->file16, file, sim_text_length(file, ETW_MAX_NAME_CHARS - 1) * 2);
    return 0;
}

void sim_file_snapshot(struct sim_session *s)
{
    if (!s->file_text[0]) {
        return;
    }
    struct sim_file *f = calloc(1, sizeof(*f));
    if (f && begin(s, f) == 0) {
        for (struct sim_chunk *c = s->full.head; c; c = c->next) {
            put_records(f->writer, c);
        }
        for (uint32_t i = 0; i < s->streams; i++) {
            if (s->fill[i]) {
                put_records(f->writer, s->fill[i]);
            }
        }
    }
    if (f) {
        finish(s, f);
    }
    free(f);
}

void etw_sim_fail_disk(struct etw_sim *sim, const char *name, uint32_t buffers)
{
    etw_char name16[ETW_MAX_NAME_CHARS];
    sim_text_from_utf8(name, name16, ETW_MAX_NAME_CHARS);
    plat_mutex_lock(&sim->lock);
    struct sim_session *s = sim_session_by_name(sim, name16);
    if (s) {
        s->fail_disk = buffers;
    }
    plat_mutex_unlock(&sim->lock);
}
