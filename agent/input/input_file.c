#include "input/input_file.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/map.h"
#include "input/etl_merge.h"
#include "platform/plat_file.h"

/*
 * Design: a group of files (all of them, or one) is opened, indexed in a first pass that also
 * hands out metadata and damage, and merged. The only state between groups is the position to
 * resume from and the first failure.
 */

/* Paths, and what records refer to: about 1 KB per file. */
enum { ARENA_MAX_BYTES = 256 * 1024 * 1024, MAX_PATHS = 1000000 };

struct input {
    struct input_file_settings settings;
    atomic_bool stop;
    bool skipping;       /* until the record at `position` has passed */
    bool position_known; /* a file has its identity */
    struct record_position position;

    struct arena arena;
    struct etl_handles handles;
    struct map seen;
    const char **paths;
    size_t path_count;
    size_t path_capacity;

    const struct input_sink *sink;
    uint64_t done_bytes;
    uint64_t total_bytes;

    struct error failure; /* the first one */
    size_t failures;
};

static const char *const merge_names[] = {"each", "all", NULL};
static const char *const pointer_names[] = {"auto", "4", "8", NULL};
static const char *const stack_names[] = {"join", "events", "drop", NULL};

// clang-format off
static const struct config_field fields[] = {
    {CONFIG_ROW("paths", PATHS, struct input_file_settings, paths), .required = true, .min = 1,
     .max = 100000, .help = "Trace files; * and ? match inside a folder, ** any folders."},
    {CONFIG_ROW("merge", ENUM, struct input_file_settings, merge), .default_text = "each",
     .names = merge_names, .help = "all: one time order over all files; each: file after file."},
    {CONFIG_ROW("start", TIME, struct input_file_settings, start),
     .help = "Only events at or after this time."},
    {CONFIG_ROW("end", TIME, struct input_file_settings, end),
     .help = "Only events before this time."},
    {CONFIG_ROW("pointer_size", ENUM, struct input_file_settings, pointer_size),
     .default_text = "auto", .names = pointer_names,
     .help = "Width of pointers in payloads: auto goes by each record's header."},
    {CONFIG_ROW("stack_walk", ENUM, struct input_file_settings, stack_walk),
     .default_text = "join", .names = stack_names,
     .help = "Kernel stacks: join them to their events, ship them as events, or drop them."},
    {CONFIG_ROW("host", STRING, struct input_file_settings, host),
     .help = "Name of the recording machine, instead of what the trace says."},
    {CONFIG_ROW("codepage", INT, struct input_file_settings, codepage),
        .default_text = "1252", .min = 1, .max = 65535,
        .help = "Windows code page of the ANSI strings in payloads"},
    {CONFIG_ROW("metadata", BOOL, struct input_file_settings, metadata), .default_text = "false",
     .help = "Deliver records that only describe others, too."},
    {.key = NULL},
};
// clang-format on

static bool check(const void *settings, struct error *err)
{
    const struct input_file_settings *s = settings;
    return !s->end || s->end > s->start ||
           error_set(err, ERR_CONFIG, "end: it is not after start. no event can lie between them");
}

static void *create(const void *settings, struct error *err)
{
    const struct input_file_settings *s = settings;
    if (!check(settings, err)) {
        return NULL;
    }
    struct input *in = calloc(1, sizeof(*in));
    if (!in) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    in->settings = *s;
    atomic_init(&in->stop, false);
    arena_init(&in->arena, ARENA_MAX_BYTES);
    map_init(&in->seen, MAX_PATHS);
    return in;
}

static void destroy(void *self)
{
    struct input *in = self;
    if (in) {
        map_fini(&in->seen);
        arena_fini(&in->arena);
        free(in->paths);
        free(in);
    }
}

static void stop(void *self)
{
    struct input *in = self;
    atomic_store_explicit(&in->stop, true, memory_order_relaxed);
}

static bool is_stopped(struct input *in)
{
    return atomic_load_explicit(&in->stop, memory_order_relaxed);
}

void input_file_resume_after(void *self, const struct record_position *position)
{
    struct input *in = self;
    in->position = *position;
    in->skipping = true;
}

static void remember_failure(struct input *in, const struct error *why)
{
    if (in->failures++ == 0) {
        in->failure = *why;
    }
}

static bool add_path(void *self, const char *path)
{
    struct input *in = self;
    struct span copy;
    if (map_get(&in->seen, span_text(path))) {
        return true;
    }
    if (in->path_count == in->path_capacity) {
        size_t capacity = in->path_capacity ? in->path_capacity * 2 : 64;
        const char **paths = realloc(in->paths, capacity * sizeof(*paths));
        if (!paths) {
            goto full;
        }
        in->paths = paths;
        in->path_capacity = capacity;
    }
    if (!arena_copy(&in->arena, span_text(path), &copy) ||
        !map_put(&in->seen, copy, (void *)copy.data)) {
        goto full;
    }
    in->paths[in->path_count++] = (const char *)copy.data;
    return true;

full:;
    struct error why;
    error_set(&why, ERR_LIMIT, "%s: too many files for one session", path);
    remember_failure(in, &why);
    return false;
}

/* All files, in the order of the settings; and their size, if anybody wants to know. */
static void find_paths(struct input *in)
{
    for (size_t i = 0; i < in->settings.paths.count; i++) {
        struct error why;
        if (!plat_glob(in->settings.paths.items[i], add_path, in, &why)) {
            remember_failure(in, &why);
        }
    }
    for (size_t i = 0; in->sink->progress && i < in->path_count; i++) {
        struct plat_file *file = plat_file_open(in->paths[i], PLAT_FILE_READ, NULL);
        uint64_t size;
        if (file && plat_file_size(file, &size, NULL)) {
            in->total_bytes += 2 * size;
        }
        plat_file_close(file);
    }
}

static void tell_progress(struct input *in, uint64_t done_bytes)
{
    if (in->sink->progress) {
        in->sink->progress(in->sink->self, done_bytes, in->total_bytes);
    }
}

/* Does the record describe others, so that it is wanted before they come? */
static bool is_wanted_first(const struct event_record *record)
{
    enum { STACK_KEY_CREATE = 0x1822, STACK_KEY_RUNDOWN = 0x1824, CONFIG_CPU = 0x0b0a };
    if (record->kind == RECORD_KERNEL) {
        uint16_t hook = record->hook_id;
        return (hook >= STACK_KEY_CREATE && hook <= STACK_KEY_RUNDOWN) || hook == CONFIG_CPU;
    }
    return record_is_metadata(record);
}

static bool first_pass_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    struct input *in = self;
    (void)epoch;
    in->done_bytes += buffer->size;
    tell_progress(in, in->done_bytes);
    return !is_stopped(in);
}

static bool first_pass_record(void *self, const struct event_record *record)
{
    struct input *in = self;
    if (is_wanted_first(record) && in->sink->metadata) {
        in->sink->metadata(in->sink->self, record);
    }
    return true;
}

static void first_pass_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct input *in = self;
    if (in->sink->damage) {
        in->sink->damage(in->sink->self, trace, offset, what);
    }
}

static bool is_outside(const struct input *in, const struct event_record *record)
{
    const struct input_file_settings *s = &in->settings;
    return record->present & RECORD_HAS_TIME &&
           (record->time < s->start || (s->end && record->time >= s->end));
}

static void tell_loss(
    struct input *in, const struct etl_info *info, const char *reason, const char *unit, uint32_t n)
{
    const struct input_file_settings *s = &in->settings;
    bool outside = (info->end_time && info->end_time < s->start) ||
                   (s->end && info->start_time >= s->end);
    if (n && !outside && in->sink->gap) {
        in->sink->gap(in->sink->self, &(struct gap){
                                          .stage = "etw",
                                          .reason = reason,
                                          .unit = unit,
                                          .count = n,
                                          .exact = true,
                                          .from = info->start_time,
                                          .to = info->end_time,
                                          .trace = &info->trace,
                                      });
    }
}

static void tell_losses(struct input *in, const struct etl_file *file)
{
    for (size_t i = 0; i < file->epoch_count; i++) {
        const struct etl_info *info = &file->epochs[i]->info;
        tell_loss(in, info, "events_lost", "events", info->events_lost);
        tell_loss(in, info, "buffers_lost", "buffers", info->buffers_lost);
    }
}

/* Still before the record to resume after, or at it? */
static bool is_skipped(struct input *in, const struct event_record *record)
{
    if (!in->skipping) {
        return false;
    }
    const struct record_position *a = &record->position;
    const struct record_position *b = &in->position;
    if (a->record_offset == b->record_offset && a->buffer_offset == b->buffer_offset &&
        memcmp(a->file_id, b->file_id, sizeof(a->file_id)) == 0) {
        in->skipping = false;
    }
    return true;
}

/* Second pass over indexed files. */
static enum input_end deliver(
    struct input *in, struct etl_file *const *files, struct etl_merge *merge, struct error *err)
{
    const struct input_sink *sink = in->sink;
    uint64_t told_bytes = UINT64_MAX;
    while (!is_stopped(in)) {
        const struct event_record *record;
        size_t file;
        switch (etl_merge_next(merge, &record, &file, err)) {
        case ETL_MERGE_RECORD:
            if (is_skipped(in, record) || is_outside(in, record)) {
                break;
            }
            if (!sink->record(sink->self, record)) {
                return INPUT_STOPPED;
            }
            break;
        case ETL_MERGE_FILE_END:
            if (!in->skipping) {
                tell_losses(in, files[file]);
            }
            break;
        case ETL_MERGE_END:
            return INPUT_DONE;
        case ETL_MERGE_FAILED:
            return INPUT_FAILED;
        }
        if (etl_merge_bytes(merge) != told_bytes) {
            told_bytes = etl_merge_bytes(merge);
            tell_progress(in, in->done_bytes + told_bytes);
        }
    }
    return INPUT_STOPPED;
}

/* Index and deliver the files of a group. */
static enum input_end run_group(
    struct input *in, struct etl_file *const *files, size_t count, struct error *err)
{
    const struct etl_visitor visitor = {
        .self = in,
        .buffer = first_pass_buffer,
        .record = first_pass_record,
        .damage = first_pass_damage,
    };
    for (size_t i = 0; i < count; i++) {
        if (!etl_file_index(files[i], &visitor, err)) {
            return INPUT_FAILED;
        }
        if (is_stopped(in)) {
            return INPUT_STOPPED;
        }
    }
    struct etl_merge *merge = etl_merge_create(files, count, err);
    if (!merge) {
        return INPUT_FAILED;
    }
    enum input_end end = deliver(in, files, merge, err);
    in->done_bytes += etl_merge_bytes(merge);
    etl_merge_destroy(merge);
    if (end == INPUT_DONE && in->skipping) {
        error_set(err, ERR_FORMAT,
            "%s: no record to resume after at offset %" PRIu64 ", record %" PRIu32
            ". the file has changed since",
            files[0]->bytes.path, in->position.buffer_offset, in->position.record_offset);
        return INPUT_FAILED;
    }
    return end;
}

/* Open a file; NULL, with the failure remembered, if that is not possible. */
static struct etl_file *open_file(struct input *in, const char *path)
{
    struct error why;
    struct etl_file *file = etl_file_open(
        path, span_text(in->settings.host), &in->handles, &in->arena, &why);
    if (!file) {
        remember_failure(in, &why);
    } else if (in->skipping && memcmp(file->id, in->position.file_id, sizeof(file->id)) == 0) {
        in->position_known = true;
    }
    return file;
}

static enum input_end run_each(struct input *in)
{
    for (size_t i = 0; i < in->path_count && !is_stopped(in); i++) {
        struct etl_file *file = open_file(in, in->paths[i]);
        if (!file) {
            continue;
        }
        struct error why;
        enum input_end end = INPUT_DONE;
        if (!in->skipping || in->position_known) { /* else delivered in an earlier run */
            end = run_group(in, &file, 1, &why);
        }
        etl_file_destroy(file);
        if (end == INPUT_FAILED) {
            remember_failure(in, &why);
            if (in->skipping) {
                break;
            }
        } else if (end == INPUT_STOPPED) {
            return end;
        }
    }
    return is_stopped(in) ? INPUT_STOPPED : INPUT_DONE;
}

static enum input_end run_all(struct input *in)
{
    struct error why;
    struct etl_file **files = calloc(
        in->path_count ? in->path_count : 1, sizeof(struct etl_file *));
    if (!files) {
        error_set(&why, ERR_MEMORY, "out of memory for %zu files", in->path_count);
        remember_failure(in, &why);
        return INPUT_DONE;
    }
    size_t count = 0;
    for (size_t i = 0; i < in->path_count && !is_stopped(in); i++) {
        struct etl_file *file = open_file(in, in->paths[i]);
        if (file) {
            files[count++] = file;
        }
    }
    enum input_end end = is_stopped(in) ? INPUT_STOPPED : INPUT_DONE;
    if (end == INPUT_DONE && count && (!in->skipping || in->position_known)) {
        end = run_group(in, files, count, &why);
    }
    if (end == INPUT_FAILED) {
        remember_failure(in, &why);
        end = INPUT_DONE;
    }
    for (size_t i = 0; i < count; i++) {
        etl_file_destroy(files[i]);
    }
    free(files);
    return end;
}

static enum input_end run(void *self, const struct input_sink *sink, struct error *err)
{
    struct input *in = self;
    in->sink = sink;
    find_paths(in);
    enum input_end end = in->settings.merge == INPUT_FILE_ALL ? run_all(in) : run_each(in);
    if (end == INPUT_STOPPED) {
        return end;
    }
    if (in->skipping && !in->position_known) {
        struct error why;
        error_set(
            &why, ERR_FORMAT, "the position to resume from belongs to none of the session's files");
        remember_failure(in, &why);
    }
    if (in->failures) {
        if (err) {
            *err = in->failure;
        }
        return INPUT_FAILED;
    }
    return INPUT_DONE;
}

static void decoding(const void *settings, struct input_decoding *ret_decoding)
{
    const struct input_file_settings *s = settings;
    static const uint8_t pointer_sizes[] = {
        [INPUT_FILE_POINTER_AUTO] = 0, [INPUT_FILE_POINTER_4] = 4, [INPUT_FILE_POINTER_8] = 8};
    *ret_decoding = (struct input_decoding){.pointer_size = pointer_sizes[s->pointer_size],
        .stack_walk = (enum stack_walk_mode)s->stack_walk,
        .metadata = s->metadata,
        .codepage = (uint32_t)s->codepage};
}

static const struct config_strings *paths(const void *settings)
{
    const struct input_file_settings *s = settings;
    return &s->paths;
}

const struct input_ops input_file = {
    .name = "file",
    .fields = fields,
    .settings_size = sizeof(struct input_file_settings),
    .replayable = true,
    .check = check,
    .decoding = decoding,
    .paths = paths,
    .create = create,
    .run = run,
    .stop = stop,
    .destroy = destroy,
};
