#include "etl_record_rig.h"

/* Extended items, and counters that become extended items. */

static void perfinfo_counters_become_extended_items(void **state)
{
    (void)state;
    struct etl_scope scope = scope_new();
    begin(17, 0x10 + 8 + 16 + 3, true);
    store_le16(bytes, 0x8202); /* PEBS index, two counters, version 2 */
    store_le16(bytes + 6, 0x0f2e);
    store_le64(bytes + 0x10, 77);
    store_le64(bytes + 0x18, 88);
    assert_null(read_bytes(bytes, 0x10 + 8 + 16 + 3, &scope));
    assert_int_equal(record.pointer_size, 8);
    assert_int_equal(record.descriptor.version, 2);
    assert_int_equal(record.extended_count, 2);
    const struct extended_item *pebs = record_extended(&record, EXTENDED_PEBS_INDEX);
    const struct extended_item *pmc = record_extended(&record, EXTENDED_PMC_COUNTERS);
    assert_int_equal(pebs->data.size, 8);
    assert_int_equal(load_le64(pebs->data.data), 77);
    assert_int_equal(pmc->data.size, 16);
    assert_int_equal(load_le64(pmc->data.data), 88);
    assert_span(record.payload, "ppp");
}

static void counters_beyond_the_record_stay_payload(void **state)
{
    (void)state;
    struct etl_scope scope = scope_new();
    begin(17, 0x10 + 12, true);
    store_le16(bytes, 0x0702);
    assert_non_null(read_bytes(bytes, 0x10 + 12, &scope));
    assert_int_equal(record.extended_count, 0);
    assert_int_equal(record.payload.size, 12);
}

/* An extended item as on disk. */
static size_t put_item(size_t at, uint16_t type, bool more, const char *data)
{
    size_t size = strlen(data);
    size_t padded = (8 + size + 7) & ~(size_t)7;
    store_le16(bytes + at, (uint16_t)padded);
    store_le16(bytes + at + 2, type);
    store_le16(bytes + at + 4, more);
    store_le16(bytes + at + 6, (uint16_t)size);
    memcpy(bytes + at + 8, data, size);
    return at + padded;
}

static void extended_items_are_chained(void **state)
{
    (void)state;
    struct etl_scope scope = scope_new();
    begin(19, 0x50 + 16 + 24 + 3, false);
    bytes[4] = EVENT_FLAG_EXTENDED_INFO;
    size_t at = put_item(0x50, EXTENDED_PROV_TRAITS, true, "abc");
    at = put_item(at, EXTENDED_SCHEMA_TL, false, "0123456789");
    assert_int_equal(at, 0x50 + 16 + 24);
    assert_null(read_bytes(bytes, at + 3, &scope));
    assert_int_equal(record.extended_count, 2);
    assert_span(record_extended(&record, EXTENDED_PROV_TRAITS)->data, "abc");
    assert_span(record_extended(&record, EXTENDED_SCHEMA_TL)->data, "0123456789");
    assert_null(record_extended(&record, EXTENDED_SID));
    assert_span(record.payload, "ppp");
}

static void a_broken_item_keeps_those_before_it(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint16_t value;
    } rows[] = {
        {0x60, 7},      /* shorter than its header */
        {0x60, 0x1000}, /* longer than the record, although another one should follow */
        {0x66, 17},     /* more data than its length */
        {0x66, 0xffff}, /* more data than the record */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct etl_scope scope = scope_new();
        begin(19, 0x50 + 16 + 24 + 3, false);
        bytes[4] = EVENT_FLAG_EXTENDED_INFO;
        put_item(
            put_item(0x50, EXTENDED_PROV_TRAITS, true, "abc"), EXTENDED_SID, true, "0123456789");
        store_le16(bytes + rows[i].at, rows[i].value);
        assert_non_null(read_bytes(bytes, 0x50 + 16 + 24 + 3, &scope));
        assert_int_equal(record.extended_count, 1);
        assert_int_equal(record.payload.size, 24 + 3);
    }
}

static void the_last_padding_may_be_missing(void **state)
{
    (void)state;
    struct etl_scope scope = scope_new();
    begin(19, 0x50 + 11, false);
    bytes[4] = EVENT_FLAG_EXTENDED_INFO;
    put_item(0x50, EXTENDED_PROV_TRAITS, false, "abc");
    assert_null(read_bytes(bytes, 0x50 + 11, &scope));
    assert_span(record.extended[0].data, "abc");
    assert_int_equal(record.payload.size, 0);
}

static void items_beyond_the_limit_are_left_out(void **state)
{
    (void)state;
    struct etl_scope scope = scope_new();
    size_t count = RECORD_MAX_EXTENDED + 1;
    begin(19, 0x50 + count * 8 + 3, false);
    bytes[4] = EVENT_FLAG_EXTENDED_INFO;
    for (size_t i = 0; i < count; i++) {
        put_item(0x50 + i * 8, EXTENDED_EVENT_KEY, i + 1 < count, "");
    }
    assert_non_null(read_bytes(bytes, 0x50 + count * 8 + 3, &scope));
    assert_int_equal(record.extended_count, RECORD_MAX_EXTENDED);
    assert_span(record.payload, "ppp");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfinfo_counters_become_extended_items),
        cmocka_unit_test(counters_beyond_the_record_stay_payload),
        cmocka_unit_test(extended_items_are_chained),
        cmocka_unit_test(a_broken_item_keeps_those_before_it),
        cmocka_unit_test(the_last_padding_may_be_missing),
        cmocka_unit_test(items_beyond_the_limit_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
