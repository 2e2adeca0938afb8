#include "support/test.h"

#include "outputs/http/http_window.h"

enum { MAX_RECORDS = 100, SIZE = 10 };

struct fixture {
    struct http_window window;
    size_t count;
    uint32_t ends[MAX_RECORDS];
};

static void setup(struct fixture *f, size_t count)
{
    *f = (struct fixture){.count = count};
    for (size_t i = 0; i < count; i++) {
        f->ends[i] = (uint32_t)(i + 1) * SIZE;
    }
    http_window_start(&f->window);
}

/* Records from ${first} on in the next request. */
static size_t fit(const struct fixture *f, size_t first)
{
    uint32_t start = first ? f->ends[first - 1] : 0;
    size_t records = 1;
    while (first + records < f->count && records < f->window.records &&
           f->ends[first + records] - start <= http_window_limit(&f->window)) {
        records++;
    }
    return records;
}

static void without_a_refusal_all_goes_at_once(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    assert_int_equal(fit(&f, 0), 100);
    assert_int_equal(fit(&f, 99), 1);
    http_window_taken(&f.window, 1000);
    assert_int_equal(fit(&f, 0), 100);
    assert_int_equal(f.window.refused_bytes, 0);
}

static void what_is_too_big_is_halved_and_remembered(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    assert_true(http_window_too_big(&f.window, 100, 1000));
    assert_int_equal(fit(&f, 0), 50);
    assert_true(http_window_too_big(&f.window, 50, 500));
    assert_int_equal(fit(&f, 0), 25);
    http_window_taken(&f.window, 250);
    assert_int_equal(fit(&f, 25), 25);
    http_window_start(&f.window); /* the next delivery */
    assert_int_equal(fit(&f, 0), 25);
    /* A smaller request does not lower the limit. */
    http_window_taken(&f.window, 20);
    assert_int_equal(fit(&f, 0), 25);
    /* The server accepts less than before: the request is halved again. */
    assert_true(http_window_too_big(&f.window, 20, 200));
    assert_int_equal(fit(&f, 0), 10);
}

static void what_is_taken_although_it_was_too_big_once_lifts_the_limit(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    assert_true(http_window_too_big(&f.window, 10, 100));
    http_window_taken(&f.window, 100);
    assert_int_equal(fit(&f, 0), 100);
}

static void a_server_that_found_little_too_big_once_gets_more_again(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    assert_true(http_window_too_big(&f.window, 2, 20));
    assert_int_equal(fit(&f, 0), 1);
    size_t requests = 0;
    for (size_t count = 1; count < 100 && requests < 1000; requests++) {
        count = fit(&f, 0);
        http_window_taken(&f.window, count * SIZE);
    }
    assert_true(requests < 500);
    /* A server with a steady limit gets a larger request once in a while. */
    size_t refusals = 0;
    assert_true(http_window_too_big(&f.window, 60, 600));
    for (requests = 0; requests < 1000; requests++) {
        size_t count = fit(&f, 0);
        if (count > 50) {
            refusals++;
            http_window_too_big(&f.window, count, count * SIZE);
        } else {
            http_window_taken(&f.window, count * SIZE);
        }
    }
    assert_true(refusals < 40);
    assert_true(fit(&f, 0) > 25);
}

static void one_record_is_the_least(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 3);
    f.ends[0] = 1000;
    f.ends[1] = 1001;
    f.ends[2] = 1002;
    assert_true(http_window_too_big(&f.window, 3, 1002));
    assert_int_equal(fit(&f, 0), 1);
    assert_int_equal(fit(&f, 1), 2);
    assert_false(http_window_too_big(&f.window, 1, 1000));
    assert_false(http_window_refused(&f.window, 1));
}

static void what_is_refused_is_halved_and_grows_again(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f, 100);
    assert_true(http_window_refused(&f.window, 100));
    assert_int_equal(fit(&f, 0), 50);
    assert_true(http_window_refused(&f.window, 50));
    assert_true(http_window_refused(&f.window, 25));
    assert_int_equal(fit(&f, 0), 12);
    http_window_taken(&f.window, 120);
    assert_int_equal(fit(&f, 12), 24);
    http_window_taken(&f.window, 240);
    assert_int_equal(fit(&f, 36), 48);
    /* After a bad record the next requests must not be large at once. */
    assert_false(http_window_refused(&f.window, 1));
    assert_int_equal(fit(&f, 36), 1);
    http_window_start(&f.window);
    assert_int_equal(fit(&f, 0), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_refusal_all_goes_at_once),
        cmocka_unit_test(what_is_too_big_is_halved_and_remembered),
        cmocka_unit_test(what_is_taken_although_it_was_too_big_once_lifts_the_limit),
        cmocka_unit_test(a_server_that_found_little_too_big_once_gets_more_again),
        cmocka_unit_test(one_record_is_the_least),
        cmocka_unit_test(what_is_refused_is_halved_and_grows_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
