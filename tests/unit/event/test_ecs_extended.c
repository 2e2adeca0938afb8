#include "event/shape/ecs_extended.h"

#include <stdio.h>

#include "support/json_check.h"
#include "unit/event/writer_fixture.h"

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static void assert_items_at(const struct event *event, const char *json, const char *file, int line)
{
    char text[1024] = "";
    if (*json) {
        snprintf(text, sizeof(text), ",\"extended_data\":{%s}", json);
    }
    struct buf out;
    buf_init(&out, 1 << 20);
    ecs_extended_add(event, &out);
    assert_false(out.failed);
    assert_span_at(buf_span(&out), text, file, line);
    buf_fini(&out);
}

#define assert_items(event, json) assert_items_at((event), (json), __FILE__, __LINE__)

#define GUID_BYTES "6e12951c ea7e a949 a3fea378b03ddb4d"
#define GUID_JSON "{1C95126E-7EEA-49A9-A3FE-A378B03DDB4D}"

static const struct {
    uint16_t type;
    const char *bytes;
    const char *json;
} cases[] = {
    {EXTENDED_RELATED_ACTIVITY_ID, GUID_BYTES, "\"RELATED_ACTIVITYID\":\"" GUID_JSON "\""},
    {EXTENDED_SID, "0101000000000005 12000000", "\"SID\":\"S-1-5-18\""},
    {EXTENDED_SID, "01ff", "\"TYPE_0x2\":\"0x01FF\""},
    {EXTENDED_TS_ID, "02000000", "\"TS_ID\":2"},
    {EXTENDED_TS_ID, "0200", "\"TYPE_0x3\":\"0x0200\""},
    {EXTENDED_INSTANCE_INFO, "01000000 02000000 " GUID_BYTES, "\"INSTANCE_INFO\":\"8589934593\""},
    {EXTENDED_INSTANCE_INFO, "0100", "\"TYPE_0x4\":\"0x0100\""},
    {EXTENDED_STACK_TRACE32, "0000000000000000 34120000 ffffffff",
        "\"STACK_TRACE32\":[4660,4294967295]"},
    {EXTENDED_STACK_TRACE64, "0500000000000000 34120000 00f8ffff",
        "\"STACK_MATCH_ID\":\"5\",\"STACK_TRACE64\":[\"18446735277616534068\"]"},
    {EXTENDED_STACK_TRACE64, "", ""},
    {EXTENDED_PEBS_INDEX, "0700000000000000", "\"PEBS_INDEX\":\"7\""},
    {EXTENDED_PMC_COUNTERS, "0100000000000000 ffffffffffffffff",
        "\"PMC_COUNTERS\":[\"1\",\"18446744073709551615\"]"},
    {EXTENDED_PMC_COUNTERS, "01", "\"TYPE_0x8\":\"0x01\""},
    {EXTENDED_PSM_KEY, "0a0b000000000000", "\"PSM_KEY\":\"2826\""},
    {EXTENDED_EVENT_KEY, "0800000000000000", "\"EVENT_KEY\":\"8\""},
    {EXTENDED_SCHEMA_TL, "0b00ff", "\"EVENT_SCHEMA_TL\":\"0x0B00FF\""},
    {EXTENDED_PROV_TRAITS, "0b00", "\"PROV_TRAITS\":\"0x0B00\""},
    {EXTENDED_PROCESS_START_KEY, "c600000000800000", "\"PROCESS_START_KEY\":\"140737488355526\""},
    {EXTENDED_CONTROL_GUID, GUID_BYTES, "\"CONTROL_GUID\":\"" GUID_JSON "\""},
    {EXTENDED_QPC_DELTA, "0900000000000000", "\"QPC_DELTA\":\"9\""},
    {EXTENDED_CONTAINER_ID, GUID_BYTES, "\"CONTAINER_ID\":\"" GUID_JSON "\""},
    {EXTENDED_STACK_KEY32, "0000000000000000 78563412 00000000", "\"STACK_KEY32\":305419896"},
    {EXTENDED_STACK_KEY64, "0000000000000000 7856341200000080",
        "\"STACK_KEY64\":\"9223372037160195704\""},
    {0x7f, "abcd", "\"TYPE_0x7F\":\"0xABCD\""},
    {0, "", "\"TYPE_0x0\":\"\""},
};

static void each_item_has_the_name_of_its_type(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct extended_item item = {cases[i].type, payload_make(cases[i].bytes)};
        const struct event_record record = {.extended = &item, .extended_count = 1};
        const struct event event = {.record = &record};
        assert_items(&event, cases[i].json);
        payload_free(item.data);
    }
}

/* With any length in an item of a hostile trace: JSON, and no read beyond it. */
static void items_of_any_length_do_no_harm(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 1 << 20);
    for (uint16_t type = 0; type < 0x14; type++) {
        for (size_t size = 0; size < 80; size++) {
            uint8_t *bytes = malloc(size ? size : 1);
            assert_non_null(bytes);
            memset(bytes, 0xff, size);
            const struct extended_item items[] = {
                {type, span_make(bytes, size)}, {type, span_make(bytes, size)}};
            const struct event_record record = {.extended = items, .extended_count = 2};
            const struct event event = {.record = &record};
            buf_reset(&out);
            buf_add_text(&out, "{\"a\":1");
            ecs_extended_add(&event, &out);
            buf_add_byte(&out, '}');
            size_t at;
            assert_null(json_check(buf_span(&out), &at));
            free(bytes);
        }
    }
    buf_fini(&out);
}

static void stacks_of_one_width_are_one_list(void **state)
{
    (void)state;
    struct span stack = payload_make("0000000000000000 0100000002000000");
    const struct extended_item items[] = {{EXTENDED_STACK_TRACE32, stack},
        {EXTENDED_STACK_TRACE64, stack}, {EXTENDED_STACK_TRACE64, stack}, {0x40, stack},
        {0x40, stack}};
    const struct event_record record = {.extended = items, .extended_count = 5};
    const uint64_t joined[] = {0x20};
    const struct event event = {.record = &record, .stack = joined, .stack_count = 1};
    assert_items(&event, "\"TYPE_0x40\":\"0x00000000000000000100000002000000\","
                         "\"STACK_TRACE32\":[1,2],"
                         "\"STACK_TRACE64\":[\"8589934593\",\"8589934593\",\"32\"]");
    payload_free(stack);
}

static void an_instance_in_the_header_is_an_item(void **state)
{
    (void)state;
    const struct event_record record = {
        .present = RECORD_HAS_INSTANCE, .instance_id = 7, .parent_instance_id = 1};
    const struct event event = {.record = &record};
    assert_items(&event, "\"INSTANCE_INFO\":\"4294967303\"");
}

static void no_items_are_no_object(void **state)
{
    (void)state;
    const struct event_record record = {.sequence = 1};
    const struct event event = {.record = &record};
    assert_items(&event, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_item_has_the_name_of_its_type),
        cmocka_unit_test(items_of_any_length_do_no_harm),
        cmocka_unit_test(stacks_of_one_width_are_one_list),
        cmocka_unit_test(an_instance_in_the_header_is_an_item),
        cmocka_unit_test(no_items_are_no_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
