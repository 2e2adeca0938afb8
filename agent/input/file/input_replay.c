#include <stdlib.h>

#include "input/etl/etl_ring.h"
#include "input/etl/evtx_tail.h"
#include "input/file/input_file_own.h"

/*
 * After a restart, the steps of the earlier run's schedule are repeated, so that records come in
 * the same order, however much was added since. That needs the files. If a file is gone that not
 * all outputs have settled, or a circular one has overwritten the start, the schedule is dropped
 * and everything unsettled is read as new. Events may then be delivered twice; none is left out.
 * The new schedule records the number after which it begins: otherwise the next run would count
 * from 1 again and mistake new events for delivered ones.
 */

static const struct schedule_entry *entry_at(const struct input *in, size_t index)
{
    const struct input_schedule *s = &in->restored;
    return &s->entries[s->first + index];
}

static const uint8_t *id_of(const struct input *in, const struct schedule_entry *entry)
{
    return in->restored.files[entry->file].id;
}

/* Number of entries in a group of merged files; 1 for one file. */
static size_t group_size(const struct input *in, size_t first)
{
    size_t count = 1;
    while (entry_at(in, first + count - 1)->value && first + count < in->restored.count &&
           entry_at(in, first + count)->kind == SCHEDULE_WHOLE) {
        count++;
    }
    return count;
}

static bool is_done(const struct input *in, const struct schedule_entry *entry)
{
    return in->sink->is_done && in->sink->is_done(in->sink->self, id_of(in, entry));
}

static bool is_group_done(const struct input *in, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        if (!is_done(in, entry_at(in, i))) {
            return false;
        }
    }
    return true;
}

/* True if the event log still contains the chunk that was read first. */
static bool log_has_start(struct etl_file *file, uint64_t start)
{
    struct evtx_tail *tail = evtx_tail_create(file, NULL);
    bool has = tail && evtx_tail_has(tail, start);
    evtx_tail_destroy(tail);
    return has;
}

/* True if the ring still contains the buffer that was read first. */
static bool has_start(struct input *in, const struct input_path *path, uint64_t start)
{
    enum { HEADER_BYTES = 64 * 1024 };
    struct arena arena;
    uint64_t oldest = 0;
    arena_init(&arena, HEADER_BYTES);
    struct etl_file *file = etl_file_open(path->path, NULL, &in->handles, &arena, NULL);
    bool is_log = file && file->log;
    struct etl_ring *ring = file && !is_log ? etl_ring_create(file, NULL) : NULL;
    bool has = is_log ? log_has_start(file, start)
                      : ring && etl_ring_oldest(ring, &oldest, NULL) && oldest && oldest <= start;
    etl_ring_destroy(ring);
    etl_file_destroy(file);
    arena_fini(&arena);
    return has;
}

/* Why the schedule cannot be repeated, with ${ret_path}; NULL: it can. */
static const char *find_obstacle(struct input *in, const char **ret_path)
{
    *ret_path = in->settings.paths.items[0];
    if (in->restore_failed) {
        return "the saved read position is damaged; files are read again, and events may "
               "be delivered twice";
    }
    for (size_t i = 0; i < in->restored.count;) {
        const struct schedule_entry *entry = entry_at(in, i);
        size_t count = entry->kind == SCHEDULE_WHOLE ? group_size(in, i) : 1;
        bool done = entry->kind == SCHEDULE_WHOLE && is_group_done(in, i, count);
        for (size_t end = i + count; i < end; i++) {
            const struct input_path *path = input_paths_by_id(in, id_of(in, entry_at(in, i)));
            if (!done && !path) {
                return "a partially read file is gone; the others are read again, and events "
                       "may be delivered twice";
            }
            if (entry->kind == SCHEDULE_START && !has_start(in, path, entry->value)) {
                *ret_path = path->path;
                return "it was overwritten while the agent did not run; the present content is "
                       "read again, and events may be delivered twice";
            }
        }
    }
    return NULL;
}

/* Discard the schedule: what follows is new, with numbers above all that outputs have delivered.
 * Also used without a schedule: either nothing was read, or it was lost. */
static void begin_anew(struct input *in)
{
    uint64_t renumbered_after = in->sink->renumber ? in->sink->renumber(in->sink->self, 0) : 0;
    input_schedule_fini(&in->restored);
    input_schedule_init(&in->restored);
    plat_mutex_lock(&in->mutex);
    input_schedule_fini(&in->schedule);
    input_schedule_init(&in->schedule);
    in->schedule.renumbered_after = renumbered_after;
    plat_mutex_unlock(&in->mutex);
}

static void take_paths(struct input *in, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        struct input_path *path = input_paths_by_id(in, id_of(in, entry_at(in, i)));
        if (path) {
            path->state = PATH_TAKEN;
            path->stamp = plat_path_stamp(path->path);
        }
    }
}

static enum input_end open_and_run(
    struct input *in, size_t first, size_t count, struct etl_file **files)
{
    size_t opened = 0;
    struct error why;
    for (size_t i = first; i < first + count; i++) {
        const struct input_path *path = input_paths_by_id(in, id_of(in, entry_at(in, i)));
        struct etl_file *file = input_paths_open(in, path);
        if (file) {
            files[opened++] = file;
        }
    }
    /* if one file is missing, positions of the others would be counted as if it had never existed,
     * and undelivered records would pass as delivered */
    enum input_end end = opened == count             ? input_group_run(in, files, opened, &why)
                         : input_file_is_stopped(in) ? INPUT_STOPPED
                                                     : INPUT_FAILED;
    if (end == INPUT_FAILED && opened == count) {
        input_file_remember(in, &why);
        end = INPUT_DONE;
    }
    for (size_t i = 0; i < opened; i++) {
        etl_file_destroy(files[i]);
    }
    input_boxes_release(in, NULL);
    return end;
}

static enum input_end replay_group(struct input *in, size_t first, size_t count)
{
    take_paths(in, first, count);
    if (is_group_done(in, first, count)) {
        if (in->sink->skipped) {
            in->sink->skipped(in->sink->self, id_of(in, entry_at(in, first)));
        }
        return INPUT_DONE;
    }
    struct etl_file **files = calloc(count, sizeof(struct etl_file *));
    if (!files) {
        struct error why;
        error_set(&why, ERR_MEMORY, "out of memory for %zu files", count);
        input_file_remember(in, &why);
        return INPUT_STOPPED;
    }
    enum input_end end = open_and_run(in, first, count, files);
    free(files);
    return end;
}

static enum input_end replay(struct input *in)
{
    enum input_end end = INPUT_DONE;
    if (in->restored.renumbered_after && in->sink->renumber) {
        in->sink->renumber(in->sink->self, in->restored.renumbered_after);
    }
    if (in->restored.has_base && in->sink->skipped) {
        in->sink->skipped(in->sink->self, in->restored.base);
    }
    for (size_t i = 0; i < in->restored.count && end == INPUT_DONE;) {
        const struct schedule_entry *entry = entry_at(in, i);
        if (entry->kind == SCHEDULE_WHOLE) {
            size_t count = group_size(in, i);
            end = replay_group(in, i, count);
            i += count;
            continue;
        }
        struct input_path *path = input_paths_by_id(in, id_of(in, entry));
        end = input_follow_replay(in, path, entry) ? INPUT_DONE : INPUT_STOPPED;
        i++;
    }
    return end;
}

enum input_end input_replay_run(struct input *in)
{
    if (!in->restore_failed && in->restored.count == 0 && !in->restored.has_base) {
        begin_anew(in);
        return INPUT_DONE;
    }
    const char *path;
    input_paths_identify(in);
    if (input_file_is_stopped(in)) {
        return INPUT_STOPPED; /* stopped early: missing files may still exist */
    }
    const char *obstacle = find_obstacle(in, &path);
    if (obstacle) {
        input_file_tell(in, path, obstacle);
        begin_anew(in);
        return INPUT_DONE;
    }
    in->replaying = true;
    enum input_end end = replay(in);
    in->replaying = false;
    input_schedule_fini(&in->restored);
    input_schedule_init(&in->restored);
    return end;
}
