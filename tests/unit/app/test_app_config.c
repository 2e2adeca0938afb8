#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_config.h"
#include "config/config_check.h"

/* Two made-up inputs and outputs, because the tables of the real ones are tested with these. */

struct clock_settings {
    uint64_t every_ns;
};

struct pipe_settings {
    const char *path;
};

static const struct config_field clock_fields[] = {
    {CONFIG_ROW("every", DURATION, struct clock_settings, every_ns), .default_text = "1s"},
    {.key = NULL},
};

static const struct config_field pipe_fields[] = {
    {CONFIG_ROW("path", PATH, struct pipe_settings, path), .required = true, .help = "a path"},
    {.key = NULL},
};

static void pipe_check(const void *settings, struct config_check *check)
{
    const struct pipe_settings *s = settings;
    if (s->path && s->path[0] != '/') {
        CONFIG_FAULT(check, &s->path, "path: no slash. start it with one");
    }
}

static const struct input_ops clock_input = {
    .name = "clock", .fields = clock_fields, .settings_size = sizeof(struct clock_settings)};
static const struct input_ops pipe_input = {
    .name = "pipe", .fields = pipe_fields, .settings_size = sizeof(struct pipe_settings)};
static const struct output_ops pipe_output = {.name = "pipe",
    .fields = pipe_fields,
    .settings_size = sizeof(struct pipe_settings),
    .check = pipe_check};
static const struct output_ops clock_output = {.shows = true,
    .name = "clock",
    .fields = clock_fields,
    .settings_size = sizeof(struct clock_settings)};

static const struct input_ops tape_input = {.name = "tape",
    .fields = pipe_fields,
    .settings_size = sizeof(struct pipe_settings),
    .replayable = true};

static const struct input_ops *const inputs[] = {&clock_input, &pipe_input, &tape_input};
static const struct output_ops *const outputs[] = {&pipe_output, &clock_output};
static const struct app_registry registry = {inputs, 3, outputs, 2};

static void parse_good(const char *text, struct app_config *config)
{
    struct config_report report;
    config_report_init(&report);
    if (!app_config_parse(span_text(text), "f.yaml", &registry, NULL, config, &report)) {
        fail_msg("%s", report.line_count ? report.lines[0].text : "no reason");
    }
    config_report_fini(&report);
}

static void assert_errors(const char *text, const char *expected)
{
    struct config_report report;
    config_report_init(&report);
    struct app_config config;
    memset(&config, 0x55, sizeof(config));
    struct app_config before = config;
    assert_false(app_config_parse(span_text(text), "f.yaml", &registry, NULL, &config, &report));
    assert_memory_equal(&config, &before, sizeof(config));
    struct buf out;
    buf_init(&out, 1 << 20);
    config_report_write(&report, "", &out);
    buf_add_byte(&out, 0);
    if (strcmp((char *)out.data, expected) != 0) {
        print_error("text:\n%s\ngot:\n%s\nexpected:\n%s\n", text, (char *)out.data, expected);
        fail();
    }
    buf_fini(&out);
    config_report_fini(&report);
}

static void the_smallest_configuration_is_a_session_and_an_output(void **state)
{
    (void)state;
    struct app_config c;
    parse_good("sessions: [{type: clock}]\noutputs: [{type: pipe, path: /p}]\n", &c);
    assert_null(c.agent.data_dir);
    assert_int_equal(c.agent.labels.count, 0);
    assert_int_equal(c.schema_count, 0);
    assert_int_equal(c.session_count, 1);
    assert_string_equal(c.sessions[0].name, "clock");
    assert_ptr_equal(c.sessions[0].ops, &clock_input);
    assert_true(c.sessions[0].enabled);
    const struct clock_settings *clock = c.sessions[0].settings;
    assert_int_equal(clock->every_ns, 1000000000);
    assert_int_equal(c.output_count, 1);
    assert_string_equal(c.outputs[0].name, "pipe");
    assert_ptr_equal(c.outputs[0].ops, &pipe_output);
    assert_int_equal(c.outputs[0].format, APP_FORMAT_NATIVE);
    const struct pipe_settings *pipe = c.outputs[0].settings;
    assert_string_equal(pipe->path, "/p");
    assert_true(app_config_takes(&c.outputs[0], &c.sessions[0]));
    app_config_fini(&c);
    assert_null(c.memory);
}

static void events_wait_on_a_disk_if_a_live_session_or_the_configuration_needs_one(void **state)
{
    (void)state;
#define LIVE "{type: clock}"
#define RECORDED "{type: tape, path: /t}"
    static const struct {
        const char *sessions;
        const char *rest;
        enum app_spool_mode mode;
    } cases[] = {
        {LIVE, "outputs: [{type: pipe, path: /p}]", APP_SPOOL_DURABLE},
        {LIVE, "outputs: [{type: clock}]", APP_SPOOL_MEMORY},
        {LIVE, "outputs: [{type: clock}, {type: pipe, path: /p, enabled: false}]",
            APP_SPOOL_MEMORY},
        {LIVE, "outputs: [{type: clock}, {type: pipe, path: /p}]", APP_SPOOL_DURABLE},
        {LIVE, "outputs: [{type: clock}]\nspool: {mode: durable}", APP_SPOOL_DURABLE},
        {LIVE, "outputs: [{type: clock}]\nspool: {max_size: 1GB}", APP_SPOOL_DURABLE},
        {LIVE, "outputs: [{type: clock}]\nagent: {data_dir: /d}", APP_SPOOL_DURABLE},
        {LIVE, "outputs: [{type: pipe, path: /p}]\nspool: {mode: memory}", APP_SPOOL_MEMORY},
        {RECORDED, "outputs: [{type: pipe, path: /p}]", APP_SPOOL_MEMORY},
        {RECORDED, "outputs: [{type: pipe, path: /p}]\nspool: {mode: durable}", APP_SPOOL_DURABLE},
        {RECORDED, "outputs: [{type: pipe, path: /p}]\nspool: {max_size: 1GB}", APP_SPOOL_DURABLE},
        {RECORDED, "outputs: [{type: pipe, path: /p}]\nagent: {data_dir: /d}", APP_SPOOL_DURABLE},
        {RECORDED ", " LIVE, "outputs: [{type: pipe, path: /p}]", APP_SPOOL_DURABLE},
        {RECORDED ", {type: clock, enabled: false}", "outputs: [{type: pipe, path: /p}]",
            APP_SPOOL_MEMORY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];
        struct app_config c;
        snprintf(text, sizeof(text), "sessions: [%s]\n%s\n", cases[i].sessions, cases[i].rest);
        parse_good(text, &c);
        if (c.spool.mode != (int)cases[i].mode) {
            fail_msg("%s", text);
        }
        bool has_folder = c.agent.data_dir || c.spool.mode == APP_SPOOL_DURABLE;
        assert_int_equal(app_config_data_dir(&c) != NULL, has_folder);
        app_config_fini(&c);
    }
}

static void events_that_can_be_read_again_are_copied_on_demand(void **state)
{
    (void)state;
    static const struct {
        const char *sessions;
        const char *spool;
        bool copies;
        const char *second; /* output */
    } cases[] = {
        {LIVE, "{}", true, ""},
        {LIVE, "{recorded: replay}", true, ""},
        {LIVE, "{mode: memory, recorded: copy}", false, ""},
        {RECORDED, "{}", false, ""},
        {RECORDED, "{recorded: copy}", true, ""},
        {RECORDED, "{mode: memory, recorded: copy}", false, ""},
        {RECORDED ", " LIVE, "{}", true, ""},
        {RECORDED ", {type: clock, enabled: false}", "{}", false, ""},
        {RECORDED, "{}", true, ", {type: pipe, name: p2, path: /q}"},
        {RECORDED, "{recorded: replay}", false, ", {type: pipe, name: p2, path: /q}"},
        {RECORDED, "{}", false, ", {type: pipe, name: p2, path: /q, enabled: false}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        struct app_config c;
        snprintf(text, sizeof(text),
            "sessions: [%s]\noutputs: [{type: pipe, path: /p}%s]\nspool: %s\n", cases[i].sessions,
            cases[i].second, cases[i].spool);
        parse_good(text, &c);
        if (app_config_copies(&c) != cases[i].copies) {
            fail_msg("%s", text);
        }
        app_config_fini(&c);
    }
}

static void every_key_of_this_version_is_taken(void **state)
{
    (void)state;
    struct app_config c;
    parse_good("version: 1\n"
               "agent:\n"
               "  data_dir: /var/lib/x\n"
               "  labels: {site: berlin, on: no}\n"
               "  tags: [a, b]\n"
               "schema: [{type: folder, path: s}]\n"
               "sessions:\n"
               "  - {name: one, type: clock, every: 2s, enabled: false}\n"
               "  - {name: two, type: pipe, path: /in}\n"
               "outputs:\n"
               "  - {name: out, type: pipe, path: /p, sessions: [two], format: native}\n",
        &c);
    assert_string_equal(c.agent.data_dir, "/var/lib/x");
    assert_string_equal(c.agent.labels.items[1].value, "no");
    assert_string_equal(c.agent.tags.items[1], "b");
    assert_int_equal(c.schemas[0].type, APP_SCHEMA_FOLDER);
    assert_string_equal(c.schemas[0].path, "s");
    assert_false(c.sessions[0].enabled);
    assert_false(app_config_takes(&c.outputs[0], &c.sessions[0]));
    assert_true(app_config_takes(&c.outputs[0], &c.sessions[1]));
    app_config_fini(&c);
}

static void definitions_come_from_schema_and_from_wpp(void **state)
{
    (void)state;
    struct app_config c;
    parse_good("schema: [{type: folder, path: s}, {type: tdh}, {type: folder, path: t}]\n"
               "sessions:\n"
               "  - {type: clock, providers: [A, {wpp: a.tmf}]}\n"
               "  - {type: clock, providers: [{wpp: b.tmf}, {wpp: a.tmf, level: 2}, {wpp: t}]}\n"
               "outputs: [{type: clock}]\n",
        &c);
    static const char *const expected[] = {"s", "t", "a.tmf", "b.tmf"};
    size_t count;
    const char **paths = app_config_schema_paths(&c, &count);
    assert_non_null(paths);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(paths[i], expected[i]);
    }
    free(paths);
    app_config_fini(&c);
}

static void names_that_are_not_given_are_the_type_and_a_number(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "clock", "pipe-2", "clock-3", "clock-2", "pipe", "clock-4"};
    struct app_config c;
    parse_good("sessions:\n"
               "  - {type: clock}\n"
               "  - {type: pipe, path: /p}\n"
               "  - {type: clock}\n"
               "  - {type: clock, name: clock-2}\n"
               "  - {type: clock, name: pipe}\n"
               "  - {type: clock}\n"
               "outputs: [{type: clock}]\n",
        &c);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(c.sessions[i].name, expected[i]);
    }
    assert_string_equal(c.outputs[0].name, "clock");
    app_config_fini(&c);
}

static void what_spans_several_keys_is_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *errors;
    } cases[] = {
        {"{}", "f.yaml:1:1: error: the key 'sessions' is missing. add it: where events come from, "
               "a list\nf.yaml:1:1: error: the key 'outputs' is missing. add it: where events go, "
               "a list\n"},
        {"version: 2\nsessions: []\noutputs: [{type: clock}]\n",
            "f.yaml:1:10: error: version: 2 is out of range. the only value is 1\n"
            "f.yaml:2:11: error: sessions: 0 items are too few. write from 1 to 1024\n"},
        {"sessions: [{type: clock, name: a}, {type: clock, name: a}]\noutputs: [{type: clock}]\n",
            "f.yaml:1:56: error: name: another session is called 'a' too, in line 1. give "
            "each its own "
            "name\n"},
        {"sessions: [{type: clock}]\noutputs: [{type: clock, name: o}, {type: clock, name: o}]\n",
            "f.yaml:2:55: error: name: another output is called 'o' too, in line 2. give "
            "each its own "
            "name\n"},
        {"sessions: [{type: clock, name: a/b}]\noutputs: [{type: clock, name: ''}]\n",
            "f.yaml:1:32: error: name: 'a/b' cannot be the name of a session. write 1 to 64 "
            "letters, digits, '.', '_' and '-', not starting with '.'\n"
            "f.yaml:2:31: error: name: '' cannot be the name of an output. write 1 to 64 "
            "letters, digits, '.', '_' and '-', not starting with '.'\n"},
        {"sessions: [{type: clock, name: main}]\n"
         "outputs: [{type: clock, sessions: [main, mian, x]}]\n",
            "f.yaml:2:42: error: sessions: there is no session 'mian'. did you mean 'main'? known: "
            "main\n"
            "f.yaml:2:48: error: sessions: there is no session 'x'. known: main\n"},
        {"sessions: [{type: clock}]\noutputs: [{type: pipe, path: p}]\n",
            "f.yaml:2:30: error: path: no slash. start it with one\n"},
        {"sessions: [{type: \"a\\n\"}]\noutputs: [{type: clock, sessions: [clock]}]\n",
            "f.yaml:1:19: error: unknown session type 'a\\x0a'. known: clock, pipe, tape\n"},
        {"sessions: [{type: clock, name: \"a\\n\"}]\noutputs: [{type: clock, sessions: [b]}]\n",
            "f.yaml:1:32: error: name: 'a\\x0a' cannot be the name of a session. write 1 to 64 "
            "letters, digits, '.', '_' and '-', not starting with '.'\n"
            "f.yaml:2:36: error: sessions: there is no session 'b'. known: none\n"},
        {"sessions: [{type: clok}]\noutputs: [{type: tcp}]\nagent: {label: {}}\n",
            "f.yaml:1:19: error: unknown session type 'clok'. did you mean 'clock'? known: clock, "
            "pipe, tape\n"
            "f.yaml:2:18: error: unknown output type 'tcp'. known: pipe, clock\n"
            "f.yaml:3:9: error: unknown key 'label'. did you mean 'labels'?\n"},
        {"sessions: [x]\noutputs: [{type: pipe}]\nschema: [{type: folder}, {type: tdx, path: x}]\n",
            "f.yaml:1:12: error: sessions: this must be a mapping. write {key: value}, or "
            "indented lines of key: value\n"
            "f.yaml:2:11: error: the key 'path' is missing. add it: a path\n"
            "f.yaml:3:10: error: the key 'path' is missing. add it: the folder, or one file\n"
            "f.yaml:3:33: error: type: 'tdx' is not known. did you mean 'tdh'? known: folder, "
            "tdh\n"},
        {"a: [",
            "f.yaml:2:1: error: not valid YAML: did not find expected node content, while parsing "
            "a flow node that starts at 2:1. check indentation, quotes and brackets there\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_errors(cases[i].text, cases[i].errors);
    }
}

static void many_sessions_without_a_name_get_one_quickly(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_add_text(&text, "outputs: [{type: clock}]\nsessions:\n");
    for (size_t i = 0; i < 1024; i++) {
        buf_add_text(&text, " - {type: clock}\n");
    }
    buf_add_byte(&text, 0);
    struct app_config c;
    parse_good((char *)text.data, &c);
    assert_string_equal(c.sessions[1023].name, "clock-1024");
    app_config_fini(&c);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_configuration_is_a_session_and_an_output),
        cmocka_unit_test(events_wait_on_a_disk_if_a_live_session_or_the_configuration_needs_one),
        cmocka_unit_test(events_that_can_be_read_again_are_copied_on_demand),
        cmocka_unit_test(every_key_of_this_version_is_taken),
        cmocka_unit_test(definitions_come_from_schema_and_from_wpp),
        cmocka_unit_test(names_that_are_not_given_are_the_type_and_a_number),
        cmocka_unit_test(what_spans_several_keys_is_checked),
        cmocka_unit_test(many_sessions_without_a_name_get_one_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
