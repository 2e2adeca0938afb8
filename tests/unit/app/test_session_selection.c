#define _GNU_SOURCE

#include "app/session_selection.h"

#include "support/test.h"

#include "app/app_modules.h"
#include "support/temp_folder.h"

/* Events that are made up, against sessions as people write them. */

static char folder[] = "/tmp/etwship-selection-XXXXXX";

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
    char path[128];
    if (temp_folder_make(folder) != 0) {
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
    struct schema_cache *cache;
    struct session_selection *selection;
    struct filter_scratch scratch;
};

/* False: ${err} says why the session cannot select. */
static bool start(struct fixture *f, const char *providers, struct error *err)
{
    char text[1024];
    snprintf(text, sizeof(text),
        "sessions: [{type: file, paths: [a], providers: [%s]}]\noutputs: [{type: stdout}]\n",
        providers);
    struct config_report report;
    config_report_init(&report);
    if (!app_config_parse(span_text(text), "f.yaml", app_modules(), NULL, &f->config, &report)) {
        fail_msg("%s", report.lines[0].text);
    }
    config_report_fini(&report);
    const char *paths[] = {folder};
    struct schema_cache_settings settings = {.sources = {.paths = paths, .path_count = 1}};
    f->cache = schema_cache_create(&settings, err);
    assert_non_null(f->cache);
    assert_true(filter_scratch_init(&f->scratch, NULL, err));
    f->selection = NULL;
    return session_selection_create(&f->config.sessions[0], f->cache, &f->selection, err);
}

static void stop(struct fixture *f)
{
    session_selection_destroy(f->selection);
    filter_scratch_fini(&f->scratch);
    schema_cache_destroy(f->cache);
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
    return session_selection_passes(f->selection, &f->scratch, &event);
}

static void a_session_without_providers_wants_everything(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    assert_true(start(&f, "", &err));
    assert_null(f.selection);
    stop(&f);
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
        "session file: no definition of provider Unknown is at hand, so its keyword 'Files' has no "
        "bits. name its manifest under schema, or write the bits");
    stop(&f);
}

static void an_event_passes_if_one_entry_and_its_rules_want_it(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    assert_true(start(&f,
        "{name: 0f0e0d0c-0b0a-0908-0706-050403020100, events: {include: [1-5]}, filters: [{drop: "
        "'event.id == 3'}]}, {name: 0f0e0d0c-0b0a-0908-0706-050403020100, processes: {pids: [4, "
        "0x10]}}, Other",
        &err));
    assert_true(passes(&f, 1, 0, 1));
    assert_false(passes(&f, 3, 0, 1));
    assert_true(passes(&f, 3, 0, 4));
    assert_true(passes(&f, 9, 0, 16));
    assert_false(passes(&f, 9, 0, 17));
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_without_providers_wants_everything),
        cmocka_unit_test(names_of_keywords_become_bits_of_the_definition),
        cmocka_unit_test(an_event_passes_if_one_entry_and_its_rules_want_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
