#include "event/model/record.h"

#include "support/test.h"

static struct event_record manifest_data(const uint8_t *envelope, size_t size)
{
    return (struct event_record){.kind = RECORD_EVENT,
        .descriptor = {.id = 65534, .task = 65534, .opcode = 254},
        .payload = span_make(envelope, size)};
}

static void exactly_three_kinds_of_records_are_metadata(void **state)
{
    (void)state;
    struct event_record record = {.kind = RECORD_KERNEL, .hook_id = 0};
    assert_true(record_is_metadata(&record));
    for (uint16_t hook = 1; hook < 0x1f00; hook++) { /* other EventTrace types are events */
        record.hook_id = hook;
        assert_false(record_is_metadata(&record));
    }
    record = (struct event_record){.kind = RECORD_CLASSIC};
    assert_false(record_is_metadata(&record));
    assert_true(guid_parse(span_text("{bbccf6c1-6cd1-48c4-80ff-839482e37671}"), &record.provider));
    assert_true(record_is_metadata(&record));
    record.descriptor.opcode = 99;
    assert_true(record_is_metadata(&record));
    record.kind = RECORD_EVENT;
    assert_false(record_is_metadata(&record));
    record.kind = RECORD_MESSAGE;
    assert_false(record_is_metadata(&record));
    record.kind = RECORD_OPAQUE;
    assert_false(record_is_metadata(&record));
}

static void manifest_data_is_known_by_its_envelope(void **state)
{
    (void)state;
    static const uint8_t envelope[] = {1, 1, 0, 0x5b, 1, 0, 0, 0, '<'};
    struct event_record record = manifest_data(envelope, sizeof(envelope));
    assert_true(record_is_manifest_data(&record));
    assert_true(record_is_metadata(&record));
    for (size_t size = 0; size <= sizeof(envelope); size++) {
        record = manifest_data(envelope, size);
        assert_int_equal(record_is_manifest_data(&record), size >= 8);
    }
    static const uint8_t other_format[] = {2, 1, 0, 0x5b, 1, 0, 0, 0};
    static const uint8_t other_magic[] = {1, 1, 0, 0x5c, 1, 0, 0, 0};
    record = manifest_data(other_format, 8);
    assert_false(record_is_metadata(&record));
    record = manifest_data(other_magic, 8);
    assert_false(record_is_metadata(&record));
    record = manifest_data(envelope, 8);
    record.descriptor.id = 65533;
    assert_false(record_is_metadata(&record));
    record = manifest_data(envelope, 8);
    record.kind = RECORD_CLASSIC;
    assert_false(record_is_manifest_data(&record));
}

static void the_first_item_of_a_type_is_found(void **state)
{
    (void)state;
    const struct extended_item items[] = {{EXTENDED_SID, span_text("a")},
        {EXTENDED_TS_ID, span_text("b")}, {EXTENDED_SID, span_text("c")}};
    const struct event_record record = {.extended = items, .extended_count = 3};
    assert_ptr_equal(record_extended(&record, EXTENDED_SID), &items[0]);
    assert_ptr_equal(record_extended(&record, EXTENDED_TS_ID), &items[1]);
    assert_null(record_extended(&record, EXTENDED_PSM_KEY));
    const struct event_record none = {.extended_count = 0};
    assert_null(record_extended(&none, EXTENDED_SID));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_three_kinds_of_records_are_metadata),
        cmocka_unit_test(manifest_data_is_known_by_its_envelope),
        cmocka_unit_test(the_first_item_of_a_type_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
