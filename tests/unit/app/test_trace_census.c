#include "app/trace/trace_census.h"

#include <stdlib.h>

#include "support/test.h"

static void give(struct trace_census *census, enum record_kind kind, enum decode_status status,
    size_t payload_size, const struct event_schema *schema)
{
    static const uint8_t payload[4];
    const struct event_record record = {
        .kind = kind, .payload = span_make(payload_size ? payload : NULL, payload_size)};
    const struct event event = {.record = &record, .schema = schema, .status = status};
    struct event_observer observer = trace_census_observer(census);
    assert_true(observer.event(observer.self, &event));
}

/* As `stat` and --strict count them: a message says its text, whatever arguments it has, so without its
 * format it is undecoded. */
static void what_says_something_that_is_not_known_is_undecoded(void **state)
{
    (void)state;
    struct trace_census *census = trace_census_create();
    assert_non_null(census);
    give(census, RECORD_MESSAGE, DECODE_RAW, 0, NULL);
    give(census, RECORD_MESSAGE, DECODE_RAW, 4, NULL);
    give(census, RECORD_EVENT, DECODE_RAW, 0, NULL);
    give(census, RECORD_EVENT, DECODE_RAW, 4, NULL);
    give(census, RECORD_EVENT, DECODE_PARTIAL, 4, NULL);
    give(census, RECORD_EVENT, DECODE_COMPLETE, 4, NULL);
    size_t count;
    uint64_t beyond;
    const struct census_provider **rows = trace_census_providers(census, &count, &beyond);
    assert_int_equal(beyond, 0);
    uint64_t events = 0;
    uint64_t undecoded = 0;
    for (size_t i = 0; i < count; i++) {
        events += rows[i]->events;
        undecoded += rows[i]->undecoded;
    }
    assert_int_equal(events, 6);
    assert_int_equal(undecoded, 4);
    free((void *)rows);
    trace_census_destroy(census);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_says_something_that_is_not_known_is_undecoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
