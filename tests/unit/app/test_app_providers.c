#include "app/config/app_providers.h"

#include <stdio.h>

#include "support/test.h"

#include "app/config/app_modules.h"
#include "app/plan/provider_selection.h"
#include "etw/etw_api.h"
#include "support/temp_folder.h"

/* Made-up events, against sessions as people write them. */

static char folder[TEMP_FOLDER_BYTES];

static const char manifest[] =
    "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">"
    "<instrumentation><events><provider name=\"Made-Up\""
    " guid=\"{0f0e0d0c-0b0a-0908-0706-050403020100}\" symbol=\"S\" resourceFileName=\"r\""
    " messageFileName=\"m\"><keywords><keyword name=\"Files\" mask=\"0x20\"/></keywords><events>"
    "<event value=\"7\" symbol=\"E\" keywords=\"Files\"/></events></provider></events>"
    "</instrumentation></instrumentationManifest>";

static const struct guid made_up = {
    {0x0c, 0x0d, 0x0e, 0x0f, 0x0a, 0x0b, 0x08, 0x09, 7, 6, 5, 4, 3, 2, 1, 0}};

static int set_up(void **state)
{
    (void)state;
    char path[TEMP_FOLDER_BYTES + 16];
    if (temp_folder_make(folder, "selection") != 0) {
        return -1;
    }
    snprintf(path, sizeof(path), "%s/made-up.man", folder);
    FILE *file = fopen(path, "wb");
    return file && fputs(manifest, file) >= 0 && fclose(file) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

struct fixture {
    struct app_config config;
    struct provider_spec specs[4];
    struct provider_selection *selection;
};

/* False: ${err} says why the session cannot select events. */
static bool start(struct fixture *f, const char *providers, struct error *err)
{
    char text[1024];
    snprintf(text, sizeof(text),
        "schema: [{type: folder, path: %s}]\n"
        "sessions: [{type: file, paths: [a], providers: [%s]}]\noutputs: [{type: stdout}]\n",
        folder, providers);
    struct config_report report;
    config_report_init(&report);
    if (!app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &f->config, &report)) {
        fail_msg("%s", report.lines[0].text);
    }
    config_report_fini(&report);
    const struct app_session *session = &f->config.sessions[0];
    const struct app_provider *list = session->providers.items;
    for (size_t i = 0; i < session->providers.count; i++) {
        f->specs[i] = list[i].spec;
    }
    f->selection = NULL;
    if (!app_providers_resolve(&f->config, session, f->specs, err)) {
        return false;
    }
    f->selection = provider_selection_create_from(f->specs, session->providers.count, false, err);
    return f->selection != NULL;
}

static void stop(struct fixture *f)
{
    provider_selection_destroy(f->selection);
    app_config_fini(&f->config);
}

static bool passes(struct fixture *f, uint16_t id, uint64_t keyword, uint32_t pid)
{
    const struct event_record record = {.kind = RECORD_EVENT,
        .provider = made_up,
        .present = RECORD_HAS_PROCESS,
        .process_id = pid,
        .descriptor = {.id = id, .keyword = keyword, .level = 4}};
    const struct event event = {.record = &record};
    return provider_selection_passes(f->selection, &event);
}

static void names_of_keywords_become_bits_of_the_definition(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    assert_true(start(&f,
        "{name: 0f0e0d0c-0b0a-0908-0706-050403020100, keywords: {any: [files]}, events: {exclude: "
        "[9]}}",
        &err));
    assert_true(passes(&f, 7, 0x20, 1));
    assert_false(passes(&f, 7, 0x40, 1));
    assert_true(passes(&f, 7, 0, 1));
    assert_false(passes(&f, 9, 0x20, 1));
    stop(&f);
    assert_false(
        start(&f, "{name: 0f0e0d0c-0b0a-0908-0706-050403020100, keywords: {any: [Flies]}}", &err));
    assert_string_equal(err.text,
        "session file: the definition of provider Made-Up has no keyword 'Flies'. write its bits");
    stop(&f);
    assert_false(start(&f, "{name: Unknown, keywords: {all: [Files]}}", &err));
    assert_string_equal(err.text,
        "session file: there is no definition of provider Unknown, so its keyword 'Files' has no "
        "bits. name its manifest under schema, or write the bits");
    stop(&f);
}

static void events_without_keyword_pass_all_masks_unless_they_are_unwanted(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    assert_true(
        start(&f, "{name: 0f0e0d0c-0b0a-0908-0706-050403020100, only_keywords: true}", &err));
    assert_true(passes(&f, 7, 0x20, 1));
    assert_false(passes(&f, 7, 0, 1));
    stop(&f);
}

static void flags_of_wpp_are_bits_and_all_of_them_where_a_name_is_not_known(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    assert_true(
        start(&f, "{wpp: a.tmf, flags: [0x2, 8]}, {wpp: a.tmf, flags: [0x2, POWER]}", &err));
    assert_int_equal(f.specs[0].any.bits, 0xa);
    assert_int_equal(f.specs[1].any.bits, 0);
    stop(&f);
}

static void an_event_passes_if_one_entry_wants_it(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    assert_true(start(&f,
        "{name: 0f0e0d0c-0b0a-0908-0706-050403020100, events: {include: [1-5], exclude: [3]}}, "
        "{name: 0f0e0d0c-0b0a-0908-0706-050403020100, processes: {pids: [4, 0x10]}}, Other",
        &err));
    assert_true(passes(&f, 1, 0, 1));
    assert_false(passes(&f, 3, 0, 1));
    assert_true(passes(&f, 3, 0, 4));
    assert_true(passes(&f, 9, 0, 16));
    assert_false(passes(&f, 9, 0, 17));
    stop(&f);
}

static void a_slip_in_the_name_of_a_provider_is_told_by_the_definitions(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *meant;
    } cases[] = {{"Made-Up", ""}, {"made-up", ""}, {"Made-Upp", "Made-Up"}, {"Mdae-Up", "Made-Up"},
        {"Mad-Ip", "Made-Up"}, {"Mode-Ipp", ""}, {"Made-Up-Too", ""}, {"Made", ""}, {"Up", ""},
        {"0f0e0d0c-0b0a-0908-0706-050403020101", ""},
        /* Names that are known without a definition. */
        {"Microsoft-Windows-DNS-Client", ""}, {"microsoft-windows-dns-client", ""},
        {"Microsoft-Windows-DNS-Clinet", "Microsoft-Windows-DNS-Client"},
        {"DNS-Client", "Microsoft-Windows-DNS-Client"}};
    struct app_config config;
    struct config_report report;
    struct error err;
    char text[512];
    config_report_init(&report);
    snprintf(text, sizeof(text),
        "schema: [{type: folder, path: %s}]\n"
        "sessions: [{type: file, paths: [a]}]\noutputs: [{type: stdout}]\n",
        folder);
    assert_true(app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, &report));
    struct schema_cache *cache = app_providers_schemas(&config, NULL, NULL, &err);
    assert_non_null(cache);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct provider_spec spec;
        struct provider_facts facts = {.spec = &spec};
        assert_true(provider_spec_parse(&spec, span_text(cases[i].name), &err));
        assert_true(provider_names_find(cache, &facts, 1));
        assert_span(facts.meant, cases[i].meant);
    }
    schema_cache_destroy(cache);
    app_config_fini(&config);
    config_report_fini(&report);
}

static void definitions_are_only_read_for_names(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    assert_true(start(&f, "Unknown:4::0x10", &err));
    stop(&f);
}

/* ---- definitions of the machine -------------------------------------------------------------- */

static const struct guid registered = {{0xaa, 0xbb}};

/* PROVIDER_ENUMERATION_INFO, PROVIDER_FIELD_INFOARRAY on learn.microsoft.com: one row, with its
 * name after it. */
static uint32_t list_one(
    const void *row, size_t row_bytes, const char *name, void *out, uint32_t *bytes)
{
    uint8_t data[256] = {1}; /* one row; the second u32 is not used */
    size_t at = 8 + row_bytes;
    memcpy(data + 8, row, row_bytes);
    for (size_t i = 0; i < strlen(name); i++) {
        data[at + 2 * i] = (uint8_t)name[i];
    }
    uint32_t need = (uint32_t)(at + 2 * strlen(name) + 2);
    bool fits = *bytes >= need;
    if (fits) {
        memcpy(out, data, need);
    }
    *bytes = need;
    return fits ? ETW_SUCCESS : ETW_ERROR_INSUFFICIENT_BUFFER;
}

static uint32_t list_providers(struct etw_provider_list *out, uint32_t *bytes)
{
    struct etw_provider_info row = {.guid = registered, .name_offset = 8 + sizeof(row)};
    return list_one(&row, sizeof(row), "Made-Up", out, bytes);
}

static uint32_t list_keywords(
    const struct guid *provider, uint32_t field_type, struct etw_field_list *out, uint32_t *bytes)
{
    (void)field_type;
    struct etw_field_info row = {.name_offset = 8 + sizeof(row), .value = 0x4000};
    return guid_equal(provider, &registered) ? list_one(&row, sizeof(row), "Disk", out, bytes)
                                             : ETW_ERROR_NOT_FOUND;
}

static void for_live_sessions_counts_what_the_machine_knows(void **state)
{
    (void)state;
    static const struct etw_api api = {.TdhEnumerateProviders = list_providers,
        .TdhEnumerateProviderFieldInformation = list_keywords};
    static const struct {
        const char *entry;
        uint64_t bits; /* 0: refused */
        bool is_registered;
    } cases[] = {
        {"{name: made-up, keywords: {any: [disk, 1]}}", 0x4001, true},
        {"{name: Made-Up, keywords: {any: [Files]}}", 0x20, true}, /* by its definition */
        {"{name: Other, keywords: {any: [0x2]}}", 2, false},
        {"{name: SystemProcessProvider, keywords: {any: [THREAD]}}", 0x800, false},
        {"{name: Other, keywords: {any: [disk]}}", 0, false},
    };
    etw_api_use(&api);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        struct app_config config;
        struct config_report report;
        struct error err = {0};
        snprintf(text, sizeof(text),
            "schema: [{type: folder, path: %s}]\nsessions: [{type: realtime, providers: [%s]}]\n"
            "outputs: [{type: stdout}]\n",
            folder, cases[i].entry);
        config_report_init(&report);
        assert_true(
            app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, &report));
        const struct app_provider *list = config.sessions[0].providers.items;
        struct provider_spec spec = list[0].spec;
        bool good = app_providers_resolve(&config, &config.sessions[0], &spec, &err);
        assert_int_equal(good, cases[i].bits != 0);
        if (good) {
            assert_int_equal(spec.any.bits, cases[i].bits);
            assert_int_equal(spec.any.name_count, 0);
            assert_int_equal(guid_equal(&spec.guid, &registered), cases[i].is_registered);
        }
        config_report_fini(&report);
        app_config_fini(&config);
    }
    etw_api_use(NULL);
}

static void a_provider_that_only_a_definition_knows_is_switched_on_by_its_guid(void **state)
{
    (void)state;
    static const struct etw_api empty = {.StartTraceW = NULL};
    char text[512];
    struct app_config config;
    struct config_report report;
    struct error err = {0};
    struct guid guid;
    assert_true(guid_parse(span_text("0f0e0d0c-0b0a-0908-0706-050403020100"), &guid));
    etw_api_use(&empty);
    snprintf(text, sizeof(text),
        "schema: [{type: folder, path: %s}]\n"
        "sessions: [{type: realtime, providers: [made-up, Other]}]\noutputs: [{type: stdout}]\n",
        folder);
    config_report_init(&report);
    assert_true(app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &config, &report));
    const struct app_provider *list = config.sessions[0].providers.items;
    struct provider_spec specs[2] = {list[0].spec, list[1].spec};
    assert_true(app_providers_resolve(&config, &config.sessions[0], specs, &err));
    assert_true(guid_equal(&specs[0].guid, &guid));
    assert_true(guid_is_zero(&specs[1].guid)); /* only its name is known */
    config_report_fini(&report);
    app_config_fini(&config);
    etw_api_use(NULL);
}

/* The machine's definition comes first, then a file's; then known names. */
static void a_known_provider_is_switched_on_by_its_guid(void **state)
{
    (void)state;
    static const struct etw_api empty = {.StartTraceW = NULL};
    struct app_config config;
    struct config_report report;
    struct error err = {0};
    struct guid guid;
    assert_true(guid_parse(span_text("1c95126e-7eea-49a9-a3fe-a378b03ddb4d"), &guid));
    etw_api_use(&empty);
    config_report_init(&report);
    assert_true(app_config_parse(
        span_text("sessions: [{type: realtime, providers: [microsoft-windows-dns-client, Other]}]\n"
                  "outputs: [{type: stdout}]\n"),
        "f.yaml", app_modules(), NULL, &config, &report));
    const struct app_provider *list = config.sessions[0].providers.items;
    struct provider_spec specs[2] = {list[0].spec, list[1].spec};
    assert_true(app_providers_resolve(&config, &config.sessions[0], specs, &err));
    assert_true(guid_equal(&specs[0].guid, &guid));
    assert_true(guid_is_zero(&specs[1].guid));
    config_report_fini(&report);
    app_config_fini(&config);
    etw_api_use(NULL);
}

/* The name that a configuration is told for a provider. */
static void facts_of_a_provider_hold_what_is_known(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Microsoft-Windows-DNS-Client", "1c95126e-7eea-49a9-a3fe-a378b03ddb4d", "Nobody-Knows"};
    const struct schema_cache_settings settings = {.no_builtin = true};
    struct error err;
    struct schema_cache *cache = schema_cache_create(&settings, &err);
    struct provider_spec specs[3];
    struct provider_facts facts[3];
    struct guid derived = guid_from_name(span_text("Nobody-Knows"));
    assert_non_null(cache);
    for (size_t i = 0; i < 3; i++) {
        assert_true(provider_spec_parse(&specs[i], span_text(texts[i]), &err));
        facts[i].spec = &specs[i];
    }
    assert_true(provider_names_find(cache, facts, 3));
    for (size_t i = 0; i < 2; i++) {
        assert_true(facts[i].is_known);
        assert_false(facts[i].found);
        assert_true(guid_equal(&facts[i].guid, &specs[1].guid));
        assert_true(span_is(facts[i].name, "Microsoft-Windows-DNS-Client"));
    }
    assert_false(facts[2].is_known);
    assert_true(guid_equal(&facts[2].guid, &derived));
    schema_cache_destroy(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_keywords_become_bits_of_the_definition),
        cmocka_unit_test(events_without_keyword_pass_all_masks_unless_they_are_unwanted),
        cmocka_unit_test(flags_of_wpp_are_bits_and_all_of_them_where_a_name_is_not_known),
        cmocka_unit_test(an_event_passes_if_one_entry_wants_it),
        cmocka_unit_test(a_slip_in_the_name_of_a_provider_is_told_by_the_definitions),
        cmocka_unit_test(definitions_are_only_read_for_names),
        cmocka_unit_test(for_live_sessions_counts_what_the_machine_knows),
        cmocka_unit_test(a_provider_that_only_a_definition_knows_is_switched_on_by_its_guid),
        cmocka_unit_test(a_known_provider_is_switched_on_by_its_guid),
        cmocka_unit_test(facts_of_a_provider_hold_what_is_known),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
