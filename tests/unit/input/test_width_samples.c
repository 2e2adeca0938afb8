#include "input/file/width_samples.h"

#include "support/test.h"

static const struct trace_info traces[2];

static struct event_record event_of(const struct trace_info *trace, uint32_t process)
{
    return (struct event_record){.kind = RECORD_CLASSIC,
        .pointer_size = 4,
        .provider = {{1}},
        .process_id = process,
        .trace = trace};
}

/* How many of ${count} events like ${record} are samples? */
static size_t take(struct width_samples *samples, const struct event_record *record, size_t count)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        taken += width_samples_take(samples, record);
    }
    return taken;
}

static void the_first_events_of_each_kind_are_samples(void **state)
{
    (void)state;
    struct width_samples *samples = width_samples_create();
    assert_non_null(samples);
    struct event_record record = event_of(&traces[0], 10);
    assert_int_equal(take(samples, &record, 5000), WIDTH_SAMPLES_EACH);
    struct event_record others[4] = {record, record, record, record};
    others[0].process_id = 11;
    others[1].pointer_size = 8;
    others[2].descriptor.version = 1;
    others[3].provider.bytes[0] = 2;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(take(samples, &others[i], 5000), WIDTH_SAMPLES_EACH);
    }
    record.descriptor.opcode = 3; /* the types of a class are not counted separately */
    assert_int_equal(take(samples, &record, 10), 0);
    width_samples_destroy(samples);
}

static void each_trace_begins_anew(void **state)
{
    (void)state;
    struct width_samples *samples = width_samples_create();
    assert_non_null(samples);
    for (size_t i = 0; i < 4; i++) {
        struct event_record record = event_of(&traces[i & 1], 10);
        assert_int_equal(take(samples, &record, 5000), WIDTH_SAMPLES_EACH);
    }
    width_samples_destroy(samples);
}

static void other_records_are_none(void **state)
{
    (void)state;
    struct width_samples *samples = width_samples_create();
    assert_non_null(samples);
    struct event_record record = event_of(&traces[0], 10);
    record.provider = record_metadata_class;
    assert_false(width_samples_take(samples, &record));
    record = event_of(&traces[0], 10);
    record.kind = RECORD_KERNEL;
    assert_false(width_samples_take(samples, &record));
    record.kind = RECORD_EVENT;
    assert_false(width_samples_take(samples, &record));
    record.kind = RECORD_CLASSIC;
    assert_true(width_samples_take(samples, &record));
    assert_false(width_samples_take(NULL, &record));
    width_samples_destroy(samples);
}

/* However many kinds there are, each has as many samples as if it were alone. */
static void no_kind_is_left_out_for_others(void **state)
{
    (void)state;
    struct width_samples *samples = width_samples_create();
    assert_non_null(samples);
    for (uint32_t process = 0; process < 100000; process++) {
        struct event_record record = event_of(&traces[0], process);
        assert_true(width_samples_take(samples, &record));
    }
    width_samples_destroy(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_events_of_each_kind_are_samples),
        cmocka_unit_test(each_trace_begins_anew),
        cmocka_unit_test(other_records_are_none),
        cmocka_unit_test(no_kind_is_left_out_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
