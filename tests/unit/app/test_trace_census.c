#include "app/trace/trace_census.h"

#include <stdio.h>
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

/* Counted like `stat` and --strict do: the text of a message is what matters, not its arguments, so
 * without its format it is undecoded. */
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

/* A trace that names each event differently fills the room of event names, not that of providers.
 * Names that were not kept may have been there. */
static void names_beyond_the_limit_leave_room_for_providers(void **state)
{
    (void)state;
    enum { NAMES = 60000, NAME_BYTES = 600 };
    static char name[NAME_BYTES];
    struct trace_census *census = trace_census_create();
    assert_non_null(census);
    struct event_schema schema = {
        .event_name = span_make(name, sizeof(name)), .serial = UINT32_MAX};
    struct span meant;
    memset(name, 'n', sizeof(name));
    give(census, RECORD_EVENT, DECODE_COMPLETE, 4, &schema);
    assert_false(trace_census_may_have(census, CENSUS_EVENT, span_text("Start"), &meant));
    for (unsigned i = 0; i < NAMES; i++) {
        char number[8];
        snprintf(number, sizeof(number), "%06u", i);
        memcpy(name, number, 6);
        give(census, RECORD_EVENT, DECODE_COMPLETE, 4, &schema);
    }
    assert_true(trace_census_may_have(census, CENSUS_EVENT, span_text("Start"), &meant));
    assert_false(trace_census_may_have(census, CENSUS_PROVIDER, span_text("Late"), &meant));
    schema.provider_name = span_text("Late");
    give(census, RECORD_EVENT, DECODE_COMPLETE, 4, &schema);
    assert_true(trace_census_may_have(census, CENSUS_PROVIDER, span_text("Late"), &meant));
    size_t count;
    uint64_t beyond;
    free((void *)trace_census_providers(census, &count, &beyond));
    assert_int_equal(count, 2);
    assert_int_equal(beyond, 0);
    trace_census_destroy(census);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_beyond_the_limit_leave_room_for_providers),
        cmocka_unit_test(what_says_something_that_is_not_known_is_undecoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
