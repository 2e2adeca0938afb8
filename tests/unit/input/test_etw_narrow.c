#include "input/windows/etw_narrow.h"

#include <stdlib.h>

#include "input/windows/etw_plan.h"
#include "support/test.h"

/* The request of an entry and the events that rules can keep, in one request. */

enum { IDS = 65536, KIND_IDS = ETW_FILTER_KIND(ETW_FILTER_EVENT_ID) };

struct rig {
    struct provider_spec spec;
    struct provider_scope scope;
    uint8_t ids[IDS / 8];
    struct etw_request request;
    uint32_t too_much;
};

static struct rig *start(const char *text)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    struct error err;
    assert_non_null(rig);
    assert_true(provider_spec_parse(&rig->spec, span_text(text), &err));
    rig->scope.level = PROVIDER_LEVEL_ALL;
    rig->spec.scope = &rig->scope;
    return rig;
}

static void set_ids(struct rig *rig, uint32_t first, uint32_t last, bool kept)
{
    for (uint32_t id = first; id <= last; id++) {
        rig->ids[id / 8] = (uint8_t)((rig->ids[id / 8] & ~(1u << id % 8)) | (unsigned)kept
                                                                                << id % 8);
    }
    rig->scope.ids = rig->ids;
}

static void ask(struct rig *rig)
{
    memset(&rig->request, 0, sizeof(rig->request));
    etw_plan_request(&rig->spec, &rig->request, &rig->too_much);
}

static void the_lower_level_counts(void **state)
{
    static const struct {
        const char *entry;
        uint8_t scope;
        uint8_t level;
    } rows[] = {{"A", 4, 4}, {"A:3", 4, 3}, {"A:5", 4, 4}, {"A:0", 2, 2}, {"A:3", 0xff, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig *rig = start(rows[i].entry);
        rig->scope.level = rows[i].scope;
        ask(rig);
        assert_int_equal(rig->request.level, rows[i].level);
        free(rig);
    }
}

static void of_two_masks_the_narrower_one_is_taken_and_what_all_need_adds_up(void **state)
{
    static const struct {
        const char *entry;
        uint64_t scope_any, scope_all, any, all;
    } rows[] = {
        {"A", 0x30, 0, 0x30, 0},
        {"A", 0x30, 0x30, 0x30, 0x30},
        {"A:::0xff", 0x30, 0, 0x30, 0},
        {"A:::0x10", 0x30, 0, 0x10, 0},
        /* Neither contains the other: both are right, and the entry's stays. */
        {"A:::0x11", 0x30, 0, 0x11, 0},
        {"A:::0x11:0x1", 0x10, 0x10, 0x10, 0x11},
        {"A:::0x11", 0, 0, 0x11, 0},
        /* Rules do not ask a program of .NET to collect its garbage. */
        {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 0x800000, 0, 0, 0},
        {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 0x1, 0, 0x1, 0},
        {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4:::0x800001", 0x800000, 0, 0x800000, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rig *rig = start(rows[i].entry);
        rig->scope.any = rows[i].scope_any;
        rig->scope.all = rows[i].scope_all;
        ask(rig);
        assert_int_equal(rig->request.any, rows[i].any);
        assert_int_equal(rig->request.all, rows[i].all);
        free(rig);
    }
}

/* 100 ids are more than ETW takes; five of them are not. */
static void ids_that_were_too_many_may_fit(void **state)
{
    (void)state;
    struct rig *rig = start("A::1-100");
    set_ids(rig, 0, IDS - 1, true);
    ask(rig);
    assert_int_equal(rig->request.events.count, 0);
    assert_int_equal(rig->too_much, KIND_IDS);
    set_ids(rig, 6, IDS - 1, false);
    ask(rig);
    assert_int_equal(rig->too_much, 0);
    assert_int_equal(rig->request.events.count, 5);
    assert_false(rig->request.events.exclude);
    assert_int_equal(rig->request.events.ids[0], 1);
    assert_int_equal(rig->request.events.ids[4], 5);
    free(rig);
}

static void a_few_ids_that_do_not_come_are_left_out(void **state)
{
    (void)state;
    struct rig *rig = start("A");
    set_ids(rig, 0, IDS - 1, true);
    ask(rig);
    assert_int_equal(rig->request.events.count, 0);
    set_ids(rig, 7, 8, false);
    ask(rig);
    assert_int_equal(rig->request.events.count, 2);
    assert_true(rig->request.events.exclude);
    assert_int_equal(rig->request.events.ids[1], 8);
    set_ids(rig, 100, 164, false); /* all 67 events, and more than 64 ids */
    ask(rig);
    assert_int_equal(rig->request.events.count, 0);
    free(rig);
}

/* If the entry is of a group or goes by names, an id filter would also stop other events. */
static void ids_stay_as_they_are_where_etw_does_not_go_by_them(void **state)
{
    static const char *const names[] = {"Start"};
    (void)state;
    struct rig *rig = start("A");
    set_ids(rig, 1, 1, true);
    rig->spec.group = true;
    ask(rig);
    assert_int_equal(rig->request.events.count, 0);
    rig->spec.group = false;
    rig->spec.include.names = names;
    rig->spec.include.name_count = 1;
    ask(rig);
    assert_int_equal(rig->request.events.count, 0);
    assert_int_equal(rig->request.names.count, 1);
    free(rig);
}

static void processes_of_both_count(void **state)
{
    (void)state;
    struct rig *rig = start("A");
    rig->scope.pids[0] = 7;
    rig->scope.pids[1] = 9;
    rig->scope.pid_count = 2;
    ask(rig);
    assert_int_equal(rig->request.pid_count, 2);
    assert_true(rig->request.pids_are_spare);
    rig->spec.pids[0] = 9;
    rig->spec.pids[1] = 11;
    rig->spec.pid_count = 2;
    ask(rig);
    assert_int_equal(rig->request.pid_count, 1);
    assert_int_equal(rig->request.pids[0], 9);
    assert_false(rig->request.pids_are_spare); /* the entry itself says so */
    /* No id is in both, so the entry's request is enough. */
    rig->scope.pid_count = 1;
    ask(rig);
    assert_int_equal(rig->request.pid_count, 2);
    free(rig);
}

static void conditions_of_the_entry_go_before_those_of_rules(void **state)
{
    static struct provider_payload own;
    static const struct etw_payload_test test = {"X", ETW_PAYLOAD_EQ, "1"};
    const struct etw_payload_filter filter = {.event = {.id = 1}, .count = 1, .tests = &test};
    (void)state;
    struct rig *rig = start("A");
    rig->scope.payload = &filter;
    rig->scope.payload_count = 1;
    ask(rig);
    assert_ptr_equal(rig->request.payload, &filter);
    assert_true(rig->request.payload_is_spare);
    rig->spec.payload = (struct config_list){.items = &own, .count = 1};
    ask(rig);
    assert_int_equal(rig->request.payload_count, 0);
    assert_false(rig->request.payload_is_spare);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lower_level_counts),
        cmocka_unit_test(of_two_masks_the_narrower_one_is_taken_and_what_all_need_adds_up),
        cmocka_unit_test(ids_that_were_too_many_may_fit),
        cmocka_unit_test(a_few_ids_that_do_not_come_are_left_out),
        cmocka_unit_test(ids_stay_as_they_are_where_etw_does_not_go_by_them),
        cmocka_unit_test(processes_of_both_count),
        cmocka_unit_test(conditions_of_the_entry_go_before_those_of_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
