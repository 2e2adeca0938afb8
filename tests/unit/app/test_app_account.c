#include "app/plan/app_account.h"

#include "support/test.h"

#include <stdio.h>

#include "app/config/app_modules.h"

/* Sessions for which a service's account has too few rights. What Windows says about them is not
 * asked. */

static void find(const char *session, enum service_account account, struct config_report *report)
{
    struct app_config config;
    char text[2048];
    snprintf(text, sizeof(text), "sessions:\n%s\noutputs: [{type: stdout}]", session);
    config_report_init(report);
    bool good = app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, report);
    if (!good) {
        print_error("%s\n", report->lines[0].text);
    }
    assert_true(good);
    app_account_find(&config, account, report);
    app_config_fini(&config);
}

static void each_kind_of_session_has_its_rights(void **state)
{
    (void)state;
    static const struct {
        const char *session;
        const char *text; /* "": the rights are enough */
    } rows[] = {
        {"- {providers: [Microsoft-Windows-DNS-Client]}", ""},
        {"- {type: attach, session: MyLogger}", ""},
        {"- {type: file, paths: [a.etl]}", ""},
        {"- {type: record, log_file: {path: 'C:\\a.etl'}, providers: [A]}", ""},
        {"- {type: kernel, flags: [process]}", "the NT Kernel Logger is for administrators"},
        {"- {type: kernel, enabled: false, flags: [process]}\n- {providers: [A]}", ""},
        {"- {type: system, flags: [process]}", "right to profile the system"},
        {"- {type: system, providers: ['SystemProcessProvider:::1']}",
            "right to profile the system"},
        {"- {type: record, log_file: {path: 'C:\\a.etl'}, flags: [process]}",
            "right to profile the system"},
        {"- {type: heap, launch: 'C:\\a.exe', stacks: [alloc]}", "heap sessions need"},
        {"- {providers: [A], boot: true}", "starts at boot"},
        {"- {type: attach, session: EventLog-security}",
            "only administrators and LocalSystem may open that session"},
        {"- {type: attach, session: NT Kernel Logger}",
            "only administrators and LocalSystem may open that session"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct config_report report;
        find(rows[i].session, SERVICE_ACCOUNT_VIRTUAL, &report);
        const char *got = report.line_count ? report.lines[0].text : "";
        bool expected = rows[i].text[0] ? strstr(got, rows[i].text) && strstr(got, ". install")
                                        : !got[0];
        if (!expected) {
            print_error("%s\ngot:      %s\nexpected: %s\n", rows[i].session, got, rows[i].text);
            fail();
        }
        config_report_fini(&report);
        find(rows[i].session, SERVICE_ACCOUNT_SYSTEM, &report);
        assert_int_equal(report.line_count, 0);
        config_report_fini(&report);
    }
}

static void each_session_is_named_at_its_place(void **state)
{
    (void)state;
    struct config_report report;
    find("- {name: dns, providers: [A]}\n- {name: kern, type: kernel, flags: [process]}\n"
         "- {name: hot, type: system, flags: [cswitch]}",
        SERVICE_ACCOUNT_VIRTUAL, &report);
    assert_int_equal(report.line_count, 2);
    assert_non_null(strstr(report.lines[0].text, "f.yaml:3:3: "));
    assert_non_null(strstr(report.lines[0].text, "session kern: the account of the service has"));
    assert_non_null(strstr(report.lines[1].text, "f.yaml:4:3: "));
    assert_non_null(strstr(report.lines[1].text, "session hot: "));
    config_report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_session_has_its_rights),
        cmocka_unit_test(each_session_is_named_at_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
