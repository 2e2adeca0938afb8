#include "base/bytes.h"
#include "unit/app/event_log_rig.h"

/* Values of event logs that few providers write: arrays of every type, and booleans that are
 * neither 0 nor 1 ([MS-EVEN6] 2.2.12 and 3.1.4.7.3). */

enum {
    TEXT8 = 0x02,
    INT8 = 0x03,
    INT32 = 0x07,
    INT64 = 0x09,
    FLOAT = 0x0b,
    DOUBLE = 0x0c,
    SIZE = 0x10,
    SYSTEMTIME = 0x12,
    HEX32 = 0x14,
    ARRAY = EVTX_PUT_ARRAY,
};

enum { MAX_VALUES = 4 };

static const char *const names[MAX_VALUES] = {"A", "B", "C", "D"};

/* A record with these values in Data A, B…, and again all of them as one text in the element
 * All. */
static void put_values(uint64_t id, const struct evtx_put_value *values, size_t count)
{
    evtx_put_record(&put, id, EVTX_SAMPLE_TIME);
    evtx_put_fragment(&put);
    if (evtx_put_template(&put, (int)count)) {
        evtx_put_open(&put, "Event", false);
        evtx_put_close_start(&put);
        evtx_put_open(&put, "System", false);
        evtx_put_close_start(&put);
        evtx_put_end_element(&put);
        evtx_put_open(&put, "EventData", false);
        evtx_put_close_start(&put);
        for (size_t i = 0; i < count; i++) {
            evtx_put_data_of(&put, names[i], (uint16_t)i);
        }
        evtx_put_open(&put, "All", false);
        evtx_put_close_start(&put);
        for (size_t i = 0; i < count; i++) {
            evtx_put_text(&put, " ");
            evtx_put_value_of(&put, (uint16_t)i, values[i].type);
        }
        evtx_put_end_element(&put);
        evtx_put_end_element(&put);
        evtx_put_end_element(&put);
        evtx_put_template_end(&put);
    }
    evtx_put_values(&put, values, count);
    evtx_put_end(&put);
    evtx_put_record_end(&put);
}

static void assert_values(const struct evtx_put_value *values, size_t count, const char *data)
{
    struct reading r;
    evtx_put_begin(&put);
    put_values(1, values, count);
    evtx_put_finish(&put);
    reading_init(&r);
    assert_true(holds(next_as(&r, "native"), data));
    assert_int_equal(r.damage.count, 0);
    reading_fini(&r);
}

static void sizes_have_the_width_that_their_record_tells(void **state)
{
    static const uint8_t two[8] = {1, 0, 0, 0, 0x10, 0x20, 0, 0};
    static const uint8_t three[12] = {1, 0, 0, 0, 2, 0, 0, 0, 3};
    (void)state;
    /* A size of 4 bytes, or an array whose bytes are not a multiple of 8, proves pointers of 4
     * bytes. */
    const struct evtx_put_value narrow[] = {{SIZE, two, 4}, {SIZE | ARRAY, two, 8}};
    assert_values(narrow, 2,
        "\"data\":{\"A\":\"0x1\",\"B\":[\"0x1\",\"0x2010\"],\"All\":\" 0x1 0x1,0x2010\"}");
    const struct evtx_put_value odd[] = {{SIZE | ARRAY, three, 12}, {SIZE | ARRAY, two, 8}};
    assert_values(odd, 2,
        "\"data\":{\"A\":[\"0x1\",\"0x2\",\"0x3\"],\"B\":[\"0x1\",\"0x2010\"],"
        "\"All\":\" 0x1,0x2,0x3 0x1,0x2010\"}");
    const struct evtx_put_value wide[] = {{SIZE, two, 8}, {SIZE | ARRAY, two, 8}};
    assert_values(wide, 2, "\"A\":\"0x201000000001\",\"B\":[\"0x201000000001\"],");
    /* Nothing proves the width. */
    assert_values(wide + 1, 1, "\"data\":{\"A\":[\"0x201000000001\"],\"All\":\" 0x201000000001\"}");
}

/* The template is shared, the machines differ. */
static void each_record_tells_its_own_width(void **state)
{
    static const uint8_t two[8] = {1, 0, 0, 0, 2};
    const struct evtx_put_value narrow[] = {{SIZE, two, 4}, {SIZE | ARRAY, two, 8}};
    const struct evtx_put_value wide[] = {{SIZE, two, 8}, {SIZE | ARRAY, two, 8}};
    struct reading r;
    (void)state;
    evtx_put_begin(&put);
    for (uint64_t id = 1; id < 5; id++) {
        put_values(id, id % 2 ? narrow : wide, 2);
    }
    evtx_put_finish(&put);
    reading_init(&r);
    for (int i = 0; i < 2; i++) {
        assert_true(holds(next_as(&r, "native"), "\"B\":[\"0x1\",\"0x2\"]"));
        assert_true(holds(next_as(&r, "native"), "\"B\":[\"0x200000001\"]"));
    }
    reading_fini(&r);
}

static void arrays_of_numbers_are_lists(void **state)
{
    static const uint8_t minus[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
    static const uint8_t one_and_half[16] = {
        0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f};
    (void)state;
    const struct evtx_put_value integers[] = {{INT8 | ARRAY, minus, 2}, {INT32 | ARRAY, minus, 12},
        {INT64 | ARRAY, minus, 16}, {HEX32 | ARRAY, minus, 4}};
    assert_values(integers, 4,
        "\"data\":{\"A\":[-1,-1],\"B\":[-1,-1,2],\"C\":[-1,2],\"D\":[\"0xffffffff\"],"
        "\"All\":\" -1,-1 -1,-1,2 -1,2 0xffffffff\"}");
    const struct evtx_put_value floats[] = {
        {FLOAT | ARRAY, one_and_half, 8}, {DOUBLE | ARRAY, one_and_half + 8, 8}};
    assert_values(floats, 2, "\"data\":{\"A\":[1.5,-2.0],\"B\":[1.5],");
    const struct evtx_put_value empty[] = {{INT32 | ARRAY, minus, 0}, {SIZE | ARRAY, minus, 0}};
    assert_values(empty, 2, "\"data\":{\"A\":[],\"B\":[],\"All\":\"  \"}");
}

static void arrays_of_other_values_are_lists(void **state)
{
    /* S-1-5-18 and S-1-5-32-544, side by side. */
    static const uint8_t sids[] = {
        1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 2, 0, 0};
    static const uint8_t guids[32] = {[16] = 1};
    static const uint8_t time[8] = {0, 0x80, 0x3e, 0xd5, 0xde, 0xb1, 0x9d, 0x01}; /* 1970 */
    static const uint8_t clock[16] = {0xea, 7, 11, 0, 0, 0, 29, 0, 8}; /* 2026-11-29, 8 o'clock */
    static const uint8_t texts[] = {'a', 0, 'b', 'c', 0};
    (void)state;
    const struct evtx_put_value ids[] = {
        {EVTX_PUT_SID | ARRAY, sids, sizeof(sids)}, {EVTX_PUT_GUID | ARRAY, guids, sizeof(guids)}};
    assert_values(ids, 2,
        "\"data\":{\"A\":[\"S-1-5-18\",\"S-1-5-32-544\"],\"B\":["
        "\"00000000-0000-0000-0000-000000000000\",\"00000001-0000-0000-0000-000000000000\"],"
        "\"All\":\" S-1-5-18,S-1-5-32-544 ");
    const struct evtx_put_value times[] = {{EVTX_PUT_FILETIME | ARRAY, time, sizeof(time)},
        {SYSTEMTIME | ARRAY, clock, sizeof(clock)}, {TEXT8 | ARRAY, texts, sizeof(texts)}};
    assert_values(times, 3,
        "\"data\":{\"A\":[\"1970-01-01T00:00:00.0000000Z\"],\"B\":[\"2026-11-29T08:00:00.000\"],"
        "\"C\":[\"a\",\"bc\"],");
}

/* Bytes that are not a whole number of elements are shown as bytes. */
static void arrays_that_do_not_fit_their_type_are_bytes(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6};
    (void)state;
    const struct evtx_put_value values[] = {{EVTX_PUT_SID | ARRAY, bytes, 6},
        {SIZE | ARRAY, bytes, 6}, {EVTX_PUT_BINARY | ARRAY, bytes, 6}, {ARRAY, bytes, 2}};
    assert_values(values, 4,
        "\"data\":{\"A\":\"010203040506\",\"B\":\"010203040506\",\"C\":\"010203040506\","
        "\"D\":\"0102\",\"All\":\" 010203040506 010203040506 010203040506 0102\"}");
}

/* A BOOL of Windows is true if any of its four bytes is not 0. */
static void booleans_are_false_only_if_0(void **state)
{
    static const uint8_t second_byte[4] = {0, 1};
    static const uint8_t minus[8] = {0xff, 0xff, 0xff, 0xff};
    (void)state;
    const struct evtx_put_value values[] = {{EVTX_PUT_BOOL, second_byte, 4},
        {EVTX_PUT_BOOL, minus, 4}, {EVTX_PUT_BOOL, minus + 4, 4},
        {EVTX_PUT_BOOL | ARRAY, minus, 8}};
    assert_values(values, 4,
        "\"data\":{\"A\":true,\"B\":true,\"C\":false,\"D\":[true,false],"
        "\"All\":\" true true false true,false\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_the_width_that_their_record_tells),
        cmocka_unit_test(each_record_tells_its_own_width),
        cmocka_unit_test(arrays_of_numbers_are_lists),
        cmocka_unit_test(arrays_of_other_values_are_lists),
        cmocka_unit_test(arrays_that_do_not_fit_their_type_are_bytes),
        cmocka_unit_test(booleans_are_false_only_if_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
