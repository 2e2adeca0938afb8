#include <stdio.h>

#include "support/overflow_model.h"
#include "unit/event/writer_fixture.h"

/* Options of a destination for an event's form, beside its format, written by hand from
 * docs/reference/events.md ("Options"). */

static void use_options(struct writer_fixture *f, struct event_options options)
{
    const struct event_writer_settings settings = {.options = options};
    fixture_use_writer(f, &settings);
}

static const struct schema_map_entry entries[] = {{UINT64_MAX, {(const uint8_t *)"All", 3}}};
static const struct schema_map names = {.kind = MAP_VALUE, .entries = entries, .entry_count = 1};

static const struct piece numbers[] = {
    {"U8", IN_UINT8, 0, "ff", NULL},
    {"U32", IN_UINT32, 0, "ffffffff", NULL},
    {"U64", IN_UINT64, 0, "ffffffffffffffff", NULL},
    {"Small", IN_UINT64, 0, "0500000000000000", NULL},
    {"Named", IN_UINT64, 0, "ffffffffffffffff", &names},
    {"Hex", IN_UINT64, OUT_HEX_INT64, "0500000000000000", NULL},
    {"I64", IN_INT64, 0, "ffffffffffffffff", NULL},
    {"Size", IN_SIZE_T, OUT_UNSIGNED_LONG, "0600000000000000", NULL},
    {"Double", IN_DOUBLE, 0, "000000000000f03f", NULL},
};

enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

static void set_message(struct writer_fixture *f, const char *message)
{
    f->schema.message = span_text(message);
}

static void uint64_fields_are_strings_by_their_type(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    use_options(&f, (struct event_options){.uint64_strings = true});
    fixture_set_fields(&f, numbers, NUMBERS);
    set_message(&f, "%3 of %4, %5");
    assert_native(
        &f, PLAIN("manifest",
                ",\"data\":{\"U8\":255,\"U32\":4294967295,\"U64\":\"18446744073709551615\","
                "\"Small\":\"5\",\"Named\":\"18446744073709551615\",\"Named_name\":\"All\","
                "\"Hex\":\"0x5\",\"I64\":-1,\"Size\":\"6\",\"Double\":1.0},"
                "\"message\":\"18446744073709551615 of 5, All\""));
    use_options(&f, (struct event_options){.uint64_strings = false});
    assert_native(&f,
        PLAIN("manifest", ",\"data\":{\"U8\":255,\"U32\":4294967295,\"U64\":18446744073709551615,"
                          "\"Small\":5,\"Named\":18446744073709551615,\"Named_name\":\"All\","
                          "\"Hex\":\"0x5\",\"I64\":-1,\"Size\":6,\"Double\":1.0},"
                          "\"message\":\"18446744073709551615 of 5, All\""));
    fixture_fini(&f);
}

/* The record has narrow pointers, so the mapping of a field does not depend on the machine. */
static void numbers_as_wide_as_pointers_are_strings_on_any_machine(void **state)
{
    (void)state;
    static const struct piece size = {"Size", IN_SIZE_T, OUT_UNSIGNED_LONG, "07000000", NULL};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    use_options(&f, (struct event_options){.uint64_strings = true});
    f.record.pointer_size = f.event.pointer_size = 4;
    fixture_set_fields(&f, &size, 1);
    assert_native(&f, PLAIN("manifest", ",\"data\":{\"Size\":\"7\"}"));
    fixture_fini(&f);
}

static void lists_of_uint64_are_lists_of_strings(void **state)
{
    (void)state;
    static const struct piece list = {"L", IN_UINT64, 0, "0100000000000000 ffffffffffffffff", NULL};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    use_options(&f, (struct event_options){.uint64_strings = true});
    fixture_set_fields(&f, &list, 1);
    f.fields[0].shape = FIELD_PACKED;
    f.fields[0].count = 2;
    f.fields[0].value_bytes = 8;
    assert_native(&f, PLAIN("manifest", ",\"data\":{\"L\":[\"1\",\"18446744073709551615\"]}"));
    fixture_fini(&f);
}

static void numbers_of_64_bits_outside_the_payload_are_strings_too(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    use_options(&f, (struct event_options){.uint64_strings = true});
    struct extended_item items[] = {
        {EXTENDED_TS_ID, payload_make("02000000")},
        {EXTENDED_PROCESS_START_KEY, payload_make("ffffffffffffffff")},
        {EXTENDED_PMC_COUNTERS, payload_make("0100000000000000 ffffffffffffffff")},
        {EXTENDED_STACK_TRACE64, payload_make("ffffffffffffffff 3412000000000000")},
    };
    f.record.extended = items;
    f.record.extended_count = 4;
    f.record.present = RECORD_HAS_PROCESSOR_TIME;
    f.record.processor_time = UINT64_MAX;
    assert_native(&f,
        FIXTURE_STAMP PROVIDER("manifest") EVENT_0(
            ",\"processor_time\":\"18446744073709551615\"}") ",\"data\":{},\"extended\":{"
                                                             "\"session_id\":2,\"start_key\":"
                                                             "\"18446744073709551615\","
                                                             "\"pmc_counters\":[\"1\","
                                                             "\"18446744073709551615\"],"
                                                             "\"stack_match_id\":"
                                                             "\"18446744073709551615\",\"stack\":["
                                                             "\"0x1234\"]}}");
    for (size_t i = 0; i < 4; i++) {
        payload_free(items[i].data);
    }
    fixture_fini(&f);
}

/* ---- ecs ------------------------------------------------------------------------------------- */

static bool holds(const struct writer_fixture *f, const char *text)
{
    char line[16384];
    assert_true(f->out.size < sizeof(line));
    memcpy(line, f->out.data, f->out.size);
    line[f->out.size] = '\0';
    return strstr(line, text) != NULL;
}

static void ecs_has_strings_whatever_is_wanted(void **state)
{
    (void)state;
    struct writer_fixture f;
    struct buf before;
    buf_init(&before, 1 << 20);
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, numbers, NUMBERS);
    event_format_ecs.event(f.writer, &f.event, &before);
    use_options(&f, (struct event_options){.uint64_strings = true});
    event_format_ecs.event(f.writer, &f.event, &f.out);
    assert_true(span_equal(buf_span(&before), buf_span(&f.out)));
    assert_true(holds(&f, "\"U64\":\"18446744073709551615\""));
    buf_fini(&before);
    fixture_fini(&f);
}

/* A server would refuse a wrong one: data streams require the value of `constant_keyword`. */
static void a_dataset_that_varies_is_left_out(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    use_options(
        &f, (struct event_options){.dataset_varies = true, .data_namespace = span_text("prod")});
    event_format_ecs.event(f.writer, &f.event, &f.out);
    assert_true(holds(&f, "\"data_stream\":{\"type\":\"logs\",\"namespace\":\"prod\"}"));
    assert_false(holds(&f, "dataset"));
    buf_reset(&f.out);
    struct gap gap = fixture_gap(&f);
    event_format_ecs.gap(f.writer, &gap, FIXTURE_TIME, 8, &f.out);
    assert_false(holds(&f, "dataset"));
    assert_true(holds(&f, "\"kind\":\"event\""));
    fixture_fini(&f);
}

/* ---- long strings ---------------------------------------------------------------------------- */

static const struct piece texts[] = {
    {"Text", IN_ANSI_STRING, 0, "'0123456789012345678901234567890123456789'", NULL},
    {"Raw", IN_BINARY, 0, "00112233445566778899aabbccddeeff001122", NULL},
    {"Short", IN_ANSI_STRING, 0, "'x'", NULL},
};

/* Text and message have 60 characters, so has the hex of Raw. */
static void a_long_string_of_a_native_event_overflows(void **state)
{
    (void)state;
    static const struct piece long_texts[] = {
        {"Text", IN_ANSI_STRING, 0,
            "'012345678901234567890123456789012345678901234567890123456789'", NULL},
        {"Raw", IN_BINARY, 0, "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d", NULL},
        {"Short", IN_ANSI_STRING, 0, "'x'", NULL},
    };
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    use_options(&f, (struct event_options){.max_string_bytes = 59});
    fixture_set_fields(&f, long_texts, 3);
    set_message(&f, "%1");
    assert_native(
        &f, PLAIN("manifest",
                ",\"data\":{\"Text\":\"0123456789012345678901234567890123456789012345678\","
                "\"Raw\":\"000102030405060708090a0b0c0d0e0f101112131415161718\",\"Short\":\"x\"},"
                "\"message\":\"012345678901234567890123456789012345678901234567890\","
                "\"overflow\":{\"Text\":"
                "\"012345678901234567890123456789012345678901234567890123456789\","
                "\"Raw\":\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d\","
                "\"message\":\"012345678901234567890123456789012345678901234567890123456789\"}"));
    fixture_fini(&f);
}

static void a_long_string_of_an_ecs_event_overflows(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    use_options(&f, (struct event_options){.max_string_bytes = 60});
    fixture_set_fields(&f, texts, 3);
    event_format_ecs.event(f.writer, &f.event, &f.out);
    assert_true(holds(&f, "\"event_data\":{\"Text\":\"0123456789012345678901234567890123456\","));
    assert_true(holds(&f, "\"overflow\":{\"Text\":\"0123456789012345678901234567890123456789\","
                          "\"Raw\":\"0x00112233445566778899AABBCCDDEEFF001122\"}}\n"));
    fixture_fini(&f);
}

/* The payload of an event without a definition is a string, too. */
static void undecoded_bytes_overflow_as_well(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_UNKNOWN);
    use_options(&f, (struct event_options){.max_string_bytes = 59});
    struct span payload = payload_make(
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d");
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    f.record.payload = payload;
    assert_native(
        &f, PLAIN("unknown", ",\"payload\":\"000102030405060708090a0b0c0d0e0f1011121314151617181\","
                             "\"overflow\":{\"payload\":"
                             "\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d\"}"));
    payload_free(payload);
    fixture_fini(&f);
}

/* 32,000 bytes with path and dot, in a short and in a long event. */
static void a_string_that_fits_is_never_cut(void **state)
{
    (void)state;
    enum { LIMIT = 32000, FITS = LIMIT - 7 };
    for (size_t more = 0; more < 2; more++) {
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        use_options(&f, (struct event_options){.max_string_bytes = LIMIT});
        char text[FITS + 4] = "'";
        memset(text + 1, 'x', FITS + more);
        text[1 + FITS + more] = '\'';
        const struct piece piece = {"A", IN_ANSI_STRING, 0, text, NULL};
        fixture_set_fields(&f, &piece, 1);
        event_format_native.event(f.writer, &f.event, &f.out);
        bool cut = f.out.size > 2 * FITS;
        assert_int_equal(cut, more);
        fixture_fini(&f);
    }
}

static void a_name_that_is_too_long_is_cut_in_short_events_too(void **state)
{
    (void)state;
    char name[701];
    memset(name, 'n', 700);
    name[700] = '\0';
    const struct piece piece = {name, IN_UINT32, 0, "2a000000", NULL};
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, &piece, 1);
    name[EVENT_NAME_MAX_BYTES] = '\0';
    char cut[800];
    snprintf(cut, sizeof(cut), "\"data\":{\"%s\":42}", name);
    event_format_native.event(f.writer, &f.event, &f.out);
    assert_false(holds(&f, cut));
    buf_reset(&f.out);
    use_options(&f, (struct event_options){.max_string_bytes = 32000});
    event_format_native.event(f.writer, &f.event, &f.out);
    assert_true(holds(&f, cut));
    fixture_fini(&f);
}

static void options_are_the_same_or_not(void **state)
{
    (void)state;
    static const struct event_options options[] = {
        {.max_string_bytes = 0},
        {.times = EVENT_TIMES_NANOS},
        {.max_string_bytes = 2},
/* Each member of the table alone; times: EVENT_TIMES_DATE. */
#define ONE_NUMBER 1
#define ONE_TEXT                \
    {                           \
        (const uint8_t *)"a", 1 \
    }
#define OPTION(kind, type, member, key, id) {.member = ONE_##kind},
#include "event/write/event_options.def"
#undef OPTION
    };
    enum { COUNT = sizeof(options) / sizeof(options[0]) };
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < COUNT; k++) {
            assert_int_equal(event_options_equal(&options[i], &options[k]), i == k);
        }
    }
}

/* Catalogues and indices have keys and ids of these words. */
static void the_words_of_options_never_change(void **state)
{
    (void)state;
    static const struct {
        struct event_options options;
        const char *key;
        const char *id;
    } rows[] = {
        {{.max_string_bytes = 0}, "uint64 0 max_string 0 varies 0\ndataset 0 \nnamespace 0 \n",
            " uint64=number max_string=0"},
        {{.uint64_strings = true,
             .max_string_bytes = UINT32_MAX,
             .dataset_varies = true,
             .times = EVENT_TIMES_NANOS,
             .dataset = {(const uint8_t *)"etw.dns", 7},
             .data_namespace = {(const uint8_t *)"prod", 4}},
            "uint64 1 max_string 4294967295 varies 1\ntimes nanos\ndataset 7 etw.dns\n"
            "namespace 4 prod\n",
            " uint64=string max_string=4294967295 times=nanos"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out;
        buf_init(&out, 1024);
        event_options_add_key(&rows[i].options, &out);
        assert_true(span_is(buf_span(&out), rows[i].key));
        buf_reset(&out);
        event_options_add_id(&rows[i].options, &out);
        assert_true(span_is(buf_span(&out), rows[i].id));
        buf_fini(&out);
    }
}

static void options_keep_their_texts_in_the_memory_of_another(void **state)
{
    (void)state;
    char text[] = "etw.dnsprod";
    const struct event_options options = {
        .dataset = {(const uint8_t *)text, 7}, .data_namespace = {(const uint8_t *)text + 7, 4}};
    struct event_options copy = options;
    struct buf memory;
    buf_init(&memory, 100);
    event_options_add_texts(&options, &memory);
    event_options_take_texts(&copy, buf_span(&memory));
    memset(text, 'x', sizeof(text));
    assert_true(span_is(copy.dataset, "etw.dns"));
    assert_true(span_is(copy.data_namespace, "prod"));
    buf_fini(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uint64_fields_are_strings_by_their_type),
        cmocka_unit_test(numbers_as_wide_as_pointers_are_strings_on_any_machine),
        cmocka_unit_test(lists_of_uint64_are_lists_of_strings),
        cmocka_unit_test(numbers_of_64_bits_outside_the_payload_are_strings_too),
        cmocka_unit_test(ecs_has_strings_whatever_is_wanted),
        cmocka_unit_test(a_dataset_that_varies_is_left_out),
        cmocka_unit_test(a_long_string_of_a_native_event_overflows),
        cmocka_unit_test(a_long_string_of_an_ecs_event_overflows),
        cmocka_unit_test(undecoded_bytes_overflow_as_well),
        cmocka_unit_test(a_string_that_fits_is_never_cut),
        cmocka_unit_test(a_name_that_is_too_long_is_cut_in_short_events_too),
        cmocka_unit_test(options_are_the_same_or_not),
        cmocka_unit_test(the_words_of_options_never_change),
        cmocka_unit_test(options_keep_their_texts_in_the_memory_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
