#include "support/test.h"

#include <stdlib.h>

#include "schema/source/schema_sources.h"

/* Metadata blobs written byte by byte after the format comment of TraceLoggingProvider.h. */
static const struct schema_source_ops *const ops = &schema_source_tracelogging;

static const struct event_schema *find(
    void *source, const void *blob, size_t size, const void *traits, size_t traits_size)
{
    /* Blocks of the exact size, so that sanitizers see a read beyond the end. */
    uint8_t *blob_copy = malloc(size ? size : 1);
    uint8_t *traits_copy = malloc(traits_size ? traits_size : 1);
    assert_true(blob_copy && traits_copy);
    memcpy(blob_copy, blob, size);
    if (traits_size) {
        memcpy(traits_copy, traits, traits_size);
    }
    const struct extended_item items[] = {
        {EXTENDED_SCHEMA_TL, span_make(blob_copy, size)},
        {EXTENDED_PROV_TRAITS, span_make(traits_copy, traits_size)},
    };
    const struct event_record record = {
        .kind = RECORD_EVENT,
        .provider = {{7}},
        .descriptor = {.channel = 11, .level = 5},
        .extended = items,
        .extended_count = traits_size ? 2 : 1,
    };
    struct schema_candidates found = {.count = 0};
    ops->find(source, &record, &found);
    free(blob_copy);
    free(traits_copy);
    assert_true(found.count <= 1);
    return found.count ? found.list[0] : NULL;
}

static void *create(void)
{
    static const struct schema_source_settings settings;
    struct error err = {0};
    void *source = ops->create(&settings, &err);
    assert_non_null(source);
    return source;
}

/* u16 size, one tag byte, "E", then the fields. */
#define BLOB(size_byte, fields) \
    size_byte "\0"              \
              "\0"              \
              "E\0" fields

static void an_event_has_its_name_and_that_of_its_provider(void **state)
{
    (void)state;
    /* Captured from the AmsiTrace provider: a counted UTF-16 text is an array of UINT16. */
    static const char blob[] = "\x2b\0\0AmsiScript\0Engine\0\x01Script\0\x01Raw Script\0\xc6\x02";
    static const char traits[] = "\x0c\0AmsiTrace";
    void *source = create();
    const struct event_schema *e = find(source, blob, sizeof(blob) - 1, traits, sizeof(traits));
    assert_non_null(e);
    assert_int_equal(e->kind, SCHEMA_TRACELOGGING);
    assert_string_equal(e->source, "tracelogging");
    assert_true(e->has_layout);
    assert_span(e->event_name, "AmsiScript");
    assert_span(e->provider_name, "AmsiTrace");
    assert_int_equal(e->field_count, 3);
    assert_span(e->fields[0].name, "Engine");
    assert_int_equal(e->fields[0].in_type, IN_UNICODE_STRING);
    assert_int_equal(e->fields[2].in_type, IN_UINT16);
    assert_int_equal(e->fields[2].out_type, OUT_STRING);
    assert_int_equal(e->fields[2].flags, FIELD_COUNTED);
    e = find(source, blob, sizeof(blob) - 1, NULL, 0);
    assert_span(e->provider_name, "");
    ops->destroy(source);
}

static void traits_that_are_cut_short_name_no_provider(void **state)
{
    (void)state;
    static const char traits[] = "\x0c\0AmsiTrace";
    void *source = create();
    for (size_t size = 1; size < sizeof(traits); size++) {
        const struct event_schema *e = find(source, BLOB("\x05", ""), 5, traits, size);
        assert_span(e->provider_name, "");
    }
    assert_span(find(source, BLOB("\x05", ""), 5, "\x01\0A", 4)->provider_name, "");
    /* Traits after the name are ignored. */
    assert_span(
        find(source, BLOB("\x05", ""), 5, "\x09\0A\0\x05\0\x80\x01\x02", 9)->provider_name, "A");
    ops->destroy(source);
}

struct type_row {
    uint8_t in;
    uint8_t out; /* 0: none */
    uint16_t in_type;
    uint16_t out_type;
};

static void types_are_translated_to_those_of_tdh(void **state)
{
    (void)state;
    static const struct type_row rows[] = {
        {1, 0, IN_UNICODE_STRING, OUT_NULL},
        {2, 35, IN_ANSI_STRING, OUT_UTF8},
        {2, 12, IN_ANSI_STRING, OUT_JSON},
        {3, 17, IN_INT8, OUT_BYTE},
        {4, 2, IN_UINT8, OUT_STRING},
        {4, 3, IN_UINT8, OUT_BOOLEAN},
        {4, 4, IN_UINT8, OUT_HEX_INT8},
        {6, 4, IN_UINT16, OUT_HEX_INT16},
        {6, 7, IN_UINT16, OUT_PORT},
        {7, 15, IN_INT32, OUT_HRESULT},
        {7, 18, IN_INT32, OUT_UNSIGNED_INT},
        {8, 4, IN_UINT32, OUT_HEX_INT32},
        {8, 5, IN_UINT32, OUT_PID},
        {8, 6, IN_UINT32, OUT_TID},
        {8, 8, IN_UINT32, OUT_IPV4},
        {8, 13, IN_UINT32, OUT_WIN32_ERROR},
        {8, 14, IN_UINT32, OUT_NTSTATUS},
        {10, 4, IN_UINT64, OUT_HEX_INT64},
        {10, 16, IN_UINT64, OUT_DATETIME},
        {10, 37, IN_UINT64, OUT_CODE_POINTER},
        {10, 17, IN_UINT64, OUT_LONG},
        {13, 0, IN_BOOLEAN, OUT_NULL},
        {14, 0, IN_MANIFEST_COUNTED_BINARY, OUT_NULL},
        {14, 4, IN_MANIFEST_COUNTED_BINARY, OUT_HEX_BINARY},
        {14, 9, IN_MANIFEST_COUNTED_BINARY, OUT_IPV6},
        {14, 10, IN_MANIFEST_COUNTED_BINARY, OUT_SOCKET_ADDRESS},
        {15, 0, IN_GUID, OUT_NULL},
        {17, 38, IN_FILETIME, OUT_DATETIME_UTC},
        {19, 0, IN_SID, OUT_NULL},
        {20, 0, IN_HEX_INT32, OUT_NULL},
        {22, 11, IN_MANIFEST_COUNTED_STRING, OUT_XML},
        {23, 0, IN_MANIFEST_COUNTED_ANSI_STRING, OUT_NULL},
        {25, 36, IN_MANIFEST_COUNTED_BINARY, OUT_PKCS7_WITH_TYPE_INFO},
        {8, 19, IN_UINT32, OUT_NULL},
        {8, 1, IN_UINT32, OUT_NO_PRINT},
    };
    void *source = create();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char blob[] = BLOB("\x09", "x\0\x00\x00");
        size_t size = rows[i].out ? 9 : 8;
        blob[0] = (char)size;
        blob[7] = (char)(rows[i].in | (rows[i].out ? 0x80 : 0));
        blob[8] = (char)rows[i].out;
        const struct event_schema *e = find(source, blob, size, NULL, 0);
        assert_true(e->has_layout);
        assert_int_equal(e->field_count, 1);
        assert_int_equal(e->fields[0].in_type, rows[i].in_type);
        assert_int_equal(e->fields[0].out_type, rows[i].out_type);
        assert_int_equal(e->fields[0].flags, 0);
    }
    ops->destroy(source);
}

static void tags_counts_and_type_information_are_passed_over_in_order(void **state)
{
    (void)state;
    /* Event tags 81 82 03; a: chain and field tags; b: 3 values; c: counted; d: custom, 2 bytes of
     * type information; e: counted GUIDs with out type, tags, count. */
    static const char blob[] = "\x00\0\x81\x82\x03"
                               "E\0"
                               "a\0\x88\x84\x85\x06"
                               "b\0\x24\x03\0"
                               "c\0\x4a"
                               "d\0\x6e\x02\0xy"
                               "e\0\xaf\x80\x00\x05\0";
    char copy[sizeof(blob)];
    memcpy(copy, blob, sizeof(blob));
    copy[0] = (char)(sizeof(blob) - 1);
    void *source = create();
    const struct event_schema *e = find(source, copy, sizeof(blob) - 1, NULL, 0);
    assert_true(e->has_layout);
    assert_int_equal(e->field_count, 5);
    assert_int_equal(e->fields[0].out_type, OUT_HEX_INT32);
    assert_int_equal(e->fields[1].flags, FIELD_FIXED_COUNT);
    assert_int_equal(e->fields[1].count, 3);
    assert_int_equal(e->fields[2].flags, FIELD_COUNTED);
    assert_int_equal(e->fields[3].in_type, IN_MANIFEST_COUNTED_BINARY);
    assert_int_equal(e->fields[3].flags, 0);
    assert_int_equal(e->fields[4].in_type, IN_GUID);
    assert_int_equal(e->fields[4].count, 5);
    ops->destroy(source);
}

/* "TraceLoggingCustom macro" on learn.microsoft.com: the protocol is a number from 0 to 31, and
 * decoders treat the value as binary. */
static void a_custom_field_is_binary_whatever_its_protocol_number_is(void **state)
{
    (void)state;
    for (int protocol = 0; protocol < 32; protocol++) {
        char blob[] = BLOB("\x10", "x\0\x60\x02\0sty\0\x08");
        blob[0] = (char)(sizeof(blob) - 1);
        blob[7] = (char)(0x60 | protocol);
        void *source = create();
        const struct event_schema *e = find(source, blob, sizeof(blob) - 1, NULL, 0);
        assert_true(e->has_layout);
        assert_int_equal(e->field_count, 2);
        assert_int_equal(e->fields[0].in_type, IN_MANIFEST_COUNTED_BINARY);
        assert_int_equal(e->fields[0].flags, 0);
        assert_int_equal(e->fields[1].in_type, IN_UINT32);
        ops->destroy(source);
    }
}

static void a_nested_struct_counts_as_one_member(void **state)
{
    (void)state;
    /* s[counted]{a, t{b, c}, d}, e */
    static const char blob[] = "\x00\0\0E\0"
                               "s\0\xd8\x03"
                               "a\0\x08"
                               "t\0\x98\x02"
                               "b\0\x08"
                               "c\0\x08"
                               "d\0\x08"
                               "e\0\x08";
    char copy[sizeof(blob)];
    memcpy(copy, blob, sizeof(blob));
    copy[0] = (char)(sizeof(blob) - 1);
    void *source = create();
    const struct event_schema *e = find(source, copy, sizeof(blob) - 1, NULL, 0);
    static const char *const names[] = {"s", "e", "a", "t", "d", "b", "c"};
    assert_true(e->has_layout);
    assert_int_equal(e->top_count, 2);
    assert_int_equal(e->field_count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_span(e->fields[i].name, names[i]);
    }
    assert_int_equal(e->fields[0].flags, FIELD_STRUCT | FIELD_COUNTED);
    assert_int_equal(e->fields[0].struct_start, 2);
    assert_int_equal(e->fields[0].struct_members, 3);
    assert_int_equal(e->fields[3].struct_start, 5);
    ops->destroy(source);
}

static void structs_that_end_together_close_together(void **state)
{
    (void)state;
    static const char blob[] = BLOB("\x14", "s\0\x98\x01t\0\x98\x01"
                                            "a\0\x08"
                                            "b\0\x08"
                                            "\0");
    void *source = create();
    const struct event_schema *e = find(source, blob, 0x13, NULL, 0);
    /* The size is one byte too large: the event has its name, but no layout. */
    assert_false(e->has_layout);
    char copy[sizeof(blob)];
    memcpy(copy, blob, sizeof(blob));
    copy[0] = 0x13;
    e = find(source, copy, 0x13, NULL, 0);
    assert_true(e->has_layout);
    assert_int_equal(e->top_count, 2);
    ops->destroy(source);
}

static void a_blob_cut_off_anywhere_names_its_event_or_nothing(void **state)
{
    (void)state;
    static const char blob[] = "\x1c\0\0Name\0s\0\x98\x02"
                               "a\0\x28\x02\0b\0\x84\x84t";
    void *source = create();
    size_t size = 0x16;
    for (size_t cut = 0; cut < size; cut++) {
        /* Once with the size of the whole blob, once with that of the piece. */
        char copy[sizeof(blob)];
        memcpy(copy, blob, sizeof(blob));
        for (size_t stated = cut; stated <= size; stated += size - cut) {
            copy[0] = (char)stated;
            const struct event_schema *e = find(source, copy, cut, NULL, 0);
            if (cut < 8) {
                assert_null(e);
                continue;
            }
            assert_span(e->event_name, "Name");
            assert_true(e->has_layout == (stated == 8 && cut == 8));
        }
    }
    ops->destroy(source);
}

static void blobs_that_make_no_sense_name_their_event_only(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        size_t size;
    } rows[] = {
        {"x\0\x00", 3}, /* no type */
        {"x\0\x1f", 3}, /* type 31 */
        {"x\0\x98\x02"
         "a\0\x08",
            7},                                 /* one member of two */
        {"x\0\x88\x80\x80\x80\x80\x80\x00", 9}, /* tags without end */
        {"x\0\x68\xff\xff", 5},                 /* type information beyond the end */
        {"s\0\x98\x01s\0\x98\x01s\0\x98\x01s\0\x98\x01s\0\x98\x01s\0\x98\x01s\0\x98\x01s\0\x98\x01"
         "s\0\x98\x01s\0\x98\x01"
         "a\0\x08",
            43}, /* ten structs deep */
    };
    void *source = create();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char blob[64] = "\0\0\0E";
        memcpy(blob + 5, rows[i].fields, rows[i].size);
        blob[0] = (char)(5 + rows[i].size);
        const struct event_schema *e = find(source, blob, 5 + rows[i].size, NULL, 0);
        assert_non_null(e);
        assert_false(e->has_layout);
        assert_int_equal(e->field_count, 0);
        assert_span(e->event_name, "E");
    }
    ops->destroy(source);
}

static void other_records_are_not_its_business(void **state)
{
    (void)state;
    void *source = create();
    const struct event_record record = {.kind = RECORD_EVENT};
    struct schema_candidates found = {.count = 0};
    ops->find(source, &record, &found);
    assert_int_equal(found.count, 0);
    ops->destroy(source);
    ops->destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_its_name_and_that_of_its_provider),
        cmocka_unit_test(traits_that_are_cut_short_name_no_provider),
        cmocka_unit_test(types_are_translated_to_those_of_tdh),
        cmocka_unit_test(tags_counts_and_type_information_are_passed_over_in_order),
        cmocka_unit_test(a_custom_field_is_binary_whatever_its_protocol_number_is),
        cmocka_unit_test(a_nested_struct_counts_as_one_member),
        cmocka_unit_test(structs_that_end_together_close_together),
        cmocka_unit_test(a_blob_cut_off_anywhere_names_its_event_or_nothing),
        cmocka_unit_test(blobs_that_make_no_sense_name_their_event_only),
        cmocka_unit_test(other_records_are_not_its_business),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
