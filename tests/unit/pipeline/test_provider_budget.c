#include "pipeline/work/provider_budget.h"

#include <stdio.h>

#include "event/model/kernel_groups.h"
#include "support/test.h"

static const uint64_t second_ns = UINT64_C(1000000000);

enum { VERBOSE = 5 };

static struct guid guid_of(unsigned number)
{
    struct guid guid = {{0x5a}};
    guid.bytes[14] = (uint8_t)(number >> 8);
    guid.bytes[15] = (uint8_t)number;
    return guid;
}

static struct event_record record_of(unsigned provider, uint8_t level)
{
    static const uint8_t payload[100];
    static const struct trace_info trace;
    return (struct event_record){.kind = RECORD_EVENT,
        .provider = guid_of(provider),
        .descriptor = {.id = 7, .level = level},
        .time = 5000,
        .payload = span_make(payload, sizeof(payload)),
        .trace = &trace};
}

static struct provider_limit limit_of(uint64_t events)
{
    return (struct provider_limit){.events = events, .burst_ns = 4 * second_ns};
}

static struct provider_budget *create(const struct provider_budget_settings *settings)
{
    struct error err;
    struct provider_budget *budget = provider_budget_create(settings, 0, &err);
    assert_non_null(budget);
    return budget;
}

/* The number of ${count} events at one moment that are kept. */
static unsigned kept(
    struct provider_budget *budget, const struct event_record *record, unsigned count)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i++) {
        kept += provider_budget_ask(budget, record, 0, 0) == PROVIDER_CUT_NONE;
    }
    return kept;
}

static void each_provider_has_its_own(void **state)
{
    (void)state;
    const struct provider_share shares[] = {{guid_of(1), "One", limit_of(10)},
        {guid_of(2), "Two", limit_of(100)}, {guid_of(1), "One again", limit_of(5)}};
    struct provider_budget *budget = create(
        &(struct provider_budget_settings){.shares = shares, .share_count = 3});
    struct event_record one = record_of(1, 2);
    struct event_record two = record_of(2, 2);
    struct event_record three = record_of(3, 2);
    /* Errors, so that a bucket is used up: the events of four seconds, and no more. */
    assert_int_equal(kept(budget, &one, 1000), 5 * 4);
    assert_int_equal(kept(budget, &three, 1000), 1000);
    assert_int_equal(kept(budget, &two, 1000), 100 * 4);
    assert_int_equal(kept(budget, &one, 1000), 0);
    provider_budget_destroy(budget);
}

static void others_have_one_each_and_then_one_together(void **state)
{
    (void)state;
    const struct provider_share shares[] = {{guid_of(1), "Free", {.burst_ns = second_ns}}};
    struct provider_budget *budget = create(&(struct provider_budget_settings){
        .shares = shares, .share_count = 1, .others = limit_of(10)});
    struct event_record free_one = record_of(1, 2);
    assert_int_equal(kept(budget, &free_one, 1000), 1000); /* it has no limit of its own */
    for (unsigned i = 2; i < 2 + 512; i++) {
        struct event_record record = record_of(i, 2);
        assert_int_equal(kept(budget, &record, 41), 40);
    }
    unsigned crowd = 0;
    for (unsigned i = 1000; i < 2000; i++) {
        struct event_record record = record_of(i, 2);
        crowd += kept(budget, &record, 1);
    }
    assert_int_equal(crowd, 40);
    size_t cursor = 0;
    struct gap gap;
    unsigned gaps = 0;
    uint64_t count = 0;
    while (provider_budget_next_gap(budget, &cursor, &gap)) {
        gaps++;
        count += gap.count;
    }
    assert_int_equal(gaps, 512 + 1);
    assert_string_equal(gap.provider, "other providers");
    assert_int_equal(count, 512 + 960);
    provider_budget_destroy(budget);
}

static void what_is_left_out_is_told_once_by_provider_and_reason(void **state)
{
    (void)state;
    const struct provider_share shares[] = {{guid_of(1), "One", limit_of(1000)},
        {guid_of(2), "Two", limit_of(10)}, {guid_of(3), NULL, limit_of(1)}};
    struct provider_budget *budget = create(
        &(struct provider_budget_settings){.shares = shares, .share_count = 3});
    uint64_t left_out[PROVIDER_CUT_COUNT] = {0};
    for (unsigned i = 0; i < 30000; i++) {
        struct event_record record = record_of(1, (uint8_t)(i % 2 ? VERBOSE : 3));
        record.time = 1000 + i;
        left_out[provider_budget_ask(budget, &record, 0, 0)]++;
    }
    struct event_record error = record_of(3, 2);
    assert_int_equal(kept(budget, &error, 10), 4);
    assert_true(provider_budget_has_gaps(budget));

    size_t cursor = 0;
    struct gap gap;
    uint64_t from = 0;
    for (int cut = PROVIDER_CUT_SAMPLED; cut < PROVIDER_CUT_COUNT; cut++) {
        assert_true(left_out[cut] > 0);
        assert_true(provider_budget_next_gap(budget, &cursor, &gap));
        assert_string_equal(gap.stage, "guard");
        assert_string_equal(gap.reason, provider_budget_reason((enum provider_cut)cut));
        assert_string_equal(gap.unit, "events");
        assert_string_equal(gap.provider, "One");
        assert_int_equal(gap.count, left_out[cut]);
        assert_true(gap.exact && gap.from > from && gap.to >= gap.from);
        from = gap.from;
    }
    assert_int_equal(gap.to, 1000 + 29999);
    assert_true(provider_budget_next_gap(budget, &cursor, &gap));
    assert_string_equal(gap.reason, "budget_provider");
    assert_string_equal(gap.provider, "0000005a-0000-0000-0000-000000000003");
    assert_int_equal(gap.count, 6);
    assert_int_equal(gap.from, 5000);
    assert_false(provider_budget_next_gap(budget, &cursor, &gap));
    assert_false(provider_budget_has_gaps(budget));
    cursor = 0;
    assert_false(provider_budget_next_gap(budget, &cursor, &gap));
    provider_budget_destroy(budget);
}

static void each_change_of_step_is_told_once(void **state)
{
    (void)state;
    const struct provider_share shares[] = {
        {guid_of(1), "One", limit_of(10)}, {guid_of(2), "Two", limit_of(10)}};
    struct provider_budget *budget = create(
        &(struct provider_budget_settings){.shares = shares, .share_count = 2});
    struct provider_change change;
    size_t cursor = 0;
    assert_false(provider_budget_next_change(budget, &cursor, &change));
    struct event_record record = record_of(2, VERBOSE);
    kept(budget, &record, 1000);
    cursor = 0;
    assert_true(provider_budget_next_change(budget, &cursor, &change));
    assert_string_equal(change.provider, "Two");
    assert_int_equal(change.from, 0);
    assert_true(change.to >= 5 && change.limit->events == 10);
    unsigned step = change.to;
    assert_false(provider_budget_next_change(budget, &cursor, &change));
    for (uint64_t s = 1; s < 60; s++) {
        provider_budget_tick(budget, s * second_ns);
        cursor = 0;
        while (provider_budget_next_change(budget, &cursor, &change)) {
            assert_int_equal(change.from, step);
            assert_int_equal(change.to, step - 1);
            step = change.to;
        }
    }
    assert_int_equal(step, 0);
    provider_budget_destroy(budget);
}

static void what_the_kernel_describes_is_kept_and_costs_nothing(void **state)
{
    (void)state;
    struct provider_budget *budget = create(
        &(struct provider_budget_settings){.others = limit_of(1)});
    /* Group and type of the kernel's, ntwmi.h: rundowns of processes, threads and images, file
     * names, keys of the registry, definitions of stacks, the machine. */
    static const uint16_t hooks[] = {0x0303, 0x0304, 0x0503, 0x1403, 0x0400, 0x0424, 0x0916, 0x0918,
        0x0919, 0x1822, 0x1823, 0x1824, 0x0b0a, 0x0000};
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        const struct event_record kernel = {.kind = RECORD_KERNEL,
            .hook_id = hooks[i],
            .provider = *kernel_group_class(hooks[i]),
            .descriptor = {.opcode = (uint8_t)hooks[i]}};
        assert_int_equal(kept(budget, &kernel, 100), 100);
    }
    assert_false(provider_budget_has_gaps(budget));
    provider_budget_destroy(budget);
}

/* The debt is at most a burst of four seconds, and each second pays one event. */
static void others_give_way_to_what_any_process_can_write(void **state)
{
    (void)state;
    static const uint8_t manifest[] = {1, 1, 0, 0x5b, 1, 0, 0, 0, '<'};
    struct event_record rundown = record_of(1, 4);
    rundown.descriptor.opcode = 3;
    struct event_record described = record_of(1, 4);
    described.descriptor = (struct event_descriptor){.id = 0xfffe, .task = 0xfffe, .opcode = 0xfe};
    described.payload = span_make(manifest, sizeof(manifest));
    const struct event_record *const records[] = {&rundown, &described};
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        struct provider_budget *budget = create(
            &(struct provider_budget_settings){.others = limit_of(1)});
        struct event_record event = record_of(1, 2);
        struct event_record of_another = record_of(2, 2);
        assert_int_equal(kept(budget, records[i], 3), 3);
        assert_int_equal(kept(budget, &event, 100), 1);
        assert_int_equal(kept(budget, records[i], 100), 100);
        assert_int_equal(kept(budget, &event, 1), 0);
        assert_int_equal(kept(budget, &of_another, 100), 4);
        assert_int_equal(
            provider_budget_ask(budget, &event, 0, 4 * second_ns), PROVIDER_CUT_PROVIDER);
        assert_int_equal(
            provider_budget_ask(budget, &event, 0, 4 * second_ns + 1), PROVIDER_CUT_NONE);
        provider_budget_destroy(budget);
    }
}

static void payload_extended_items_and_stack_are_its_bytes(void **state)
{
    (void)state;
    static const uint8_t sid[28];
    const struct extended_item item = {EXTENDED_SID, span_make(sid, sizeof(sid))};
    const struct provider_limit limit = {.bytes = 100 + 28 + 3 * 8, .burst_ns = 4 * second_ns};
    const struct provider_share shares[] = {{guid_of(1), "One", limit}};
    struct provider_budget *budget = create(
        &(struct provider_budget_settings){.shares = shares, .share_count = 1});
    struct event_record record = record_of(1, 2);
    record.extended = &item;
    record.extended_count = 1;
    unsigned kept_count = 0;
    for (int i = 0; i < 20; i++) {
        kept_count += provider_budget_ask(budget, &record, 3, 0) == PROVIDER_CUT_NONE;
    }
    assert_int_equal(kept_count, 4);
    provider_budget_destroy(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_provider_has_its_own),
        cmocka_unit_test(others_have_one_each_and_then_one_together),
        cmocka_unit_test(what_is_left_out_is_told_once_by_provider_and_reason),
        cmocka_unit_test(each_change_of_step_is_told_once),
        cmocka_unit_test(what_the_kernel_describes_is_kept_and_costs_nothing),
        cmocka_unit_test(others_give_way_to_what_any_process_can_write),
        cmocka_unit_test(payload_extended_items_and_stack_are_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
