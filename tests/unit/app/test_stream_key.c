#include "app/plan/stream_key.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "support/test.h"

/* The key of the stream of output `o` in a configuration of sessions `a` and `b`. */
static void key_of(const char *sessions, const char *outputs, char key[STREAM_KEY_BYTES])
{
    char text[4096];
    struct app_config config;
    struct config_report report;
    struct agent_plan plan;
    struct error err = {0};
    snprintf(text, sizeof(text), "sessions: [%s]\noutputs:\n%s\n", sessions, outputs);
    config_report_init(&report);
    if (!app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, &report)) {
        fail_msg("%s", report.line_count ? report.lines[0].text : "?");
    }
    const struct agent_plan_settings settings = {.config = &config};
    assert_true(agent_plan_init(&plan, &settings, &err));
    assert_true(stream_key_write(&plan, plan.outputs[0].stream, key, &err));
    agent_plan_fini(&plan);
    app_config_fini(&config);
    config_report_fini(&report);
}

#define A "{name: a, type: file, paths: [x.etl]}"
#define B "{name: b, type: file, paths: [y.etl]}"
#define FILE_OUT "- {name: o, type: file, path: x"

static const char plain[] = FILE_OUT "}";

static void what_does_not_change_a_batch_does_not_change_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *sessions;
        const char *outputs;
    } same[] = {
        {A ", " B, FILE_OUT "}"},
        {B ", " A, FILE_OUT "}"},
        {A ", " B, "- {name: other, type: file, path: x}"},
        {A ", " B, "- {name: o, type: stdout}"},
        {A ", " B, FILE_OUT ", batch: {events: 3}, retry: {min: 5s}}"},
        {"{name: a, type: file, paths: [z.etl], filters: [{drop: 'event.code == 1'}]}, " B,
            FILE_OUT "}"},
        {A ", " B, FILE_OUT "}\n- {name: p, type: stdout, filters: [{drop: 'event.code == 1'}]}"},
    };
    char key[STREAM_KEY_BYTES];
    char other[STREAM_KEY_BYTES];
    key_of(A ", " B, plain, key);
    assert_memory_equal(key, "native-", 7);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        key_of(same[i].sessions, same[i].outputs, other);
        assert_string_equal(key, other);
    }
}

static void whatever_changes_a_batch_changes_the_key(void **state)
{
    (void)state;
    static const struct {
        const char *sessions;
        const char *outputs;
    } different[] = {
        {A ", " B, plain},
        {A, plain},
        {A ", {name: c, type: file, paths: [y.etl]}", plain},
        {A ", " B, FILE_OUT ", sessions: [b]}\n- {name: p, type: stdout, sessions: [a]}"},
        {A ", " B, FILE_OUT ", format: ecs}"},
        {A ", " B, FILE_OUT ", uint64: string}"},
        {A ", " B, FILE_OUT ", filters: [{drop: 'event.code == 1'}]}"},
        {A ", " B, FILE_OUT ", filters: [{keep: 'event.code == 1'}]}"},
        {A ", " B, FILE_OUT ", filters: [{keep: 'event.code == 1', unsure: drop}]}"},
        {A ", " B, FILE_OUT ", filters: [{remove: {fields: [data.A]}}]}"},
        {A ", " B, FILE_OUT ", filters: [{remove: {fields: [data.B]}}]}"},
        {A ", " B, FILE_OUT ", filters: [{remove: {where: 'event.code == 1', fields: [data.A]}}]}"},
        {A ", " B, FILE_OUT ", filters: [{truncate: {fields: [data.A], bytes: 1}}]}"},
        {A ", " B, FILE_OUT ", filters: [{truncate: {fields: [data.A], bytes: 2}}]}"},
        {A ", " B, FILE_OUT ", filters: [{hash: {fields: [data.A], key: 0123456789abcdef}}]}"},
        {A ", " B, FILE_OUT ", filters: [{hash: {fields: [data.A], key: 0123456789abcdeg}}]}"},
        {A ", " B, FILE_OUT ", filters: [{rename: {fields: {data.A: x}}}]}"},
        {A ", " B, FILE_OUT ", filters: [{rename: {fields: {data.A: y}}}]}"},
        {A ", " B, FILE_OUT ", filters: [{set: {fields: {data.A: x}}}]}"},
        {A ", " B, FILE_OUT ", filters: [{tag: {tags: [x]}}]}"},
        {A ", " B, FILE_OUT ", filters: [{drop: 'event.code == 1'}, {drop: 'event.code == 2'}]}"},
        {A ", " B, FILE_OUT ", filters: [{drop: 'event.code == 2'}, {drop: 'event.code == 1'}]}"},
        {A ", " B, "- {name: o, type: file, path: 'x-{provider.name}'}"},
        {A ", " B, "- {name: o, type: file, path: 'y-{provider.name}'}"},
        {A ", " B, "- {name: o, type: elasticsearch, hosts: ['http://h']}"},
        {A ", " B, "- {name: o, type: elasticsearch, hosts: ['http://h'], max_string: 500}"},
    };
    enum { COUNT = sizeof(different) / sizeof(different[0]) };
    char keys[COUNT][STREAM_KEY_BYTES];
    for (size_t i = 0; i < COUNT; i++) {
        key_of(different[i].sessions, different[i].outputs, keys[i]);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(keys[i], keys[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_change_a_batch_does_not_change_the_key),
        cmocka_unit_test(whatever_changes_a_batch_changes_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
