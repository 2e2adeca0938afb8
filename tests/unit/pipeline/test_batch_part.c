#include "pipeline/batch/batch_part.h"

#include "support/test.h"

static struct batch *make_batch(bool routes)
{
    static const char *const texts[] = {"zero", "one", "two", "three"};
    struct batch *batch = batch_create(routes ? 1 : 0, NULL, 0);
    assert_non_null(batch);
    for (size_t i = 0; i < 4; i++) {
        if (routes) {
            assert_true(routes_add(&batch->piece.routes[0], span_text(i % 2 ? "odd" : "even")));
        }
        buf_add_text(&batch->piece.bytes, texts[i]);
        assert_true(piece_end_record(&batch->piece, i));
    }
    return batch;
}

static void records_are_put_together_with_their_routes_and_places(void **state)
{
    (void)state;
    static const uint32_t records[] = {1, 2};
    struct batch_part part = {.capacity = 0};
    struct batch *batch = make_batch(true);
    struct delivery delivery;
    assert_true(batch_part_delivery(&part, batch, records, 2, 0, &delivery));
    assert_span(delivery.bytes, "onetwo");
    assert_int_equal(delivery.record_count, 2);
    assert_int_equal(delivery.record_ends[0], 3);
    assert_int_equal(delivery.record_ends[1], 6);
    assert_span(delivery.route_names[delivery.routes[0]], "odd");
    assert_span(delivery.route_names[delivery.routes[1]], "even");
    assert_int_equal(delivery.first_place + delivery.places[1], 2);
    assert_false(delivery.repeated);
    batch_part_fini(&part);
    batch_destroy(batch);
}

static void a_part_serves_batch_after_batch(void **state)
{
    (void)state;
    static const uint32_t all[] = {0, 1, 2, 3};
    struct batch_part part = {.capacity = 0};
    struct batch *batch = make_batch(false);
    struct delivery delivery;
    assert_true(batch_part_delivery(&part, batch, all + 3, 1, SIZE_MAX, &delivery));
    assert_span(delivery.bytes, "three");
    assert_null(delivery.routes);
    assert_true(batch_part_delivery(&part, batch, all, 4, SIZE_MAX, &delivery));
    assert_span(delivery.bytes, "zeroonetwothree");
    assert_int_equal(delivery.record_ends[3], 15);
    batch_part_fini(&part);
    batch_destroy(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_put_together_with_their_routes_and_places),
        cmocka_unit_test(a_part_serves_batch_after_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
