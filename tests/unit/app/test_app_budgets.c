#include "app/plan/app_budgets.h"

#include "support/test.h"

#include <stdio.h>

#include "app/config/app_modules.h"
#include "app/plan/app_warnings.h"

/* The budgets of the configuration, in the form that the pipeline takes. */

static const uint64_t second_ns = UINT64_C(1000000000);

struct loaded {
    struct app_config config;
    struct config_report report;
    struct arena memory;
    struct provider_budget_settings budget; /* of the first session */
};

static void load(struct loaded *loaded, const char *sessions)
{
    char text[4096];
    snprintf(text, sizeof(text), "sessions:\n%s\noutputs: [{type: stdout}]", sessions);
    config_report_init(&loaded->report);
    bool good = app_config_parse(
        span_text(text), "f.yaml", app_modules(), NULL, &loaded->config, &loaded->report);
    if (!good) {
        print_error("%s\n", loaded->report.lines[0].text);
    }
    assert_true(good);
    arena_init(&loaded->memory, 1 << 20);
    const struct app_session *session = &loaded->config.sessions[0];
    struct provider_spec specs[8];
    assert_true(session->providers.count <= 8);
    for (size_t i = 0; i < session->providers.count; i++) {
        specs[i] = ((const struct app_provider *)session->providers.items)[i].spec;
    }
    assert_true(
        app_budgets_plan(&loaded->config, session, specs, &loaded->memory, &loaded->budget));
}

static void unload(struct loaded *loaded)
{
    app_config_fini(&loaded->config);
    config_report_fini(&loaded->report);
    arena_fini(&loaded->memory);
}

static void entries_and_sessions_have_budgets(void **state)
{
    (void)state;
    struct loaded l;
    load(&l, "- providers:\n"
             "  - {name: MyCompany-App, budget: {events: 5000, bytes: 4MB, burst: 10s}}\n"
             "  - Another\n"
             "  - {name: 5a8d5a67-0f2d-4b8b-9a60-3fb1f3a1b1c1, budget: {bytes: 1KB}}\n"
             "  - {name: Free, budget: {events: 0}}\n"
             "  provider_budget: {events: 7}");
    assert_int_equal(l.budget.share_count, 3);
    const struct provider_share *share = &l.budget.shares[0];
    assert_string_equal(share->name, "MyCompany-App");
    struct guid guid = guid_from_name(span_text("MyCompany-App"));
    assert_true(guid_equal(&share->provider, &guid));
    assert_int_equal(share->limit.events, 5000);
    assert_int_equal(share->limit.bytes, 4 << 20);
    assert_int_equal(share->limit.burst_ns, 10 * second_ns);
    assert_true(guid_parse(span_text("5a8d5a67-0f2d-4b8b-9a60-3fb1f3a1b1c1"), &guid));
    assert_true(guid_equal(&l.budget.shares[1].provider, &guid));
    assert_null(l.budget.shares[1].name);
    assert_int_equal(l.budget.shares[1].limit.events, 0);
    assert_int_equal(l.budget.shares[1].limit.bytes, 1024);
    assert_int_equal(l.budget.shares[1].limit.burst_ns, 4 * second_ns);
    /* It has no limit, although the others have one. */
    assert_string_equal(l.budget.shares[2].name, "Free");
    assert_int_equal(l.budget.shares[2].limit.events + l.budget.shares[2].limit.bytes, 0);
    assert_int_equal(l.budget.others.events, 7);
    unload(&l);
    load(&l, "- providers: [A]");
    assert_false(provider_budget_is_given(&l.budget));
    unload(&l);
}

/* The first warning, or "". */
static void assert_warns(const char *sessions, const char *text)
{
    struct loaded l;
    load(&l, sessions);
    app_warnings_find(&l.config, &l.report);
    const char *got = "";
    for (size_t i = 0; i < l.report.line_count; i++) {
        if (strstr(l.report.lines[i].text, "budget")) {
            got = l.report.lines[i].text;
        }
    }
    if (text[0] ? !strstr(got, text) : got[0]) {
        print_error("%s\ngot:      %s\nexpected: %s\n", sessions, got, text);
        fail();
    }
    unload(&l);
}

static void what_has_no_effect_is_told(void **state)
{
    (void)state;
    assert_warns(
        "- providers: [{name: A, budget: {events: 1}}]\n  provider_budget: {bytes: 1}", "");
    assert_warns("- {type: attach, session: X, provider_budget: {bytes: 1}}", "");
    assert_warns("- {type: kernel, flags: [process], provider_budget: {bytes: 1}}", "");
    assert_warns("- {type: file, paths: [a], provider_budget: {events: 1}}",
        "f.yaml:2:45: error: a budget has no effect on recorded traces");
    assert_warns("- {type: file, paths: [a], providers: [{name: A, budget: {events: 1}}]}",
        "recorded traces");
    assert_warns("- {type: record, log_file: {path: 'C:\\a.etl'}, providers: [A], "
                 "provider_budget: {events: 1}}",
        "the agent gets no events of the session");
    assert_warns("- {type: system, providers: [{name: SystemIoProvider, keywords: {any: [DISK]}, "
                 "budget: {events: 1}}]}",
        "kernel events only name their class");
    assert_warns("- providers: [{name: 5a8d5a67-0f2d-4b8b-9a60-3fb1f3a1b1c1, wpp: a.tmf, budget: "
                 "{events: 1}}]",
        "WPP messages do not name their provider");
    assert_warns("- providers: [{name: 5a8d5a67-0f2d-4b8b-9a60-3fb1f3a1b1c1, group: true, budget: "
                 "{events: 1}}]",
        "events of a group name their member");
}

static void words_say_what_changed(void **state)
{
    (void)state;
    static const struct {
        unsigned from;
        unsigned to;
        const char *text;
    } rows[] = {
        {0, 1, "provider A exceeds its budget (10 events/s, 4MB/s): 1 event in 2 is kept"},
        {7, 6,
            "provider A comes closer to its budget (10 events/s, 4MB/s): verbose and informational "
            "events are left out, of the others 1 in 16 is kept"},
        {1, 0, "provider A keeps to its budget (10 events/s, 4MB/s): everything is kept"},
    };
    const struct provider_limit limit = {.events = 10, .bytes = 4 << 20};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct provider_change change = {"A", &limit, rows[i].from, rows[i].to};
        struct buf out;
        buf_init(&out, 1000);
        app_budgets_write_change(&change, &out);
        assert_span(buf_span(&out), rows[i].text);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_and_sessions_have_budgets),
        cmocka_unit_test(what_has_no_effect_is_told),
        cmocka_unit_test(words_say_what_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
