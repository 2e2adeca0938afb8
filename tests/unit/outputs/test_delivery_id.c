#include "outputs/delivery_id.h"

#include "support/test.h"

static const struct record_position positions[] = {
    {.buffer_offset = 0},
    {.file_id = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54,
         0x32, 0x10},
        .buffer_offset = UINT64_C(0xabcdef012345),
        .record_offset = 0x48},
    {.file_id = {[15] = 1}},
};

static const struct delivery_ids ids = {.epoch = UINT64_C(0x00ff00ff12345678),
    .first_number = UINT64_C(0xfffffffffffffffe),
    .stream_hash = 0xdeadbeef,
    .positions = positions};

static void check(const struct delivery *delivery, size_t index, const char *expected)
{
    char id[DELIVERY_ID_MAX + 1];
    memset(id, '#', sizeof(id));
    size_t size = delivery_id_write(delivery, index, id);
    assert_span(span_make((const uint8_t *)id, size), expected);
    assert_int_equal(id[size], '#');
}

static void a_live_record_is_called_by_epoch_and_number(void **state)
{
    (void)state;
    struct delivery_ids live = ids;
    live.positions = NULL;
    const struct delivery delivery = {.record_count = 2, .ids = &live};
    check(&delivery, 0, "00ff00ff12345678fffffffffffffffe");
    check(&delivery, 1, "00ff00ff12345678ffffffffffffffff");
    assert_false(delivery_id_is_replayed(&delivery, 0));
}

static void a_record_of_a_file_is_called_by_where_it_stands(void **state)
{
    (void)state;
    const struct delivery delivery = {.record_count = 3, .ids = &ids};
    check(&delivery, 0, "00ff00ff12345678fffffffffffffffe"); /* a live one among them */
    check(&delivery, 1, "0123456789abcdeffedcba9876543210abcdef01234500000048deadbeef");
    check(&delivery, 2, "0000000000000000000000000000000100000000000000000000deadbeef");
    assert_false(delivery_id_is_replayed(&delivery, 0));
    assert_true(delivery_id_is_replayed(&delivery, 1));
    assert_true(delivery_id_is_replayed(&delivery, 2));
}

/* The last two of three, then the last one of these. */
static void what_is_left_of_a_batch_keeps_its_names(void **state)
{
    (void)state;
    const uint32_t left[] = {1};
    struct delivery delivery = {.record_count = 2, .ids = &ids, .first_place = 1};
    check(&delivery, 0, "0123456789abcdeffedcba9876543210abcdef01234500000048deadbeef");
    delivery.record_count = 1;
    delivery.places = left;
    check(&delivery, 0, "0000000000000000000000000000000100000000000000000000deadbeef");
    assert_true(delivery_id_is_replayed(&delivery, 0));
}

/* A dead letter that is sent again. */
static void an_id_that_was_given_earlier_stands(void **state)
{
    (void)state;
    const struct span names[] = {
        {.size = 0}, {(const uint8_t *)"00ff00ff12345678fffffffffffffffe", 32}};
    const uint32_t left[] = {1};
    const struct delivery_ids given = {.names = names};
    struct delivery delivery = {.record_count = 2, .ids = &given};
    check(&delivery, 1, "00ff00ff12345678fffffffffffffffe");
    delivery.record_count = 1;
    delivery.places = left;
    check(&delivery, 0, "00ff00ff12345678fffffffffffffffe");
    assert_false(delivery_id_is_replayed(&delivery, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_live_record_is_called_by_epoch_and_number),
        cmocka_unit_test(a_record_of_a_file_is_called_by_where_it_stands),
        cmocka_unit_test(what_is_left_of_a_batch_keeps_its_names),
        cmocka_unit_test(an_id_that_was_given_earlier_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
