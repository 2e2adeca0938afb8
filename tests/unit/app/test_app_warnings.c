#define _GNU_SOURCE

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/plan/app_warnings.h"
#include "outputs/outputs.h"
#include "support/temp_folder.h"

/* Cases that the program cannot show from outside: an output with a target, whatever its name. */

struct source {
    struct config_strings paths;
};

struct sink {
    const char *path;
};

static const struct config_field source_fields[] = {
    {CONFIG_ROW("paths", PATHS, struct source, paths), .required = true},
    {.key = NULL},
};

static const struct config_field sink_fields[] = {
    {CONFIG_ROW("path", PATH, struct sink, path), .required = true},
    {.key = NULL},
};

static const struct config_strings *source_paths(const void *settings)
{
    const struct source *s = settings;
    return &s->paths;
}

static const char *sink_target(const void *settings)
{
    const struct sink *s = settings;
    return s->path;
}

static const struct input_ops source = {.name = "source",
    .fields = source_fields,
    .settings_size = sizeof(struct source),
    .paths = source_paths};
static const struct output_ops sink = {.name = "sink",
    .fields = sink_fields,
    .settings_size = sizeof(struct sink),
    .target = sink_target};
static const struct input_ops *const inputs[] = {&source};
static const struct output_ops *const outputs[] = {&sink, &output_http};
static const struct app_registry registry = {inputs, 1, outputs, 2};

/* Load ${text}; returns the first line of the warnings or errors. */
static void assert_first(const char *text, const char *expected)
{
    struct config_report report;
    config_report_init(&report);
    struct app_config config;
    char all[2048]; /* depends on the free space of this machine */
    snprintf(all, sizeof(all), "%sspool: {min_free_disk: 0}\n", text);
    if (app_config_parse(span_text(all), "f.yaml", &registry, NULL, &config, &report)) {
        report.kind = "warning";
        app_warnings_find(&config, &report);
        app_config_fini(&config);
    }
    const char *got = report.line_count ? report.lines[0].text : "";
    if (strcmp(got, expected) != 0) {
        print_error("text:\n%s\ngot:\n%s\nexpected:\n%s\n", text, got, expected);
        fail();
    }
    config_report_fini(&report);
}

static void an_output_in_what_is_read_is_refused(void **state)
{
    (void)state;
    static const char warning[] =
        "f.yaml:2:39: error: output o writes into what session source reads, '/w/**/*.log', and "
        "would destroy it. write elsewhere";
    assert_first("sessions: [{type: source, paths: ['/w/**/*.log']}]\n"
                 "outputs: [{type: sink, name: o, path: '/w/a/%Y-{host.name}/x.log'}]\n",
        warning);
    assert_first("sessions: [{type: source, paths: ['/w/**/*.log']}]\n"
                 "outputs: [{type: sink, name: o, path: /w/x.log}]\n",
        warning);
    assert_first("sessions: [{type: source, paths: ['/w/**/*.log']}]\n"
                 "outputs: [{type: sink, name: o, path: /v/x.log}]\n",
        "");
    assert_first(
        "sessions: [{type: source, paths: ['/w/**/*.log']}]\n"
        "outputs: [{type: sink, path: /w/x.log, enabled: false}, {type: sink, path: /v}]\n",
        "");
}

static void an_output_beside_what_is_read_is_warned_of(void **state)
{
    (void)state;
    static const char warning[] =
        "f.yaml:2:39: warning: output o writes into a folder that session source watches, "
        "'/w/*.log'. write elsewhere";
    assert_first("sessions: [{type: source, paths: ['/w/*.log']}]\n"
                 "outputs: [{type: sink, name: o, path: '/w/x.json'}]\n",
        warning);
    assert_first("sessions: [{type: source, paths: ['/w/*.log']}]\n"
                 "outputs: [{type: sink, name: o, path: '/w/v/x.json'}]\n",
        "");
    assert_first("sessions: [{type: source, paths: ['/etc/passwd']}]\n"
                 "outputs: [{type: sink, name: o, path: '/etc/x.json'}]\n",
        "");
    /* The same file by two names. */
    assert_first("sessions: [{type: source, paths: ['/etc/passwd']}]\n"
                 "outputs: [{type: sink, name: o, path: '/etc/../etc/./passwd'}]\n",
        "f.yaml:2:39: error: output o writes into what session source reads, '/etc/passwd', and "
        "would destroy it. write elsewhere");
}

static void a_template_that_may_become_the_name_of_a_trace_is_refused(void **state)
{
    (void)state;
    static const char refused[] =
        "f.yaml:2:39: error: output o writes into what session source reads, '/w/boot.log', and "
        "would destroy it. write elsewhere";
    assert_first("sessions: [{type: source, paths: ['/w/boot.log']}]\n"
                 "outputs: [{type: sink, name: o, path: '/w/{host.name}.log'}]\n",
        refused);
    assert_first("sessions: [{type: source, paths: ['/w/boot.log']}]\n"
                 "outputs: [{type: sink, name: o, path: '/w/{host.name}%Y.log'}]\n",
        refused);
    assert_first("sessions: [{type: source, paths: ['/w/boot.log']}]\n"
                 "outputs: [{type: sink, name: o, path: '/w/{host.name}.json'}]\n",
        "f.yaml:1:35: warning: there is no file '/w/boot.log' now. check the path");
    assert_first("sessions: [{type: source, paths: ['/w/boot.log'], enabled: false}, {type: source,"
                 " paths: ['/v*']}]\n"
                 "outputs: [{type: sink, name: o, path: '/w/{host.name}.log'}]\n",
        "");
}

static void a_trace_by_another_name_is_refused(void **state)
{
    (void)state;
    char folder[TEMP_FOLDER_BYTES];
    char trace[TEMP_FOLDER_BYTES + 16];
    char link_path[TEMP_FOLDER_BYTES + 16];
    char text[1024];
    char refused[512];
    assert_int_equal(temp_folder_make(folder, "warnings"), 0);
    snprintf(trace, sizeof(trace), "%s/a.log", folder);
    snprintf(link_path, sizeof(link_path), "%s/out.json", folder);
    FILE *file = fopen(trace, "wb");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(link(trace, link_path), 0);
    snprintf(text, sizeof(text),
        "sessions: [{type: source, paths: ['%s/*.log']}]\n"
        "outputs: [{type: sink, name: o, path: %s}]\n",
        folder, link_path);
    snprintf(refused, sizeof(refused),
        "f.yaml:2:39: error: output o writes into what session source reads, '%s/*.log', and "
        "would destroy it. write elsewhere",
        folder);
    assert_first(text, refused);
    assert_int_equal(temp_folder_remove(folder), 0);
}

static void an_output_that_cannot_have_its_file_is_warned_of(void **state)
{
    (void)state;
    assert_first("agent: {data_dir: /v}\n"
                 "sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, name: o, path: /v/spool/x}]\n",
        "f.yaml:3:39: warning: output o writes into agent.data_dir, which is the agent's own. "
        "write elsewhere");
    assert_first("agent: {data_dir: /v}\n"
                 "sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, name: o, path: /vx}]\n",
        "");
    assert_first("agent: {data_dir: /v//}\n"
                 "sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, name: o, path: /v/spool/x}]\n",
        "f.yaml:3:39: warning: output o writes into agent.data_dir, which is the agent's own. "
        "write elsewhere");
    assert_first("sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, name: o, path: .}]\n",
        "f.yaml:2:39: warning: output o writes to a folder. write the name of a file in it");
}

static void two_outputs_do_not_share_a_file(void **state)
{
    (void)state;
    assert_first("sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, path: /v}, {type: sink, name: b, path: /v}]\n",
        "f.yaml:2:63: error: output b writes to the file of output sink. give each its own path");
    assert_first("sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, path: /v, enabled: false}, {type: sink, path: /v}]\n",
        "");
    /* Nor a file that the other output may make for an event, or rotate to. */
    static const char *const pairs[][2] = {{"/v/{provider.name}.e", "/v/a.e"}, {"/v/a", "/v/a.7"},
        {"/v/%Y", "/v/{etw.session}"}, {"/v/a", "/v//a"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text),
            "sessions: [{type: source, paths: ['/w/*']}]\n"
            "outputs:\n- {type: sink, name: a, path: '%s'}\n"
            "- {type: sink, name: b, path: '%s'}\n",
            pairs[i][0], pairs[i][1]);
        assert_first(text,
            "f.yaml:4:31: error: output b could write to a file of output a, or to one that it "
            "rotated. give each its own folder");
    }
    assert_first("sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs:\n- {type: sink, name: a, path: /v/a}\n"
                 "- {type: sink, name: b, path: /v/A}\n",
        "f.yaml:4:31: warning: output b writes to the file of output a on systems that ignore "
        "case, such as Windows. give each its own folder");
}

static void an_output_keeps_off_the_log(void **state)
{
    (void)state;
    assert_first("agent: {log: {file: /v/x}}\n"
                 "sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, name: o, path: /v/x}]\n",
        "f.yaml:3:39: error: output o writes to agent.log.file. give each its own path");
    assert_first("agent: {log: {file: /v/x}}\n"
                 "sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, name: o, path: /v/x.1}]\n",
        "f.yaml:3:39: error: output o could write to agent.log.file, or to a log that was "
        "rotated. give each its own folder");
}

static void an_output_of_disabled_sessions_is_warned_of(void **state)
{
    (void)state;
    assert_first("sessions: [{type: source, name: a, enabled: false, paths: ['/w/*']},"
                 " {type: source, name: b, paths: ['/w/*']}]\n"
                 "outputs: [{type: sink, path: /v, sessions: [a]}, {type: sink, path: /u}]\n",
        "f.yaml:2:11: warning: output sink gets nothing: none of its sessions is enabled. enable "
        "one");
}

static void splunk_without_its_token_is_warned_of(void **state)
{
    static const char api_key[] =
        "auth: api_key is for Elasticsearch. Splunk wants its token as bearer";
    static const char nothing[] =
        "framing: Splunk takes nothing without a token. write auth: {bearer: TOKEN}";
    static const struct {
        const char *more;
        const char *at; /* the warning is where this begins */
        const char *warning;
    } cases[] = {
        {"framing: splunk_hec", "splunk", nothing},
        {"framing: splunk_hec, headers: {X-Site: berlin}", "splunk", nothing},
        {"framing: splunk_hec, auth: {api_key: abcd}", "abcd", api_key},
        {"framing: splunk_hec, auth: {bearer: abcd}", "", ""},
        {"framing: splunk_hec, auth: {user: x, password: abcd}", "", ""},
        {"framing: splunk_hec, headers: {authorization: Splunk abcd}", "", ""},
        {"framing: splunk_hec, enabled: false}, {type: sink, path: /v", "", ""},
        {"framing: json_array, auth: {api_key: abcd}", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static const char start[] = "outputs: [{type: http, url: 'https://h', ";
        char text[512];
        char expected[512] = "";
        snprintf(text, sizeof(text), "sessions: [{type: source, paths: ['/w/*']}]\n%s%s}]\n", start,
            cases[i].more);
        if (cases[i].warning[0]) {
            size_t column = strlen(start) +
                            (size_t)(strstr(cases[i].more, cases[i].at) - cases[i].more) + 1;
            snprintf(
                expected, sizeof(expected), "f.yaml:2:%zu: warning: %s", column, cases[i].warning);
        }
        assert_first(text, expected);
    }
    assert_first("sessions: [{type: source, paths: ['/w/*']}]\n"
                 "outputs: [{type: http, url: 'https://h/?token=abcd', framing: splunk_hec}]\n",
        "");
}

/* The warning for ${count} sessions with ${mb} MB: the MB that would be enough, 0 without a
 * warning. */
static unsigned long wanted_mb(size_t count, unsigned long mb)
{
    struct config_report report;
    struct app_config config;
    struct buf text;
    buf_init(&text, 1 << 20);
    buf_printf(&text,
        "agent: {memory: %luMB}\nspool: {min_free_disk: 0}\noutputs: [{type: sink, path: /v}]\n"
        "sessions:\n",
        mb);
    for (size_t i = 0; i < count; i++) {
        buf_add_text(&text, "- {type: source, paths: ['/w/*']}\n");
    }
    config_report_init(&report);
    assert_true(app_config_parse(buf_span(&text), "f.yaml", &registry, NULL, &config, &report));
    app_warnings_find(&config, &report);
    static const char start[] = "f.yaml:1:17: error: memory: ";
    static const char before[] = "will take more. write ";
    unsigned long wanted = 0;
    if (report.line_count) {
        const char *line = report.lines[0].text;
        assert_int_equal(strncmp(line, start, strlen(start)), 0);
        assert_non_null(strstr(line, before));
        wanted = strtoul(strstr(line, before) + strlen(before), NULL, 10);
    }
    app_config_fini(&config);
    config_report_fini(&report);
    buf_fini(&text);
    return wanted;
}

/* Otherwise one batch would be larger than the spool, and would wait for room for ever. */
static void batches_that_a_small_spool_makes_smaller_are_warned_of(void **state)
{
    (void)state;
    static const char text[] = "sessions: [{type: source, paths: ['/w/*']}]\n"
                               "outputs: [{type: sink, path: /v, batch: {bytes: %s}}]\n"
                               "spool: {mode: %s, min_free_disk: 0, max_size: 16MB}\n";
    static const struct {
        const char *mode;
        const char *bytes;
        uint64_t most;
        const char *warning;
    } cases[] = {
        {"durable", "3MB", 2 << 20,
            "f.yaml:2:49: warning: more than an eighth of spool.max_size: batches end at 2MB. make "
            "it smaller, or spool.max_size larger"},
        {"durable", "2MB", 2 << 20, ""},
        {"memory", "3MB", 3 << 20, ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char all[512];
        struct config_report report;
        struct app_config config;
        snprintf(all, sizeof(all), text, cases[i].bytes, cases[i].mode);
        config_report_init(&report);
        report.kind = "warning";
        assert_true(app_config_parse(span_text(all), "f.yaml", &registry, NULL, &config, &report));
        assert_int_equal(app_config_batch_bytes(&config, &config.outputs[0]), cases[i].most);
        app_warnings_find(&config, &report);
        assert_string_equal(report.line_count ? report.lines[0].text : "", cases[i].warning);
        app_config_fini(&config);
        config_report_fini(&report);
    }
}

static void too_little_memory_is_warned_of_with_what_would_do(void **state)
{
    (void)state;
    static const size_t sessions[] = {1, 2, 12, 100};
    for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        unsigned long wanted = wanted_mb(sessions[i], 16);
        /* The numbers of docs/design/data-flow.md: about 40 MB with one session, 10 MB for each
         * further one; 4 MB for the definitions that events of each session carry; and at most
         * 11/32 of the whole for tables, the queue, batches and the allocator. */
        assert_in_range(wanted, 44 + 14 * (sessions[i] - 1), 70 + 20 * (sessions[i] - 1));
        assert_int_equal(wanted_mb(sessions[i], wanted), 0);
        assert_int_equal(wanted_mb(sessions[i], wanted - 1), wanted);
    }
    assert_int_equal(wanted_mb(1, 128), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_in_what_is_read_is_refused),
        cmocka_unit_test(an_output_beside_what_is_read_is_warned_of),
        cmocka_unit_test(a_template_that_may_become_the_name_of_a_trace_is_refused),
        cmocka_unit_test(a_trace_by_another_name_is_refused),
        cmocka_unit_test(an_output_that_cannot_have_its_file_is_warned_of),
        cmocka_unit_test(two_outputs_do_not_share_a_file),
        cmocka_unit_test(batches_that_a_small_spool_makes_smaller_are_warned_of),
        cmocka_unit_test(too_little_memory_is_warned_of_with_what_would_do),
        cmocka_unit_test(an_output_keeps_off_the_log),
        cmocka_unit_test(an_output_of_disabled_sessions_is_warned_of),
        cmocka_unit_test(splunk_without_its_token_is_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
