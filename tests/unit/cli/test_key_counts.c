#include "cli/text/key_counts.h"

#include <stdlib.h>

#include "support/test.h"

static void keys_are_counted_and_sorted_by_their_bytes(void **state)
{
    (void)state;
    static const char *const words[] = {"b", "a", "ab", "b", "", "b", "\xff", "ab"};
    struct key_counts counts;
    key_counts_init(&counts);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char copy[4];
        strcpy(copy, words[i]);
        assert_non_null(key_counts_add(&counts, span_text(copy)));
        memset(copy, 'x', sizeof(copy)); /* the key is the table's own */
    }
    static const struct {
        const char *key;
        uint64_t count;
    } expected[] = {{"", 1}, {"a", 1}, {"ab", 2}, {"b", 3}, {"\xff", 1}};
    size_t count;
    struct key_count **rows = key_counts_sorted(&counts, &count);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        assert_span(rows[i]->key, expected[i].key);
        assert_int_equal(rows[i]->count, expected[i].count);
        assert_null(rows[i]->extra);
    }
    free(rows);
    assert_int_equal(counts.beyond, 0);
    key_counts_fini(&counts);
}

static void an_empty_table_has_no_rows(void **state)
{
    (void)state;
    struct key_counts counts;
    key_counts_init(&counts);
    size_t count = 7;
    assert_null(key_counts_sorted(&counts, &count));
    assert_int_equal(count, 0);
    key_counts_fini(&counts);
}

static void keys_beyond_the_limit_are_counted_together(void **state)
{
    (void)state;
    struct key_counts counts;
    key_counts_init(&counts);
    for (uint32_t i = 0; i < KEY_COUNTS_MAX_KEYS + 10; i++) {
        struct key_count *row = key_counts_add(&counts, span_make(&i, sizeof(i)));
        assert_int_equal(row != NULL, i < KEY_COUNTS_MAX_KEYS);
    }
    assert_int_equal(counts.beyond, 10);
    uint32_t known = 3;
    assert_int_equal(key_counts_add(&counts, span_make(&known, sizeof(known)))->count, 2);
    key_counts_fini(&counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_counted_and_sorted_by_their_bytes),
        cmocka_unit_test(an_empty_table_has_no_rows),
        cmocka_unit_test(keys_beyond_the_limit_are_counted_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
