#include <stdio.h>

#include "event/formats/event_format.h"
#include "event/write/event_process.h"
#include "support/json_check.h"
#include "unit/event/writer_fixture.h"

/*
 * Times that traces and clocks may have, in every place where formats write one: the result is one
 * JSON object of valid UTF-8, and the time is right. sanitizer.valgrind.event_format_times checks
 * these lines for memory that was never written.
 */

/* FILETIMEs, and what they are in UTC by Python: (datetime(1601, 1, 1) + timedelta(microseconds=t
 * // 10)).isoformat(), which ends with the year 9999. */
static const struct {
    uint64_t time;
    const char *text;
    const char *clock; /* in sentences */
} times[] = {
    {1, "1601-01-01T00:00:00.0000001Z", "00:00:00.0000001"},
    {FIXTURE_TIME, "2026-11-21T09:30:00.1234567Z", "09:30:00.1234567"},
    {UINT64_C(2650467743999999999), "9999-12-31T23:59:59.9999999Z", "23:59:59.9999999"},
    {UINT64_C(2650467744000000000), "0x24c85a5ed1c04000", "0x24c85a5ed1c04000"},
    {UINT64_C(0x7fffffffffffffff), "0x7fffffffffffffff", "0x7fffffffffffffff"},
    {UINT64_C(0x8000000000000000), "0x8000000000000000", "0x8000000000000000"},
    {UINT64_MAX, "0xffffffffffffffff", "0xffffffffffffffff"},
};

enum { TIMES = sizeof(times) / sizeof(times[0]) };

static const char *const formats[] = {"native", "ecs", "pretty"};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* Fills the place of the writers' local buffers with garbage, so that unwritten bytes are seen. */
static void dirty_the_stack(void)
{
    volatile uint8_t dirt[16384];
    for (size_t i = 0; i < sizeof(dirt); i++) {
        dirt[i] = 0xfe;
    }
}

static void assert_sound(const struct writer_fixture *f, const char *format)
{
    size_t at = 0;
    struct span line = buf_span(&f->out);
    const char *wrong = json_check_utf8(line, &at);
    assert_false(f->out.failed);
    if (!wrong && strcmp(format, "pretty") != 0) {
        wrong = json_check_line(line, &at);
    }
    if (wrong) {
        fail_msg("%s: byte %zu: %s: %.*s", format, at, wrong, SPAN_ARG(line));
    }
}

static void assert_has(struct writer_fixture *f, const char *text)
{
    buf_add_byte(&f->out, 0);
    if (!strstr((const char *)f->out.data, text)) {
        fail_msg("no %s in %s", text, (const char *)f->out.data);
    }
    buf_reset(&f->out);
}

static void gaps_say_when_at_all_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMATS * TIMES * TIMES; i++) {
        const struct event_format *format = event_format_find(span_text(formats[i % FORMATS]));
        size_t from = i / FORMATS % TIMES;
        size_t to = i / FORMATS / TIMES;
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        struct gap gap = fixture_gap(&f);
        gap.from = times[from].time;
        gap.to = times[to].time;
        dirty_the_stack();
        format->gap(f.writer, &gap, times[to].time, 9, &f.out);
        assert_sound(&f, format->name);
        char text[200];
        snprintf(text, sizeof(text), "between %s and %s\"", times[from].clock, times[to].clock);
        assert_has(&f, format == &event_format_pretty ? times[to].text : text);
        fixture_fini(&f);
    }
}

static void guards_and_status_have_all_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < FORMATS * TIMES; i++) {
        const struct event_format *format = event_format_find(span_text(formats[i % FORMATS]));
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        struct guard_report report = fixture_report(&f);
        const struct status status = {.counters = span_text("{}")};
        report.time = times[i / FORMATS].time;
        dirty_the_stack();
        format->guard(f.writer, &report, &f.out);
        assert_sound(&f, format->name);
        assert_has(&f, times[i / FORMATS].text);
        format->status(f.writer, &status, times[i / FORMATS].time, 1, &f.out);
        assert_sound(&f, format->name);
        assert_has(&f, times[i / FORMATS].text);
        fixture_fini(&f);
    }
}

/* A FILETIME and a SYSTEMTIME of the payload, and when the process started, beside the event's
 * own. */
static void events_have_all_times(void **state)
{
    (void)state;
    static const struct piece pieces[] = {
        {"F", IN_FILETIME, 0, "ffffffffffffffff", NULL},
        {"S", IN_SYSTEMTIME, 0, "0f27 0c00 0500 1f00 1700 3b00 3b00 e703", NULL},
        {"B", IN_SYSTEMTIME, 0, "ffff ffff ffff ffff ffff ffff ffff ffff", NULL},
    };
    for (size_t i = 0; i < FORMATS * TIMES; i++) {
        const struct event_format *format = event_format_find(span_text(formats[i % FORMATS]));
        struct writer_fixture f;
        fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
        fixture_set_fields(&f, pieces, sizeof(pieces) / sizeof(pieces[0]));
        f.schema.message = span_text("%1 %2 %3");
        const struct event_process process = {
            .serial = 1, .pid = 4, .start = times[TIMES - 1 - i / FORMATS].time};
        f.event.process = &process;
        f.record.present = RECORD_HAS_PROCESS;
        f.record.time = times[i / FORMATS].time;
        const struct event_rollup rollup = {
            .count = 2, .first = times[i / FORMATS].time, .last = UINT64_MAX};
        dirty_the_stack();
        format->event(f.writer, &f.event, &f.out);
        assert_sound(&f, format->name);
        format->rollup(&rollup, &f.out);
        assert_sound(&f, format->name);
        char text[200];
        snprintf(text, sizeof(text),
            format == &event_format_pretty ? "from %s to 0xffffffffffffffff"
                                           : "\"first\":\"%s\",\"last\":\"0xffffffffffffffff\"",
            times[i / FORMATS].text);
        assert_has(&f, text);
        fixture_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_say_when_at_all_times),
        cmocka_unit_test(guards_and_status_have_all_times),
        cmocka_unit_test(events_have_all_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
