#include "unit/pipeline/stack_join_rig.h"

/* Stacks with keys: which life of a key a reference means, and to whose event the stack goes. */

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
    /* The definitions come again in their place; those that were used became part of an event. */
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
    /* Out of order, like buffers of several processors in a file. */
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
    push_referring(&f, 2, REFERENCE_USER, 190, 210, 0); /* the key was reused in between */
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
    /* Callers of both kinds may be in any stack. */
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
    /* 32 bits: the kernel begins at 2 GB, or leaves up to 3 GB to programs. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
