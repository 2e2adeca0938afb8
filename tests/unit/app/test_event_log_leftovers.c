#include "base/bytes.h"
#include "unit/app/event_log_rig.h"

/* Records that a log has dropped, from its bytes to JSON. */

/* A log with room for three chunks. The first chunk has two records, and after them the bytes of
 * two more, one of which the second chunk has, too. The third place has lost its header. */
static size_t put_leftovers(void)
{
    enum { FREE_AT = 48 };
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME + 1, "PC-1", "anna");
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME + 2, "PC-1", "anna");
    uint32_t end = (uint32_t)(put.at - put.chunk);
    size_t leftover = put.at;
    evtx_sample_logon(&put, 3, EVTX_SAMPLE_TIME + 3, "PC-1", "berta");
    evtx_sample_logon(&put, 4, EVTX_SAMPLE_TIME + 4, "PC-1", "carla");
    size_t first = put.chunk;
    evtx_put_chunk(&put);
    store_le32(put.bytes + first + FREE_AT, end);
    evtx_sample_logon(&put, 4, EVTX_SAMPLE_TIME + 4, "PC-1", "carla");
    evtx_put_chunk(&put);
    evtx_sample_logon(&put, 5, EVTX_SAMPLE_TIME + 5, "PC-1", "dora");
    size_t third = put.chunk;
    evtx_put_finish(&put);
    memset(put.bytes + third, 0, EVTX_PUT_CHUNK_HEADER_BYTES);
    return leftover;
}

static void leftovers_are_found_once_if_they_are_wanted(void **state)
{
    (void)state;
    struct reading r;
    put_leftovers();
    reading_init(&r);
    const uint64_t in_log[] = {1, 2, 4};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(next(&r)->log_record_id, in_log[i]);
    }
    assert_null(next(&r));
    reading_fini(&r);
    carving_init(&r);
    for (uint64_t id = 1; id <= 5; id++) {
        const struct event_record *record = next(&r);
        assert_non_null(record);
        assert_int_equal(record->log_record_id, id);
        assert_int_equal((record->present & RECORD_IS_CARVED) != 0, id == 3 || id == 5);
    }
    assert_null(next(&r));
    assert_int_equal(r.damage.count, 0);
    reading_fini(&r);
}

static void leftovers_are_marked_in_all_formats(void **state)
{
    static const char *const formats[][2] = {{"native", "\"evtx\":{\"carved\":true}"},
        {"ecs", "\"carved\":true"},
        {"otel", "{\"key\":\"etw.record.carved\",\"value\":{\"boolValue\":true}}"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct reading r;
        put_leftovers();
        carving_init(&r);
        next(&r);
        next(&r);
        struct span text = next_as(&r, formats[i][0]);
        assert_true(holds(text, formats[i][1]));
        assert_true(holds(text, "berta"));
        reading_fini(&r);
    }
}

static void assert_all_but_the_third(struct reading *r)
{
    static const uint64_t ids[] = {1, 2, 4, 5};
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        assert_int_equal(next(r)->log_record_id, ids[i]);
    }
    assert_null(next(r));
}

/* A name of the template has another hash: references to it now lead to something else. The records
 * of the log are read all the same. */
static void a_leftover_that_refers_to_what_was_overwritten_is_told(void **state)
{
    enum { LOGGED = 2 }; /* records of the log that use the name, too */
    (void)state;
    struct reading r;
    size_t leftover = put_leftovers();
    put.bytes[find_wide(0, "Level")] = 'l';
    carving_init(&r);
    assert_all_but_the_third(&r);
    assert_int_equal(r.damage.count, LOGGED + 2);
    assert_int_equal(r.damage.offsets[LOGGED], leftover);
    assert_string_equal(
        r.damage.what[LOGGED], "a dropped record contains overwritten data, or refers to it");
    reading_fini(&r);
}

/* Other data stands in the middle of a leftover: a control character, the end of a text, half of a
 * pair, a private character. */
static void a_leftover_with_other_data_in_its_names_is_told(void **state)
{
    (void)state;
    static const uint16_t others[] = {0x80, 0, 0xd801, 0xef82};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct reading r;
        size_t leftover = put_leftovers();
        store_le16(put.bytes + find_wide(leftover, "PC-1") + 2, others[i]);
        carving_init(&r);
        assert_all_but_the_third(&r);
        assert_int_equal(r.damage.count, 1);
        assert_int_equal(r.damage.offsets[0], leftover);
        reading_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leftovers_are_found_once_if_they_are_wanted),
        cmocka_unit_test(leftovers_are_marked_in_all_formats),
        cmocka_unit_test(a_leftover_that_refers_to_what_was_overwritten_is_told),
        cmocka_unit_test(a_leftover_with_other_data_in_its_names_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
