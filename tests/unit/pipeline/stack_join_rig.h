#ifndef ETWSHIP_TESTS_UNIT_PIPELINE_STACK_JOIN_RIG_H
#define ETWSHIP_TESTS_UNIT_PIPELINE_STACK_JOIN_RIG_H

#include "pipeline/record/stack_join.h"

#include "base/buf.h"
#include "support/test.h"
#include "unit/pipeline/stack_records.h"

/*
 * The id of an event is a number. The log has what the join hands on: `1 2[a,b] 3`, with the
 * numbers of StackWalk records.
 */
struct fixture {
    struct stack_join *join;
    struct buf log;
    struct buf payload;
    bool stop;
};

static inline bool log_record(void *self, const struct event_record *record, const uint64_t *frames,
    uint32_t count, uint64_t tag)
{
    (void)tag;
    struct fixture *f = self;
    buf_printf(&f->log, "%s%u", f->log.size ? " " : "", record->descriptor.id);
    for (uint32_t i = 0; i < count; i++) {
        buf_printf(&f->log, "%s%llx", i ? "," : "[", (unsigned long long)frames[i]);
    }
    buf_add_text(&f->log, count ? "]" : "");
    return !f->stop;
}

static inline void fixture_init(struct fixture *f, enum stack_walk_mode mode)
{
    *f = (struct fixture){.stop = false};
    buf_init(&f->log, 1 << 26);
    buf_init(&f->payload, 1 << 26);
    f->join = stack_join_create(mode, log_record, NULL, f, NULL);
    assert_non_null(f->join);
}

static inline void fixture_fini(struct fixture *f)
{
    stack_join_destroy(f->join);
    buf_fini(&f->log);
    buf_fini(&f->payload);
}

static inline void assert_log(struct fixture *f, const char *text)
{
    assert_true(stack_join_flush(f->join));
    assert_span(buf_span(&f->log), text);
}

static inline bool push_event(
    struct fixture *f, uint16_t id, int64_t time, uint32_t process, uint32_t thread)
{
    struct event_record record = event_at(id, time, process, thread);
    return stack_join_push(f->join, &record, 0);
}

/* A stack with the frames ${first}, ${first} + 1, … */
static inline bool push_stack(struct fixture *f, uint16_t id, int64_t event_time, uint32_t process,
    uint32_t thread, uint64_t first, size_t count)
{
    struct event_record record = stack_of(&f->payload, id, event_time, process, thread);
    for (size_t i = 0; i < count; i++) {
        etl_put_u64(&f->payload, first + i);
    }
    record.payload = buf_span(&f->payload);
    return stack_join_push(f->join, &record, 0);
}

static inline void push_definition(
    struct fixture *f, uint16_t id, uint16_t hook, int64_t time, uint64_t key, uint64_t frame)
{
    struct event_record record = definition(&f->payload, id, hook, time, key, frame);
    assert_true(stack_join_push(f->join, &record, 0));
}

static inline void learn_definition(
    struct fixture *f, uint16_t hook, int64_t time, uint64_t key, uint64_t frame)
{
    struct event_record record = definition(&f->payload, 0, hook, time, key, frame);
    stack_join_learn(f->join, &record);
}

static inline void push_reference(struct fixture *f, uint16_t id, uint16_t hook, int64_t event_time,
    uint32_t process, uint32_t thread, uint64_t key)
{
    struct event_record record = reference(&f->payload, id, hook, event_time, process, thread, key);
    assert_true(stack_join_push(f->join, &record, 0));
}

/* A reference of the event that was pushed last, itself written at ${time} on processor ${cpu}. */
static inline void push_reference_at(
    struct fixture *f, uint16_t hook, int64_t event_time, uint64_t key, int64_t time, uint16_t cpu)
{
    struct event_record record = reference(&f->payload, 90, hook, event_time, 10, 11, key);
    record.time_raw = time;
    record.time = (uint64_t)time;
    record.cpu = cpu;
    assert_true(stack_join_push(f->join, &record, 0));
}

/* An event, and its reference to key 7. */
static inline void push_referring(
    struct fixture *f, uint16_t id, uint16_t hook, int64_t event_time, int64_t time, uint16_t cpu)
{
    push_event(f, id, event_time, 10, 11);
    push_reference_at(f, hook, event_time, 7, time, cpu);
}

static inline void assert_counts(
    struct fixture *f, uint64_t joined, uint64_t unmatched, uint64_t dropped)
{
    struct stack_join_counts counts = stack_join_counts(f->join);
    assert_int_equal(counts.joined, joined);
    assert_int_equal(counts.unmatched, unmatched);
    assert_int_equal(counts.dropped, dropped);
}

#endif
