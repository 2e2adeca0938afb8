#include "input/file/input_file.h"

#include <stdlib.h>

#include "base/filetime.h"
#include "config/config_check.h"
#include "input/file/input_file_own.h"

/*
 * Design: complete files form groups (all of them, or one each). A group is indexed in a first
 * pass, which also reports metadata and damage, and then merged. Growing files are read in turns.
 * Every step is noted in a schedule before it is done. After a restart the schedule is repeated, so
 * that records come in the same order, and then reading continues.
 */

/* Paths, and data that records refer to: about 1 KB per file. */
enum { ARENA_MAX_BYTES = 256 * 1024 * 1024, MAX_PATHS = 1000000 };

static const char *const merge_names[] = {"each", "all", NULL};
static const char *const naming_names[] = {"name", "path", NULL};
static const char *const pointer_names[] = {"auto", "4", "8", NULL};
static const char *const stack_names[] = {"join", "events", "drop", NULL};

// clang-format off
static const struct config_field fields[] = {
    {CONFIG_ROW("paths", PATHS, struct input_file_settings, paths), .required = true, .min = 1,
     .max = 100000, .help = "Traces (.etl) and event logs (.evtx), also packed (.gz, .zst, .zip, .cab); * and ? match "
             "inside a folder, ** any folders."},
    {CONFIG_ROW("merge", ENUM, struct input_file_settings, merge), .default_text = "each",
     .names = merge_names, .help = "all: one time order over all files; each: file after file."},
    {CONFIG_ROW("follow", BOOL, struct input_file_settings, follow), .default_text = "false",
     .help = "Never end: read traces while they are written, and new files."},
    {CONFIG_ROW("carve", BOOL, struct input_file_settings, carve), .default_text = "false",
     .help = "Also recover records that an event log (.evtx) has dropped, but that are still in its file. Such events have evtx.carved. Not with follow."},
    {CONFIG_ROW("poll", DURATION, struct input_file_settings, poll_ns), .default_text = "500ms",
     .min = 10000000, .max = 3600000000000,
     .help = "With follow: how often to check for new files and new data; "
             "a quarter as often after 10s without data, but no pause gets longer than 2s by "
             "that."},
    {CONFIG_ROW("start", TIME, struct input_file_settings, start),
     .help = "Only events at or after this time; its end may be left out, as in 2026-11-21."},
    {CONFIG_ROW("end", TIME, struct input_file_settings, end),
     .help = "Only events before this time, written as for start."},
    {CONFIG_ROW("pointer_size", ENUM, struct input_file_settings, pointer_size),
     .default_text = "auto", .names = pointer_names,
     .help = "Width of pointers in payloads: auto uses each record's header, and the "
             "payloads of classic events, which may prove another width."},
    {CONFIG_ROW("stack_walk", ENUM, struct input_file_settings, stack_walk),
     .default_text = "join", .names = stack_names,
     .help = "Kernel stacks: join them to their events, ship them as events, or drop them."},
    {CONFIG_ROW("host", STRING, struct input_file_settings, host),
     .help = "Name of the recording machine, instead of what the trace says."},
    {CONFIG_ROW("etw_file", ENUM, struct input_file_settings, etw_file), .default_text = "name",
     .names = naming_names,
     .help = "What events have as `etw.file`: the name of the file, or its path as given."},
    {CONFIG_ROW("codepage", INT, struct input_file_settings, codepage),
        .default_text = "1252", .min = 1, .max = 65535,
        .help = "Windows code page of the ANSI strings in payloads"},
    {CONFIG_ROW("metadata", BOOL, struct input_file_settings, metadata), .default_text = "false",
     .help = "Also deliver records that only describe others."},
    {.key = NULL},
};
// clang-format on

static void check(const void *settings, struct config_check *check)
{
    const struct input_file_settings *s = settings;
    if (s->end && s->end <= s->start) {
        CONFIG_FAULT(check, &s->end, "end: must be after start; no event can match");
    }
    if (s->follow && s->carve) {
        CONFIG_FAULT(check, &s->carve,
            "carve: it searches complete files, and follow reads files that still grow. remove one "
            "of the two");
    }
    for (size_t i = 0; s->follow && i < s->paths.count; i++) {
        if (s->paths.items[i] && packed_is_named(s->paths.items[i])) {
            CONFIG_FAULT(check, &s->paths.items[i],
                "paths: follow cannot read packed files, because they do not grow. name them in a "
                "session without follow");
        }
    }
}

static void *create(const void *settings, const struct input_env *env, struct error *err)
{
    (void)env;
    const struct input_file_settings *s = settings;
    if (!config_check_first(check, settings, err)) {
        return NULL;
    }
    struct input *in = calloc(1, sizeof(*in));
    if (!in) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    in->settings = *s;
    in->naming.host = span_text(s->host);
    in->naming.whole_path = s->etw_file == INPUT_FILE_PATH;
    in->naming.follows = s->follow;
    in->naming.carves = s->carve;
    atomic_init(&in->stop, false);
    plat_mutex_init(&in->mutex);
    plat_cond_init(&in->stopped);
    input_schedule_init(&in->schedule);
    input_schedule_init(&in->restored);
    arena_init(&in->arena, ARENA_MAX_BYTES);
    map_init(&in->by_path, MAX_PATHS);
    map_init(&in->by_box, MAX_PATHS);
    map_init(&in->by_id, MAX_PATHS);
    return in;
}

static void destroy(void *self)
{
    struct input *in = self;
    if (!in) {
        return;
    }
    for (size_t i = 0; i < in->path_count; i++) {
        etl_follow_destroy(in->paths[i]->follow);
    }
    free(in->paths);
    input_boxes_fini(in);
    map_fini(&in->by_path);
    map_fini(&in->by_id);
    arena_fini(&in->arena);
    input_schedule_fini(&in->restored);
    input_schedule_fini(&in->schedule);
    plat_cond_fini(&in->stopped);
    plat_mutex_fini(&in->mutex);
    free(in);
}

static void stop(void *self)
{
    struct input *in = self;
    plat_mutex_lock(&in->mutex);
    atomic_store_explicit(&in->stop, true, memory_order_relaxed);
    plat_cond_broadcast(&in->stopped);
    plat_mutex_unlock(&in->mutex);
}

bool input_file_is_stopped(struct input *in)
{
    return atomic_load_explicit(&in->stop, memory_order_relaxed);
}

void input_file_remember(struct input *in, const struct error *why)
{
    if (in->failures++ == 0) {
        in->failure = *why;
    }
}

void input_file_tell(struct input *in, const char *path, const char *what)
{
    struct trace_info *trace = arena_alloc(&in->arena, sizeof(*trace));
    size_t size = strlen(path);
    if (strncmp(what, path, size) == 0 && strncmp(what + size, ": ", 2) == 0) {
        what += size + 2; /* the path is reported separately */
    }
    if (trace && in->sink->damage) {
        trace->path = span_text(path);
        trace->file = etl_file_shown(&in->naming, trace->path);
        trace->clock.frequency = FILETIME_PER_S;
        in->sink->damage(in->sink->self, trace, INPUT_WHOLE_FILE, what);
    }
}

/* ---- the schedule ---------------------------------------------------------------------------- */

void input_file_note(
    struct input *in, enum schedule_kind kind, const uint8_t file_id[16], uint64_t value)
{
    if (!in->replaying) {
        plat_mutex_lock(&in->mutex);
        input_schedule_add(&in->schedule, kind, file_id, value);
        plat_mutex_unlock(&in->mutex);
    }
}

static bool state(void *self, struct buf *out, struct error *err)
{
    struct input *in = self;
    plat_mutex_lock(&in->mutex);
    bool good = input_schedule_write(&in->schedule, out, err);
    plat_mutex_unlock(&in->mutex);
    return good;
}

static void restore(void *self, struct span bytes)
{
    struct input *in = self;
    in->restore_failed = bytes.size && (!input_schedule_read(bytes, &in->restored, NULL) ||
                                           !input_schedule_read(bytes, &in->schedule, NULL));
}

static void settle_file(void *self, const uint8_t file_id[16])
{
    struct input *in = self;
    plat_mutex_lock(&in->mutex);
    input_schedule_settle(&in->schedule, file_id);
    plat_mutex_unlock(&in->mutex);
}

/* ---- from start to end ----------------------------------------------------------------------- */

static enum input_end run(void *self, const struct input_sink *sink, struct error *err)
{
    struct input *in = self;
    in->sink = sink;
    input_paths_find(in, in->settings.follow);
    enum input_end end = input_replay_run(in);
    if (end == INPUT_DONE) {
        end = in->settings.follow ? input_follow_run(in)
                                  : input_group_take(in, in->paths, in->path_count,
                                        in->settings.merge == INPUT_FILE_ALL);
    }
    if (end == INPUT_STOPPED) {
        return end;
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
        .merged = s->merge == INPUT_FILE_ALL,
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
    .state = state,
    .restore = restore,
    .settle_file = settle_file,
    .run = run,
    .stop = stop,
    .destroy = destroy,
};
