#ifndef ETWSHIP_TESTS_UNIT_PIPELINE_STACK_RECORDS_H
#define ETWSHIP_TESTS_UNIT_PIPELINE_STACK_RECORDS_H

#include "event/model/record.h"
#include "support/etl_put.h"

/*
 * Events, and the StackWalk records (ntwmi.h, PERFINFO_STACKWALK_*) that belong to them. The clocks
 * of the traces count 100 ns, so raw times are times. Payloads are in a buffer of the caller.
 */
enum {
    STACK = 0x1820, /* StackWalk/Stack: time stamp, process, thread, frames */
    KEY_CREATE = 0x1822,
    KEY_DELETE = 0x1823,
    KEY_RUNDOWN = 0x1824,
    REFERENCE_KERNEL = 0x1825, /* time stamp, process, thread, key */
    REFERENCE_USER = 0x1826,
    SECOND = 10000000,
};

static const uint64_t KERNEL = UINT64_C(0xfffff80000000000); /* addresses of a 64-bit kernel */

static const struct trace_info trace_a = {.has_stacks = true, .pointer_size = 8};
static const struct trace_info trace_b = {.has_stacks = true, .pointer_size = 8};

static inline struct event_record event_at(
    uint16_t id, int64_t time, uint32_t process, uint32_t thread)
{
    return (struct event_record){.kind = RECORD_EVENT,
        .pointer_size = 8,
        .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD,
        .time_raw = time,
        .time = (uint64_t)time,
        .process_id = process,
        .thread_id = thread,
        .trace = &trace_a,
        .descriptor = {.id = id}};
}

/* A StackWalk record of its own time. ${payload} has its payload. */
static inline struct event_record walk_at(
    struct buf *payload, uint16_t id, uint16_t hook, int64_t time)
{
    struct event_record record = event_at(id, time, 0, 0);
    record.kind = RECORD_KERNEL;
    record.hook_id = hook;
    record.present = 0;
    record.payload = buf_span(payload);
    return record;
}

static inline struct event_record stack_of(
    struct buf *payload, uint16_t id, int64_t event_time, uint32_t process, uint32_t thread)
{
    buf_reset(payload);
    etl_put_u64(payload, (uint64_t)event_time);
    etl_put_u32(payload, process);
    etl_put_u32(payload, thread);
    return walk_at(payload, id, STACK, event_time + 5);
}

static inline struct event_record definition(
    struct buf *payload, uint16_t id, uint16_t hook, int64_t time, uint64_t key, uint64_t frame)
{
    buf_reset(payload);
    etl_put_u64(payload, key);
    etl_put_u64(payload, frame);
    return walk_at(payload, id, hook, time);
}

static inline struct event_record reference(struct buf *payload, uint16_t id, uint16_t hook,
    int64_t event_time, uint32_t process, uint32_t thread, uint64_t key)
{
    struct event_record record = stack_of(payload, id, event_time, process, thread);
    etl_put_u64(payload, key);
    record.hook_id = hook;
    record.payload = buf_span(payload);
    return record;
}

#endif
