#include <stdlib.h>

#include "input/etl/etl_probe.h"
#include "input/file/input_file_own.h"
#include "platform/plat_clock.h"
#include "platform/plat_file.h"

/*
 * Growing files are read in rounds, each in turn, so that no file blocks another, even if it is
 * never closed. A round finds new files and reads each as far as it has grown. After a round
 * without data it waits; stop() ends the wait at once. Records that wait for a slow processor are
 * delivered when nothing arrived in their file between two rounds.
 *
 * Files that are complete when found are read as without `follow`.
 */
enum { MAX_FOLLOWED = 256, MOVED_ROUNDS = 4 };

static const uint64_t second_ns = 1000000000;
static const uint64_t long_quiet_ns = 10 * second_ns;
/* maximum between two calls that the sink expects */
static const uint64_t longest_step_ns = 2 * second_ns;

enum { QUIET_POLLS = 4 };

/* ---- callbacks for etl_follow.h; self is the path -------------------------------------------- */

static bool on_record(void *self, const struct event_record *record)
{
    const struct input_path *path = self;
    struct input *in = path->in;
    if (record->kind == RECORD_KERNEL && record->hook_id >> 8 != 0 && !in->unsettled) {
        in->unsettled = true;
        memcpy(in->last_read, etl_follow_file(path->follow)->id, sizeof(in->last_read));
    }
    input_group_note(etl_follow_file(path->follow), record);
    return input_group_give(in, record);
}

static void on_flushed(void *self)
{
    const struct input_path *path = self;
    input_group_tell_missing(path->in, etl_follow_file(path->follow));
}

static void on_metadata(void *self, const struct event_record *record)
{
    const struct input_path *path = self;
    input_group_teach(path->in, record);
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    const struct input_path *path = self;
    const struct input_sink *sink = path->in->sink;
    if (sink->damage) {
        sink->damage(sink->self, trace, offset, what);
    }
}

static void on_overwritten(
    void *self, const struct trace_info *trace, uint64_t count, const char *unit)
{
    const struct input_path *path = self;
    const struct input_sink *sink = path->in->sink;
    if (strcmp(unit, "buffers") == 0) {
        input_group_explain(etl_follow_file(path->follow), count);
    }
    if (sink->gap) {
        sink->gap(sink->self, &(struct gap){.stage = "file",
                                  .reason = "overwritten",
                                  .unit = unit,
                                  .count = count,
                                  .exact = true,
                                  .trace = trace});
    }
}

static bool on_reads(void *self, uint64_t to)
{
    struct input_path *path = self;
    const struct etl_file *file = etl_follow_file(path->follow);
    path->in->gave = true;
    bool is_circular = file->log || etl_file_info(file)->mode & ETL_MODE_CIRCULAR;
    if (!path->started && is_circular) {
        path->started = true;
        input_file_note(path->in, SCHEDULE_START, file->id, to);
    }
    input_file_note(path->in, SCHEDULE_READ, file->id, to);
    return !input_file_is_stopped(path->in);
}

static bool is_stopped(void *self)
{
    const struct input_path *path = self;
    return input_file_is_stopped(path->in);
}

/* ---- one file -------------------------------------------------------------------------------- */

/* Start following a path. False, with a report, if that fails. */
static bool open_path(struct input_path *path, uint32_t header_end, struct error *err)
{
    struct input *in = path->in;
    const struct etl_follow_events events = {
        .self = path,
        .metadata = on_metadata,
        .record = on_record,
        .damage = on_damage,
        .overwritten = on_overwritten,
        .reads = on_reads,
        .flushed = on_flushed,
        .is_stopped = is_stopped,
    };
    path->follow = etl_follow_open(path->path, &in->naming, &in->arena, header_end, &events, err);
    if (path->follow && path->id) {
        etl_follow_set_id(path->follow, path->id, input_paths_records(path));
    }
    return path->follow != NULL;
}

static void begin(struct input_path *path)
{
    path->state = PATH_FOLLOWED;
    path->started = false;
    path->moved = 0;
    path->in->followed++;
}

/* Stop following the path. ${ended}: everything was delivered. */
static void leave(struct input_path *path, bool ended, enum path_state state)
{
    struct input *in = path->in;
    const struct etl_file *file = etl_follow_file(path->follow);
    input_file_note(in, SCHEDULE_END, file->id, ended);
    if (ended) {
        in->unsettled = false; /* the end of a file settles everything */
        input_group_tell_losses(in, file);
        if (in->sink->file_end) {
            in->sink->file_end(in->sink->self, file->id);
        }
    }
    input_group_end(in, file);
    etl_follow_destroy(path->follow);
    path->follow = NULL;
    path->stamp = plat_path_stamp(path->path);
    in->followed--;
    if (state == PATH_NEW) {
        input_paths_renew(path);
    } else {
        path->state = state;
    }
}

/* Handle the result of a read. False: stopped. A failure is reported and ends the file. */
static bool accept(struct input_path *path, enum etl_follow_end end, const struct error *why)
{
    if (end == ETL_FOLLOW_FAILED) {
        input_file_tell(path->in, path->path, why->text);
        leave(path, false, PATH_TAKEN);
    }
    return end != ETL_FOLLOW_STOPPED;
}

static bool flush(struct input_path *path)
{
    struct error why;
    input_file_note(path->in, SCHEDULE_FLUSH, etl_follow_file(path->follow)->id, 0);
    path->in->gave = true;
    return accept(path, etl_follow_flush(path->follow, &why), &why);
}

/* Nothing arrived: deliver waiting records, and stop following a file that has ended. */
static bool settle(struct input_path *path, const struct etl_follow_look *look)
{
    if (etl_follow_is_waiting(path->follow)) {
        return flush(path);
    }
    if (look->moved && ++path->moved < MOVED_ROUNDS) {
        return true; /* the next round may find its new name */
    }
    if (look->closed || look->moved) {
        path->in->gave = true;
        leave(path, true, look->moved ? PATH_NEW : PATH_TAKEN);
    }
    return true;
}

/* Process one path in a round. False: stopped. */
static bool take_turn(struct input_path *path)
{
    struct error why;
    struct etl_follow_look look;
    struct input *in = path->in;
    bool gave_before = in->gave;
    if (!etl_follow_look(path->follow, path->path, &look, &why)) {
        return accept(path, ETL_FOLLOW_FAILED, &why);
    }
    if (look.replaced) {
        input_file_tell(in, path->path,
            "the file was overwritten; what was not read "
            "before that is lost");
        leave(path, false, PATH_NEW);
        return true;
    }
    in->gave = false;
    path->moved = look.moved ? path->moved : 0;
    bool go_on = true;
    if (look.header_end > etl_follow_header_end(path->follow)) {
        in->gave = true;
        input_file_note(in, SCHEDULE_HEADER, etl_follow_file(path->follow)->id, look.header_end);
        go_on = accept(path, etl_follow_grow_header(path->follow, look.header_end, &why), &why);
    }
    if (go_on && path->follow) {
        go_on = accept(path, etl_follow_read(path->follow, UINT64_MAX, &why), &why);
    }
    if (go_on && path->follow && !in->gave) {
        go_on = settle(path, &look);
    }
    in->gave = in->gave || gave_before;
    return go_on;
}

/* ---- new files ------------------------------------------------------------------------------- */

static void find_bad(struct input_path *path, const char *why)
{
    if (plat_path_kind(path->path) == PLAT_PATH_NONE) {
        return; /* it was created and removed */
    }
    input_file_tell(path->in, path->path, why);
    path->state = PATH_BAD;
    path->stamp = plat_path_stamp(path->path);
}

/* True if ${file} is followed under another name and was renamed to this one; it is then kept. */
static bool is_renamed(struct input_path *path, const struct etl_file *file)
{
    struct input_path *known = input_paths_by_id(path->in, file->id);
    bool renamed = known && known != path && known->state == PATH_FOLLOWED &&
                   etl_follow_is_at(known->follow, path->path);
    if (renamed) {
        input_paths_swap_names(path->in, known, path);
    }
    return renamed;
}

/* False: stopped. */
static bool start_following(struct input_path *path)
{
    struct error why;
    struct input *in = path->in;
    if (in->followed == MAX_FOLLOWED) {
        return true; /* wait until another file ends */
    }
    if (!open_path(path, 0, &why)) {
        find_bad(path, why.text);
        return true;
    }
    const struct etl_file *file = etl_follow_file(path->follow);
    bool renamed = is_renamed(path, file);
    if (renamed || input_paths_is_taken(in, path, file->id)) {
        etl_follow_destroy(path->follow);
        path->follow = NULL;
        path->state = renamed ? PATH_NEW : PATH_TAKEN;
        path->stamp = plat_path_stamp(path->path);
        return true;
    }
    if (path->id) {
        etl_follow_set_id(path->follow, path->id, input_paths_records(path));
    }
    begin(path);
    in->gave = true;
    input_file_note(in, SCHEDULE_OPEN, file->id, etl_follow_header_end(path->follow));
    return accept(path, etl_follow_teach(path->follow, &why), &why);
}

/* True if the file at a taken or bad path was replaced. */
static bool has_changed(struct input_path *path)
{
    struct plat_stamp now = plat_path_stamp(path->path);
    uint8_t id[16];
    if (memcmp(&now, &path->stamp, sizeof(now)) == 0) {
        return false;
    }
    if (path->state == PATH_BAD) {
        return true;
    }
    if (!input_paths_read_id(path->in, path->path, id)) {
        return false; /* missing, or not there yet */
    }
    const struct input_path *known = input_paths_by_id(path->in, id);
    if (known && known != path && known->state == PATH_FOLLOWED) {
        return true; /* another file may have this name now */
    }
    if (memcmp(id, path->trace, sizeof(id)) == 0) {
        if (now.size > path->stamp.size) {
            input_file_tell(path->in, path->path,
                "it grew after its session was closed; the added data is not read");
        }
        path->stamp = now;
        return false;
    }
    return true;
}

/* Examine paths that are not followed. Complete files are left to the caller. False: stopped. */
static bool discover(struct input_path *path, bool *ret_whole)
{
    struct error why;
    *ret_whole = false;
    if (path->state == PATH_FOLLOWED || (path->state != PATH_NEW && !has_changed(path))) {
        return true;
    }
    if (path->state != PATH_NEW) {
        input_paths_renew(path);
    }
    switch (etl_probe_path(path->path, &why)) {
    case ETL_PROBE_WAIT:
        break;
    case ETL_PROBE_NO_TRACE:
        find_bad(path, why.text);
        break;
    case ETL_PROBE_GROWING:
        return start_following(path);
    case ETL_PROBE_WHOLE:
        *ret_whole = true;
        break;
    }
    return true;
}

/* Read complete files one by one or merged. False: stopped. */
static bool take_whole(struct input *in, struct input_path *const *paths, size_t count)
{
    enum input_end end = input_group_take(in, paths, count, in->settings.merge == INPUT_FILE_ALL);
    if (in->failures) {
        input_file_tell(in, paths[0]->path, in->failure.text);
        in->failures = 0;
    }
    in->gave = true;
    if (end != INPUT_STOPPED && in->sink->settle) {
        in->sink->settle(in->sink->self); /* the end of a file settles everything */
    }
    return end != INPUT_STOPPED;
}

/* Examine all paths. With `merge: all` the complete files among them are merged, else each is read
 * when it is found. False: stopped. */
static bool discover_all(struct input *in)
{
    bool merge = in->settings.merge == INPUT_FILE_ALL;
    size_t count = 0;
    bool go_on = true;
    input_paths_find(in, true);
    struct input_path **whole = calloc(in->path_count + 1, sizeof(struct input_path *));
    for (size_t i = 0; whole && go_on && i < in->path_count; i++) {
        bool is_whole;
        go_on = !input_file_is_stopped(in) && discover(in->paths[i], &is_whole);
        if (go_on && is_whole) {
            whole[count++] = in->paths[i];
        }
        if (go_on && count && !merge) {
            go_on = take_whole(in, whole, count);
            count = 0;
        }
    }
    go_on = go_on && (count == 0 || take_whole(in, whole, count));
    free(whole);
    return go_on;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Report the pause to the sink, and after a while that stacks need not wait. False: the sink
 * stops. */
static bool tell_pause(struct input *in, uint64_t now_ns)
{
    const struct input_sink *sink = in->sink;
    if (in->unsettled && sink->settle && now_ns - in->quiet_since_ns >= second_ns) {
        input_file_note(in, SCHEDULE_SETTLE, in->last_read, 0);
        in->unsettled = false;
        sink->settle(sink->self);
    }
    return !sink->pause || sink->pause(sink->self);
}

/* Time until the next round: longer if nothing has arrived for long. */
static uint64_t poll_pause_ns(const struct input *in, uint64_t now_ns)
{
    uint64_t poll_ns = in->settings.poll_ns;
    if (now_ns - in->quiet_since_ns < long_quiet_ns || poll_ns >= longest_step_ns) {
        return poll_ns;
    }
    return poll_ns * QUIET_POLLS < longest_step_ns ? poll_ns * QUIET_POLLS : longest_step_ns;
}

/* False: the sink stops. */
static bool wait_for_more(struct input *in)
{
    uint64_t now_ns = plat_monotonic_ns();
    in->quiet_since_ns = in->quiet_since_ns ? in->quiet_since_ns : now_ns;
    uint64_t deadline_ns = now_ns + poll_pause_ns(in, now_ns);
    while (!input_file_is_stopped(in) && now_ns < deadline_ns) {
        if (!tell_pause(in, now_ns)) {
            return false;
        }
        uint64_t most_ns = in->unsettled ? second_ns : longest_step_ns;
        uint64_t step_ns = deadline_ns - now_ns < most_ns ? deadline_ns : now_ns + most_ns;
        plat_mutex_lock(&in->mutex);
        bool in_time = true;
        while (in_time && !input_file_is_stopped(in)) {
            in_time = plat_cond_wait_until(&in->stopped, &in->mutex, step_ns);
        }
        plat_mutex_unlock(&in->mutex);
        now_ns = plat_monotonic_ns();
    }
    return true;
}

enum input_end input_follow_run(struct input *in)
{
    while (!input_file_is_stopped(in)) {
        in->gave = false;
        if (!discover_all(in)) {
            break;
        }
        for (size_t i = 0; i < in->path_count; i++) {
            struct input_path *path = in->paths[i];
            if (path->state == PATH_FOLLOWED && !take_turn(path)) {
                return INPUT_STOPPED;
            }
        }
        if (in->gave) {
            in->quiet_since_ns = 0;
        } else if (!wait_for_more(in)) {
            break;
        }
    }
    return INPUT_STOPPED;
}

/* ---- replay ---------------------------------------------------------------------------------- */

bool input_follow_replay(
    struct input *in, struct input_path *path, const struct schedule_entry *entry)
{
    struct error why;
    if (entry->kind == SCHEDULE_OPEN) {
        if (!open_path(path, (uint32_t)entry->value, &why)) {
            find_bad(path, why.text);
            return true;
        }
        begin(path);
        return accept(path, etl_follow_teach(path->follow, &why), &why);
    }
    if (entry->kind == SCHEDULE_SETTLE) {
        in->unsettled = false;
        if (in->sink->settle) {
            in->sink->settle(in->sink->self);
        }
        return true;
    }
    if (!path->follow) {
        return true;
    }
    switch (entry->kind) {
    case SCHEDULE_START:
        path->started = true;
        return true;
    case SCHEDULE_READ:
        return accept(path, etl_follow_read(path->follow, entry->value, &why), &why);
    case SCHEDULE_FLUSH:
        return accept(path, etl_follow_flush(path->follow, &why), &why);
    case SCHEDULE_HEADER:
        return accept(
            path, etl_follow_grow_header(path->follow, (uint32_t)entry->value, &why), &why);
    case SCHEDULE_END:
        leave(path, entry->value, PATH_TAKEN);
        break;
    default:
        break;
    }
    return !input_file_is_stopped(in);
}
