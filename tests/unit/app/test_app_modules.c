#include "app_modules_rig.h"

#include "app/plan/app_warnings.h"
#include "etw/etw_api.h"

static void every_session_type_is_known_everywhere(void **state)
{
    (void)state;
    assert_first(
        "- {type: record, providers: [A], buffers: {paged: true}, log_file: {path: a.etl}}", STDOUT,
        "");
    assert_first("- {type: realtime, providers: [A], buffers: {size: 1MB, min: 4, max: 8, paged: "
                 "true}, flush: 500ms, clock: system, sequence: local, on_existing: attach, boot: "
                 "true, keep_on_restart: true, block_for: 0}\n"
                 "- {type: system, flags: [process, sysconfig], stacks: [Process/Start, 0x1402, "
                 "5122], providers: [A]}\n"
                 "- {type: kernel, flags: [cswitch]}\n"
                 "- {type: attach, session: Some Logger, providers: [B]}\n"
                 "- {type: heap, launch: 'C:\\a.exe -x', stacks: [alloc, free]}\n"
                 "- {type: record, providers: [A], log_file: {path: 'C:\\t%d.etl', mode: newfile, "
                 "max_size: 1MB}}\n"
                 "- {type: file, paths: [a], start: 2026-11-21T00:00:00Z, end: "
                 "2026-11-22T00:00:00Z}\n",
        STDOUT, "");
}

static void many_heaps_at_a_time_are_warned_of(void **state)
{
    struct app_config config;
    struct config_report report;
    (void)state;
    for (int more = 0; more < 2; more++) {
        assert_true(parse(
            more ? "- {type: heap, pids: [1, 2, 3, 4, 5]}" : "- {type: heap, pids: [1, 2, 3, 4]}",
            STDOUT, &config, &report));
        app_warnings_find(&config, &report);
        bool found = false;
        for (size_t i = 0; i < report.line_count; i++) {
            found = found ||
                    strstr(report.lines[i].text, "pids: 5 traced processes may produce events "
                                                 "faster than they can be read. trace 4 or fewer");
        }
        assert_int_equal(found, more);
        app_config_fini(&config);
        config_report_fini(&report);
    }
}

static void a_service_launches_only_what_it_may(void **state)
{
    static const struct {
        const char *session;
        bool may;
    } rows[] = {
        {"- {type: heap, launch: 'C:\\a.exe'}", false},
        {"- {type: heap, launch: 'C:\\a.exe', in_service: true}", true},
        {"- {type: heap, launch: 'C:\\a.exe', enabled: false}\n- {type: heap, processes: [a.exe]}",
            true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct app_config config;
        struct config_report report;
        assert_true(parse(rows[i].session, STDOUT, &config, &report));
        assert_int_equal(app_config_can_serve(&config, &report), rows[i].may);
        assert_int_equal(report.line_count, !rows[i].may);
        if (!rows[i].may) {
            assert_string_equal(report.lines[0].text,
                "f.yaml:2:10: error: launch: a service would run the program with its own rights "
                "and "
                "few privileges, and without a desktop. name it in processes instead, or write "
                "in_service: true");
        }
        app_config_fini(&config);
        config_report_fini(&report);
    }
}

static void a_session_without_a_type_is_a_live_one(void **state)
{
    (void)state;
    assert_first("- {providers: [Microsoft-Windows-DNS-Client]}", STDOUT, "");
    assert_first("- {}", STDOUT,
        "f.yaml:2:3: error: the key 'providers' is missing. add it: a list of providers");
    assert_first("- {paths: [a]}", STDOUT,
        "f.yaml:2:3: error: the key 'type' is missing, and 'realtime' does not know 'paths'. add "
        "it: file");
    assert_first("- {flags: [process]}", STDOUT,
        "f.yaml:2:3: error: the key 'type' is missing, and 'realtime' does not know 'flags'. add "
        "it: system, kernel, record");
    assert_first("- {provider: [A]}", STDOUT,
        "f.yaml:2:4: error: unknown key 'provider'. did you mean 'providers'?");
}

static void sessions_check_what_belongs_together(void **state)
{
    (void)state;
    static const struct {
        const char *sessions;
        const char *error;
    } cases[] = {
        {"- {type: realtime}",
            "f.yaml:2:3: error: the key 'providers' is missing. add it: a list of providers"},
        {"- {type: kernel, flags: [cpu]}",
            "f.yaml:2:26: error: flags: 'cpu' is not a group of kernel events. write its name, a "
            "PERF_* constant or a mask"},
        {"- {type: kernel}", "f.yaml:2:3: error: the key 'flags' is missing. add it: "},
        {"- {type: system}", "f.yaml:2:3: error: the keys 'providers' and 'flags' are missing. add "
                             "one: a list of providers, or of groups of kernel events"},
        {"- {type: kernel, flags: [EVENT_TRACE_FLAG_CPU]}", "error: flags: 'EVENT_TRACE_FLAG_CPU'"},
        {"- {type: kernel, flags: [process, 0xe0000001]}", "2:35: error: flags: '0xe0000001'"},
        {"- {type: kernel, flags: [process], counters: {sources: [A]}}",
            "f.yaml:2:46: error: counters: sources and events are both required. add the missing "
            "one"},
        {"- {type: kernel, flags: [process], boot: true}",
            "f.yaml:2:42: error: boot: an autologger cannot start the NT Kernel Logger. remove the "
            "key"},
        {"- {type: system, flags: [process], boot: true, on_existing: fail}",
            "error: on_existing: with boot, the session already runs"},
        {"- {type: kernel, flags: [proces]}", NULL},
        {"- {type: kernel, flags: [process], providers: [A]}",
            "f.yaml:2:47: error: providers: sessions of type 'kernel' have none. remove the key, "
            "or use type: realtime"},
        {"- {type: system, flags: [process], stacks: [Process]}",
            "f.yaml:2:45: error: stacks: 'Process' is not a kernel event. did you mean 'Process/"},
        {"- {type: system, flags: [process], stacks: [Process/Start, Process/Strat]}",
            "f.yaml:2:60: error: stacks: 'Process/Strat' is not a kernel event. did you mean "
            "'Process/Start'?"},
        {"- {type: record, flags: [process], stacks: [Some/Other], log_file: {path: a.etl}}",
            "f.yaml:2:45: error: stacks: 'Some/Other' is not a kernel event. write Class/Name, as "
            "in Process/Start, or the number of a hook, as in 0x1402"},
        {"- {type: system, flags: [process], stacks: [0xffff]}",
            "f.yaml:2:45: error: stacks: '0xffff' is not a kernel event. write Class/Name, as in "},
        {"- {type: kernel, flags: [process], stacks: [65536]}",
            "f.yaml:2:45: error: stacks: '65536' is not a kernel event. write Class/Name, as in "},
        {"- {type: kernel, flags: [process], counters: {sources: [A], events: [Thread/CSwich]}}",
            "error: counters: 'Thread/CSwich' is not a kernel event. did you mean "
            "'Thread/CSwitch'?"},
        {"- {type: system, flags: [process], buffers: {paged: true}}",
            "f.yaml:2:53: error: buffers: paged memory cannot hold kernel events. remove paged"},
        {"- {type: record, providers: [A, 'SystemProcessProvider:::1'], buffers: {paged: true}, "
         "log_file: {path: a.etl}}",
            "f.yaml:2:80: error: buffers: events of the kernel's own providers cannot be kept in "
            "paged memory. remove paged"},
        {"- {type: record, flags: [process], providers: ['SystemProcessProvider:::1'], buffers: "
         "{paged: "
         "true}, log_file: {path: a.etl}}",
            "error: buffers: paged memory cannot hold kernel events. remove paged"},
        {"- {type: realtime, providers: [A], buffers: {min: 9, max: 8}}",
            "f.yaml:2:45: error: buffers: min is above max. swap them"},
        {"- {type: record, providers: [A], log_file: {path: a.etl, mode: circular}}",
            "f.yaml:2:64: error: log_file: mode circular requires max_size. add it"},
        {"- {type: record, providers: [A], log_file: {path: a.etl, mode: newfile, max_size: 1MB}}",
            "f.yaml:2:51: error: log_file: mode newfile numbers its files. write %d where the "
            "number belongs in path, once, and no other %"},
        {"- {type: record, providers: [A], log_file: {path: 'a%d-%s.etl', mode: newfile, "
         "max_size: 1MB}}",
            "f.yaml:2:51: error: log_file: mode newfile numbers its files."},
        {"- {type: record, providers: [A], log_file: {path: 'a%d-%d.etl', mode: newfile, "
         "max_size: 1MB}}",
            "f.yaml:2:51: error: log_file: mode newfile numbers its files."},
        {"- {type: record, providers: [A], log_file: {path: '%x-%d.etl', mode: newfile, "
         "max_size: 1MB}}",
            "f.yaml:2:51: error: log_file: mode newfile numbers its files."},
        {"- {type: record, providers: [A], log_file: {path: 'a%%d.etl', mode: newfile, "
         "max_size: 1MB}}",
            "f.yaml:2:51: error: log_file: mode newfile numbers its files."},
        {"- {type: record, providers: [A], log_file: {path: 'a%d%', mode: newfile, max_size: 1MB}}",
            "f.yaml:2:51: error: log_file: mode newfile numbers its files."},
        {"- {type: record, providers: [A], log_file: {path: a.etl, mode: buffering}}",
            "f.yaml:2:64: error: log_file: mode buffering requires max_size. add it"},
        {"- {type: record, providers: [A], log_file: {path: a.etl, mode: append}}",
            "f.yaml:2:64: error: log_file: mode append needs times that continue across restarts. "
            "add clock: system"},
        {"- {type: record, providers: [A], live: true, clock: system, log_file: {path: a.etl, "
         "mode: append}}",
            "f.yaml:2:40: error: live: a session of mode append cannot also deliver events. use "
            "another mode"},
        {"- {type: record, providers: [A], live: true, log_file: {path: a.etl, max_size: 1MB, "
         "mode: buffering}}",
            "f.yaml:2:40: error: live: a session of mode buffering cannot"},
        {"- {type: record, providers: [A], log_file: {path: a.etl, preallocate: true}}",
            "f.yaml:2:71: error: log_file: preallocate requires max_size. add it"},
        {"- {type: record, providers: [A], log_file: {path: a.etl, preallocate: true, "
         "mode: buffering, max_size: 1MB}}",
            "error: log_file: mode buffering has no file while it runs. remove preallocate"},
        {"- {type: record, providers: [A], boot: true, log_file: {path: 'a%d.etl', mode: newfile, "
         "max_size: 1MB}}",
            "error: log_file: Windows cannot start mode newfile at boot. use circular"},
        {"- {type: record, providers: [A], delivery: raw, log_file: {path: a.etl}}",
            "f.yaml:2:44: error: delivery: nothing is delivered without live: true. add it, or "
            "remove the key"},
        {"- {type: record, log_file: {path: a.etl}}",
            "f.yaml:2:3: error: the keys 'providers' and 'flags' are missing."},
        {"- {type: heap}", "f.yaml:2:3: error: the keys 'launch', 'pids' and 'processes' are "
                           "missing. add one to select the heaps to trace"},
        {"- {type: heap, launch: 'C:\\a.exe', pids: [4]}",
            "f.yaml:2:24: error: launch: a session traces either a launched program or running "
            "ones. remove launch, or pids and processes"},
        {"- {type: heap, launch: a.exe -x}",
            "f.yaml:2:24: error: launch: must begin with the full path of a program. write it, in "
            "double quotes if it has blanks, as in '\"C:\\My Apps\\app.exe\" -x'"},
        {"- {type: heap, launch: '\"C:\\My Apps\\a.exe -x'}",
            "launch: must begin with the full path of a program"},
        {"- {type: heap, launch: 'C:a.exe'}", "launch: must begin with the full path of a program"},
        {"- {type: heap, launch: 'C:\\app\\run.CMD -x'}",
            "launch: a script is run by another program. name the program to trace"},
        {"- {type: heap, pids: [12, app.exe]}",
            "f.yaml:2:27: error: pids: 'app.exe' is not a process id. write a number, or use "
            "processes with a program name"},
        {"- {type: heap, pids: [0]}", "pids: '0' is not a process id"},
        {"- {type: heap, processes: ['C:\\a.exe']}",
            "processes: 'C:\\a.exe' is not a program name. write it without its folder, as in "
            "app.exe"},
        {"- {type: heap, pids: [4], folder: 'C:\\'}",
            "f.yaml:2:35: error: folder: only applies to launch. add launch"},
        {"- {type: heap, pids: [4], keep_on_restart: true}",
            "keep_on_restart: heap tracing slows processes, so it ends with the agent. remove the "
            "key"},
        {"- {type: heap, pids: [4], on_existing: attach}",
            "on_existing: a session selects its processes when it starts. write replace or fail"},
        {"- {type: heap, pids: [4], stacks: [walk]}", "stacks"},
        {"- {type: heap, pids: [4]}\n- {type: heap, name: b, pids: [5]}",
            "f.yaml:3:10: error: type: Windows runs one session of type heap at a time, and 'heap' "
            "is it. put both into one, or write enabled: false"},
        {"- {type: file, paths: [a], start: 2026-11-21T00:00:00Z, end: 2026-11-21T00:00:00Z}",
            "f.yaml:2:62: error: end: must be after start; no event can match"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct app_config config;
        struct config_report report;
        assert_false(parse(cases[i].sessions, STDOUT, &config, &report));
        assert_int_equal(report.line_count, 1);
        const char *expected = cases[i].error ? cases[i].error : "did you mean 'process'?";
        if (!strstr(report.lines[0].text, expected)) {
            print_error("got:\n%s\nexpected:\n%s\n", report.lines[0].text, expected);
            fail();
        }
        config_report_fini(&report);
    }
}

static void ten_mistakes_are_reported_at_once_each_at_its_place(void **state)
{
    (void)state;
    static const char text[] =
        "agent: {memory: 1MB, data_dir: ''}\n"
        "sessions:\n"
        "- {type: system, flags: [process], stacks: [X, Process/Start, 0x], buffers: {min: 9,\n"
        "   max: 8, paged: true}, buffer: 1}\n"
        "- {type: file, paths: [a], start: 2026-11-22T00:00:00Z, end: 2026-11-21T00:00:00Z,\n"
        "   providers: ['A:x:y']}\n"
        "outputs:\n"
        "- {type: file, fsync: 10, path: \"o-{provider.nam}\", retry: {min: 9s, max: 1s}}\n"
        "- {type: http, url: 'h h', auth: {user: u}, framing: x, tls: {cert: c, verify: no},\n"
        "   filters: [{drop: event.id = 3, nam: n}]}\n";
    static const char *const places[] = {"1:17: error: memory: ", "1:32: error: data_dir: ",
        "3:45: error: stacks: 'X'", "3:63: error: stacks: '0x'",
        "3:77: error: buffers: min is above", "4:19: error: buffers: paged",
        "4:26: error: unknown key 'buffer'", "5:62: error: end: ", "6:19: error: providers: 'x'",
        "6:21: error: providers: 'y'", "8:23: error: fsync: ", "8:37: error: path: events have no",
        "8:60: error: retry: min", "9:21: error: url: this is not an address",
        "9:21: error: url: the address holds a space", "9:34: error: auth: user and password",
        "9:54: error: framing: ", "9:80: error: verify: ", "10:30: error: drop: = is not part",
        "10:35: error: unknown key 'nam'"};
    struct app_config config;
    struct config_report report;
    config_report_init(&report);
    assert_false(
        app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, &report));
    size_t count = sizeof(places) / sizeof(places[0]);
    for (size_t i = 0; i < report.line_count || i < count; i++) {
        const char *got = i < report.line_count ? report.lines[i].text : "nothing";
        if (i >= count || !strstr(got, places[i])) {
            print_error("got:\n%s\nexpected:\n%s\n", got, i < count ? places[i] : "nothing");
            fail();
        }
    }
    config_report_fini(&report);
}

static void what_cannot_run_is_listed_with_reasons(void **state)
{
    (void)state;
    struct app_config config;
    struct config_report report;
    assert_true(parse("- {type: realtime, providers: [A]}\n"
                      "- {type: heap, pids: [4], enabled: false}\n"
                      "- {type: file, paths: [a]}\n",
        "spool: {mode: durable}\n"
        "outputs: [{type: stdout}, {type: http, url: 'http://h'}, {type: elasticsearch, enabled: "
        "false, hosts: ['http://h']}]",
        &config, &report));
    static const struct etw_api no_etw = {.StartTraceW = NULL};
    etw_api_use(&no_etw);
    assert_false(app_config_can_run(&config, &report));
    assert_int_equal(report.line_count, 1);
    assert_string_equal(report.lines[0].text,
        "f.yaml:2:10: error: type: 'realtime' needs Windows: this system has no ETW. read recorded "
        "traces with type: file, or write enabled: false");
    etw_api_use(NULL);
    app_config_fini(&config);
    config_report_fini(&report);
}

static void sessions_that_no_output_takes_are_errors(void **state)
{
    (void)state;
    static const char sessions[] = "- {type: file, name: a, paths: [a]}\n"
                                   "- {type: file, name: b, paths: [a]}\n"
                                   "- {type: record, log_file: {path: a}, providers: [A]}\n";
    assert_first(sessions, "outputs: [{type: stdout, sessions: [a]}]",
        "f.yaml:3:3: error: no output takes the events of session 'b'. add it to the `sessions` of "
        "one that is enabled, or write enabled: false here");
    assert_first(sessions, "outputs: [{type: stdout, sessions: [a, b]}]", "");
    assert_first(sessions,
        "outputs: [{type: stdout, sessions: [a, b], enabled: false}, {type: file, path: x}]", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_session_type_is_known_everywhere),
        cmocka_unit_test(many_heaps_at_a_time_are_warned_of),
        cmocka_unit_test(a_service_launches_only_what_it_may),
        cmocka_unit_test(a_session_without_a_type_is_a_live_one),
        cmocka_unit_test(sessions_check_what_belongs_together),
        cmocka_unit_test(ten_mistakes_are_reported_at_once_each_at_its_place),
        cmocka_unit_test(what_cannot_run_is_listed_with_reasons),
        cmocka_unit_test(sessions_that_no_output_takes_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
