#include <stdio.h>

#include "unit/event/writer_fixture.h"

/* ---- extended items -------------------------------------------------------------------------- */

static const struct {
    uint16_t type;
    const char *bytes;
    const char *json; /* NULL: has no member */
} extended_cases[] = {
    {EXTENDED_SID, "0101000000000005 12000000", "\"sid\":\"S-1-5-18\""},
    {EXTENDED_SID, "01ff", "\"sid\":\"01ff\""},
    {EXTENDED_TS_ID, "02000000", "\"session_id\":2"},
    {EXTENDED_INSTANCE_INFO, "01000000 02000000 6e12951c ea7e a949 a3fea378b03ddb4d",
        "\"instance\":{\"id\":1,\"parent_id\":2,\"parent_guid\":\"" FIXTURE_GUID "\"}"},
    {EXTENDED_INSTANCE_INFO, "0100", "\"instance\":\"0100\""},
    {EXTENDED_STACK_TRACE32, "0000000000000000 34120000 ffffffff",
        "\"stack\":[\"0x1234\",\"0xffffffff\"]"},
    {EXTENDED_STACK_TRACE64, "0500000000000000 34120000 00f8ffff",
        "\"stack_match_id\":5,\"stack\":[\"0xfffff80000001234\"]"},
    {EXTENDED_STACK_TRACE64, "", "\"stack\":[]"},
    {EXTENDED_PEBS_INDEX, "0700000000000000", "\"pebs_index\":7"},
    {EXTENDED_PMC_COUNTERS, "0100000000000000 ffffffffffffffff",
        "\"pmc_counters\":[1,18446744073709551615]"},
    {EXTENDED_PSM_KEY, "0a0b", "\"psm_key\":\"0a0b\""},
    {EXTENDED_EVENT_KEY, "0800000000000000", "\"event_key\":8"},
    {EXTENDED_PROCESS_START_KEY, "c600000000800000", "\"start_key\":140737488355526"},
    {EXTENDED_CONTROL_GUID, "6e12951c ea7e a949 a3fea378b03ddb4d",
        "\"control_guid\":\"" FIXTURE_GUID "\""},
    {EXTENDED_QPC_DELTA, "0900000000000000", "\"qpc_delta\":9"},
    {EXTENDED_CONTAINER_ID, "6e12951c ea7e a949 a3fea378b03ddb4d",
        "\"container_id\":\"" FIXTURE_GUID "\""},
    {EXTENDED_STACK_KEY32, "0000000000000000 78563412 00000000", "\"stack_key\":[\"0x12345678\"]"},
    {EXTENDED_STACK_KEY64, "0000000000000000 7856341200000080",
        "\"stack_key\":[\"0x8000000012345678\"]"},
    {0x7f, "abcd", "\"type_0x7f\":\"abcd\""},
    {EXTENDED_RELATED_ACTIVITY_ID, "00000000000000000000000000000000", NULL},
    {EXTENDED_SCHEMA_TL, "0b00", NULL},
    {EXTENDED_PROV_TRAITS, "0b00", NULL},
};

enum { EXTENDED_CASES = sizeof(extended_cases) / sizeof(extended_cases[0]) };

static void each_extended_item_has_its_member(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    for (size_t i = 0; i < EXTENDED_CASES; i++) {
        struct extended_item item = {extended_cases[i].type, payload_make(extended_cases[i].bytes)};
        f.record.extended = &item;
        f.record.extended_count = 1;
        char text[512];
        snprintf(text, sizeof(text), "%s%s%s%s}\n",
            FIXTURE_STAMP PROVIDER("manifest") EVENT_0("}") ",\"data\":{}",
            extended_cases[i].json ? ",\"extended\":{" : "",
            extended_cases[i].json ? extended_cases[i].json : "",
            extended_cases[i].json ? "}" : "");
        assert_written_at(&f, &event_format_native, text, __FILE__, __LINE__);
        payload_free(item.data);
    }
    fixture_fini(&f);
}

/* With any length in an item of a hostile trace: one line, and no read beyond it. */
static void extended_items_of_any_length_do_no_harm(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    for (uint16_t type = 0; type < 0x14; type++) {
        for (size_t size = 0; size < 40; size++) {
            uint8_t *bytes = calloc(1, size ? size : 1);
            assert_non_null(bytes);
            memset(bytes, 0xff, size);
            struct extended_item item = {type, span_make(bytes, size)};
            f.record.extended = &item;
            f.record.extended_count = 1;
            buf_reset(&f.out);
            event_format_native.event(f.writer, &f.event, &f.out);
            assert_false(f.out.failed);
            assert_int_equal(f.out.data[f.out.size - 1], '\n');
            free(bytes);
        }
    }
    fixture_fini(&f);
}

static void related_activity_and_repeated_items(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct span related = payload_make("6e12951c ea7e a949 a3fea378b03ddb4d");
    struct span key = payload_make("0800000000000000");
    struct span other_key = payload_make("0900000000000000");
    const struct extended_item items[] = {{EXTENDED_RELATED_ACTIVITY_ID, related},
        {EXTENDED_EVENT_KEY, key}, {EXTENDED_EVENT_KEY, other_key}, {EXTENDED_TS_ID, key}};
    f.record.extended = items;
    f.record.extended_count = 4;
    assert_native(&f, PLAIN("manifest", ",\"related_activity_id\":\"" FIXTURE_GUID "\",\"data\":{},"
                                        "\"extended\":{\"event_key\":8,\"session_id\":8}"));
    payload_free(related);
    payload_free(key);
    payload_free(other_key);
    fixture_fini(&f);
}

static void a_joined_stack_follows_the_one_in_the_header(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct span stack = payload_make("0000000000000000 0100000000000000");
    struct span key = payload_make("0800000000000000");
    const struct extended_item items[] = {
        {EXTENDED_EVENT_KEY, key}, {EXTENDED_STACK_TRACE64, stack}};
    f.record.extended = items;
    f.record.extended_count = 2;
    f.event.stack = (const uint64_t[]){0x20};
    f.event.stack_count = 1;
    assert_native(&f, PLAIN("manifest", ",\"data\":{},\"extended\":{\"event_key\":8,"
                                        "\"stack\":[\"0x1\",\"0x20\"]}"));
    payload_free(stack);
    payload_free(key);
    fixture_fini(&f);
}

/* 32- and 64-bit stacks are two items with one name, which JSON must not contain twice. */
static void no_member_stands_twice(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    struct span stack = payload_make("0000000000000000 0100000002000000");
    const struct extended_item items[] = {{EXTENDED_STACK_TRACE32, stack},
        {EXTENDED_STACK_TRACE64, stack}, {0x40, stack}, {0x40, stack}};
    f.record.extended = items;
    f.record.extended_count = 4;
    assert_native(&f, PLAIN("manifest", ",\"data\":{},\"extended\":{"
                                        "\"type_0x40\":\"00000000000000000100000002000000\","
                                        "\"stack\":[\"0x1\",\"0x2\",\"0x200000001\"]}"));
    payload_free(stack);
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_extended_item_has_its_member),
        cmocka_unit_test(extended_items_of_any_length_do_no_harm),
        cmocka_unit_test(related_activity_and_repeated_items),
        cmocka_unit_test(a_joined_stack_follows_the_one_in_the_header),
        cmocka_unit_test(no_member_stands_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
