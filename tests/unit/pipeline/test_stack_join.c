#include "pipeline/stack_join.h"

#include <stdlib.h>

#include "base/buf.h"
#include "support/test.h"
#include "unit/pipeline/stack_records.h"

/*
 * Events have a number as their id; what is handed on is written down as `1 2[a,b] 3`, StackWalk
 * records by their own number.
 */
static const struct trace_info trace_plain = {.has_stacks = false, .pointer_size = 8};

struct fixture {
    struct stack_join *join;
    struct buf log;
    struct buf payload;
    bool stop;
};

static bool log_record(void *self, const struct event_record *record, const uint64_t *frames,
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

static void fixture_init(struct fixture *f, enum stack_walk_mode mode)
{
    *f = (struct fixture){.stop = false};
    buf_init(&f->log, 1 << 26);
    buf_init(&f->payload, 1 << 26);
    f->join = stack_join_create(mode, log_record, NULL, f, NULL);
    assert_non_null(f->join);
}

static void fixture_fini(struct fixture *f)
{
    stack_join_destroy(f->join);
    buf_fini(&f->log);
    buf_fini(&f->payload);
}

static void assert_log(struct fixture *f, const char *text)
{
    assert_true(stack_join_flush(f->join));
    assert_span(buf_span(&f->log), text);
}

static bool push_event(
    struct fixture *f, uint16_t id, int64_t time, uint32_t process, uint32_t thread)
{
    struct event_record record = event_at(id, time, process, thread);
    return stack_join_push(f->join, &record, 0);
}

/* A stack with the frames ${first}, ${first} + 1, … */
static bool push_stack(struct fixture *f, uint16_t id, int64_t event_time, uint32_t process,
    uint32_t thread, uint64_t first, size_t count)
{
    struct event_record record = stack_of(&f->payload, id, event_time, process, thread);
    for (size_t i = 0; i < count; i++) {
        etl_put_u64(&f->payload, first + i);
    }
    record.payload = buf_span(&f->payload);
    return stack_join_push(f->join, &record, 0);
}

static void push_definition(
    struct fixture *f, uint16_t id, uint16_t hook, int64_t time, uint64_t key, uint64_t frame)
{
    struct event_record record = definition(&f->payload, id, hook, time, key, frame);
    assert_true(stack_join_push(f->join, &record, 0));
}

static void learn_definition(
    struct fixture *f, uint16_t hook, int64_t time, uint64_t key, uint64_t frame)
{
    struct event_record record = definition(&f->payload, 0, hook, time, key, frame);
    stack_join_learn(f->join, &record);
}

static void push_reference(struct fixture *f, uint16_t id, uint16_t hook, int64_t event_time,
    uint32_t process, uint32_t thread, uint64_t key)
{
    struct event_record record = reference(&f->payload, id, hook, event_time, process, thread, key);
    assert_true(stack_join_push(f->join, &record, 0));
}

/* A reference of the event that was pushed last, itself written at ${time} on processor ${cpu}. */
static void push_reference_at(
    struct fixture *f, uint16_t hook, int64_t event_time, uint64_t key, int64_t time, uint16_t cpu)
{
    struct event_record record = reference(&f->payload, 90, hook, event_time, 10, 11, key);
    record.time_raw = time;
    record.time = (uint64_t)time;
    record.cpu = cpu;
    assert_true(stack_join_push(f->join, &record, 0));
}

/* An event and a reference of it to key 7. */
static void push_referring(
    struct fixture *f, uint16_t id, uint16_t hook, int64_t event_time, int64_t time, uint16_t cpu)
{
    push_event(f, id, event_time, 10, 11);
    push_reference_at(f, hook, event_time, 7, time, cpu);
}

static void assert_counts(struct fixture *f, uint64_t joined, uint64_t unmatched, uint64_t dropped)
{
    struct stack_join_counts counts = stack_join_counts(f->join);
    assert_int_equal(counts.joined, joined);
    assert_int_equal(counts.unmatched, unmatched);
    assert_int_equal(counts.dropped, dropped);
}

/* ---- who owns a stack --------------------------------------------------------------------------- */

static void a_stack_joins_the_event_with_its_time_thread_and_process(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_event(&f, 1, 100, 10, 11);
    push_event(&f, 2, 100, 10, 12);
    push_event(&f, 3, 100, 20, 11);
    push_event(&f, 4, 101, 10, 11);
    push_stack(&f, 90, 100, 10, 11, 0xa, 2);
    push_stack(&f, 91, 100, 10, 12, 0xc, 1);
    push_stack(&f, 92, 100, 20, 11, 0xd, 1);
    assert_log(&f, "1[a,b] 2[c] 3[d] 4");
    assert_counts(&f, 3, 0, 0);
    fixture_fini(&f);
}

static void a_stack_without_partner_is_handed_on_in_place_and_counted(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_event(&f, 1, 100, 10, 11);
    push_stack(&f, 90, 99, 10, 11, 0xa, 1);  /* other time */
    push_stack(&f, 91, 100, 10, 12, 0xa, 1); /* other thread */
    push_stack(&f, 92, 100, 12, 11, 0xa, 1); /* other process */
    push_event(&f, 2, 200, 10, 11);
    push_stack(&f, 93, 200, 10, 11, 0xb, 1);
    assert_log(&f, "1 90 91 92 2[b]");
    assert_counts(&f, 1, 3, 0);
    fixture_fini(&f);
}

static void an_event_without_thread_is_found_by_its_processor(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    for (uint16_t cpu = 0; cpu < 3; cpu++) {
        struct event_record record = event_at((uint16_t)(cpu + 1), 100, 0, 0);
        record.kind = RECORD_KERNEL;
        record.hook_id = 0x0f2e; /* PerfInfo/SampleProf */
        record.present = 0;
        record.cpu = cpu;
        assert_true(stack_join_push(f.join, &record, 0));
    }
    struct event_record stack = stack_of(&f.payload, 90, 100, 10, 11);
    etl_put_u64(&f.payload, 0xa);
    stack.payload = buf_span(&f.payload);
    stack.cpu = 1;
    assert_true(stack_join_push(f.join, &stack, 0));
    assert_log(&f, "1 2[a] 3");
    fixture_fini(&f);
}

static void the_kernel_and_the_user_part_become_one_stack(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_event(&f, 1, 100, 10, 11);
    push_event(&f, 2, 101, 10, 12);
    push_stack(&f, 90, 100, 10, 11, 0xa0, 2);
    push_stack(&f, 91, 101, 10, 12, 0xc0, 1);
    push_stack(&f, 92, 100, 10, 11, 0xb0, 3);
    assert_log(&f, "1[a0,a1,b0,b1,b2] 2[c0]");
    assert_counts(&f, 3, 0, 0);
    fixture_fini(&f);
}

static void frames_of_a_32_bit_record_have_4_bytes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_event(&f, 1, 100, 10, 11);
    struct event_record stack = stack_of(&f.payload, 90, 100, 10, 11);
    etl_put_u32(&f.payload, 0xdeadbeef);
    etl_put_u32(&f.payload, 0x77001234);
    etl_put_u16(&f.payload, 0xffff); /* half a frame */
    stack.payload = buf_span(&f.payload);
    stack.pointer_size = 4;
    assert_true(stack_join_push(f.join, &stack, 0));
    assert_log(&f, "1[deadbeef,77001234]");
    fixture_fini(&f);
}

static void a_stack_of_another_trace_is_no_partner(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_event(&f, 1, 100, 10, 11);
    struct event_record other = event_at(2, 100, 10, 11);
    other.trace = &trace_b;
    assert_true(stack_join_push(f.join, &other, 0));
    push_stack(&f, 90, 100, 10, 11, 0xa, 1);
    struct event_record stack = stack_of(&f.payload, 91, 100, 10, 11);
    etl_put_u64(&f.payload, 0xb);
    stack.payload = buf_span(&f.payload);
    stack.trace = &trace_b;
    assert_true(stack_join_push(f.join, &stack, 0));
    assert_log(&f, "1[a] 2[b]");
    fixture_fini(&f);
}

static void a_stack_walk_record_never_owns_a_stack(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_stack(&f, 90, 100, 10, 11, 0xa, 1); /* its own time is 105 */
    push_stack(&f, 91, 105, 10, 11, 0xb, 1);
    assert_log(&f, "90 91");
    assert_counts(&f, 0, 2, 0);
    fixture_fini(&f);
}

static void a_trace_without_stacks_does_not_part_events_from_theirs(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    struct event_record plain = event_at(2, 101, 1, 1);
    plain.trace = &trace_plain;
    push_event(&f, 1, 100, 10, 11);
    assert_true(stack_join_push(f.join, &plain, 0));
    push_stack(&f, 90, 100, 10, 11, 0xa, 1);
    assert_log(&f, "1[a] 2");
    /* Nothing is held for it alone. */
    plain.descriptor.id = 3;
    assert_true(stack_join_push(f.join, &plain, 0));
    assert_span(buf_span(&f.log), "1[a] 2 3");
    fixture_fini(&f);
}

static void stacks_cut_short_are_handed_on(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    buf_reset(&f.payload);
    etl_put_u64(&f.payload, 100);
    etl_put_u32(&f.payload, 10);
    etl_put_u32(&f.payload, 11);
    for (uint16_t hook = STACK; hook <= REFERENCE_USER + 2; hook++) {
        for (size_t size = 0; size < 16; size++) {
            uint8_t *exact = malloc(size ? size : 1);
            assert_non_null(exact);
            memcpy(exact, f.payload.data, size);
            struct event_record record = walk_at(&f.payload, 9, hook, 100);
            record.payload = span_make(exact, size);
            stack_join_learn(f.join, &record);
            assert_true(stack_join_push(f.join, &record, 0));
            free(exact);
        }
    }
    assert_true(stack_join_flush(f.join));
    assert_counts(&f, 0, (REFERENCE_USER + 3 - STACK) * 16, 0);
    fixture_fini(&f);
}

/* ---- modes ---------------------------------------------------------------------------------------- */

static void mode_events_hands_everything_on_at_once(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_EVENTS);
    push_event(&f, 1, 100, 10, 11);
    push_stack(&f, 90, 100, 10, 11, 0xa, 1);
    push_definition(&f, 91, KEY_DELETE, 110, 7, 0xb);
    assert_span(buf_span(&f.log), "1 90 91");
    assert_counts(&f, 0, 0, 0);
    fixture_fini(&f);
}

static void mode_drop_leaves_stacks_out_and_counts_them(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_DROP);
    push_event(&f, 1, 100, 10, 11);
    push_stack(&f, 90, 100, 10, 11, 0xa, 1);
    push_definition(&f, 91, KEY_DELETE, 110, 7, 0xb);
    push_event(&f, 2, 120, 10, 11);
    assert_span(buf_span(&f.log), "1 2");
    assert_counts(&f, 0, 0, 2);
    fixture_fini(&f);
}

/* ---- keys ------------------------------------------------------------------------------------------ */

static void a_key_that_was_defined_before_is_resolved(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_definition(&f, 90, KEY_CREATE, 90, 7, 0xa);
    push_event(&f, 1, 100, 10, 11);
    push_reference(&f, 91, REFERENCE_USER, 100, 10, 11, 7);
    push_event(&f, 2, 110, 10, 11);
    push_reference(&f, 92, REFERENCE_USER, 110, 10, 11, 7);
    push_reference(&f, 93, REFERENCE_USER, 110, 10, 11, 8); /* unknown */
    assert_log(&f, "90 1[a] 2[a] 93");
    assert_counts(&f, 2, 2, 0);
    fixture_fini(&f);
}

static void a_key_that_is_defined_afterwards_is_known_from_the_metadata_pass(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    learn_definition(&f, KEY_DELETE, 200, 7, KERNEL + 0xa);
    learn_definition(&f, KEY_RUNDOWN, 300, 8, 0xb);
    learn_definition(&f, KEY_RUNDOWN, 300, 9, 0xc);
    push_event(&f, 1, 100, 10, 11);
    push_reference(&f, 90, REFERENCE_KERNEL, 100, 10, 11, 7);
    push_reference(&f, 91, REFERENCE_USER, 100, 10, 11, 8);
    /* The definitions come again in their place; those that served became part of an event. */
    push_definition(&f, 92, KEY_DELETE, 200, 7, KERNEL + 0xa);
    push_definition(&f, 93, KEY_RUNDOWN, 300, 8, 0xb);
    push_definition(&f, 94, KEY_RUNDOWN, 300, 9, 0xc);
    assert_log(&f, "1[fffff8000000000a,b] 94");
    assert_counts(&f, 4, 1, 0);
    fixture_fini(&f);
}

static void a_key_used_again_after_its_end_means_another_stack(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    /* Out of order, as buffers of several processors lie in a file. */
    learn_definition(&f, KEY_RUNDOWN, 400, 7, 0xc);
    learn_definition(&f, KEY_DELETE, 200, 7, 0xa);
    learn_definition(&f, KEY_DELETE, 300, 7, 0xb);
    static const int64_t times[] = {100, 200, 201, 300, 301, 400, 401};
    for (uint16_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        push_referring(&f, (uint16_t)(i + 1), REFERENCE_USER, times[i], times[i], 0);
    }
    assert_log(&f, "1[a] 2[a] 3[b] 4[b] 5[c] 6[c] 7 90");
    fixture_fini(&f);
}

static void a_new_life_of_a_key_does_not_speak_for_the_one_before(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    learn_definition(&f, KEY_CREATE, 100, 7, 0xa);
    learn_definition(&f, KEY_CREATE, 300, 7, 0xb); /* the end of the first one was lost */
    learn_definition(&f, KEY_DELETE, 400, 7, 0xb);
    push_event(&f, 1, 150, 10, 11);
    push_reference(&f, 90, REFERENCE_USER, 150, 10, 11, 7);
    push_event(&f, 2, 350, 10, 11);
    push_reference(&f, 91, REFERENCE_USER, 350, 10, 11, 7);
    assert_log(&f, "1[a] 2[b]");
    fixture_fini(&f);
}

static void a_deleted_key_is_unknown_until_it_is_created_again(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_definition(&f, 80, KEY_CREATE, 90, 7, 0xa);
    push_definition(&f, 81, KEY_DELETE, 100, 7, 0xa);
    push_event(&f, 1, 110, 10, 11);
    push_reference(&f, 90, REFERENCE_USER, 110, 10, 11, 7);
    push_definition(&f, 82, KEY_CREATE, 120, 7, 0xb);
    push_event(&f, 2, 130, 10, 11);
    push_reference(&f, 91, REFERENCE_USER, 130, 10, 11, 7);
    assert_log(&f, "80 81 1 90 82 2[b]");
    fixture_fini(&f);
}

static void a_reference_means_the_life_of_its_own_time_not_the_events(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    learn_definition(&f, KEY_DELETE, 200, 7, 0xa);
    learn_definition(&f, KEY_DELETE, 300, 7, 0xb);
    push_referring(&f, 1, REFERENCE_USER, 150, 160, 0);
    push_referring(&f, 2, REFERENCE_USER, 190, 210, 0); /* the key was used again in between */
    push_referring(&f, 3, REFERENCE_USER, 150, 301, 0);
    assert_log(&f, "1[a] 2[b] 3 90");
    fixture_fini(&f);
}

static void within_one_tick_the_order_of_the_processors_records_tells(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    learn_definition(&f, KEY_DELETE, 200, 7, 0xa);
    learn_definition(&f, KEY_DELETE, 300, 7, 0xb);
    push_referring(&f, 1, REFERENCE_USER, 190, 200, 0);
    push_definition(&f, 80, KEY_DELETE, 200, 7, 0xa);
    push_referring(&f, 2, REFERENCE_USER, 191, 200, 0);
    push_referring(&f, 3, REFERENCE_USER, 192, 200, 1); /* another processor's order is unknown */
    assert_log(&f, "1[a] 2[b] 3[a]");
    fixture_fini(&f);
}

static void a_creation_after_a_reference_tells_nothing_of_it(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    learn_definition(&f, KEY_CREATE, 200, 7, 0xa);
    learn_definition(&f, KEY_DELETE, 300, 7, 0xa);
    push_referring(&f, 1, REFERENCE_USER, 100, 105, 0);
    push_referring(&f, 2, REFERENCE_USER, 110, 200, 0);
    assert_log(&f, "1 90 2[a]");
    fixture_fini(&f);
}

/* Does a reference of type ${hook} take the stack whose innermost frame is ${first}? */
static void assert_kind(uint16_t hook, uint8_t pointer_size, uint64_t first, bool joins)
{
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    /* Callers of both kinds may stand in any stack. */
    const uint64_t words[] = {7, first, 0xfffff80012345678, 0x12345678};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        for (uint8_t b = 0; b < pointer_size; b++) {
            buf_add_byte(&f.payload, (uint8_t)(words[i] >> 8 * b));
        }
    }
    struct event_record record = walk_at(&f.payload, 80, KEY_RUNDOWN, 300);
    record.pointer_size = pointer_size;
    stack_join_learn(f.join, &record);
    push_event(&f, 1, 100, 10, 11);
    record = reference(&f.payload, 90, hook, 100, 10, 11, 7);
    record.pointer_size = pointer_size;
    assert_true(stack_join_push(f.join, &record, 0));
    assert_counts(&f, joins, !joins, 0);
    fixture_fini(&f);
}

static void a_users_reference_takes_no_kernel_stack_and_a_kernels_no_users(void **state)
{
    (void)state;
    assert_kind(REFERENCE_USER, 8, 0x7f9d02f4b47, true);
    assert_kind(REFERENCE_USER, 8, 0xfffff800218f7c8c, false);
    assert_kind(REFERENCE_KERNEL, 8, 0x7f9d02f4b47, false);
    assert_kind(REFERENCE_KERNEL, 8, 0xfffff800218f7c8c, true);
    /* 32 bits: the kernel has from 2 GB on, or leaves its programs up to 3 GB. */
    assert_kind(REFERENCE_USER, 4, 0x7ffe0000, true);
    assert_kind(REFERENCE_USER, 4, 0xbfff0000, true);
    assert_kind(REFERENCE_USER, 4, 0xc0000000, false);
    assert_kind(REFERENCE_KERNEL, 4, 0x7ffe0000, false);
    assert_kind(REFERENCE_KERNEL, 4, 0x80000000, true);
    assert_kind(REFERENCE_KERNEL, 4, 0xfffe0000, true);
}

static void equal_keys_of_two_traces_are_two_stacks(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    learn_definition(&f, KEY_RUNDOWN, 300, 7, 0xa);
    struct event_record of_b = definition(&f.payload, 0, KEY_RUNDOWN, 300, 7, 0xb);
    of_b.trace = &trace_b;
    stack_join_learn(f.join, &of_b);
    push_event(&f, 1, 100, 10, 11);
    struct event_record event = event_at(2, 100, 10, 11);
    event.trace = &trace_b;
    assert_true(stack_join_push(f.join, &event, 0));
    struct event_record ref = reference(&f.payload, 90, REFERENCE_USER, 100, 10, 11, 7);
    ref.trace = &trace_b;
    assert_true(stack_join_push(f.join, &ref, 0));
    push_reference(&f, 91, REFERENCE_USER, 100, 10, 11, 7);
    assert_log(&f, "1[a] 2[b]");
    fixture_fini(&f);
}

/* ---- limits ---------------------------------------------------------------------------------------- */

static void events_are_held_for_a_second_of_event_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_event(&f, 1, 100, 10, 11);
    push_event(&f, 2, 100 + SECOND, 10, 11);
    assert_span(buf_span(&f.log), "");
    push_stack(&f, 90, 100, 10, 11, 0xa, 1);
    push_event(&f, 3, 101 + SECOND, 10, 11);
    assert_span(buf_span(&f.log), "1[a]");
    push_stack(&f, 91, 100, 10, 11, 0xb, 1); /* too late */
    assert_log(&f, "1[a] 2 3 91");
    fixture_fini(&f);
}

static void time_that_starts_again_is_joined_too(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_event(&f, 1, 1000 * (int64_t)SECOND, 10, 11);
    push_event(&f, 2, 100, 10, 11); /* the next file, recorded earlier */
    assert_span(buf_span(&f.log), "1");
    push_event(&f, 3, 101, 10, 11);
    push_stack(&f, 90, 100, 10, 11, 0xa, 1);
    assert_log(&f, "1 2[a] 3");
    fixture_fini(&f);
}

/* A hostile trace repeats the stack of one event: it must not push its own event out. */
static void a_stack_that_is_repeated_without_end_stays_with_its_event(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    push_event(&f, 1, 100, 10, 11);
    push_event(&f, 2, 101, 10, 12);
    for (int i = 0; i < 3000; i++) {
        assert_true(push_stack(&f, 90, 100, 10, 11, 0xa, 1000));
        assert_true(push_stack(&f, 91, 101, 10, 12, 0xb, 1));
    }
    assert_true(stack_join_flush(f.join));
    struct span log = buf_span(&f.log);
    assert_span(span_first(log, 8), "1[a,b,c,");
    size_t commas = 0;
    for (size_t i = 0; i < log.size; i++) {
        commas += log.data[i] == ',';
    }
    /* 1,024 frames at most for each of them. */
    assert_int_equal(commas, 2 * 1023);
    struct stack_join_counts counts = stack_join_counts(f.join);
    assert_int_equal(counts.joined + counts.unmatched, 6000);
    fixture_fini(&f);
}

static void many_stacks_in_a_row_keep_the_order(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    enum { EVENTS = 2000 };
    for (int i = 0; i < EVENTS; i++) {
        push_event(&f, (uint16_t)i, 100 + i, 10, 11);
    }
    for (int i = 0; i < EVENTS; i++) { /* 16 MB of frames */
        assert_true(push_stack(&f, 9999, 100 + i, 10, 11, 0x1000, 1024));
    }
    assert_true(stack_join_flush(f.join));
    struct stack_join_counts counts = stack_join_counts(f.join);
    assert_int_equal(counts.joined + counts.unmatched, EVENTS);
    assert_true(counts.joined > 800);
    buf_add_byte(&f.log, 0);
    unsigned long next = 0;
    char *at = (char *)f.log.data;
    while (*at) {
        unsigned long id = strtoul(at, &at, 10);
        if (id != 9999) {
            assert_int_equal(id, next);
            next++;
        }
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    assert_int_equal(next, EVENTS);
    fixture_fini(&f);
}

static void a_receiver_that_has_enough_stops_everything(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f, STACK_WALK_JOIN);
    f.stop = true;
    assert_true(push_event(&f, 1, 100, 10, 11));
    assert_false(push_event(&f, 2, 200 + SECOND, 10, 11));
    assert_false(stack_join_flush(f.join));
    fixture_fini(&f);
    fixture_init(&f, STACK_WALK_EVENTS);
    f.stop = true;
    assert_false(push_event(&f, 1, 100, 10, 11));
    fixture_fini(&f);
    stack_join_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stack_joins_the_event_with_its_time_thread_and_process),
        cmocka_unit_test(a_stack_without_partner_is_handed_on_in_place_and_counted),
        cmocka_unit_test(an_event_without_thread_is_found_by_its_processor),
        cmocka_unit_test(the_kernel_and_the_user_part_become_one_stack),
        cmocka_unit_test(frames_of_a_32_bit_record_have_4_bytes),
        cmocka_unit_test(a_stack_of_another_trace_is_no_partner),
        cmocka_unit_test(a_stack_walk_record_never_owns_a_stack),
        cmocka_unit_test(a_trace_without_stacks_does_not_part_events_from_theirs),
        cmocka_unit_test(stacks_cut_short_are_handed_on),
        cmocka_unit_test(mode_events_hands_everything_on_at_once),
        cmocka_unit_test(mode_drop_leaves_stacks_out_and_counts_them),
        cmocka_unit_test(a_key_that_was_defined_before_is_resolved),
        cmocka_unit_test(a_key_that_is_defined_afterwards_is_known_from_the_metadata_pass),
        cmocka_unit_test(a_key_used_again_after_its_end_means_another_stack),
        cmocka_unit_test(a_new_life_of_a_key_does_not_speak_for_the_one_before),
        cmocka_unit_test(a_deleted_key_is_unknown_until_it_is_created_again),
        cmocka_unit_test(a_reference_means_the_life_of_its_own_time_not_the_events),
        cmocka_unit_test(within_one_tick_the_order_of_the_processors_records_tells),
        cmocka_unit_test(a_creation_after_a_reference_tells_nothing_of_it),
        cmocka_unit_test(a_users_reference_takes_no_kernel_stack_and_a_kernels_no_users),
        cmocka_unit_test(equal_keys_of_two_traces_are_two_stacks),
        cmocka_unit_test(events_are_held_for_a_second_of_event_time),
        cmocka_unit_test(time_that_starts_again_is_joined_too),
        cmocka_unit_test(a_stack_that_is_repeated_without_end_stays_with_its_event),
        cmocka_unit_test(many_stacks_in_a_row_keep_the_order),
        cmocka_unit_test(a_receiver_that_has_enough_stops_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
