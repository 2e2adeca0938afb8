#include "support/test.h"

#include "base/grow.h"

struct list {
    uint32_t *items;
    size_t count;
    size_t capacity;
};

static void a_list_keeps_its_elements_while_it_doubles(void **state)
{
    (void)state;
    struct list list = {.items = NULL};
    size_t moves = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        size_t before = list.capacity;
        assert_true(grow_list(&list.items, list.count, &list.capacity, sizeof(*list.items)));
        assert_true(list.count < list.capacity);
        moves += list.capacity != before;
        list.items[list.count++] = i;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(list.items[i], i);
    }
    assert_int_equal(list.capacity, 1024);
    assert_int_equal(moves, 5); /* 64, 128, 256, 512, 1024 */
    free(list.items);
}

static void a_list_of_pointers_grows_too(void **state)
{
    (void)state;
    static const char word[] = "word";
    const char **words = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 100; i++) {
        assert_true(grow_list(&words, i, &capacity, sizeof(*words)));
        words[i] = word;
    }
    assert_ptr_equal(words[0], word);
    assert_ptr_equal(words[99], word);
    free((void *)words);
}

static void an_array_for_a_batch_grows_to_the_count_and_never_shrinks(void **state)
{
    (void)state;
    struct list list = {.items = NULL};
    assert_true(grow_to(&list.items, 0, &list.capacity, sizeof(*list.items)));
    assert_null(list.items);
    assert_true(grow_to(&list.items, 7, &list.capacity, sizeof(*list.items)));
    assert_int_equal(list.capacity, 7);
    list.items[6] = 42;
    assert_true(grow_to(&list.items, 3, &list.capacity, sizeof(*list.items)));
    assert_int_equal(list.capacity, 7);
    assert_true(grow_to(&list.items, 100, &list.capacity, sizeof(*list.items)));
    assert_int_equal(list.capacity, 100);
    assert_int_equal(list.items[6], 42);
    list.items[99] = 43;
    free(list.items);
}

static void too_many_bytes_leave_the_array_as_it_was(void **state)
{
    (void)state;
    enum { SIZE = 8 };
    struct list list = {.items = NULL};
    assert_true(grow_to(&list.items, 2, &list.capacity, sizeof(*list.items)));
    list.items[1] = 42;
    const uint32_t *before = list.items;

    assert_false(grow_array(&list.items, SIZE_MAX / SIZE + 1, SIZE));
    assert_false(grow_to(&list.items, SIZE_MAX / SIZE + 1, &list.capacity, SIZE));
    assert_int_equal(list.capacity, 2);

    /* capacities whose double has too many bytes, and is no size_t at all */
    const size_t most[] = {SIZE_MAX / SIZE / 2 + 1, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < 2; i++) {
        size_t capacity = most[i];
        assert_false(grow_list(&list.items, capacity, &capacity, SIZE));
        assert_int_equal(capacity, most[i]);
    }
    assert_ptr_equal(list.items, before);
    assert_int_equal(list.items[1], 42);
    free(list.items);
}

static void arrays_that_share_a_capacity_grow_one_by_one(void **state)
{
    (void)state;
    uint8_t *bytes = NULL;
    uint64_t *numbers = NULL;
    assert_true(grow_array(&bytes, 10, sizeof(*bytes)));
    assert_true(grow_array(&numbers, 10, sizeof(*numbers)));
    bytes[9] = 1;
    numbers[9] = 2;
    assert_true(grow_array(&bytes, 20, sizeof(*bytes)));
    assert_true(grow_array(&numbers, 20, sizeof(*numbers)));
    bytes[19] = 3;
    numbers[19] = 4;
    assert_int_equal(bytes[9], 1);
    assert_int_equal(numbers[9], 2);
    free(bytes);
    free(numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_keeps_its_elements_while_it_doubles),
        cmocka_unit_test(a_list_of_pointers_grows_too),
        cmocka_unit_test(an_array_for_a_batch_grows_to_the_count_and_never_shrinks),
        cmocka_unit_test(too_many_bytes_leave_the_array_as_it_was),
        cmocka_unit_test(arrays_that_share_a_capacity_grow_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
