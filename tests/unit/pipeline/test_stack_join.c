#include "unit/pipeline/stack_join_rig.h"

#include <stdlib.h>

/* Which event a stack belongs to, in each mode, and how long events are held for theirs. */

static const struct trace_info trace_plain = {.has_stacks = false, .pointer_size = 8};

/* ---- who owns a stack ------------------------------------------------------------------------ */

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
    /* No event is held only for it. */
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

/* ---- modes ----------------------------------------------------------------------------------- */

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

/* ---- limits ---------------------------------------------------------------------------------- */

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

/* A hostile trace repeats the stack of one event: it must not push out that event. */
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
        cmocka_unit_test(events_are_held_for_a_second_of_event_time),
        cmocka_unit_test(time_that_starts_again_is_joined_too),
        cmocka_unit_test(a_stack_that_is_repeated_without_end_stays_with_its_event),
        cmocka_unit_test(many_stacks_in_a_row_keep_the_order),
        cmocka_unit_test(a_receiver_that_has_enough_stops_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
