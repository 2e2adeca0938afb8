#ifndef ETWSHIP_TESTS_SUPPORT_INPUT_FOLLOW_RIG_H
#define ETWSHIP_TESTS_SUPPORT_INPUT_FOLLOW_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "input/file/input_file.h"
#include "platform/plat_path.h"
#include "platform/plat_thread.h"
#include "support/growing.h"
#include "support/temp_folder.h"
#include "support/test.h"

/*
 * Traces that grow in a folder, and the input with `follow: true` as the pipeline sees it: a sink
 * that keeps and counts what comes. For one test program at a time; setup and teardown are of its
 * group, begin and end of each test.
 */
enum { MAX_SEEN = 4096, FILES = 3, EVENTS = 60 };

struct seen {
    size_t count;
    uint16_t ids[MAX_SEEN];
    uint64_t numbers[MAX_SEEN]; /* as the pipeline counts */
    struct record_position positions[MAX_SEEN];
};

struct run {
    void *input;
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct seen seen;
    uint64_t sequence;
    size_t stop_at; /* records; 0: never */
    size_t ends;
    uint8_t ended[16][16];
    uint64_t ended_at[16];
    size_t known_ends; /* those of an earlier run: is_done */
    size_t skipped;
    size_t renumbered;
    bool is_restored;
    uint64_t behind; /* the number that was given to renumber */
    size_t damage;
    char last_damage[256];
    void (*grow)(size_t count); /* called after each record */
    enum input_end end;
};

static char folder[TEMP_FOLDER_BYTES];
static char paths[FILES][TEMP_FOLDER_BYTES + 16];
static char pattern[TEMP_FOLDER_BYTES + 16];
static const char *patterns[] = {pattern};
static struct growing g[FILES];
static struct run run;
static struct error err;
static struct buf state_bytes;

static inline int setup(void **state)
{
    (void)state;
    int result = temp_folder_make(folder, "input-follow");
    snprintf(pattern, sizeof(pattern), "%s/*.etl", folder);
    for (size_t i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%zu.etl", folder, i);
    }
    buf_init(&state_bytes, 1 << 20);
    return result;
}

static inline int teardown(void **state)
{
    (void)state;
    buf_fini(&state_bytes);
    return temp_folder_remove(folder);
}

/* Three traces of two processors; ids are 1000 * file + 1 and up. Not yet on the disk. */
static inline int begin(void **state)
{
    (void)state;
    memset(&run, 0, sizeof(run));
    plat_mutex_init(&run.mutex);
    plat_cond_init(&run.changed);
    buf_reset(&state_bytes);
    for (size_t f = 0; f < FILES; f++) {
        const struct etl_options options = {
            .buffer_size = 1024, .processors = 2, .start_time = UINT64_C(134397270000000000) + f};
        plat_path_remove(paths[f], NULL);
        growing_init(&g[f], &options);
        for (size_t i = 0; i < EVENTS; i++) {
            growing_put(&g[f], i % 3 == 0, 1000 + (int64_t)i * 10, (uint16_t)(f * 1000 + i + 1));
        }
        growing_close(&g[f]);
    }
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    for (size_t f = 0; f < FILES; f++) {
        growing_fini(&g[f]);
    }
    plat_cond_fini(&run.changed);
    plat_mutex_fini(&run.mutex);
    return 0;
}

static inline bool on_record(void *self, const struct event_record *record)
{
    (void)self;
    plat_mutex_lock(&run.mutex);
    struct seen *seen = &run.seen;
    assert_true(seen->count < MAX_SEEN);
    seen->ids[seen->count] = record->kind == RECORD_EVENT ? record->descriptor.id : 0;
    seen->positions[seen->count] = record->position;
    seen->numbers[seen->count++] = ++run.sequence;
    size_t count = seen->count;
    plat_cond_broadcast(&run.changed);
    plat_mutex_unlock(&run.mutex);
    if (run.grow) {
        run.grow(count);
    }
    return count != run.stop_at;
}

static inline void on_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)self;
    assert_true(trace->path.size > 0);
    assert_true(offset == INPUT_WHOLE_FILE); /* the traces themselves are sound */
    assert_null(strstr(what, folder));
    plat_mutex_lock(&run.mutex);
    run.damage++;
    snprintf(run.last_damage, sizeof(run.last_damage), "%s", what);
    plat_cond_broadcast(&run.changed);
    plat_mutex_unlock(&run.mutex);
}

static inline void on_file_end(void *self, const uint8_t id[16])
{
    (void)self;
    plat_mutex_lock(&run.mutex);
    assert_true(run.ends < 16);
    memcpy(run.ended[run.ends], id, 16);
    run.ended_at[run.ends++] = run.sequence;
    plat_cond_broadcast(&run.changed);
    plat_mutex_unlock(&run.mutex);
}

static inline bool is_done(void *self, const uint8_t id[16])
{
    (void)self;
    for (size_t i = 0; i < run.known_ends; i++) {
        if (memcmp(run.ended[i], id, 16) == 0) {
            return true;
        }
    }
    return false;
}

static inline void on_skipped(void *self, const uint8_t id[16])
{
    (void)self;
    run.skipped++;
    for (size_t i = 0; i < run.known_ends; i++) {
        if (memcmp(run.ended[i], id, 16) == 0) {
            run.sequence = run.ended_at[i];
        }
    }
}

/* What a run that was restored calls new is numbered after this. */
enum { NEW_BEHIND = 1000 };

static inline uint64_t on_renumber(void *self, uint64_t behind)
{
    (void)self;
    run.renumbered += behind == 0 && run.is_restored;
    run.behind = behind;
    return behind ? behind : run.is_restored ? NEW_BEHIND : 0;
}

static const struct input_sink sink = {
    .record = on_record,
    .damage = on_damage,
    .file_end = on_file_end,
    .is_done = is_done,
    .skipped = on_skipped,
    .renumber = on_renumber,
};

static inline struct input_file_settings settings_of(uint64_t poll_ns)
{
    return (struct input_file_settings){.paths = {patterns, 1}, .follow = true, .poll_ns = poll_ns};
}

static struct input_file_settings settings;

static inline void make(uint64_t poll_ns)
{
    settings = settings_of(poll_ns);
    run.input = input_file.create(&settings, &(struct input_env){.name = "test"}, &err);
    assert_non_null(run.input);
}

static inline void write_all(size_t file)
{
    for (size_t i = 0; i < g[file].write_count; i++) {
        growing_write(&g[file], i, paths[file]);
    }
}

static inline size_t count_id(uint16_t id)
{
    size_t count = 0;
    for (size_t i = 0; i < run.seen.count; i++) {
        count += run.seen.ids[i] == id;
    }
    return count;
}

static inline void assert_all_once(size_t file)
{
    for (size_t i = 0; i < EVENTS; i++) {
        assert_int_equal(count_id((uint16_t)(file * 1000 + i + 1)), 1);
    }
}

enum { MILLISECOND = 1000000 };

#endif
