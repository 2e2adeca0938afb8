/* Conditions on payloads, which TDH turns into filters. */
#include "etw_enable_rig.h"

/* ---- payload --------------------------------------------------------------------------------- */

static struct {
    char field[2][64];
    char value[2][64];
    uint16_t ops[2];
    uint16_t id;
    uint8_t match_any;
    uint32_t created, deleted, joined, cleaned;
    uint32_t create_result;
    uint32_t size;
} tdh;

static uint32_t tdh_create(const struct guid *guid, const struct event_descriptor *descriptor,
    uint8_t match_any, uint32_t count, struct etw_predicate *predicates, void **ret_filter)
{
    assert_true(guid_equal(guid, &provider));
    tdh.id = descriptor->id;
    tdh.match_any = match_any;
    for (uint32_t i = 0; i < count && i < 2; i++) {
        etw_text_decode(predicates[i].field_name, 64, tdh.field[i], 64);
        etw_text_decode(predicates[i].value, 64, tdh.value[i], 64);
        tdh.ops[i] = predicates[i].compare_op;
    }
    if (tdh.create_result) {
        return tdh.create_result;
    }
    tdh.created++;
    *ret_filter = &tdh;
    return 0;
}

static uint32_t tdh_delete(void **filter)
{
    assert_ptr_equal(*filter, &tdh);
    *filter = NULL;
    tdh.deleted++;
    return 0;
}

static uint32_t tdh_join(
    uint32_t count, void **filters, uint8_t *match_all, struct etw_filter *ret_filter)
{
    static const uint8_t blob[8192] = "secret";
    assert_int_equal(count, tdh.created);
    for (uint32_t i = 0; i < count; i++) {
        assert_ptr_equal(filters[i], &tdh);
        assert_int_equal(match_all[i], 0);
    }
    tdh.joined++;
    *ret_filter = (struct etw_filter){
        .data = (uint64_t)(uintptr_t)blob, .size = tdh.size, .type = 0x80000100};
    return 0;
}

static uint32_t tdh_clean(struct etw_filter *filter)
{
    assert_int_equal(filter->size, tdh.size);
    tdh.cleaned++;
    return 0;
}

static const struct etw_payload_test payload_tests[] = {
    {"ImageName", ETW_PAYLOAD_CONTAINS, "powershell"}, {"Size", ETW_PAYLOAD_BETWEEN, "1,5"}};
static const struct etw_payload_filter payloads[] = {
    {.event = {.id = 1}, .count = 1, .tests = payload_tests},
    {.event = {.id = 5}, .match_any = true, .count = 2, .tests = payload_tests},
};

static int payload_set_up(void **state)
{
    int result = set_up(state);
    memset(&tdh, 0, sizeof(tdh));
    tdh.size = 100;
    fake.api.TdhCreatePayloadFilter = tdh_create;
    fake.api.TdhDeletePayloadFilter = tdh_delete;
    fake.api.TdhAggregatePayloadFilters = tdh_join;
    fake.api.TdhCleanupPayloadEventFilterDescriptor = tdh_clean;
    request.payload = payloads;
    request.payload_count = 2;
    return result;
}

#define payload_test(function) \
    cmocka_unit_test_setup_teardown(function, payload_set_up, fake_tear_down)

static void conditions_become_a_filter_of_windows(void **state)
{
    (void)state;
    assert_true(enable(NULL));
    assert_string_equal((const char *)only_filter(0x80000100, 100), "secret");
    assert_int_equal(tdh.id, 5);
    assert_int_equal(tdh.match_any, 1);
    assert_string_equal(tdh.field[0], "ImageName");
    assert_int_equal(tdh.ops[0], 20);
    assert_string_equal(tdh.value[0], "powershell");
    assert_string_equal(tdh.field[1], "Size");
    assert_int_equal(tdh.ops[1], 6);
    assert_string_equal(tdh.value[1], "1,5");
    assert_int_equal(tdh.created, 2);
    assert_int_equal(tdh.deleted, 2);
    assert_int_equal(tdh.joined, 1);
    assert_int_equal(tdh.cleaned, 1);
    assert_int_equal(outcome.acting, 0x100);
}

static void a_system_without_payload_filters_leaves_them_to_the_agent(void **state)
{
    (void)state;
    fake.api.TdhAggregatePayloadFilters = NULL;
    assert_true(enable(NULL));
    assert_int_equal(outcome.refused, 0x100);
    assert_int_equal(outcome.acting, 0);
    assert_int_equal(fake.calls[0].parameters.filter_count, 0);
    assert_int_equal(tdh.created, 0);
}

static void conditions_that_windows_cannot_take_name_the_event(void **state)
{
    struct error err;
    (void)state;
    tdh.create_result = 1168;
    assert_false(enable(&err));
    assert_int_equal(err.os_code, 1168);
    assert_non_null(strstr(err.text, "payload of event 1"));
    assert_non_null(strstr(err.text, "'ImageName'"));
    assert_int_equal(fake.count, 0);
    assert_int_equal(tdh.deleted, tdh.created);
    tdh.create_result = 0;
    tdh.size = 4097;
    assert_false(enable(&err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(tdh.cleaned, 1);
    assert_int_equal(tdh.deleted, tdh.created);
}

/* The events were not asked for by name, so the report does not mention that more arrive. */
static void conditions_that_may_be_spared_keep_no_provider_off(void **state)
{
    (void)state;
    request.payload_is_spare = true;
    tdh.create_result = 1168;
    assert_true(enable(NULL));
    assert_int_equal(outcome.refused, 0);
    assert_int_equal(fake.calls[0].parameters.filter_count, 0);
    tdh.create_result = 0;
    assert_true(enable(NULL));
    assert_int_equal(outcome.acting, 0x100);
}

static void conditions_have_limits(void **state)
{
    struct etw_payload_filter filter = {.event = {.id = 3}, .count = 9, .tests = payload_tests};
    struct etw_payload_test long_test = {letters(4096), ETW_PAYLOAD_IS, "1"};
    (void)state;
    request.payload = &filter;
    request.payload_count = 1;
    expect_limit("event 3 has 9 conditions, ETW takes 1 to 8");
    filter.count = 0;
    expect_limit("event 3 has 0 conditions");
    filter = (struct etw_payload_filter){.count = 1, .tests = &long_test};
    expect_limit("longer than ETW takes");
    request.payload_count = 65;
    expect_limit("conditions for 65 events, at most 64");
    request.payload = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        payload_test(conditions_become_a_filter_of_windows),
        payload_test(a_system_without_payload_filters_leaves_them_to_the_agent),
        payload_test(conditions_that_windows_cannot_take_name_the_event),
        payload_test(conditions_that_may_be_spared_keep_no_provider_off),
        payload_test(conditions_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
