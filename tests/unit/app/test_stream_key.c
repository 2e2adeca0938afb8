#include "app/plan/stream_key.h"

#include <stdio.h>

#include "app/config/app_fields.h"
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
        {A ", " B, "- {name: o, type: elasticsearch, hosts: ['http://h'], "
                   "setup: {timestamps: date_nanos}}"},
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

#define WHERE "where: 'event.code == "

/* Two rules that differ in one key. */
static const struct {
    const char *key;
    const char *one;
    const char *other;
} rule_keys[] = {
    {"keep", "{keep: 'event.code == 1'}", "{keep: 'event.code == 2'}"},
    {"drop", "{drop: 'event.code == 1'}", "{drop: 'event.code == 2'}"},
    {"unsure", "{drop: 'event.code == 1'}", "{drop: 'event.code == 1', unsure: drop}"},
    {"sample.where", "{sample: {rate: 1/2}}", "{sample: {rate: 1/2, " WHERE "1'}}"},
    {"sample.rate", "{sample: {rate: 1/2}}", "{sample: {rate: 1/3}}"},
    {"sample.by", "{sample: {rate: 1/2}}", "{sample: {rate: 1/2, by: data.A}}"},
    {"limit.where", "{limit: {rate: 2/s}}", "{limit: {rate: 2/s, " WHERE "1'}}"},
    {"limit.rate", "{limit: {rate: 2/s}}", "{limit: {rate: 2/m}}"},
    {"limit.burst", "{limit: {rate: 2/s}}", "{limit: {rate: 2/s, burst: 3}}"},
    {"limit.per", "{limit: {rate: 2/s}}", "{limit: {rate: 2/s, per: [data.A]}}"},
    {"rollup.where", "{rollup: {by: [data.A], every: 1s}}",
        "{rollup: {by: [data.A], every: 1s, " WHERE "1'}}"},
    {"rollup.by", "{rollup: {by: [data.A], every: 1s}}", "{rollup: {by: [data.B], every: 1s}}"},
    {"rollup.every", "{rollup: {by: [data.A], every: 1s}}", "{rollup: {by: [data.A], every: 2s}}"},
    {"set.where", "{set: {fields: {data.A: x}}}", "{set: {fields: {data.A: x}, " WHERE "1'}}"},
    {"set.fields", "{set: {fields: {data.A: x}}}", "{set: {fields: {data.A: y}}}"},
    {"tag.where", "{tag: {tags: [x]}}", "{tag: {tags: [x], " WHERE "1'}}"},
    {"tag.tags", "{tag: {tags: [x]}}", "{tag: {tags: [y]}}"},
    {"remove.where", "{remove: {fields: [data.A]}}", "{remove: {fields: [data.A], " WHERE "1'}}"},
    {"remove.fields", "{remove: {fields: [data.A]}}", "{remove: {fields: [data.B]}}"},
    {"rename.where", "{rename: {fields: {data.A: x}}}",
        "{rename: {fields: {data.A: x}, " WHERE "1'}}"},
    {"rename.fields", "{rename: {fields: {data.A: x}}}", "{rename: {fields: {data.A: y}}}"},
    {"hash.where", "{hash: {fields: [data.A], key: 0123456789abcdef}}",
        "{hash: {fields: [data.A], key: 0123456789abcdef, " WHERE "1'}}"},
    {"hash.fields", "{hash: {fields: [data.A], key: 0123456789abcdef}}",
        "{hash: {fields: [data.B], key: 0123456789abcdef}}"},
    {"hash.key", "{hash: {fields: [data.A], key: 0123456789abcdef}}",
        "{hash: {fields: [data.A], key: 0123456789abcdeg}}"},
    {"truncate.where", "{truncate: {fields: [data.A], bytes: 1}}",
        "{truncate: {fields: [data.A], bytes: 1, " WHERE "1'}}"},
    {"truncate.fields", "{truncate: {fields: [data.A], bytes: 1}}",
        "{truncate: {fields: [data.B], bytes: 1}}"},
    {"truncate.bytes", "{truncate: {fields: [data.A], bytes: 1}}",
        "{truncate: {fields: [data.A], bytes: 2}}"},
};

static void rule_key_of(const char *rule, char key[STREAM_KEY_BYTES])
{
    char outputs[512];
    snprintf(outputs, sizeof(outputs), "%s, filters: [%s]}", FILE_OUT, rule);
    key_of(A, outputs, key);
}

static void assert_keys_change(const char *above, const struct config_field *fields)
{
    for (const struct config_field *f = fields; f->key; f++) {
        char path[64];
        snprintf(path, sizeof(path), "%s%s%s", above, *above ? "." : "", f->key);
        if (f->type == CONFIG_STRUCT) {
            assert_keys_change(path, f->fields);
        } else if (strcmp(path, "name") != 0) { /* which no event shows */
            enum { COUNT = sizeof(rule_keys) / sizeof(rule_keys[0]) };
            size_t i = 0;
            while (i < COUNT && strcmp(rule_keys[i].key, path) != 0) {
                i++;
            }
            if (i == COUNT) {
                fail_msg("add %s to the keys of this test", path);
            }
            char one[STREAM_KEY_BYTES];
            char other[STREAM_KEY_BYTES];
            rule_key_of(rule_keys[i].one, one);
            rule_key_of(rule_keys[i].other, other);
            if (strcmp(one, other) == 0) {
                fail_msg("%s does not change the key of the stream", path);
            }
        }
    }
}

static void each_key_of_a_rule_changes_the_key(void **state)
{
    (void)state;
    assert_keys_change("", app_rule_fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_change_a_batch_does_not_change_the_key),
        cmocka_unit_test(whatever_changes_a_batch_changes_the_key),
        cmocka_unit_test(each_key_of_a_rule_changes_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
