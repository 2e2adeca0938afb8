#include "app/watch/summary.h"

#include <stdio.h>

#include "support/test.h"

/* The page, without its first line, which has the duration. */
static struct span page_of(const struct summary *summary, struct buf *out, const char *start)
{
    buf_reset(out);
    summary_write(summary, out);
    struct span page = buf_span(out);
    assert_span(span_first(page, strlen(start)), start);
    const uint8_t *end = memchr(page.data, '\n', page.size);
    assert_non_null(end);
    assert_int_equal(page.data[page.size - 1], '\n');
    return span_from(page, (size_t)(end + 1 - page.data));
}

static void add_events(struct summary *summary, uint8_t provider, const char *name,
    enum decode_status status, unsigned count)
{
    const struct event_observer observer = summary_observer(summary);
    const struct event_schema schema = {.provider = {{provider}}, .provider_name = span_text(name)};
    const struct event_record record = {
        .provider = {{provider}}, .payload = span_make("x", status == DECODE_RAW ? 1 : 0)};
    const struct event event = {
        .record = &record, .schema = name ? &schema : NULL, .status = status};
    for (unsigned i = 0; i < count; i++) {
        assert_true(observer.event(observer.self, &event));
    }
}

static void providers_stand_by_their_number_of_events(void **state)
{
    (void)state;
    struct summary *summary = summary_create();
    assert_non_null(summary);
    struct buf out;
    buf_init(&out, 1 << 16);
    add_events(summary, 1, "One", DECODE_COMPLETE, 2);
    add_events(summary, 2, NULL, DECODE_RAW, 3);
    add_events(summary, 3, "Three", DECODE_RESIDUE, 4);
    add_events(summary, 3, "Three", DECODE_PARTIAL, 1);
    summary_add_output(summary, "local", 10, 12345, 0);
    summary_add_output(summary, "siem", 7, 99, 3);
    assert_span(page_of(summary, &out, "10 events in "),
        "             5  Three  (1 undecoded)\n"
        "             3  00000002-0000-0000-0000-000000000000  (3 undecoded)\n"
        "             2  One\n"
        "output local: 10 events, 12345 bytes\n"
        "output siem: 7 events, 99 bytes, 3 refused (etwship deadletter list)\n");
    buf_add_byte(&out, 0);
    assert_non_null(strstr((const char *)out.data, " s, 3 undecoded, 1 in part\n"));
    buf_fini(&out);
    summary_destroy(summary);
}

static void what_was_given_up_as_too_old_is_said(void **state)
{
    (void)state;
    struct summary *summary = summary_create();
    assert_non_null(summary);
    struct buf out;
    buf_init(&out, 1 << 16);
    summary_add_output(summary, "siem", 7, 99, 5);
    summary_add_too_old(summary, "siem", 3, 0);
    summary_add_too_old(summary, "siem", 1, 2); /* of another agent, after a reload */
    summary_add_output(summary, "old", 0, 0, 4);
    summary_add_too_old(summary, "old", 4, 0);
    summary_add_maybe_duplicates(summary, "old", 12);
    assert_span(page_of(summary, &out, "0 events in "),
        "output siem: 7 events, 99 bytes, 1 refused (etwship deadletter list), 4 given up as too "
        "old "
        "(etwship deadletter list), 2 lost as too old\n"
        "output old: 0 events, 0 bytes, 4 given up as too old (etwship deadletter list), "
        "12 maybe duplicates\n");
    buf_fini(&out);
    summary_destroy(summary);
}

static void names_do_not_steer_a_terminal(void **state)
{
    (void)state;
    struct summary *summary = summary_create();
    assert_non_null(summary);
    struct buf out;
    buf_init(&out, 1 << 16);
    add_events(summary, 1, "\x1b]0;mine\a\xc2\x9bm", DECODE_COMPLETE, 2);
    assert_span(
        page_of(summary, &out, "2 events in "), "             2  \\u001b]0;mine\\u0007\\u009bm\n");
    buf_fini(&out);
    summary_destroy(summary);
}

static void nothing_is_a_page_too(void **state)
{
    (void)state;
    struct summary *summary = summary_create();
    assert_non_null(summary);
    struct buf out;
    buf_init(&out, 1 << 16);
    assert_span(page_of(summary, &out, "0 events in "), "");
    buf_fini(&out);
    summary_destroy(summary);
    summary_destroy(NULL);
}

static void gaps_are_told(void **state)
{
    (void)state;
    struct summary *summary = summary_create();
    assert_non_null(summary);
    struct buf out;
    buf_init(&out, 1 << 16);
    const struct event_observer observer = summary_observer(summary);
    const struct gap gap = {.stage = "etw", .reason = "lost", .unit = "events", .count = 7};
    observer.gap(observer.self, &gap, 0, 1);
    observer.gap(observer.self, &gap, 0, 2);
    const struct gap at_output = {
        .stage = "output", .reason = "rejected", .unit = "events", .count = 9, .output = "a"};
    observer.gap(observer.self, &at_output, 0, 0); /* it was read, and lost later */
    static const char start[] = "2 gaps: 14 ";
    assert_span(span_first(page_of(summary, &out, "0 events in "), sizeof(start) - 1), start);
    buf_fini(&out);
    summary_destroy(summary);
}

static void note(void *self, const struct summary_provider *provider)
{
    buf_printf(self, "%02x %.*s %llu %llu, ", provider->guid ? provider->guid->bytes[0] : 0xff,
        SPAN_ARG(provider->name), (unsigned long long)provider->events,
        (unsigned long long)provider->undecoded);
}

static void expect_look(const struct summary *summary, const char *text)
{
    struct buf out;
    buf_init(&out, 10000);
    summary_look(summary, note, &out);
    assert_span(buf_span(&out), text);
    buf_fini(&out);
}

static void a_look_has_every_provider_in_the_order_in_which_they_came(void **state)
{
    (void)state;
    struct summary *summary = summary_create();
    struct summary *other = summary_create();
    assert_true(summary && other);
    expect_look(summary, "ff (others) 0 0, ");
    add_events(summary, 3, "Three", DECODE_COMPLETE, 1);
    add_events(summary, 1, NULL, DECODE_RAW, 2);
    expect_look(summary, "03 Three 1 0, 01  2 2, ff (others) 0 0, ");
    add_events(summary, 2, "Two", DECODE_PARTIAL, 1);
    add_events(summary, 3, "Three", DECODE_COMPLETE, 4);
    add_events(other, 4, "Four", DECODE_COMPLETE, 7);
    add_events(other, 1, NULL, DECODE_RAW, 3);
    summary_merge(summary, other);
    expect_look(summary, "03 Three 5 0, 01  5 5, 02 Two 1 1, 04 Four 7 0, ff (others) 0 0, ");
    summary_destroy(other);
    summary_destroy(summary);
}

static void more_providers_than_a_page_holds_are_counted(void **state)
{
    (void)state;
    struct summary *summary = summary_create();
    assert_non_null(summary);
    struct buf out;
    buf_init(&out, 1 << 16);
    for (uint8_t i = 1; i <= 20; i++) {
        add_events(summary, i, "P", DECODE_COMPLETE, i);
    }
    struct span page = page_of(summary, &out, "210 events in ");
    static const char end[] = "and 8 more providers\n";
    assert_span(span_from(page, page.size - (sizeof(end) - 1)), end);
    buf_fini(&out);
    summary_destroy(summary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(providers_stand_by_their_number_of_events),
        cmocka_unit_test(what_was_given_up_as_too_old_is_said),
        cmocka_unit_test(names_do_not_steer_a_terminal),
        cmocka_unit_test(nothing_is_a_page_too),
        cmocka_unit_test(gaps_are_told),
        cmocka_unit_test(a_look_has_every_provider_in_the_order_in_which_they_came),
        cmocka_unit_test(more_providers_than_a_page_holds_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
