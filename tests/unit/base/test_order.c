#include "support/test.h"

#include "base/order.h"

struct item {
    uint64_t number;
    char letter;
};

static size_t place(const struct item *items, size_t count, uint64_t number)
{
    return order_place(items, count, sizeof(*items), number);
}

static void the_place_of_a_number_is_the_first_that_is_not_below_it(void **state)
{
    (void)state;
    static const struct item items[] = {{3, 'a'}, {5, 'b'}, {5, 'c'}, {UINT64_MAX, 'd'}};
    assert_int_equal(place(items, 4, 0), 0);
    assert_int_equal(place(items, 4, 3), 0);
    assert_int_equal(place(items, 4, 4), 1);
    assert_int_equal(place(items, 4, 5), 1);
    assert_int_equal(place(items, 4, 6), 3);
    assert_int_equal(place(items, 4, UINT64_MAX), 3);
    assert_int_equal(place(items, 3, UINT64_MAX), 3);
}

static void without_items_the_place_is_the_first(void **state)
{
    (void)state;
    assert_int_equal(place(NULL, 0, 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_of_a_number_is_the_first_that_is_not_below_it),
        cmocka_unit_test(without_items_the_place_is_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
