#include "outputs/event_memo.h"

#include "support/test.h"

/* 2026-11-21T09:30:00Z; Python: (datetime(2026,11,21,9,30) - datetime(1601,1,1)) // 100 ns. */
#define MORNING UINT64_C(134397270000000000)

static bool reads(struct event_memo *memo, const char *text, uint64_t *ret_time)
{
    return event_memo_time(memo, span_text(text), ret_time);
}

static void times_of_one_second_and_of_others_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t time;
    } cases[] = {{"2026-11-21T09:30:00.1234567Z", MORNING + 1234567},
        {"2026-11-21T09:30:00.0000001Z", MORNING + 1},
        {"2026-11-21T09:30:00.9999999Z", MORNING + 9999999},
        {"2026-11-21T09:30:01.0000000Z", MORNING + 10000000},
        {"2026-11-21T09:30:00.5Z", MORNING + 5000000}, {"2026-11-21T09:30:00Z", MORNING},
        {"2026-11-21T10:30:00.5+01:00", MORNING + 5000000},
        {"2026-11-21T09:30:00.0000002Z", MORNING + 2}};
    struct event_memo memo;
    uint64_t time;
    event_memo_init(&memo);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(reads(&memo, cases[i].text, &time));
        assert_int_equal(time, cases[i].time);
    }
    event_memo_fini(&memo);
}

static void what_begins_as_a_time_and_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"2026-11-21T09:30:00.123456xZ",
        "2026-11-21T09:30:00.1234567z ", "2026-11-21T09:30:00.1234567",
        "2026-11-21T09:30:00.123456\"Z", "2026-11-21T09:30:00.", ""};
    struct event_memo memo;
    uint64_t time;
    event_memo_init(&memo);
    assert_false(event_memo_time(&memo,
        span_make("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                  "0000000Z",
            28),
        &time));
    assert_true(reads(&memo, "2026-11-21T09:30:00.1234567Z", &time));
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_false(reads(&memo, texts[i], &time));
    }
    event_memo_fini(&memo);
}

static void keep(struct event_memo *memo, const char *record, const char *host, const char *name)
{
    const char *at = strstr(record, host);
    event_memo_keep_host(memo, span_text(record), span_make(at, strlen(host)), span_text(name));
}

static void what_ends_alike_has_the_same_host(void **state)
{
    (void)state;
    struct event_memo memo;
    struct span name;
    event_memo_init(&memo);
    assert_false(event_memo_host(&memo, span_text("{}"), &name));
    keep(&memo, "{\"a\":1,\"host\":{\"name\":\"h\"},\"b\":2}", "{\"name\":\"h\"}", "h");
    assert_true(
        event_memo_host(&memo, span_text("{\"c\":[3],\"host\":{\"name\":\"h\"},\"b\":2}"), &name));
    assert_span(name, "h");
    assert_false(
        event_memo_host(&memo, span_text("{\"c\":[3],\"host\":{\"name\":\"h\"},\"b\":3}"), &name));
    assert_false(event_memo_host(&memo, span_text("}"), &name));
    /* It is the first member: the bytes before it are not part of the end. */
    keep(&memo, "{\"host\":{\"name\":\"h\"}}", "{\"name\":\"h\"}", "h");
    assert_false(event_memo_host(&memo, span_text("{\"host\":{\"name\":\"h\"}}"), &name));
    event_memo_fini(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_one_second_and_of_others_are_read),
        cmocka_unit_test(what_begins_as_a_time_and_is_none_is_refused),
        cmocka_unit_test(what_ends_alike_has_the_same_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
