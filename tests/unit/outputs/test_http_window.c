#include "support/test.h"

#include "outputs/http/http_window.h"

static struct http_window start(void)
{
    struct http_window window = {.taken = 0};
    http_window_start(&window);
    return window;
}

static void without_a_refusal_all_goes_at_once(void **state)
{
    (void)state;
    struct http_window window = start();
    assert_int_equal(window.records, SIZE_MAX);
    assert_int_equal(http_window_limit(&window), UINT64_MAX);
    http_window_taken(&window, 1000);
    assert_int_equal(window.records, SIZE_MAX);
    assert_int_equal(http_window_limit(&window), UINT64_MAX);
}

static void what_is_too_big_is_halved_and_remembered(void **state)
{
    (void)state;
    struct http_window window = start();
    assert_true(http_window_too_big(&window, 100, 1000));
    assert_int_equal(http_window_limit(&window), 500);
    assert_true(http_window_too_big(&window, 50, 500));
    assert_int_equal(http_window_limit(&window), 250);
    http_window_taken(&window, 250);
    assert_int_equal(http_window_limit(&window), 250);
    http_window_start(&window); /* the next delivery */
    assert_int_equal(http_window_limit(&window), 250);
    /* A smaller request does not lower the limit. */
    http_window_taken(&window, 20);
    assert_int_equal(http_window_limit(&window), 250);
    /* The server accepts less than before: the request is halved again. */
    assert_true(http_window_too_big(&window, 20, 200));
    assert_int_equal(http_window_limit(&window), 100);
}

static void what_is_taken_although_it_was_too_big_once_lifts_the_limit(void **state)
{
    (void)state;
    struct http_window window = start();
    assert_true(http_window_too_big(&window, 10, 100));
    http_window_taken(&window, 100);
    assert_int_equal(http_window_limit(&window), UINT64_MAX);
}

static void a_server_that_found_little_too_big_once_gets_more_again(void **state)
{
    (void)state;
    struct http_window window = start();
    assert_true(http_window_too_big(&window, 2, 20));
    assert_int_equal(http_window_limit(&window), 10);
    size_t requests = 0;
    for (; http_window_limit(&window) < 1000 && requests < 1000; requests++) {
        http_window_taken(&window, http_window_limit(&window));
    }
    assert_true(requests < 500);
    /* A server with a steady limit gets a larger request once in a while. */
    size_t refusals = 0;
    assert_true(http_window_too_big(&window, 60, 600));
    for (requests = 0; requests < 1000; requests++) {
        uint64_t bytes = http_window_limit(&window);
        if (bytes > 500) {
            refusals++;
            http_window_too_big(&window, 60, bytes);
        } else {
            http_window_taken(&window, bytes);
        }
    }
    assert_true(refusals < 40);
    assert_true(http_window_limit(&window) > 250);
}

static void a_single_record_that_is_too_big_changes_nothing(void **state)
{
    (void)state;
    struct http_window window = start();
    assert_true(http_window_too_big(&window, 3, 1002));
    assert_false(http_window_too_big(&window, 1, 1000));
    assert_int_equal(http_window_limit(&window), 501);
}

static void what_is_refused_is_halved_and_grows_again(void **state)
{
    (void)state;
    struct http_window window = start();
    http_window_refused(&window, 100);
    assert_int_equal(window.records, 50);
    http_window_refused(&window, 25);
    assert_int_equal(window.records, 12);
    http_window_taken(&window, 120);
    assert_int_equal(window.records, 24);
    http_window_taken(&window, 240);
    assert_int_equal(window.records, 48);
    /* After a bad record the next requests must not be large at once. */
    http_window_refused(&window, 1);
    assert_int_equal(window.records, 1);
    http_window_start(&window);
    assert_int_equal(window.records, SIZE_MAX);
}

static void several_lost_in_a_row_count_as_one_that_is_too_big(void **state)
{
    (void)state;
    struct http_window window = start();
    for (int i = 0; i < 10; i++) { /* losses now and then do not lower it */
        http_window_lost(&window, 100, 1000);
        http_window_lost(&window, 100, 1000);
        http_window_taken(&window, 1000);
        assert_int_equal(http_window_limit(&window), UINT64_MAX);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(http_window_limit(&window), UINT64_MAX);
        http_window_lost(&window, 100, 1000);
    }
    assert_int_equal(http_window_limit(&window), 500);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(http_window_limit(&window), 500);
        http_window_lost(&window, 50, 500);
    }
    assert_int_equal(http_window_limit(&window), 250);
    for (int i = 0; i < 3; i++) { /* a single record cannot be made smaller */
        http_window_lost(&window, 1, 240);
    }
    assert_int_equal(http_window_limit(&window), 250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_refusal_all_goes_at_once),
        cmocka_unit_test(what_is_too_big_is_halved_and_remembered),
        cmocka_unit_test(what_is_taken_although_it_was_too_big_once_lifts_the_limit),
        cmocka_unit_test(a_server_that_found_little_too_big_once_gets_more_again),
        cmocka_unit_test(a_single_record_that_is_too_big_changes_nothing),
        cmocka_unit_test(what_is_refused_is_halved_and_grows_again),
        cmocka_unit_test(several_lost_in_a_row_count_as_one_that_is_too_big),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
