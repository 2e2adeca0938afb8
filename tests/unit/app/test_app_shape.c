#include "app/config/app_shape.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "support/test.h"

/* Outputs of two sessions, `a` and `b`. */
static struct app_config load(const char *const *outputs, size_t count)
{
    char text[4096] = "sessions: [{name: a, type: file, paths: [x]}, {name: b, type: file, paths: "
                      "[y]}]\noutputs:\n";
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(text);
        snprintf(text + size, sizeof(text) - size, "- {name: o%zu, %s}\n", i, outputs[i]);
    }
    struct app_config config;
    struct config_report report;
    config_report_init(&report);
    if (!app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, &report)) {
        fail_msg("%s", report.line_count ? report.lines[0].text : "?");
    }
    config_report_fini(&report);
    return config;
}

#define ES "type: elasticsearch, hosts: ['http://h']"
#define FILTERED "type: stdout, filters: [{drop: 'event.code == 1'}]"

static void outputs_want_what_suits_their_type_unless_told_otherwise(void **state)
{
    (void)state;
    static const char *const outputs[] = {"type: stdout", ES, ES ", uint64: number",
        "type: stdout, uint64: string", ES ", format: ecs, max_string: 1000",
        ES ", format: ecs, data_stream: {dataset: etw.dns, namespace: prod}",
        ES ", format: ecs, data_stream: {dataset: 'etw.{provider.name}', namespace: prod}",
        ES ", format: ecs, index: 'etw-{provider.name}'"};
    static const struct event_options expected[] = {{.max_string_bytes = 0},
        {.uint64_strings = true, .max_string_bytes = 32000, .times = EVENT_TIMES_DATE},
        {.max_string_bytes = 32000, .times = EVENT_TIMES_DATE}, {.uint64_strings = true},
        {.max_string_bytes = 1000,
            .times = EVENT_TIMES_DATE,
            .data_namespace = {(const uint8_t *)"default", 7}},
        {.max_string_bytes = 32000,
            .times = EVENT_TIMES_DATE,
            .dataset = {(const uint8_t *)"etw.dns", 7},
            .data_namespace = {(const uint8_t *)"prod", 4}},
        {.max_string_bytes = 32000,
            .times = EVENT_TIMES_DATE,
            .dataset_varies = true,
            .data_namespace = {(const uint8_t *)"prod", 4}},
        {.max_string_bytes = 32000,
            .times = EVENT_TIMES_DATE,
            .data_namespace = {(const uint8_t *)"default", 7}}};
    enum { COUNT = sizeof(outputs) / sizeof(outputs[0]) };
    struct app_config config = load(outputs, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        struct event_options options = app_shape_options(&config.outputs[i]);
        if (!event_options_equal(&options, &expected[i])) {
            fail_msg("%s", outputs[i]);
        }
    }
    app_config_fini(&config);
}

static void outputs_that_want_the_same_share_a_stream(void **state)
{
    (void)state;
    static const struct {
        const char *one;
        const char *other;
        bool same;
    } rows[] = {
        {"type: stdout", "type: stdout, format: native, uint64: number", true},
        {"type: stdout", "type: stdout, sessions: [b, a]", true},
        {"type: stdout", "type: stdout, sessions: [a]", false},
        {"type: stdout", "type: stdout, format: ecs", false},
        {"type: stdout", "type: stdout, uint64: string", false},
        {"type: stdout, format: ecs", "type: stdout, format: ecs, uint64: string", true},
        {"type: stdout", FILTERED, false},
        {"type: stdout", ES, false},
        {ES, "type: elasticsearch, hosts: ['http://other'], max_string: 32000, index: i", true},
        {ES, ES ", max_string: 1000", false},
        {ES, ES ", setup: {timestamps: date_nanos}", false},
        {ES, ES ", data_stream: {dataset: etw.dns}", true},
        {ES ", format: ecs", ES ", format: ecs, data_stream: {dataset: etw.dns}", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const outputs[] = {rows[i].one, rows[i].other};
        struct app_config config = load(outputs, 2);
        bool same = app_config_same_stream(&config, &config.outputs[0], &config.outputs[1]);
        if (same != rows[i].same) {
            fail_msg("%s / %s", rows[i].one, rows[i].other);
        }
        app_config_fini(&config);
    }
}

/* Ids in existing indices have these hashes: XXH32 of the texts, computed by another program. */
static void the_hash_of_a_shape_never_changes(void **state)
{
    (void)state;
    static const char *const outputs[] = {"type: stdout", ES, ES ", format: ecs",
        "type: stdout, format: ecs", "type: stdout, sessions: [a]", FILTERED,
        ES ", format: ecs, data_stream: {dataset: etw.dns, namespace: prod}",
        ES ", setup: {timestamps: date_nanos}"};
    static const uint32_t hashes[] = {0xf5697302, /* format=native uint64=number max_string=0 */
        0x6765b960,                               /* format=native uint64=string max_string=32000 */
        0x800f8d34,                               /* format=ecs uint64=number max_string=32000 */
        0xa8610365,                               /* format=ecs uint64=number max_string=0 */
        0xf5697302, 0xf5697302, 0x800f8d34,
        0x29d97803}; /* format=native uint64=string max_string=32000 times=nanos */
    enum { COUNT = sizeof(outputs) / sizeof(outputs[0]) };
    struct app_config config = load(outputs, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t hash;
        struct error err;
        assert_true(app_shape_hash(&config.outputs[i], &hash, &err));
        assert_int_equal(hash, hashes[i]);
    }
    app_config_fini(&config);
}

static void strings_for_numbers_are_in_this_build(void **state)
{
    (void)state;
    static const char *const outputs[] = {"type: stdout, uint64: string"};
    struct app_config config = load(outputs, 1);
    struct config_report report;
    config_report_init(&report);
    assert_true(app_config_can_run(&config, &report));
    config_report_fini(&report);
    app_config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_want_what_suits_their_type_unless_told_otherwise),
        cmocka_unit_test(outputs_that_want_the_same_share_a_stream),
        cmocka_unit_test(the_hash_of_a_shape_never_changes),
        cmocka_unit_test(strings_for_numbers_are_in_this_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
