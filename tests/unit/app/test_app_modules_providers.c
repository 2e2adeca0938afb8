#include "app_modules_rig.h"

/* Entries of providers. */

static void entries_of_providers_are_read_in_both_forms(void **state)
{
    (void)state;
    struct app_config config;
    struct config_report report;
    assert_true(
        parse("- type: realtime\n"
              "  providers:\n"
              "  - Name-A:warning:1+5-9:0x10:0x30\n"
              "  - '{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}'\n"
              "  - name: Name-B\n"
              "    level: 0x3\n"
              "    keywords: {any: [0x40, One, 2], all: [Two]}\n"
              "    events: {include: [1, 2-3, Start], exclude: [7]}\n"
              "    payload: {1: {A: {contains: x}, B: {between: [1, 2]}}, 2: {A: {is: 1}}}\n"
              "    extended: [stack, sid]\n"
              "    processes: {pids: [4, 0x10], executables: [a.exe]}\n"
              "    filters: [{keep: 'event.id == 1'}]\n"
              "  - {wpp: a.tmf, flags: [0x2], level: verbose}\n",
            STDOUT, &config, &report));
    const struct app_provider *p = config.sessions[0].providers.items;
    assert_int_equal(config.sessions[0].providers.count, 4);
    assert_span(p[0].spec.name, "Name-A");
    assert_int_equal(p[0].spec.level, 3);
    assert_int_equal(p[0].spec.include.range_count, 2);
    assert_int_equal(p[0].spec.include.ranges[1].first, 5);
    assert_int_equal(p[0].spec.include.ranges[1].last, 9);
    assert_int_equal(p[0].spec.any.bits, 0x10);
    assert_int_equal(p[0].spec.all.bits, 0x30);
    assert_int_equal(p[1].spec.name.size, 0);
    assert_int_equal(p[1].spec.guid.bytes[0], 0x6e);
    assert_int_equal(p[1].spec.level, PROVIDER_LEVEL_ALL);
    assert_span(p[2].spec.name, "Name-B");
    assert_int_equal(p[2].spec.level, 3);
    assert_int_equal(p[2].spec.any.bits, 0x42);
    assert_int_equal(p[2].spec.any.name_count, 1);
    assert_string_equal(p[2].spec.any.names[0], "One");
    assert_string_equal(p[2].spec.all.names[0], "Two");
    assert_int_equal(p[2].spec.include.range_count, 2);
    assert_string_equal(p[2].spec.include.names[0], "Start");
    assert_int_equal(p[2].spec.exclude.ranges[0].first, 7);
    assert_int_equal(p[2].spec.extended, 1 << PROVIDER_EXTENDED_STACK | 1 << PROVIDER_EXTENDED_SID);
    const struct provider_payload *payload = p[2].payload.items;
    assert_int_equal(p[2].payload.count, 2);
    assert_string_equal(payload[0].id, "1");
    const struct provider_predicate *predicate = payload[0].fields.items;
    assert_string_equal(predicate[0].field, "A");
    assert_string_equal(predicate[0].contains, "x");
    assert_string_equal(predicate[1].between.items[1], "2");
    assert_int_equal(p[2].filters.count, 1);
    assert_string_equal(p[3].wpp, "a.tmf");
    assert_int_equal(p[3].spec.level, 5);
    app_config_fini(&config);
    config_report_fini(&report);
}

/* "All keywords" of a system provider are context switches, system calls and the like. */
static void system_providers_need_keywords(void **state)
{
    static const char refusal[] =
        "f.yaml:2:30: error: providers: SystemAlpcProvider without keywords enables all of its "
        "events. name those that you need, as in {name: SystemAlpcProvider, keywords: {any: "
        "[GENERAL]}}; there are GENERAL";
    static const struct {
        const char *session;
        const char *expected;
    } rows[] = {
        {"- {type: system, providers: [SystemAlpcProvider]}", refusal},
        {"- {type: system, providers: [Alpc]}", refusal},
        {"- {type: system, providers: [fcb9baaf-e529-4980-92e9-ced1a6aadfdf]}", refusal},
        {"- {type: system, providers: [{name: Alpc, keywords: {any: [0xffffffffffffffff]}}]}",
            refusal},
        {"- {type: system, providers: [{name: Alpc, keywords: {any: [GENERAL]}}]}", ""},
        {"- {type: system, providers: ['Alpc:::1']}", ""},
        {"- {type: realtime, providers: [Alpc]}",
            ""}, /* a provider of another vendor with that name */
        {"- {type: file, paths: [a], providers: [SystemAlpcProvider]}", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_first(rows[i].session, STDOUT, rows[i].expected);
    }
}

static void keywords_are_named_one_by_one_or_all_at_once(void **state)
{
    (void)state;
    struct app_config config;
    struct config_report report;
    assert_true(parse("- type: realtime\n"
                      "  providers: ['A:::0x6', 'B:::0xffffffffffffffff', C,\n"
                      "  {name: D, keywords: {any: [0xffffffffffffffff, 0x2]}}]\n",
        STDOUT, &config, &report));
    static const uint64_t named[] = {0x6, 0, 0, 0x2};
    const struct app_provider *p = config.sessions[0].providers.items;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(p[i].spec.any.named, named[i]);
    }
    app_config_fini(&config);
    config_report_fini(&report);
}

static void wrong_entries_of_providers_are_all_reported(void **state)
{
    (void)state;
    struct app_config config;
    struct config_report report;
    static const char *const expected[] = {
        "f.yaml:4:6: error: providers: '4104' is not a provider: in [ ] a comma starts a new "
        "entry. quote the whole expression before it, or join ids with +",
        "f.yaml:5:8: error: providers: 'varning' is not a level. did you mean 'warning'? write a "
        "number from 0 to 255, critical, error, warning, information or verbose",
        "f.yaml:6:10: error: providers: '70000' is not an event id. write a number from 0 to "
        "65535, or a range such as 5-9",
        "f.yaml:7:10: error: providers: 'Files' is not a keyword mask. write it as a number; names "
        "work in the long form, keywords: {any: [NAME]}",
        "f.yaml:8:16: error: providers: 'A:1:2:3:4:5' has too many parts. write (Name|GUID)"
        "[:Level[:EventIDs[:AnyKeywords[:AllKeywords]]]]",
        "f.yaml:9:6: error: providers: the entry has no name. add name: NAME or GUID",
        "f.yaml:10:23: error: level: '256' is not a level. write a number from 0 to 255, critical, "
        "error, warning, information or verbose",
        "f.yaml:11:35: error: events: '9-5' is not an event id. write a number from 0 to 65535, or "
        "a range such as 5-9",
        "f.yaml:12:33: error: keywords: this is not a mask. write a number such as 0x10, or the "
        "name of a keyword",
        "f.yaml:13:26: error: payload: this is not an event id. write a number from 0 to 65535",
        "f.yaml:14:30: error: payload: a field takes one condition. write one, as in {contains: "
        "text}",
        "f.yaml:15:35: error: pids: this is not a process id. write a number",
        "f.yaml:16:23: error: flags: only WPP has flags. write keywords: {any: [...]}",
        "f.yaml:17:12: error: providers: 'A:::::' has too many parts. write (Name|GUID)"
        "[:Level[:EventIDs[:AnyKeywords[:AllKeywords]]]]",
        "f.yaml:18:7: error: providers: '{6E7C}' is not a GUID. write 8-4-4-4-12 hexadecimal "
        "digits, as in 1c95126e-7eea-49a9-a3fe-a378b03ddb4d",
        "f.yaml:19:13: error: name: '1c95126e-7eea-49a9-a3fe-a378b03ddb4' is not a GUID. write "
        "8-4-4-4-12 hexadecimal digits, as in 1c95126e-7eea-49a9-a3fe-a378b03ddb4d",
        "f.yaml:20:9: error: providers: 'x' is not a level. write a number from 0 to 255, "
        "critical, "
        "error, warning, information or verbose",
        "f.yaml:20:11: error: providers: 'y' is not an event id. write a number from 0 to 65535, "
        "or a range such as 5-9",
        "f.yaml:20:15: error: providers: '9-5' is not an event id. write a number from 0 to 65535, "
        "or a range such as 5-9",
        "f.yaml:20:19: error: providers: 'z' is not a keyword mask. write it as a number; names "
        "work in the long form, keywords: {any: [NAME]}",
        "f.yaml:21:23: error: group: a group is known by its GUID alone. write name: GUID",
        "f.yaml:22:26: error: disallow: only groups have members. add group: true",
        "f.yaml:22:27: error: disallow: this is not a GUID. write that of a provider",
        "f.yaml:23:35: error: level: 'x' is not a level. write a number from 0 to 255, critical, "
        "error, warning, information or verbose",
        "f.yaml:23:48: error: keywords: keywords of stacks are masks, without names. write the "
        "bits",
        "f.yaml:24:7: error: providers: ' A' begins or ends with a space, which no provider name "
        "does. remove it",
    };
    assert_false(parse("- type: realtime\n"
                       "  providers:\n"
                       "   - 4104\n" /* the parts of a list that YAML has cut */
                       "   - A:varning\n"
                       "   - A:4:70000\n"
                       "   - A:::Files\n"
                       "   - A:1:2:3:4:5\n"
                       "   - {level: 4}\n"
                       "   - {name: A, level: 256}\n"
                       "   - {name: A, events: {include: [9-5]}}\n"
                       "   - {name: A, keywords: {any: [0xg]}}\n"
                       "   - {name: A, payload: {x: {A: {is: 1}}}}\n"
                       "   - {name: A, payload: {1: {A: {is: 1, contains: 2}}}}\n"
                       "   - {name: A, processes: {pids: [x]}}\n"
                       "   - {name: A, flags: [x]}\n"
                       "   - 'A:::::'\n"
                       "   - '{6E7C}'\n"
                       "   - {name: 1c95126e-7eea-49a9-a3fe-a378b03ddb4}\n"
                       "   - '\xc3\xa4"
                       ":x:y,1,9-5:z'\n"
                       "   - {name: A, group: true}\n"
                       "   - {name: A, disallow: [B]}\n"
                       "   - {name: A, stack_for: {level: x, keywords: {any: [Z]}}}\n"
                       "   - ' A'\n",
        STDOUT, &config, &report));
    size_t count = sizeof(expected) / sizeof(expected[0]);
    for (size_t i = 0; i < report.line_count; i++) {
        if (i >= count || strcmp(report.lines[i].text, expected[i]) != 0) {
            print_error("got:\n%s\nexpected:\n%s\n", report.lines[i].text,
                i < count ? expected[i] : "nothing more");
            fail();
        }
    }
    assert_int_equal(report.line_count, count);
    config_report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_providers_are_read_in_both_forms),
        cmocka_unit_test(system_providers_need_keywords),
        cmocka_unit_test(keywords_are_named_one_by_one_or_all_at_once),
        cmocka_unit_test(wrong_entries_of_providers_are_all_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
