#include "unit/app/event_log_rig.h"

/* Event logs from their bytes to JSON: read, described, decoded, written. The expected form is that
 * of docs/reference/events.md. */

static void assert_next(struct reading *r, const char *json)
{
    assert_span(next_as(r, "native"), json);
}

static void system_and_event_data_become_an_event(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 11, EVTX_SAMPLE_TIME, "PC-1.corp.example", "anna");
    evtx_sample_logon(&put, 12, EVTX_SAMPLE_TIME + 1, "PC-1.corp.example", "");
    evtx_put_finish(&put);
    reading_init(&r);
    assert_next(&r,
        "{\"@timestamp\":\"2025-11-24T18:10:00.0000000Z\",\"provider\":{\"name\":"
        "\"Microsoft-Windows-Security-Auditing\",\"guid\":\"54849625-5478-4994-a5ba-"
        "3e3b0328c30d\",\"kind\":\"eventlog\"},\"event\":{\"code\":4624,\"version\":0,\"level\":4,"
        "\"level_name\":\"Information\",\"task\":0,\"opcode\":0,\"opcode_name\":\"Info\","
        "\"channel_name\":\"Security\",\"keywords\":\"0x8020000000000000\",\"record_id\":11},"
        "\"process\":{\"pid\":648},\"etw\":{\"sequence\":0,\"cpu\":0,\"file\":\"mem.evtx\"},"
        "\"data\":{\"TargetUserName\":\"anna\",\"LogonType\":3,\"TargetLogonId\":\"0x3e7\","
        "\"TargetUserSid\":\"S-1-5-18\",\"Elevated\":true,\"Addresses\":[\"ab\",\"c\"]},"
        "\"extended\":{\"sid\":\"S-1-5-18\"},\"host\":{\"name\":\"PC-1.corp.example\"}}");
    /* The second record uses the template and names of the first. */
    struct span second = next_as(&r, "native");
    assert_true(holds(second, "\"record_id\":12}"));
    assert_true(holds(second, "\"data\":{\"TargetUserName\":\"\",\"LogonType\":3,"));
    assert_null(next(&r));
    assert_int_equal(r.damage.count, 0);
    reading_fini(&r);
}

static void user_data_keeps_its_elements(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_user(&put, 1, EVTX_SAMPLE_TIME);
    evtx_put_finish(&put);
    reading_init(&r);
    assert_true(holds(next_as(&r, "native"), "\"data\":{\"Job\":{\"id\":7,\"Step\":\"first\","
                                             "\"Step_2\":-2,\"Text\":\"job 7 is done\"}}"));
    reading_fini(&r);
}

static void data_without_names_goes_by_its_place(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_plain(&put, 1, EVTX_SAMPLE_TIME);
    evtx_put_finish(&put);
    reading_init(&r);
    struct span json = next_as(&r, "native");
    assert_true(holds(json, "\"provider\":{\"name\":\"Service Control Manager\",\"kind\":"));
    assert_true(holds(json, "\"code\":7036,"));
    assert_true(holds(json, "\"qualifiers\":16384,\"record_id\":1}"));
    assert_true(holds(json, "\"data\":{\"param1\":\"one\",\"param2\":\"two\",\"param3\":200,"
                            "\"binary\":\"deadbeef\"}"));
    assert_false(r.file->log == NULL);
    reading_fini(&r);
}

static void values_may_be_xml(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_nested(&put, 1, EVTX_SAMPLE_TIME);
    evtx_put_finish(&put);
    reading_init(&r);
    assert_true(holds(next_as(&r, "native"), "\"data\":{\"Inner\":\"deep\"}"));
    assert_int_equal(r.damage.count, 0);
    reading_fini(&r);
}

static void forwarded_records_have_text_alone_and_machines_of_their_own(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_sample_forwarded(&put, 2, 5);
    evtx_put_finish(&put);
    reading_init(&r);
    assert_true(holds(next_as(&r, "native"), "\"host\":{\"name\":\"PC-1\"}"));
    struct span json = next_as(&r, "native");
    assert_true(
        holds(json, "{\"@timestamp\":\"2025-11-24T18:10:00.5000000Z\",\"provider\":{\"name\":"
                    "\"Example-Forwarded\",\"guid\":\"54849625-5478-"));
    assert_true(holds(json, "\"code\":12,"));
    assert_true(holds(json, "\"keywords\":\"0x8000000000000000\",\"record_id\":77}"));
    assert_true(holds(json, "\"data\":{\"param1\":\"plain\",\"param2\":\"in two pieces\","
                            "\"Xml\":{\"Part\":\"x\"}}"));
    assert_true(holds(json, "\"host\":{\"name\":\"far.corp.example\"}"));
    reading_fini(&r);
}

static void put_each_kind(uint64_t id, const char *computer, const char *user)
{
    evtx_sample_logon(&put, id, EVTX_SAMPLE_TIME + id, computer, user);
    evtx_sample_user(&put, id + 1, EVTX_SAMPLE_TIME + id + 1);
    evtx_sample_plain(&put, id + 2, EVTX_SAMPLE_TIME + id + 2);
    evtx_sample_nested(&put, id + 3, EVTX_SAMPLE_TIME + id + 3);
    evtx_sample_forwarded(&put, id + 4, EVTX_SAMPLE_TIME + id + 4);
}

/* In one chunk the second and third record of each kind are made like the first. In chunks of their
 * own, each is the first. */
static void records_like_an_earlier_one_are_what_they_are_alone(void **state)
{
    enum { KINDS = 5, ROUNDS = 3, MAX_TEXT = 4096 };
    static const char *const users[ROUNDS] = {"anna", "", "a much longer name than the others"};
    static const char *const computers[ROUNDS] = {"PC-1", "PC-2.corp.example", "PC-1"};
    static char texts[ROUNDS * KINDS][MAX_TEXT];
    (void)state;
    for (int is_apart = 0; is_apart < 2; is_apart++) {
        struct reading r;
        evtx_put_begin(&put);
        for (uint64_t i = 0; i < ROUNDS; i++) {
            put_each_kind(1 + i * KINDS, computers[i], users[i]);
            if (is_apart && i + 1 < ROUNDS) {
                evtx_put_chunk(&put);
            }
        }
        evtx_put_finish(&put);
        reading_init(&r);
        for (size_t i = 0; i < (size_t)ROUNDS * KINDS; i++) {
            struct span text = next_as(&r, "native");
            assert_true(text.size < MAX_TEXT);
            if (is_apart) {
                assert_span(text, texts[i]);
            }
            memcpy(texts[i], text.data, text.size);
            texts[i][text.size] = 0;
        }
        assert_null(next(&r));
        assert_int_equal(r.damage.count, 0);
        reading_fini(&r);
    }
}

static void the_other_formats_have_the_record_id_and_the_map(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 11, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_sample_logon(&put, 12, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_finish(&put);
    reading_init(&r);
    struct span ecs = next_as(&r, "ecs");
    assert_true(holds(ecs, "\"channel\":\"Security\""));
    assert_true(holds(ecs, "\"record_id\":\"11\""));
    assert_true(holds(ecs, "\"category\":[\"authentication\"]"));
    assert_true(holds(ecs, "\"extended_data\":{\"SID\":\"S-1-5-18\"}"));
    assert_true(
        holds(next_as(&r, "otel"), "{\"key\":\"etw.record.id\",\"value\":{\"intValue\":\"12\"}}"));
    reading_fini(&r);
}

static void chunks_come_in_the_order_of_their_records(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 30, EVTX_SAMPLE_TIME, "PC-1", "late");
    evtx_put_chunk(&put);
    evtx_sample_logon(&put, 10, EVTX_SAMPLE_TIME, "PC-1", "early");
    evtx_put_finish(&put);
    reading_init(&r);
    assert_int_equal(next(&r)->log_record_id, 10);
    assert_int_equal(next(&r)->log_record_id, 30);
    assert_null(next(&r));
    reading_fini(&r);
}

static void a_damaged_chunk_costs_itself(void **state)
{
    (void)state;
    enum { SECOND = EVTX_PUT_FILE_HEADER_BYTES + EVTX_PUT_CHUNK_BYTES };
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_chunk(&put);
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_chunk(&put);
    evtx_sample_logon(&put, 3, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_finish(&put);
    put.bytes[SECOND] = 'x';
    reading_init(&r);
    assert_int_equal(next(&r)->log_record_id, 1);
    assert_int_equal(next(&r)->log_record_id, 3);
    assert_null(next(&r));
    assert_int_equal(r.damage.count, 1);
    assert_int_equal(r.damage.offsets[0], SECOND);
    assert_string_equal(r.damage.what[0], "chunk skipped: it has no header");
    reading_fini(&r);
}

static void a_damaged_record_costs_itself(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    size_t second = put.at;
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_sample_logon(&put, 3, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_finish(&put);
    store_le32(put.bytes + second + 4, 0x7fffffff);
    reading_init(&r);
    assert_int_equal(next(&r)->log_record_id, 1);
    assert_int_equal(next(&r)->log_record_id, 3);
    assert_null(next(&r));
    assert_int_equal(r.damage.count, 1);
    assert_int_equal(r.damage.offsets[0], second);
    assert_string_equal(r.damage.what[0], "no record: skipped to the next one");
    reading_fini(&r);
}

/* The second record refers to a place outside of its chunk, or to a whole template that is another
 * one. */
static void a_record_whose_template_is_gone_is_told(void **state)
{
    enum { ID = EVTX_PUT_RECORD_HEAD_BYTES + 4 + 2, OFFSET = ID + 4 };
    static const struct {
        size_t at;
        uint32_t value;
    } rows[] = {{OFFSET, 0xfffffff0}, {ID, 77}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct reading r;
        evtx_put_begin(&put);
        evtx_sample_plain(&put, 1, EVTX_SAMPLE_TIME);
        size_t second = put.at;
        evtx_sample_plain(&put, 2, EVTX_SAMPLE_TIME);
        evtx_put_finish(&put);
        store_le32(put.bytes + second + rows[i].at, rows[i].value);
        reading_init(&r);
        assert_int_equal(next(&r)->log_record_id, 1);
        assert_null(next(&r));
        assert_int_equal(r.damage.count, 1);
        assert_int_equal(r.damage.offsets[0], second);
        assert_string_equal(r.damage.what[0],
            "damaged record: its template is overwritten, or outside of its chunk");
        reading_fini(&r);
    }
}

static void a_name_that_is_not_what_it_was_is_told(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_finish(&put);
    for (size_t i = 0; i < put.name_count; i++) {
        if (strcmp(put.names[i], "EventData") == 0) {
            /* After the offset of the next name, a hash and the count of characters. */
            put.bytes[put.chunk + put.name_offsets[i] + 8] ^= 1;
        }
    }
    reading_init(&r);
    assert_true(holds(next_as(&r, "native"), "anna"));
    assert_null(next(&r));
    assert_int_equal(r.damage.count, 1);
    assert_string_equal(
        r.damage.what[0], "damaged record: a name in it is overwritten, or outside of its chunk");
    reading_fini(&r);
}

/* The XML breaks off behind the first value. */
static void a_record_that_is_read_in_part_says_so(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_nested(&put, 1, EVTX_SAMPLE_TIME);
    evtx_put_finish(&put);
    size_t at = find_wide(put.chunk, "deep");
    put.bytes[at + 2 * strlen("deep")] = 0x3f; /* no token */
    static const char *const formats[][2] = {
        {"native",
            "\"data\":{\"Inner\":\"deep\"},\"decode_error\":\"damaged record: an unknown token"},
        {"ecs", "\"error\":{\"message\":\"damaged record: an unknown token"},
        {"otel", "{\"key\":\"etw.decode_error\",\"value\":{\"stringValue\":\"damaged record: an "}};
    for (size_t i = 0; i < 3; i++) {
        reading_init(&r);
        assert_true(holds(next_as(&r, formats[i][0]), formats[i][1]));
        assert_null(next(&r));
        assert_int_equal(r.damage.count, 1);
        reading_fini(&r);
    }
}

/* Two chunks, with one byte of a text changed in the second: the record is read, and the wrong
 * checksum is reported. */
static void wrong_checksums_are_told_and_cost_nothing(void **state)
{
    enum { FILE_FLAGS = 120, CHUNK_FLAGS = 120, DIRTY = 1 };
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_chunk(&put);
    size_t second = put.chunk;
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_finish(&put);
    evtx_put_sums(&put);
    reading_init(&r);
    assert_int_equal(r.damage.count, 0);
    reading_fini(&r);

    put.bytes[find_wide(second, "anna")] ^= 1;
    put.bytes[second + 200] ^= 1;
    reading_init(&r);
    assert_int_equal(r.damage.count, 2);
    assert_int_equal(r.damage.offsets[0], second);
    assert_string_equal(r.damage.what[0], "the checksum of the chunk's header is wrong");
    assert_int_equal(r.damage.offsets[1], second + EVTX_PUT_CHUNK_HEADER_BYTES);
    assert_string_equal(
        r.damage.what[1], "the checksum of the chunk's records is wrong; they are read anyway");
    assert_int_equal(next(&r)->log_record_id, 1);
    assert_int_equal(next(&r)->log_record_id, 2);
    assert_null(next(&r));
    reading_fini(&r);

    /* The newest chunk of a log that was not closed has the checksums of an earlier state. */
    put.bytes[FILE_FLAGS] = DIRTY;
    reading_init(&r);
    assert_int_equal(r.damage.count, 0);
    reading_fini(&r);
    put.bytes[EVTX_PUT_FILE_HEADER_BYTES + 200] ^= 1; /* the first chunk, which was complete */
    reading_init(&r);
    assert_int_equal(r.damage.count, 1);
    assert_int_equal(r.damage.offsets[0], EVTX_PUT_FILE_HEADER_BYTES);
    reading_fini(&r);
    put.bytes[EVTX_PUT_FILE_HEADER_BYTES + CHUNK_FLAGS] = DIRTY;
    reading_init(&r);
    assert_int_equal(r.damage.count, 0);
    reading_fini(&r);
}

static void a_file_that_ends_early_gives_what_it_has(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    size_t second = put.at;
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_finish(&put);
    put.size = second + 40;
    reading_init(&r);
    assert_int_equal(next(&r)->log_record_id, 1);
    assert_null(next(&r));
    assert_int_equal(r.damage.count, 2);
    assert_string_equal(r.damage.what[0], "the file ends inside this chunk");
    assert_int_equal(r.damage.offsets[1], second);
    reading_fini(&r);
}

/* A template, each instance of which has itself twice as values: the work has a limit. */
static void templates_that_repeat_themselves_end(void **state)
{
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_put_record(&put, 1, EVTX_SAMPLE_TIME);
    evtx_put_fragment(&put);
    assert_true(evtx_put_template(&put, 9));
    evtx_put_open(&put, "Event", false);
    evtx_put_close_start(&put);
    evtx_put_value_of(&put, 0, EVTX_PUT_BINARY_XML);
    evtx_put_value_of(&put, 0, EVTX_PUT_BINARY_XML);
    evtx_put_end_element(&put);
    evtx_put_template_end(&put);
    /* Its value: the instance again, with these bytes as its value, as far as they go. */
    for (int i = 0; i < 200; i++) {
        const struct evtx_put_value value = {EVTX_PUT_BINARY_XML, "", 0};
        size_t at = put.at;
        evtx_put_values(&put, &value, 1);
        store_le16(put.bytes + at + 4, (uint16_t)(4000 - i * 19));
        assert_false(evtx_put_template(&put, 9));
    }
    put.at += 4000;
    evtx_put_record_end(&put);
    evtx_put_finish(&put);
    reading_init(&r);
    assert_null(next(&r));
    assert_int_equal(r.damage.count, 1);
    assert_string_equal(r.damage.what[0], "damaged record: templates are nested too deep");
    reading_fini(&r);
}

/* A large value that a template uses many times costs its size each time. */
static void a_template_that_repeats_a_large_value_ends(void **state)
{
    enum { VALUE_BYTES = 40000, USES = 300 };
    static const uint8_t nuls[VALUE_BYTES];
    const struct evtx_put_value value = {EVTX_PUT_TEXT16 | EVTX_PUT_ARRAY, nuls, VALUE_BYTES};
    (void)state;
    struct reading r;
    evtx_put_begin(&put);
    evtx_put_record(&put, 1, EVTX_SAMPLE_TIME);
    evtx_put_fragment(&put);
    assert_true(evtx_put_template(&put, 9));
    evtx_put_open(&put, "Event", false);
    evtx_put_close_start(&put);
    evtx_put_open(&put, "EventData", false);
    evtx_put_close_start(&put);
    for (int i = 0; i < USES; i++) {
        evtx_put_data_of(&put, NULL, 0);
    }
    evtx_put_end_element(&put);
    evtx_put_end_element(&put);
    evtx_put_template_end(&put);
    evtx_put_values(&put, &value, 1);
    evtx_put_end(&put);
    evtx_put_record_end(&put);
    evtx_put_finish(&put);
    reading_init(&r);
    assert_null(next(&r));
    assert_int_equal(r.damage.count, 1);
    assert_string_equal(
        r.damage.what[0], "damaged record: the templates of its chunk repeat too much");
    reading_fini(&r);
}

static void the_identity_is_that_of_all_chunks(void **state)
{
    (void)state;
    uint8_t id[16];
    struct reading r;
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_finish(&put);
    reading_init(&r);
    memcpy(id, r.file->id, sizeof(id));
    reading_fini(&r);
    reading_init(&r);
    assert_memory_equal(id, r.file->id, sizeof(id));
    reading_fini(&r);
    put.size = EVTX_PUT_FILE_HEADER_BYTES + EVTX_PUT_CHUNK_BYTES;
    evtx_put_chunk(&put);
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME, "PC-1", "anna");
    evtx_put_finish(&put);
    reading_init(&r);
    assert_memory_not_equal(id, r.file->id, sizeof(id));
    reading_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(system_and_event_data_become_an_event),
        cmocka_unit_test(user_data_keeps_its_elements),
        cmocka_unit_test(data_without_names_goes_by_its_place),
        cmocka_unit_test(values_may_be_xml),
        cmocka_unit_test(forwarded_records_have_text_alone_and_machines_of_their_own),
        cmocka_unit_test(records_like_an_earlier_one_are_what_they_are_alone),
        cmocka_unit_test(the_other_formats_have_the_record_id_and_the_map),
        cmocka_unit_test(chunks_come_in_the_order_of_their_records),
        cmocka_unit_test(a_damaged_chunk_costs_itself),
        cmocka_unit_test(a_damaged_record_costs_itself),
        cmocka_unit_test(a_record_whose_template_is_gone_is_told),
        cmocka_unit_test(a_name_that_is_not_what_it_was_is_told),
        cmocka_unit_test(a_record_that_is_read_in_part_says_so),
        cmocka_unit_test(wrong_checksums_are_told_and_cost_nothing),
        cmocka_unit_test(a_file_that_ends_early_gives_what_it_has),
        cmocka_unit_test(templates_that_repeat_themselves_end),
        cmocka_unit_test(a_template_that_repeats_a_large_value_ends),
        cmocka_unit_test(the_identity_is_that_of_all_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
