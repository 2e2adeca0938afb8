#include "support/winhttp_fake.h"

#include "outputs/http/proxy/http_pac.h"

/* Searches that do not end. What answers mean: test_http_proxy.c. */

static const uint16_t url[] = {'h', 't', 't', 'p', ':', '/', '/', 'e', 's', '/', 0};

/* Called for the ${*count}th search: it continues only once that search hangs. */
static bool wait_for_it(void *count)
{
    winhttp_fake_wait(*(const int *)count);
    return false;
}

static bool stop_then(void *count)
{
    winhttp_fake_wait(*(const int *)count);
    return true;
}

static struct http_pac_question question_of(bool (*stopping)(void *host), int *count)
{
    return (struct http_pac_question){.winhttp = &winhttp_fake_api,
        .url = url,
        .detects = true,
        .limit_ms = 1,
        .stopping = stopping,
        .host = count};
}

static void a_stop_leaves_it_behind(void **state)
{
    (void)state;
    int count = 1;
    struct http_pac_answer answer;
    struct http_pac_question question = question_of(stop_then, &count);
    question.limit_ms = 0;
    winhttp_fake_set(&(struct winhttp_fake){.answer = "s:2", .hangs = true});
    assert_false(http_pac_ask(&question, &answer));
    assert_int_equal(winhttp.sessions, 1); /* not closed while it is in use */
    winhttp_fake_release();                /* frees the late answer, too */
    winhttp_fake_check();
}

static void one_that_takes_too_long_has_no_answer(void **state)
{
    (void)state;
    int count = 1;
    struct http_pac_answer answer;
    const struct http_pac_question question = question_of(wait_for_it, &count);
    winhttp_fake_set(&(struct winhttp_fake){.answer = "s:2", .hangs = true});
    assert_true(http_pac_ask(&question, &answer));
    assert_int_equal(answer.error, 12002); /* ERROR_WINHTTP_TIMEOUT */
    assert_null(answer.named.proxy);
    winhttp_fake_release();
    winhttp_fake_check();
}

/* This is the last test, because the threads of the others may not have ended yet. */
static void no_more_than_a_few_are_left_behind(void **state)
{
    (void)state;
    int count = 0;
    struct http_pac_answer answer;
    const struct http_pac_question question = question_of(wait_for_it, &count);
    winhttp_fake_set(&(struct winhttp_fake){.answer = "s:2", .hangs = true});
    while (winhttp.asked == count) {
        count++;
        assert_true(count <= HTTP_PAC_LEFT_MAX + 1);
        assert_true(http_pac_ask(&question, &answer));
        assert_int_equal(answer.error, PLAT_WINHTTP_TIMEOUT);
    }
    assert_in_range(count, HTTP_PAC_LEFT_MAX - 1, HTTP_PAC_LEFT_MAX + 1);
    winhttp_fake_release();
    winhttp_fake_check();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_leaves_it_behind),
        cmocka_unit_test(one_that_takes_too_long_has_no_answer),
        cmocka_unit_test(no_more_than_a_few_are_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
