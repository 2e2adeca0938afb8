#include "cli/text/tally.h"

#include <stdlib.h>

#include "support/test.h"

static void keys_are_counted_and_sorted_by_their_bytes(void **state)
{
    (void)state;
    static const char *const words[] = {"b", "a", "ab", "b", "", "b", "\xff", "ab"};
    struct tally tally;
    tally_init(&tally);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char copy[4];
        strcpy(copy, words[i]);
        assert_non_null(tally_add(&tally, span_text(copy)));
        memset(copy, 'x', sizeof(copy)); /* the key is the tally's own */
    }
    static const struct {
        const char *key;
        uint64_t count;
    } expected[] = {{"", 1}, {"a", 1}, {"ab", 2}, {"b", 3}, {"\xff", 1}};
    size_t count;
    struct tally_row **rows = tally_sorted(&tally, &count);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        assert_span(rows[i]->key, expected[i].key);
        assert_int_equal(rows[i]->count, expected[i].count);
        assert_null(rows[i]->extra);
    }
    free(rows);
    assert_int_equal(tally.beyond, 0);
    tally_fini(&tally);
}

static void an_empty_tally_has_no_rows(void **state)
{
    (void)state;
    struct tally tally;
    tally_init(&tally);
    size_t count = 7;
    assert_null(tally_sorted(&tally, &count));
    assert_int_equal(count, 0);
    tally_fini(&tally);
}

static void keys_beyond_the_limit_are_counted_together(void **state)
{
    (void)state;
    struct tally tally;
    tally_init(&tally);
    for (uint32_t i = 0; i < TALLY_MAX_KEYS + 10; i++) {
        struct tally_row *row = tally_add(&tally, span_make(&i, sizeof(i)));
        assert_int_equal(row != NULL, i < TALLY_MAX_KEYS);
    }
    assert_int_equal(tally.beyond, 10);
    uint32_t known = 3;
    assert_int_equal(tally_add(&tally, span_make(&known, sizeof(known)))->count, 2);
    tally_fini(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_counted_and_sorted_by_their_bytes),
        cmocka_unit_test(an_empty_tally_has_no_rows),
        cmocka_unit_test(keys_beyond_the_limit_are_counted_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
