#include "filter/filter.h"

#include "unit/event/writer_fixture.h"

/*
 * A sample keeps an event if XXH64 of the field's value (seed 0, one value after the other, each
 * seeded with the previous hash) is at most (2^64 - 1) / N. `last` below is the greatest N at which
 * an event is kept, from an implementation of XXH64 after its specification, in Python.
 */

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static const struct piece pieces[] = {
    {"City", IN_ANSI_STRING, OUT_UTF8, "'M' c3bc 'nchen'", NULL},
    {"Image", IN_ANSI_STRING, OUT_UTF8, "'C:' 5c 'Windows' 5c 'System32' 5c 'CMD.exe'", NULL},
    {"Num", IN_UINT32, 0, "0a000000", NULL},
    {"Ten", IN_INT64, 0, "0a00000000000000", NULL},
    {"Ptr", IN_POINTER, 0, "00b01a0000000000", NULL},
    {"Guid", IN_GUID, 0, "6e12951c ea7e a949 a3fea378b03ddb4d", NULL},
    {"Sid", IN_SID, 0, "0101000000000005 12000000", NULL},
    {"List", IN_UINT16, 0, "0100 0200 0300", NULL},
};

/* 00000100-0000-0003-193d-42fb30bbcb01 */
static const struct guid activity = {{0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00, 0x19, 0x3d,
    0x42, 0xfb, 0x30, 0xbb, 0xcb, 0x01}};

struct rig {
    struct writer_fixture f;
    struct filter_scratch scratch;
};

static void rig_init(struct rig *rig)
{
    fixture_init(&rig->f, RECORD_EVENT, SCHEMA_MANIFEST);
    fixture_set_fields(&rig->f, pieces, COUNT_OF(pieces));
    struct field *list = &rig->f.fields[COUNT_OF(pieces) - 1];
    list->shape = FIELD_PACKED;
    list->value_bytes = 2;
    list->count = list->size / 2;
    rig->f.record.present = RECORD_HAS_PROCESS;
    rig->f.record.process_id = 4;
    rig->f.record.activity_id = activity;
    rig->f.record.time = UINT64_C(132000000000000000);
    rig->f.record.sequence = 7;
    assert_true(filter_scratch_init(&rig->scratch, NULL, NULL));
}

static void rig_fini(struct rig *rig)
{
    filter_scratch_fini(&rig->scratch);
    fixture_fini(&rig->f);
}

static struct filter *make(const char *where, uint64_t every, const char *const *field)
{
    struct filter_rule rule = {.action = FILTER_ACTION_SAMPLE,
        .text = span_text(where),
        .every = every,
        .fields = field,
        .field_count = *field ? 1 : 0};
    struct filter_place place;
    struct error err;
    struct filter *filter = filter_create(&rule, 1, &place, &err);
    if (!filter) {
        fail_msg("%s", err.text);
    }
    return filter;
}

static enum filter_verdict run(struct rig *rig, uint64_t every, const char *field)
{
    struct filter *filter = make("true", every, &field);
    size_t rule = SIZE_MAX;
    enum filter_verdict verdict = filter_event(filter, &rig->scratch, &rig->f.event, &rule);
    assert_int_equal(rule, 0);
    filter_destroy(filter);
    return verdict;
}

static void the_hash_of_a_value_decides(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        uint64_t last;
    } cases[] = {{"data.City", 1}, {"data.Image", 2}, {"data.Num", 10}, {"data.Ten", 10},
        {"data.Ptr", 12}, {"data.Guid", 3}, {"data.Sid", 4}, {"data.List", 2}, {"data.List[*]", 2},
        {"process.pid", 5}, {"activity_id", 5}, {NULL, 5}};
    struct rig rig;
    rig_init(&rig);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (run(&rig, cases[i].last, cases[i].field) != FILTER_KEEP ||
            run(&rig, cases[i].last + 1, cases[i].field) != FILTER_DROP) {
            fail_msg("%s", cases[i].field ? cases[i].field : "no field");
        }
    }
    rig_fini(&rig);
}

static void an_event_without_the_value_is_chosen_by_time_and_number(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.f.record.activity_id = (struct guid){{0}};
    assert_int_equal(run(&rig, 4, NULL), FILTER_KEEP);
    assert_int_equal(run(&rig, 5, NULL), FILTER_DROP);
    assert_int_equal(run(&rig, 4, "data.Missing"), FILTER_KEEP);
    assert_int_equal(run(&rig, 5, "data.Missing"), FILTER_DROP);
    rig_fini(&rig);
}

static void the_header_decides_where_it_has_the_value(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    static const struct {
        const char *where;
        const char *field;
        enum filter_verdict header;
        enum event_path_need need;
    } cases[] = {{"process.pid == 4", "process.pid", FILTER_DROP, EVENT_PATH_RECORD},
        {"process.pid == 5", "data.Num", FILTER_KEEP, EVENT_PATH_EVENT},
        {"process.pid == 4", "data.Num", FILTER_UNDECIDED, EVENT_PATH_EVENT},
        {"process.pid == 4", "provider.name", FILTER_UNDECIDED, EVENT_PATH_SCHEMA},
        {"data.Num == 10", "process.pid", FILTER_UNDECIDED, EVENT_PATH_EVENT}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct filter *filter = make(cases[i].where, 6, &cases[i].field);
        size_t rule = 7;
        assert_int_equal(
            filter_header(filter, &rig.scratch, &rig.f.record, &rule), cases[i].header);
        assert_int_equal(
            rule, cases[i].header == FILTER_UNDECIDED ? 7 : cases[i].header == FILTER_KEEP);
        assert_int_equal(filter_need(filter), cases[i].need);
        filter_destroy(filter);
    }
    rig_fini(&rig);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *where;
        const char *field;
        size_t at_field;
        const char *error;
    } cases[] = {
        {"true", "proces.pid", 1, "events have no field proces.pid. did you mean process.pid?"},
        {"true", "process", 1, "process holds other fields. name one of them"},
        {"tru", "process.pid", 0, "events have no field tru"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct filter_rule rule = {.action = FILTER_ACTION_SAMPLE,
            .text = span_text(cases[i].where),
            .every = 2,
            .fields = &cases[i].field,
            .field_count = 1};
        struct filter_place place;
        struct error err = {0};
        assert_null(filter_create(&rule, 1, &place, &err));
        assert_int_equal(place.field, cases[i].at_field);
        if (strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0) {
            fail_msg("%s", err.text);
        }
    }
}

static void a_limit_names_its_bucket_once_candidates_agree_on_it(void **state)
{
    (void)state;
    static const char *const by_name[] = {"provider.name"};
    struct rig rig;
    rig_init(&rig);
    rig.f.schema.provider_name = span_text("One");
    struct event_schema other = rig.f.schema;
    const struct event_schema *schemas[] = {&rig.f.schema, &other};
    struct filter_rule rule = {.action = FILTER_ACTION_LIMIT,
        .text = span_text("true"),
        .limit = {.events = 1, .period = 1, .burst = 1},
        .fields = by_name,
        .field_count = 1};
    struct filter_place place;
    size_t decided;
    struct filter *filter = filter_create(&rule, 1, &place, NULL);
    assert_non_null(filter);
    other.provider_name = span_text("ONE");
    assert_int_equal(
        filter_candidates(filter, &rig.scratch, &rig.f.event, schemas, 2, &decided), FILTER_KEEP);
    /* XXH64 of `one`, seed 0: as above. */
    assert_true(rig.scratch.key == UINT64_C(0x363b02a42408a1f6));
    other.provider_name = span_text("Two");
    assert_int_equal(filter_candidates(filter, &rig.scratch, &rig.f.event, schemas, 2, &decided),
        FILTER_UNDECIDED);
    filter_destroy(filter);
    rig_fini(&rig);
}

static void a_rate_is_one_in_so_many(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "1", "1/", "1/0", "2/3", "1/-2", "1/2.0", "1/ 2", "0.1",
        "1/2x", "1/18446744073709551616"};
    uint64_t every = 0;
    assert_true(filter_rate_parse(span_text("1/1"), &every));
    assert_int_equal(every, 1);
    assert_true(filter_rate_parse(span_text("1/1000"), &every));
    assert_int_equal(every, 1000);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        if (filter_rate_parse(span_text(wrong[i]), &every)) {
            fail_msg("%s", wrong[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_of_a_value_decides),
        cmocka_unit_test(an_event_without_the_value_is_chosen_by_time_and_number),
        cmocka_unit_test(the_header_decides_where_it_has_the_value),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(a_limit_names_its_bucket_once_candidates_agree_on_it),
        cmocka_unit_test(a_rate_is_one_in_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
