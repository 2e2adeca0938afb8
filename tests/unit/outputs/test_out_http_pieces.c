#include "unit/outputs/out_http_rig.h"

/* Records that a server does not accept at once, or never. */

/* ---- pieces ---------------------------------------------------------------------------------- */

static void what_is_too_big_goes_in_pieces_and_the_size_is_remembered(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 100; /* nine lines */
    assert_int_equal(send_lines(&f, numbered(64)), OUTPUT_DELIVERED);
    assert_string_equal(f.stored, numbered(64));
    size_t requests = http_fake_count(f.fake);
    assert_int_equal(send_lines(&f, numbered(64)), OUTPUT_DELIVERED);
    assert_int_equal(http_fake_count(f.fake), requests + 8); /* none was too big */
    teardown(&f);
}

static void what_breaks_the_connection_time_and_again_goes_in_pieces(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 200; /* of 704 */
    f.breaks = true;
    int tries = 0;
    while (send_lines(&f, numbered(64)) == OUTPUT_RETRY) {
        assert_false(f.report.degraded);
        assert_in_range(++tries, 1, 6);
    }
    assert_int_equal(tries, 6); /* halved twice, after three losses each */
    assert_string_equal(f.stored, numbered(64));
    teardown(&f);
}

static void one_that_breaks_every_connection_is_not_rejected(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 10;
    f.breaks = true;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(send_lines(&f, numbered(4)), OUTPUT_RETRY);
    }
    assert_int_equal(f.rejected_count, 0);
    teardown(&f);
}

static void one_that_is_too_big_alone_is_rejected_and_no_other(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 12;
    assert_int_equal(
        send_lines(&f, "{\"a\":1}\n{\"a\":\"long long long\"}\n{\"a\":2}\n"), OUTPUT_MIXED);
    assert_string_equal(f.stored, "{\"a\":1}\n{\"a\":2}\n");
    assert_int_equal(f.records[0], RECORD_DELIVERED);
    assert_int_equal(f.records[1], RECORD_REJECTED);
    assert_int_equal(f.records[2], RECORD_DELIVERED);
    assert_int_equal(f.rejected_count, 1);
    assert_int_equal(f.rejected[0].record, 1);
    assert_int_equal(f.rejected[0].status, 413);
    teardown(&f);
}

static void what_is_refused_is_found_among_the_others(void **state)
{
    (void)state;
    for (size_t bad = 0; bad < 100; bad += 33) {
        struct fixture f;
        char text[16];
        setup_store(&f);
        snprintf(text, sizeof(text), ":%zu}", 1000 + bad);
        f.bad = text;
        assert_int_equal(send_lines(&f, numbered(100)), OUTPUT_MIXED);
        assert_int_equal(f.rejected_count, 1);
        assert_int_equal(f.rejected[0].record, bad);
        assert_int_equal(f.rejected[0].status, 400);
        assert_string_equal(f.rejected[0].reason, "{\"text\":\"Invalid  data\"}");
        assert_int_equal(strlen(f.stored), 99 * 11);
        assert_null(strstr(f.stored, text));
        for (size_t i = 0; i < 100; i++) {
            assert_int_equal(f.records[i], i == bad ? RECORD_REJECTED : RECORD_DELIVERED);
        }
        assert_true(http_fake_count(f.fake) < 25);
        teardown(&f);
    }
}

/* ---- a server that refuses everything -------------------------------------------------------- */

/* "b": bad, "g": good. */
static const char *lines_of(const char *kinds)
{
    static char lines[TEXT_BYTES];
    size_t at = 0;
    lines[0] = '\0';
    for (size_t i = 0; kinds[i]; i++) {
        at += (size_t)snprintf(
            lines + at, sizeof(lines) - at, "{\"%s\":%zu}\n", kinds[i] == 'b' ? "bad" : "good", i);
    }
    return lines;
}

static void the_set_up_looks_wrong_after_sixteen_until_it_is_corrected(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 15, 16, 17, 64, 200};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fixture f;
        size_t lost = 0;
        setup_store(&f);
        f.bad = "n";
        while (send_lines(&f, numbered(sizes[i])) == OUTPUT_REJECTED) {
            assert_false(f.report.degraded);
            lost += f.rejected_count;
            assert_true(lost <= 16);
        }
        for (int again = 0; again < 3; again++) {
            size_t requests = http_fake_count(f.fake);
            assert_true(f.report.degraded);
            assert_int_equal(f.rejected_count, 0);
            assert_non_null(strstr(f.report.error.text, "status 400"));
            assert_non_null(strstr(f.report.error.text, "check the settings"));
            assert_int_equal(send_lines(&f, numbered(sizes[i])), OUTPUT_RETRY);
            assert_true(http_fake_count(f.fake) <= requests + 2);
        }
        f.bad = NULL;
        assert_int_equal(send_lines(&f, numbered(sizes[i])), OUTPUT_DELIVERED);
        assert_string_equal(f.stored, numbered(sizes[i]));
        assert_false(f.report.degraded);
        teardown(&f);
    }
}

/* A limit of the server that no event fits. */
static void a_limit_that_nothing_fits_is_a_wrong_set_up_too(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 5, 17, 64};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fixture f;
        size_t lost = 0;
        setup_store(&f);
        f.limit_bytes = 5;
        while (send_lines(&f, numbered(sizes[i])) == OUTPUT_REJECTED) {
            lost += f.rejected_count;
            assert_true(lost <= 16);
        }
        for (int again = 0; again < 3; again++) {
            assert_true(f.report.degraded);
            assert_int_equal(f.rejected_count, 0);
            assert_non_null(strstr(f.report.error.text, "status 413"));
            assert_int_equal(send_lines(&f, numbered(sizes[i])), OUTPUT_RETRY);
        }
        f.limit_bytes = 0;
        assert_int_equal(send_lines(&f, numbered(sizes[i])), OUTPUT_DELIVERED);
        assert_int_equal(strlen(f.stored), sizes[i] * 11);
        teardown(&f);
    }
}

static void something_taken_between_lets_the_count_begin_anew(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.bad = "bad";
    for (int i = 0; i < 5; i++) {
        assert_int_equal(send_lines(&f, lines_of("bbbbbbbbbbbbbbbb")), OUTPUT_REJECTED);
        assert_int_equal(send_lines(&f, lines_of("g")), OUTPUT_DELIVERED);
    }
    teardown(&f);
}

static void many_bad_events_are_found_although_they_look_like_a_bad_set_up(void **state)
{
    (void)state;
    static const struct {
        const char *kinds;
        int retries; /* how often the set-up looks wrong before that */
    } cases[] = {
        {"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbg", 0},
        {"bbbbbbbbbbbbbbbbg", 0},
        {"bbbbbbbbbbbbbbbbbg", 0},
        {"gbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 0},
        {"bbbbbbbbbbbbbbbbbgbbbbbbbbbbbbbbbbbbbbbg", 0},
        {"bbbbbbbbbbbbbbbbbbgb", 1},
        {"bbbbbbbbbbbbbbbbbbbbgbbb", 3},
        {"bbbbbbbbbgbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 0}, /* the search meets it first */
        {"bbbbbbbbbbbbbbbbbgggggggggggggggggggggggggbbbbbbbbb", 9},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;
        const char *kinds = cases[i].kinds;
        size_t good = 0;
        size_t bad = 0;
        setup_store(&f);
        f.bad = "bad";
        for (int n = 0; n < cases[i].retries; n++) {
            assert_int_equal(send_lines(&f, lines_of(kinds)), OUTPUT_RETRY);
            assert_true(f.report.degraded);
            assert_int_equal(f.rejected_count, 0);
            assert_string_equal(f.stored, "");
        }
        assert_int_equal(send_lines(&f, lines_of(kinds)), OUTPUT_MIXED);
        assert_false(f.report.degraded);
        for (size_t k = 0; kinds[k]; k++) {
            char line[32];
            snprintf(line, sizeof(line), "{\"good\":%zu}\n", k);
            const char *at = strstr(f.stored, line);
            assert_int_equal(f.records[k], kinds[k] == 'g' ? RECORD_DELIVERED : RECORD_REJECTED);
            assert_int_equal(at != NULL, kinds[k] == 'g');
            assert_null(at ? strstr(at + 1, line) : NULL); /* not twice */
            if (kinds[k] == 'b') {
                assert_int_equal(f.rejected[bad].record, k);
                assert_int_equal(f.rejected[bad].status, 400);
                assert_string_equal(f.rejected[bad++].reason, "{\"text\":\"Invalid  data\"}");
            } else {
                good++;
            }
        }
        assert_int_equal(f.rejected_count, bad);
        assert_int_equal(good + bad, strlen(kinds));
        teardown(&f);
    }
}

static void without_an_answer_for_the_last_no_record_is_rejected(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.bad = "n";
    f.fails_at = 6 + 16 + 1 + 1; /* 64, 32, 16, 8, 4, 2, sixteen alone, one more, and the last */
    assert_int_equal(send_lines(&f, numbered(64)), OUTPUT_RETRY);
    assert_int_equal(http_fake_count(f.fake), f.fails_at);
    assert_false(f.report.degraded);
    assert_int_equal(f.rejected_count, 0);
    assert_non_null(strstr(f.report.error.text, "status 503"));
    teardown(&f);
}

static void what_was_taken_before_a_failure_stays_taken(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 22;
    f.obeys = 3;
    assert_int_equal(send_lines(&f, numbered(8)), OUTPUT_MIXED);
    assert_string_equal(f.stored, numbered(4));
    assert_int_equal(f.report.wait_ms, 3000);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(f.records[i], i < 4 ? RECORD_DELIVERED : RECORD_RETRY);
    }
    teardown(&f);
}

static void a_stop_comes_between_two_pieces(void **state)
{
    (void)state;
    struct fixture f;
    setup_store(&f);
    f.limit_bytes = 22;
    f.stops = true;
    assert_int_equal(send_lines(&f, numbered(8)), OUTPUT_RETRY);
    assert_string_equal(f.stored, "");
    f.stops = false;
    assert_int_equal(send_lines(&f, numbered(8)), OUTPUT_DELIVERED);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_too_big_goes_in_pieces_and_the_size_is_remembered),
        cmocka_unit_test(what_breaks_the_connection_time_and_again_goes_in_pieces),
        cmocka_unit_test(one_that_breaks_every_connection_is_not_rejected),
        cmocka_unit_test(one_that_is_too_big_alone_is_rejected_and_no_other),
        cmocka_unit_test(what_is_refused_is_found_among_the_others),
        cmocka_unit_test(the_set_up_looks_wrong_after_sixteen_until_it_is_corrected),
        cmocka_unit_test(a_limit_that_nothing_fits_is_a_wrong_set_up_too),
        cmocka_unit_test(something_taken_between_lets_the_count_begin_anew),
        cmocka_unit_test(many_bad_events_are_found_although_they_look_like_a_bad_set_up),
        cmocka_unit_test(without_an_answer_for_the_last_no_record_is_rejected),
        cmocka_unit_test(what_was_taken_before_a_failure_stays_taken),
        cmocka_unit_test(a_stop_comes_between_two_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
