#ifndef ETWSHIP_TESTS_SUPPORT_FOLLOW_RIG_H
#define ETWSHIP_TESTS_SUPPORT_FOLLOW_RIG_H

#include <stdio.h>
#include <stdlib.h>

#include "input/etl/etl_follow.h"
#include "input/etl/etl_probe.h"
#include "platform/plat_path.h"
#include "support/growing.h"
#include "support/temp_folder.h"
#include "support/test.h"

/*
 * One trace that grows in a folder of its own, and a follower of it: what the follower tells, and
 * the calls that were made on it, are kept. For one test program at a time; setup and teardown are
 * of its group, begin and end of each test.
 */
enum { MAX_SEEN = 4096, MAX_CALLS = 4096 };

struct seen {
    size_t count;
    uint16_t ids[MAX_SEEN];
    struct record_position positions[MAX_SEEN];
};

enum call_kind { CALL_READ, CALL_FLUSH, CALL_HEADER };

struct call {
    enum call_kind kind;
    uint64_t value;
};

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];
static struct error err;

static struct seen seen;
static size_t damage;
static uint64_t overwritten;
static size_t metadata;
static struct call calls[MAX_CALLS];
static size_t call_count;
static struct arena arena;
static struct growing g;

static inline int setup(void **state)
{
    (void)state;
    int result = temp_folder_make(folder, "follow");
    snprintf(path, sizeof(path), "%s/trace.etl", folder);
    return result;
}

static inline int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static inline int begin(void **state)
{
    (void)state;
    plat_path_remove(path, NULL);
    seen.count = 0;
    damage = 0;
    overwritten = 0;
    metadata = 0;
    call_count = 0;
    arena_init(&arena, 1 << 24);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    arena_fini(&arena);
    growing_fini(&g);
    return 0;
}

static inline void add_seen(struct seen *to, const struct event_record *record)
{
    assert_true(to->count < MAX_SEEN);
    to->ids[to->count] = record->kind == RECORD_EVENT ? record->descriptor.id : 0;
    to->positions[to->count++] = record->position;
}

static inline bool on_record(void *self, const struct event_record *record)
{
    (void)self;
    add_seen(&seen, record);
    return true;
}

static inline void on_metadata(void *self, const struct event_record *record)
{
    (void)self;
    (void)record;
    metadata++;
}

static inline void on_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)self;
    (void)offset;
    assert_true(trace && what);
    damage++;
}

static inline void on_overwritten(
    void *self, const struct trace_info *trace, uint64_t count, const char *unit)
{
    (void)self;
    assert_non_null(trace);
    assert_string_equal(unit, "buffers");
    overwritten += count;
}

static inline bool on_reads(void *self, uint64_t to)
{
    (void)self;
    struct call *last = call_count ? &calls[call_count - 1] : NULL;
    if (!last || last->kind != CALL_READ) {
        assert_true(call_count < MAX_CALLS);
        last = &calls[call_count++];
    }
    *last = (struct call){.kind = CALL_READ, .value = to};
    return true;
}

static const struct etl_follow_events events = {
    .metadata = on_metadata,
    .record = on_record,
    .damage = on_damage,
    .overwritten = on_overwritten,
    .reads = on_reads,
};

/* The follower once the file has something to follow. */
static inline struct etl_follow *open_when_ready(struct etl_follow *follow)
{
    enum etl_probe found = follow ? ETL_PROBE_WAIT : etl_probe_path(path, &err);
    assert_int_not_equal(found, ETL_PROBE_NO_TRACE);
    if (found == ETL_PROBE_WAIT) {
        return follow;
    }
    follow = etl_follow_open(path, NULL, &arena, 0, &events, &err);
    assert_non_null(follow);
    return follow;
}

/* Look, and read what is there. */
static inline bool read_on(struct etl_follow *follow)
{
    struct etl_follow_look look;
    assert_true(etl_follow_look(follow, path, &look, &err));
    assert_false(look.replaced || look.moved);
    if (look.header_end > etl_follow_header_end(follow)) {
        assert_true(call_count < MAX_CALLS);
        calls[call_count++] = (struct call){.kind = CALL_HEADER, .value = look.header_end};
        assert_int_equal(etl_follow_grow_header(follow, look.header_end, &err), ETL_FOLLOW_DONE);
    }
    assert_int_equal(etl_follow_read(follow, UINT64_MAX, &err), ETL_FOLLOW_DONE);
    assert_true(etl_follow_look(follow, path, &look, &err));
    return look.closed;
}

static inline int compare_positions(const void *a, const void *b)
{
    const struct record_position *x = a;
    const struct record_position *y = b;
    if (x->buffer_offset != y->buffer_offset) {
        return x->buffer_offset < y->buffer_offset ? -1 : 1;
    }
    return x->record_offset < y->record_offset ? -1 : x->record_offset > y->record_offset;
}

/* Two processors in turns, flushed ${flushes} times on the way. */
static inline void make_trace(const struct etl_options *options, size_t count, size_t flushes)
{
    growing_init(&g, options);
    for (size_t i = 0; i < count; i++) {
        uint16_t cpu = options->processors > 1 ? (uint16_t)(i * 7 / 5 % options->processors) : 0;
        growing_put(&g, cpu, 1000 + (int64_t)i * 100, (uint16_t)(i + 1));
        if (flushes && i % (count / flushes) == count / flushes - 1) {
            growing_flush(&g);
        }
    }
    growing_close(&g);
}

#endif
