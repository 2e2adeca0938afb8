#include "event/select/event_template.h"

#include "unit/event/writer_fixture.h"

/* Values get into the templates as names of the schema: {provider.name} and {event.name}. */
struct rendering {
    const char *template;
    const char *provider;
    const char *event;
    const char *expected;
};

static struct event_template *make(const char *text, enum event_template_safety safety)
{
    struct error err = {0};
    struct event_template *template = event_template_create(span_text(text), safety, &err);
    if (!template) {
        fail_msg("%s: %s", text, err.text);
    }
    return template;
}

static void assert_renders(enum event_template_safety safety, const struct rendering *r)
{
    struct writer_fixture f;
    struct event_path_context context;
    struct event_template *template = make(r->template, safety);
    fixture_init(&f, RECORD_EVENT, SCHEMA_MANIFEST);
    assert_true(event_path_context_init(&context, NULL, NULL));
    f.schema.provider_name = span_text(r->provider);
    f.schema.event_name = span_text(r->event);
    event_template_render(template, &f.event, &context, &f.out);
    assert_false(f.out.failed);
    if (!span_is(buf_span(&f.out), r->expected)) {
        fail_msg("%s: got \"%.*s\", expected \"%s\"", r->template, SPAN_ARG(buf_span(&f.out)),
            r->expected);
    }
    event_template_destroy(template);
    event_path_context_fini(&context);
    fixture_fini(&f);
}

#define A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A100 A50 A50

static void times_are_the_events_own_and_fields_its_values(void **state)
{
    (void)state;
    static const struct rendering cases[] = {
        {"plain", "", "", "plain"},
        {"etw-%Y-%m-%d.ndjson", "", "", "etw-2026-11-21.ndjson"},
        {"%H%M/%Y%m%d", "", "", "0930/20261121"},
        {"%Hh%Mm%d_%m%%", "", "", "09h30m21_11%"},
        {"{provider.name}/{event.name}.json", "DNS", "Query", "DNS/Query.json"},
        {"C:\\etw\\{provider.name}\\x", "DNS", "", "C:\\etw\\DNS\\x"},
        {"../{provider.name}", "DNS", "", "../DNS"},
        {"{{{event.name}}}%%", "", "E", "{E}%"},
        {"{event.name}", "", "", "unknown"},
        {"{data.NoSuchField}-{etw.session}-{host.name}", "", "", "unknown-unknown-unknown"},
        {"{data}", "", "", "unknown"},
        {"{event.level}{process.pid}", "", "", "0unknown"},
        {"\xc3\xa4{provider.name}", "\xe2\x82\xac", "", "\xc3\xa4\xe2\x82\xac"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_renders(EVENT_TEMPLATE_PATH, &cases[i]);
    }
}

static void data_never_leads_out_of_its_component(void **state)
{
    (void)state;
    static const struct rendering cases[] = {
        {"d/{provider.name}/x", "..", "", "d/._/x"},
        {"d/{provider.name}/x", ".", "", "d/_/x"},
        {"d/{provider.name}{event.name}/x", ".", ".", "d/._/x"},
        {"d/.{provider.name}/x", ".", "", "d/._/x"},
        {"d/{provider.name}", "../../etc/passwd", "", "d/.._.._etc_passwd"},
        {"d/{provider.name}", "..\\..\\x", "", "d/.._.._x"},
        {"d\\{provider.name}\\x", "..", "", "d\\._\\x"},
        {"{provider.name}", "/etc/passwd", "", "_etc_passwd"},
        {"{provider.name}", "C:\\x", "", "C__x"},
        {"{provider.name}", "a:stream", "", "a_stream"},
        {"{provider.name}", "a<b>c\"d|e?f*g", "", "a_b_c_d_e_f_g"},
        {"{provider.name}", "a\x01\x1f\x7f\r\n\tb", "", "a______b"},
        {"{provider.name}",
            "a\xc2\x80\xc2\x9f\xe2\x80\xae\xef\xbb\xbf"
            "b",
            "", "a____b"},
        {"{provider.name}", "a\xff\xc0\xaf", "", "a___"},
        /* U+200B to U+200F, with their visible neighbours. */
        {"{provider.name}",
            "\xe2\x80\x8a\xe2\x80\x8b\xe2\x80\x8c\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\x90",
            "", "\xe2\x80\x8a_____\xe2\x80\x90"},
        /* U+061C, U+2065, U+2066, U+2069, U+206A, U+206F, U+2070. */
        {"{provider.name}",
            "\xd8\x9c\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa\xe2\x81\xaf\xe2\x81\xb0", "",
            "______\xe2\x81\xb0"},
        {"{provider.name}", "a.", "", "a_"},
        {"{provider.name}", "a ", "", "a_"},
        {"{provider.name}/{event.name}", "NUL", "con.txt", "_NUL/_con.txt"},
        {"{provider.name}/{event.name}", "com1", "LPT9.a.b", "_com1/_LPT9.a.b"},
        {"{provider.name}/{event.name}", "aux .x", "COM\xc2\xb9", "_aux .x/_COM\xc2\xb9"},
        {"{provider.name}/{event.name}", "CONIN$", "prn", "_CONIN$/_prn"},
        {"{provider.name}/{event.name}", "console", "com10", "console/com10"},
        {"c{provider.name}.txt", "on", "", "_con.txt"},
        {"{provider.name}{event.name}", "n", "ul", "_nul"},
        /* The user's own text stays. */
        {"../NUL./{provider.name}", "a", "", "../NUL./a"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_renders(EVENT_TEMPLATE_PATH, &cases[i]);
    }
}

static void a_name_keeps_its_length_and_its_ending(void **state)
{
    (void)state;
    static const struct rendering paths[] = {
        {"{provider.name}.x", A100 "b", "", A100 ".x"},
        {"{provider.name}{event.name}", A100, A100, A100 A100},
        /* Two share 200 less 1. */
        {"{provider.name}-{event.name}", A100, A100,
            A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-" A50
                "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
        /* Never inside a character. */
        {"{provider.name}", A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4", "",
            A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
        {A100 A100 "/{provider.name}", "b", "", A100 A100 "/b"},
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        assert_renders(EVENT_TEMPLATE_PATH, &paths[i]);
    }
    static const struct rendering index = {"etw-{provider.name}-%Y.%m.%d", A100, "",
        "etw-" A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-2026.11.21"};
    assert_int_equal(strlen(index.expected), EVENT_TEMPLATE_MAX_INDEX);
    assert_renders(EVENT_TEMPLATE_INDEX, &index);
}

static void what_goes_into_an_index_is_lower_case_and_plain(void **state)
{
    (void)state;
    static const struct rendering cases[] = {
        {"etw-{provider.name}-%Y.%m.%d", "Microsoft-Windows-DNS-Client", "",
            "etw-microsoft_windows_dns_client-2026.11.21"},
        {"etw-{provider.name}", "A/b\\c*D?\"<>| ,#:", "", "etw-a_b_c_d_________"},
        {"etw-{provider.name}", "\xc3\xa4.x_9", "", "etw-__.x_9"},
        {"etw-{event.name}", "", "", "etw-unknown"},
        {"etw-{provider.name}", "..", "", "etw-.."},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_renders(EVENT_TEMPLATE_INDEX, &cases[i]);
    }
}

static void mistakes_are_told_with_their_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum event_template_safety safety;
        const char *expected; /* in the message */
    } cases[] = {
        {"a/%TEMP%/x", EVENT_TEMPLATE_PATH, "column 3: %TEMP% is not expanded here. write ${TEMP}"},
        {"%HOME%data", EVENT_TEMPLATE_PATH, "column 1: %HOME% is not expanded here. write ${HOME}"},
        {"%ProgramData%\\x", EVENT_TEMPLATE_PATH, "${ProgramData}"},
        {"\xc3\xa4%q", EVENT_TEMPLATE_PATH, "column 2: not a part of the time"},
        {"100%", EVENT_TEMPLATE_PATH, "column 4: not a part of the time"},
        {"%y", EVENT_TEMPLATE_PATH, "%Y %m %d %H %M"},
        {"a{", EVENT_TEMPLATE_PATH, "column 2: not a field in braces"},
        {"a{}", EVENT_TEMPLATE_PATH, "column 2: not a field in braces"},
        {"a{provider.name", EVENT_TEMPLATE_PATH, "column 2: not a field in braces"},
        {"a{provider.name }", EVENT_TEMPLATE_PATH, "column 2: not a field in braces"},
        {"a}b", EVENT_TEMPLATE_PATH, "column 2: a closing brace without an opening one"},
        {"a{provider.nam}", EVENT_TEMPLATE_PATH, "column 3: "},
        {"a{provider.nam}", EVENT_TEMPLATE_PATH, "provider.name"},
        {"a\tb", EVENT_TEMPLATE_PATH, "column 2: a control character"},
        {"", EVENT_TEMPLATE_PATH, "1 to 4096 bytes"},
        {"{provider.name}", EVENT_TEMPLATE_INDEX, "begins with a value of an event"},
        {"%Y", EVENT_TEMPLATE_INDEX, "begins with a value of an event"},
        {A100 A100 "{provider.name}", EVENT_TEMPLATE_PATH, "write a shorter one"},
        {A100 "b", EVENT_TEMPLATE_INDEX, "write a shorter one"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        assert_null(event_template_create(span_text(cases[i].text), cases[i].safety, &err));
        if (!strstr(err.text, cases[i].expected)) {
            fail_msg("%s: got \"%s\", expected \"%s\"", cases[i].text, err.text, cases[i].expected);
        }
    }
    char many[EVENT_TEMPLATE_MAX_PARTS * 3 + 4] = "";
    for (size_t i = 0; i <= EVENT_TEMPLATE_MAX_PARTS; i++) {
        memcpy(many + i * 3, "/%Y", 3);
    }
    struct error err = {0};
    assert_null(event_template_create(span_text(many), EVENT_TEMPLATE_PATH, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void it_tells_whether_it_is_constant(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool constant;
    } cases[] = {{"a/b", true}, {"100%%{{}}", true}, {"a%Y", false}, {"{event.code}", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct event_template *template = make(cases[i].text, EVENT_TEMPLATE_PATH);
        assert_int_equal(event_template_is_constant(template), cases[i].constant);
        event_template_destroy(template);
    }
    struct event_template *template = make("100%%{{}}", EVENT_TEMPLATE_PATH);
    struct buf out;
    buf_init(&out, 100);
    event_template_render(template, NULL, NULL, &out);
    assert_span(buf_span(&out), "100%{}");
    buf_fini(&out);
    event_template_destroy(template);
    event_template_destroy(NULL);
}

static void events_of_the_agent_have_a_place_too(void **state)
{
    (void)state;
    struct event_template *template = make(
        "{etw.session}/{provider.name}-{event.name}-%Y", EVENT_TEMPLATE_PATH);
    struct event_path_context context;
    struct buf out;
    const struct trace_info trace = {.session_name = span_text("boot")};
    assert_true(event_path_context_init(&context, NULL, NULL));
    buf_init(&out, 1000);
    event_template_render_own(template, "gap", &trace, FIXTURE_TIME, &context, &out);
    assert_span(buf_span(&out), "boot/etwship-gap-2026");
    buf_reset(&out);
    event_template_render_own(template, "status", NULL, FIXTURE_TIME, &context, &out);
    assert_span(buf_span(&out), "unknown/etwship-status-2026");
    buf_fini(&out);
    event_path_context_fini(&context);
    event_template_destroy(template);
}

static void times_are_found_again_in_what_was_rendered(void **state)
{
    (void)state;
    static const struct {
        const char *template;
        const char *rendered;
        const char *mask; /* NULL: it does not come from the template; '.' is no time */
    } cases[] = {
        {"etw-%Y-%m-%d.json", "etw-2026-11-21.json", "....YYYY.mm.dd....."},
        {"{etw.session}/%Y%m.json", "20261121/202611.json", ".........YYYYmm....."},
        {"{etw.session}%Y.json", "a20262027.json", ".....YYYY....."},
        {"%Y{etw.session}.json", "20262027.json", "YYYY........."},
        {"{event.name}-%H/{event.name}", "a-b-12/x/y", NULL},
        {"{event.name}-%H/{event.name}", "a-b-12/x-1", "....HH...."},
        {"etw-%Y", "etw-20261", NULL},
        {"etw-%Y", "etw-202", NULL},
        {"etw-%Y", "etw-202a", NULL},
        {"etw-%Y", "atw-2026", NULL},
        {"etw", "etw", "..."},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct event_template *template = make(cases[i].template, EVENT_TEMPLATE_PATH);
        struct span rendered = span_text(cases[i].rendered);
        uint8_t mask[64];
        bool found = event_template_find_times(template, rendered, mask);
        assert_int_equal(found, cases[i].mask != NULL);
        for (size_t k = 0; found && k < rendered.size; k++) {
            assert_int_equal(mask[k] ? mask[k] : '.', cases[i].mask[k]);
        }
        event_template_destroy(template);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_the_events_own_and_fields_its_values),
        cmocka_unit_test(data_never_leads_out_of_its_component),
        cmocka_unit_test(a_name_keeps_its_length_and_its_ending),
        cmocka_unit_test(what_goes_into_an_index_is_lower_case_and_plain),
        cmocka_unit_test(mistakes_are_told_with_their_column),
        cmocka_unit_test(it_tells_whether_it_is_constant),
        cmocka_unit_test(events_of_the_agent_have_a_place_too),
        cmocka_unit_test(times_are_found_again_in_what_was_rendered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
