#include "app/config/app_boot.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "app/plan/agent_plan.h"
#include "app/plan/app_warnings.h"
#include "base/guid.h"
#include "input/windows/etw_boot.h"
#include "support/test.h"

/* What a session that Windows starts at boot may use, and the input that reads the events before
 * the agent. */

static bool parse(const char *session, struct app_config *config, struct config_report *report)
{
    char text[2048];
    snprintf(text, sizeof(text), "sessions:\n- %s\noutputs: [{type: file, path: o}]\n", session);
    config_report_init(report);
    return app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, config, report);
}

static void what_windows_cannot_do_at_boot_is_an_error_at_its_place(void **state)
{
    (void)state;
#define OTHERS                                                                               \
    "Windows has no such filter at boot, so all other events would arrive, too. remove the " \
    "filter, or "                                                                            \
    "boot"
    static const struct {
        const char *session;
        const char *expected; /* "": there is no error */
    } rows[] = {
        {"{boot: true, providers: [{name: A, processes: {pids: [4]}}]}",
            "f.yaml:2:56: error: pids: process ids of the next boot are not known. "
            "remove it, or boot"},
        {"{boot: true, providers: [{name: A, processes: {executables: [a.exe]}}]}",
            "f.yaml:2:63: error: executables: " OTHERS},
        {"{boot: true, providers: [{name: A, processes: {packages: [p]}}]}",
            "f.yaml:2:60: error: packages: " OTHERS},
        {"{boot: true, providers: [{name: A, processes: {apps: [p]}}]}",
            "f.yaml:2:56: error: apps: " OTHERS},
        {"{boot: true, providers: [{name: A, processes: {container: p}}]}",
            "f.yaml:2:61: error: container: " OTHERS},
        {"{boot: true, providers: [{name: A, payload: {1: {F: {is: 1}}}}]}",
            "f.yaml:2:47: error: payload: " OTHERS},
        {"{boot: true, providers: [{name: 1c95126e-7eea-49a9-a3fe-a378b03ddb4d, group: true, "
         "disallow: [1c95126e-7eea-49a9-a3fe-a378b03ddb4e]}]}",
            "f.yaml:2:96: error: disallow: " OTHERS},
        {"{type: system, boot: true, flags: [process], providers: [{name: Process, keywords: {any: "
         "[1]}, processes: "
         "{pids: [4]}}]}",
            "f.yaml:2:116: error: pids: process ids of the next boot are not known. "
            "remove it, or boot"},
        {"{type: kernel, boot: true, flags: [process]}",
            "f.yaml:2:24: error: boot: an autologger cannot start the NT Kernel Logger. remove the "
            "key"},
        {"{type: heap, boot: true, launch: 'C:\\a.exe'}",
            "f.yaml:2:22: error: boot: the traced processes do not run at boot. remove the key"},
        {"{boot: false, providers: [{name: A, processes: {pids: [4]}}]}", ""},
        {"{boot: true, providers: [{name: A, level: 4, keywords: {any: [1]}, events: {include: "
         "[1]}, extended: [sid], stack_for: {events: [1]}}]}",
            ""},
        {"{type: system, boot: true, flags: [process]}", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct app_config config;
        struct config_report report;
        bool good = parse(rows[i].session, &config, &report);
        const char *got = report.line_count ? report.lines[0].text : "";
        if (strcmp(got, rows[i].expected) != 0) {
            print_error("%s\ngot:\n%s\nexpected:\n%s\n", rows[i].session, got, rows[i].expected);
            fail();
        }
        assert_int_equal(report.line_count, rows[i].expected[0] != 0);
        if (good) {
            app_config_fini(&config);
        }
        config_report_fini(&report);
    }
}

static void what_is_delivered_is_read_from_a_file_first(void **state)
{
    (void)state;
    static const struct {
        const char *session;
        bool asked;
        bool read;
    } rows[] = {
        {"{boot: true, providers: [A]}", true, true},
        {"{type: system, boot: true, flags: [process]}", true, true},
        {"{type: record, boot: true, providers: [A], log_file: {path: t.etl}, live: true}", true,
            false},
        {"{providers: [A]}", false, false},
        {"{type: file, paths: [a]}", false, false},
        {"{type: attach, session: A}", false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct app_config config;
        struct config_report report;
        assert_true(parse(rows[i].session, &config, &report));
        assert_int_equal(app_boot_is_asked(&config.sessions[0]), rows[i].asked);
        assert_int_equal(app_boot_is_read(&config.sessions[0]), rows[i].read);
        app_config_fini(&config);
        config_report_fini(&report);
    }
}

static void without_a_folder_there_is_a_warning(void **state)
{
    (void)state;
    static const char text[] = "sessions:\n- {boot: true, providers: [A]}\n";
    static const char warning[] =
        "f.yaml:2:10: warning: boot: there is no folder for the events before the agent starts";
    for (int i = 0; i < 2; i++) {
        struct app_config config;
        struct config_report report;
        char all[512];
        bool found = false;
        snprintf(all, sizeof(all), "%s%soutputs: [{type: stdout}]\n", text,
            i ? "agent: {data_dir: d}\n" : "");
        config_report_init(&report);
        assert_true(
            app_config_parse(span_text(all), "f.yaml", app_modules(), NULL, &config, &report));
        report.kind = "warning";
        app_warnings_find(&config, &report);
        for (size_t k = 0; k < report.line_count; k++) {
            found = found || strncmp(report.lines[k].text, warning, strlen(warning)) == 0;
        }
        assert_int_equal(found, i == 0);
        app_config_fini(&config);
        config_report_fini(&report);
    }
}

static void its_reader_has_a_name_that_no_session_can_have(void **state)
{
    (void)state;
    struct app_config config;
    struct config_report report;
    struct error err = {0};
    struct arena arena;
    assert_true(parse("{name: s, boot: true, providers: [A, B]}", &config, &report));
    arena_init(&arena, 1 << 20);
    const struct app_session *reader = app_boot_reader(&config.sessions[0], "/data", &arena, &err);
    assert_non_null(reader);
    const struct input_boot_settings *settings = reader->settings;
    assert_string_equal(reader->name, "s/boot");
    assert_ptr_equal(reader->ops, &input_boot);
    assert_int_equal(reader->providers.count, 2);
    assert_string_equal(settings->etw_session, "etwship-s");
    assert_string_equal(settings->file, "/data/boot/s.etl");
    arena_fini(&arena);
    app_config_fini(&config);
    config_report_fini(&report);
    assert_false(parse("{name: s/boot, providers: [A]}", &config, &report));
    config_report_fini(&report);
}

/* Bits: system-providers on learn.microsoft.com, PROCESS_KEYWORD_THREAD. */
static void its_reader_knows_providers_by_the_names_of_the_session(void **state)
{
    (void)state;
    struct app_config config;
    struct config_report report;
    struct agent_plan plan;
    struct error err = {0};
    config_report_init(&report);
    bool good = app_config_parse(
        span_text("agent: {data_dir: d}\n"
                  "sessions: [{name: s, type: system, boot: true, providers: [{name: Process, "
                  "keywords: {any: [THREAD]}}]}]\n"
                  "outputs: [{type: file, path: o}]\n"),
        "f.yaml", app_modules(), NULL, &config, &report);
    assert_true(good);
    const struct agent_plan_settings settings = {.config = &config};
    good = agent_plan_init(&plan, &settings, &err);
    if (!good) {
        print_error("%s\n", err.text);
    }
    assert_true(good);
    assert_int_equal(plan.session_count, 2);
    for (size_t i = 0; i < plan.session_count; i++) {
        char guid[GUID_TEXT_SIZE + 1] = {0};
        guid_write(&plan.providers[i][0].guid, guid);
        assert_string_equal(guid, "151f55dc-467d-471f-83b5-5f889d46ff66");
        assert_int_equal(plan.providers[i][0].any.bits, 0x800);
    }
    agent_plan_fini(&plan);
    app_config_fini(&config);
    config_report_fini(&report);
}

/* Without a folder there is no file to read, and without `boot` there are no earlier events. */
static void a_file_is_read_if_there_are_a_folder_and_a_boot_session(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t sessions;
    } rows[] = {
        {"sessions: [{name: s, boot: true, providers: [A]}, {name: t, providers: [B]}]\n"
         "agent: {data_dir: d}\n",
            3},
        {"sessions: [{name: s, boot: true, providers: [A]}, {name: t, providers: [B]}]\n", 2},
        {"sessions: [{name: t, providers: [B]}]\nagent: {data_dir: d}\n", 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct app_config config;
        struct config_report report;
        struct agent_plan plan;
        struct error err = {0};
        char text[512];
        snprintf(text, sizeof(text), "%soutputs: [{type: stdout}]\n", rows[i].text);
        config_report_init(&report);
        assert_true(
            app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, &report));
        const struct agent_plan_settings settings = {.config = &config};
        assert_true(agent_plan_init(&plan, &settings, &err));
        assert_int_equal(plan.session_count, rows[i].sessions);
        agent_plan_fini(&plan);
        app_config_fini(&config);
        config_report_fini(&report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_windows_cannot_do_at_boot_is_an_error_at_its_place),
        cmocka_unit_test(what_is_delivered_is_read_from_a_file_first),
        cmocka_unit_test(without_a_folder_there_is_a_warning),
        cmocka_unit_test(its_reader_has_a_name_that_no_session_can_have),
        cmocka_unit_test(its_reader_knows_providers_by_the_names_of_the_session),
        cmocka_unit_test(a_file_is_read_if_there_are_a_folder_and_a_boot_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
