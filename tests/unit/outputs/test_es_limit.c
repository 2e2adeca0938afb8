#include "support/test.h"

#include "outputs/elasticsearch/es_limit.h"

static void nothing_is_known_at_first(void **state)
{
    (void)state;
    struct es_limit limit;
    es_limit_init(&limit);
    assert_int_equal(es_limit_bytes(&limit), UINT64_MAX);
    es_limit_taken(&limit, 1000);
    assert_int_equal(es_limit_bytes(&limit), UINT64_MAX);
}

static void what_is_refused_is_halved_unless_more_was_taken(void **state)
{
    (void)state;
    struct es_limit limit;
    es_limit_init(&limit);
    es_limit_refused(&limit, 1000);
    assert_int_equal(es_limit_bytes(&limit), 500);
    es_limit_refused(&limit, 500);
    assert_int_equal(es_limit_bytes(&limit), 250);
    es_limit_taken(&limit, 240);
    assert_int_equal(es_limit_bytes(&limit), 250);
    /* A single record may be larger than the limit. */
    es_limit_taken(&limit, 300);
    assert_int_equal(es_limit_bytes(&limit), 300);
    es_limit_refused(&limit, 400);
    assert_int_equal(es_limit_bytes(&limit), 300);
    /* The server accepts less than before. */
    es_limit_refused(&limit, 300);
    assert_int_equal(es_limit_bytes(&limit), 150);
}

static void a_limit_ends_at_nothing(void **state)
{
    (void)state;
    struct es_limit limit;
    es_limit_init(&limit);
    for (uint64_t size = UINT64_MAX; size; size /= 2) {
        es_limit_refused(&limit, size);
        assert_int_equal(es_limit_bytes(&limit), size / 2);
    }
    es_limit_init(&limit);
    for (int i = 0; i < 100; i++) {
        es_limit_lost(&limit, 0);
    }
    assert_int_equal(es_limit_bytes(&limit), 0);
}

static void connections_that_break_time_and_again_make_it_smaller_for_a_while(void **state)
{
    (void)state;
    struct es_limit limit;
    es_limit_init(&limit);
    for (int i = 0; i < 10; i++) { /* losses now and then do not lower it */
        es_limit_lost(&limit, 1000);
        es_limit_lost(&limit, 1000);
        es_limit_taken(&limit, 1000);
        assert_int_equal(es_limit_bytes(&limit), UINT64_MAX);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(es_limit_bytes(&limit), UINT64_MAX);
        es_limit_lost(&limit, 1000);
    }
    assert_int_equal(es_limit_bytes(&limit), 500);
    uint64_t before = 500;
    for (int i = 0; i < 5000 && before != UINT64_MAX; i++) {
        es_limit_taken(&limit, 100);
        assert_true(es_limit_bytes(&limit) > before);
        before = es_limit_bytes(&limit);
    }
    assert_int_equal(before, UINT64_MAX);
}

static void what_was_refused_stays_refused(void **state)
{
    (void)state;
    struct es_limit limit;
    es_limit_init(&limit);
    es_limit_refused(&limit, 1000);
    for (int i = 0; i < 3; i++) {
        es_limit_lost(&limit, 400);
    }
    assert_int_equal(es_limit_bytes(&limit), 200);
    for (int i = 0; i < 5000; i++) {
        es_limit_taken(&limit, 100);
    }
    assert_int_equal(es_limit_bytes(&limit), 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(what_is_refused_is_halved_unless_more_was_taken),
        cmocka_unit_test(a_limit_ends_at_nothing),
        cmocka_unit_test(connections_that_break_time_and_again_make_it_smaller_for_a_while),
        cmocka_unit_test(what_was_refused_stays_refused),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_limit", tests, NULL, NULL);
}
