#include <stdio.h>

#include "unit/event/writer_fixture.h"

/* Lines written by hand from the rules of docs/reference/events.md: events without a definition, or
 * with a part of one. */

static const struct piece one_number[] = {{"A", IN_UINT32, 0, "2a000000", NULL}};

/* ---- undecoded events ------------------------------------------------------------------------ */

static void an_event_that_nothing_describes_is_shipped_as_it_came(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_UNKNOWN);
    struct span payload = payload_make("deadbeef");
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    f.record.payload = payload;
    assert_native(&f, PLAIN("unknown", ",\"payload\":\"deadbeef\""));
    /* No schema and no bytes: neither data nor payload. */
    f.record.payload.size = 0;
    assert_native(&f, PLAIN("unknown", ""));
    /* Classes keep their names. */
    f.record.kind = RECORD_CLASSIC;
    f.record.descriptor = (struct event_descriptor){.version = 2, .opcode = 36, .level = 3};
    assert_native(&f,
        FIXTURE_STAMP PROVIDER("mof") "\"event\":{\"class_guid\":\"" FIXTURE_GUID
                                      "\",\"version\":2,\"level\":3,\"level_name\":\"Warning\","
                                      "\"opcode\":36},\"etw\":{\"sequence\":7,\"cpu\":3}}");
    payload_free(payload);
    fixture_fini(&f);
}

static void an_event_that_could_not_be_decoded_has_what_it_says_of_itself(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_TRACELOGGING);
    struct span payload = payload_make("deadbeef");
    static const uint8_t metadata[] = {7, 0, 0, 'E', 0, 'a', 0};
    const struct extended_item item = {EXTENDED_SCHEMA_TL, span_make(metadata, sizeof(metadata))};
    f.record.extended = &item;
    f.record.extended_count = 1;
    f.record.payload = payload;
    f.event.status = DECODE_RAW;
    f.schema.has_layout = false;
    assert_native(&f, PLAIN("tracelogging", ",\"payload\":\"deadbeef\""
                                            ",\"payload_schema\":\"07000045006100\""));
    /* If the payload is not shipped, neither is its metadata. */
    f.record.payload.size = 0;
    assert_native(&f, PLAIN("tracelogging", ""));
    payload_free(payload);
    fixture_fini(&f);
}

static void a_kernel_event_without_definition_has_the_kernel_as_provider(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_KERNEL, SCHEMA_UNKNOWN);
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    f.record.descriptor.opcode = 9;
    assert_native(&f, FIXTURE_STAMP "\"provider\":{\"name\":\"MSNT_SystemTrace\",\"guid\":"
                                    "\"9e814aad-3204-11d2-9a82-006008a86939\",\"kind\":\"mof\"},"
                                    "\"event\":{\"class_guid\":\"" FIXTURE_GUID
                                    "\",\"version\":0,\"opcode\":9,\"opcode_name\":\"Send\"},"
                                    "\"etw\":{\"sequence\":7,\"cpu\":3}}");
    fixture_fini(&f);
}

static void an_event_without_fields_has_an_empty_object(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_EVENTSOURCE);
    assert_native(&f, PLAIN("eventsource", ",\"data\":{}"));
    fixture_fini(&f);
}

static void a_partly_decoded_event_has_the_rest_and_the_reason(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, one_number, 1);
    static const uint8_t rest[] = {0x01, 0xfe};
    f.event.status = DECODE_PARTIAL;
    f.event.rest = span_make(rest, 2);
    f.event.error = "it \"ends\"";
    assert_native(&f, PLAIN("manifest", ",\"data\":{\"A\":42},\"payload_rest\":\"01fe\","
                                        "\"decode_error\":\"it \\\"ends\\\"\""));
    f.event.rest.size = 0;
    assert_native(
        &f, PLAIN("manifest", ",\"data\":{\"A\":42},\"decode_error\":\"it \\\"ends\\\"\""));
    fixture_fini(&f);
}

static void an_event_without_a_layout_in_time_has_the_reason(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    static const uint8_t payload[] = {0x01, 0xfe};
    f.record.payload = span_make(payload, 2);
    f.event.status = DECODE_RAW;
    f.event.error = "not yet";
    assert_native(&f, PLAIN("manifest", ",\"payload\":\"01fe\",\"decode_error\":\"not yet\""));
    fixture_fini(&f);
}

static void bytes_left_over_stand_without_an_error(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&f, one_number, 1);
    static const uint8_t rest[] = {0, 0xab};
    f.event.status = DECODE_RESIDUE;
    f.event.rest = span_make(rest, 2);
    assert_native(&f, PLAIN("manifest", ",\"data\":{\"A\":42},\"payload_rest\":\"00ab\""));
    fixture_fini(&f);
}

static void a_pointer_size_other_than_the_header_s_is_told(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    f.event.pointer_size = 4;
    assert_native(
        &f, FIXTURE_STAMP PROVIDER("manifest") EVENT_0(",\"pointer_size\":4}") ",\"data\":{}}");
    fixture_fini(&f);
}

static void an_unknown_header_is_told_by_its_number(void **state)
{
    (void)state;
    struct writer_fixture f;
    fixture_init(&f, RECORD_OPAQUE, SCHEMA_UNKNOWN);
    f.event.schema = NULL;
    f.event.status = DECODE_RAW;
    f.record.provider = (struct guid){{0}};
    f.record.header_type = 13;
    assert_native(&f, FIXTURE_STAMP "\"provider\":{\"kind\":\"unknown\"},\"event\":{"
                                    "\"header_type\":13},\"etw\":{\"sequence\":7,\"cpu\":3}}");
    fixture_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_that_nothing_describes_is_shipped_as_it_came),
        cmocka_unit_test(an_event_that_could_not_be_decoded_has_what_it_says_of_itself),
        cmocka_unit_test(a_kernel_event_without_definition_has_the_kernel_as_provider),
        cmocka_unit_test(an_event_without_fields_has_an_empty_object),
        cmocka_unit_test(a_partly_decoded_event_has_the_rest_and_the_reason),
        cmocka_unit_test(an_event_without_a_layout_in_time_has_the_reason),
        cmocka_unit_test(bytes_left_over_stand_without_an_error),
        cmocka_unit_test(a_pointer_size_other_than_the_header_s_is_told),
        cmocka_unit_test(an_unknown_header_is_told_by_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
