#define _GNU_SOURCE

#include "input/windows/etw_providers.h"

#include "etw_rig.h"
#include "support/etw_sim/etw_sim.h"
#include "support/etw_sim/sim_tdh.h"
#include "support/temp_folder.h"

/* Providers by name, and by their manifests, on a machine that has some of them installed. */

#define NAME "etwship-test"

static char folder[TEMP_FOLDER_BYTES];
static char manifest_path[TEMP_FOLDER_BYTES + 32];
static struct guid made_up = {
    {0x0c, 0x0d, 0x0e, 0x0f, 0x0a, 0x0b, 0x08, 0x09, 7, 6, 5, 4, 3, 2, 1, 0}};
static struct guid late = {{0xaa, 0xbb}};

static const char manifest[] =
    "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">"
    "<instrumentation><events><provider name=\"Made-Up\""
    " guid=\"{0f0e0d0c-0b0a-0908-0706-050403020100}\" symbol=\"S\" resourceFileName=\"r\""
    " messageFileName=\"m\"><templates><template tid=\"T\"><data name=\"Size\""
    " inType=\"win:UInt32\"/></template></templates><events>"
    "<event value=\"7\" symbol=\"E\" template=\"T\"/></events></provider></events>"
    "</instrumentation></instrumentationManifest>";

static int set_up(void **state)
{
    (void)state;
    if (temp_folder_make(folder, "providers") != 0) {
        return -1;
    }
    snprintf(manifest_path, sizeof(manifest_path), "%s/made-up.man", folder);
    FILE *file = fopen(manifest_path, "wb");
    return file && fputs(manifest, file) >= 0 && fclose(file) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static struct sim_tdh *install(void)
{
    const char *paths[] = {manifest_path};
    struct sim_tdh *tdh = sim_tdh_create(
        &(struct sim_tdh_settings){.paths = paths, .path_count = 1}, NULL);
    assert_non_null(tdh);
    sim_tdh_use(tdh);
    return tdh;
}

static bool is_enabled(struct rig *rig, const void *guid)
{
    struct etw_sim_enablement enablement;
    return etw_sim_enabled(rig->sim, NAME, guid, &enablement) && rig_reads(rig, NAME);
}

static bool is_not_enabled(struct rig *rig, const void *guid)
{
    return !is_enabled(rig, guid);
}

static void a_name_is_what_the_machine_calls_so(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct sim_tdh *tdh = install();
    struct provider_spec spec = rig_spec("made-up:3");
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_enabled, &made_up);
    assert_false(rig_has_note(&rig, "not registered"));
    rig_stop(&rig);
    sim_tdh_destroy(tdh);
    rig_fini(&rig);
}

static void a_name_that_is_installed_later_is_found(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct sim_tdh *tdh = install();
    struct guid derived = guid_from_name(span_text("Late-Provider"));
    struct provider_spec specs[] = {rig_spec("Late-Provider"), rig_spec("Made-Up")};
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, specs, 2);
    rig_await(&rig, is_enabled, &derived); /* it may be a TraceLogging provider */
    assert_true(rig_has_note(&rig, "- provider Late-Provider is neither installed nor registered"));
    assert_true(sim_tdh_add_provider(tdh, &late, span_text("Late-Provider")));
    rig_await(&rig, is_enabled, &late);
    rig_await(&rig, rig_has_note, "provider Late-Provider was found");
    rig_await(&rig, is_not_enabled, &derived);
    assert_true(is_enabled(&rig, &made_up));
    rig_stop(&rig);
    sim_tdh_destroy(tdh);
    rig_fini(&rig);
}

/* The provider is not in TDH's list. Windows knows its GUID while a program has registered it. */
static void a_tracelogging_provider_is_known_by_its_guid(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct sim_tdh *tdh = install();
    struct guid derived = guid_from_name(span_text("Of-A-Program"));
    const struct etw_sim_provider_options options = {
        .guid = derived, .kind = ETW_SIM_TRACELOGGING, .pid = 900};
    assert_non_null(etw_sim_provider_add(rig.sim, &options));
    struct provider_spec spec = rig_spec("Of-A-Program");
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_enabled, &derived);
    rig_stop(&rig);
    assert_false(rig_has_note(&rig, "provider Of-A-Program"));
    sim_tdh_destroy(tdh);
    rig_fini(&rig);
}

static void a_tracelogging_provider_may_come_later(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct sim_tdh *tdh = install();
    struct guid derived = guid_from_name(span_text("Of-A-Program"));
    struct etw_sim_provider *provider = etw_sim_provider_add(rig.sim,
        &(struct etw_sim_provider_options){
            .guid = derived, .kind = ETW_SIM_TRACELOGGING, .pid = 900, .unregistered = true});
    struct provider_spec spec = rig_spec("Of-A-Program");
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, is_enabled, &derived);
    rig_await(&rig, rig_has_note, "- provider Of-A-Program is neither installed nor registered");
    /* our own enabling does not prove that it exists */
    assert_false(rig_has_note(&rig, "was found"));
    etw_sim_provider_register(provider);
    struct etw_sim_event event = {.descriptor = {.id = 7, .level = 4}};
    assert_int_equal(etw_sim_burst(provider, &event, 0, 3, 0), 3);
    rig_await(&rig, rig_has_note, "- provider Of-A-Program was found");
    rig_stop(&rig);
    assert_int_equal(rig.events, 3);
    assert_false(rig_has_note(&rig, "! "));
    sim_tdh_destroy(tdh);
    rig_fini(&rig);
}

/* ---- looks at the list, by a clock of the test's own ----------------------------------------- */

static const uint64_t second_ns = 1000000000;
static unsigned lists_made;
static uint32_t list_code; /* the error of Windows in place of its list; 0: it gives the list */
static bool stop_asked;

static uint32_t count_lists(struct etw_provider_list *list, uint32_t *bytes)
{
    lists_made += list == NULL; /* the first call of each time asks for the size */
    return list_code ? list_code : etw_sim_TdhEnumerateProviders(list, bytes);
}

static bool is_stop_asked(void *self)
{
    (void)self;
    return stop_asked;
}

enum { SESSIONS = 3, HOUR_S = 3600 };

/* The providers of sessions, without the sessions. */
struct looks {
    struct rig rig;
    struct etw_api api;
    struct sim_tdh *tdh;
    struct provider_spec specs[2];
    struct etw_plan *plan;
    struct etw_providers_settings settings;
    struct etw_providers *providers[SESSIONS];
    uint64_t session;
};

static void looks_init(struct looks *looks, const char *first, const char *second)
{
    struct rig *rig = &looks->rig;
    struct error err;
    memset(looks, 0, sizeof(*looks));
    rig_init(rig, NULL);
    looks->tdh = install();
    looks->api = *etw_sim_api(rig->sim);
    looks->api.TdhEnumerateProviders = count_lists;
    etw_api_use(&looks->api);
    lists_made = 0;
    list_code = 0;
    stop_asked = false;
    looks->specs[0] = rig_spec(first);
    looks->specs[1] = rig_spec(second);
    const struct input_env env = {.name = "test",
        .providers = looks->specs,
        .provider_count = 2,
        .note = rig_note,
        .self = rig};
    looks->plan = etw_plan_create(ETW_PLAN_REALTIME, &rig->settings, &env, &err);
    assert_non_null(looks->plan);
    looks->settings = (struct etw_providers_settings){.plan = looks->plan,
        .note = rig_note,
        .stops = is_stop_asked,
        .self = rig,
        .look_ns = etw_session_timing.look_ms * second_ns / 1000,
        .look_max_ns = etw_session_timing.look_max_ms * second_ns / 1000};
    for (int i = 0; i < SESSIONS; i++) {
        looks->providers[i] = etw_providers_create(&looks->settings, &err);
        assert_non_null(looks->providers[i]);
    }
    looks->session = etw_sim_session_add(rig->sim,
        &(struct etw_sim_session_options){.name = NAME, .mode = ETW_MODE_REAL_TIME}, NULL);
}

static void looks_fini(struct looks *looks)
{
    for (int i = 0; i < SESSIONS; i++) {
        etw_providers_destroy(looks->providers[i]);
    }
    etw_plan_destroy(looks->plan);
    sim_tdh_destroy(looks->tdh);
    rig_fini(&looks->rig);
}

static void begin(struct looks *looks, int index, uint64_t now_s)
{
    etw_providers_begin(looks->providers[index], looks->session, false, now_s * second_ns);
}

static void tick(struct looks *looks, int index, uint64_t now_s)
{
    etw_providers_tick(looks->providers[index], looks->session, now_s * second_ns);
}

static bool is_on(struct looks *looks, const struct guid *guid)
{
    struct etw_sim_enablement enablement;
    return etw_sim_enabled(looks->rig.sim, NAME, guid, &enablement);
}

static bool is_on_by_name(struct looks *looks, const char *name)
{
    struct guid derived = guid_from_name(span_text(name));
    return is_on(looks, &derived);
}

static size_t count_notes(struct rig *rig, const char *what)
{
    size_t count = 0;
    buf_add_byte(&rig->notes, 0);
    const char *at = (const char *)rig->notes.data;
    while ((at = strstr(at, what)) != NULL) {
        count++;
        at++;
    }
    rig->notes.size--;
    return count;
}

static bool lists(struct looks *looks, int index, const struct guid *guid)
{
    struct buf guids;
    bool has = false;
    buf_init(&guids, 1024);
    etw_providers_list(looks->providers[index], &guids);
    for (size_t at = 0; at + sizeof(*guid) <= guids.size; at += sizeof(*guid)) {
        has = has || memcmp(guids.data + at, guid, sizeof(*guid)) == 0;
    }
    buf_fini(&guids);
    return has;
}

static void sessions_share_lists_and_ask_for_them_less_and_less(void **state)
{
    (void)state;
    struct looks looks;
    looks_init(&looks, "Nobody-1", "Nobody-2");
    for (int i = 0; i < SESSIONS; i++) { /* one second after another */
        begin(&looks, i, (uint64_t)i);
    }
    assert_int_equal(lists_made, 1);
    for (uint64_t now = SESSIONS; now <= HOUR_S; now++) {
        for (int i = 0; i < SESSIONS; i++) {
            tick(&looks, i, now);
        }
    }
    /* Looks come after 30 s, then after 1, 2, 4, 8, 15, 15 minutes. */
    assert_int_equal(lists_made, 1 + 7);
    looks_fini(&looks);
}

/* This session has read the clock first, and asks second. */
static void a_session_with_an_older_clock_shares_the_list(void **state)
{
    (void)state;
    struct looks looks;
    looks_init(&looks, "Nobody-1", "Nobody-2");
    begin(&looks, 0, 2);
    begin(&looks, 1, 1);
    assert_int_equal(lists_made, 1);
    looks_fini(&looks);
}

static void a_list_that_cannot_be_had_is_told_once_and_asked_for_again_soon(void **state)
{
    (void)state;
    static const char failure[] = "! the providers of this machine: ";
    struct looks looks;
    looks_init(&looks, "Made-Up", "Of-A-Program");
    list_code = ETW_ERROR_NOT_ENOUGH_MEMORY;
    begin(&looks, 0, 0);
    assert_int_equal(lists_made, 1);                    /* and not once for every name */
    assert_true(is_on_by_name(&looks, "Of-A-Program")); /* it may be a TraceLogging one */
    assert_int_equal(count_notes(&looks.rig, failure), 1);
    tick(&looks, 0, 29);
    assert_int_equal(lists_made, 1);
    tick(&looks, 0, 30);
    tick(&looks, 0, 60);
    assert_int_equal(lists_made, 3);
    assert_int_equal(count_notes(&looks.rig, failure), 1);
    list_code = 0;
    tick(&looks, 0, 90);
    assert_true(is_on(&looks, &made_up));
    assert_false(is_on_by_name(&looks, "Made-Up"));
    assert_true(is_on_by_name(&looks, "Of-A-Program"));
    looks_fini(&looks);
}

static void a_list_that_cannot_be_had_once_is_no_answer_for_the_next_session(void **state)
{
    (void)state;
    struct looks looks;
    looks_init(&looks, "Made-Up", "Of-A-Program");
    list_code = ETW_ERROR_NOT_ENOUGH_MEMORY;
    begin(&looks, 0, 0);
    list_code = 0;
    begin(&looks, 1, 0);
    assert_true(is_on(&looks, &made_up));
    looks_fini(&looks);
}

static void what_was_found_stays_on_while_the_list_cannot_be_had(void **state)
{
    (void)state;
    struct looks looks;
    looks_init(&looks, "Made-Up", "Nobody-1");
    begin(&looks, 0, 0);
    assert_true(is_on(&looks, &made_up));
    list_code = ETW_ERROR_NOT_ENOUGH_MEMORY;
    tick(&looks, 0, 30);
    assert_int_equal(lists_made, 2);
    assert_true(is_on(&looks, &made_up));
    assert_false(is_on_by_name(&looks, "Made-Up"));
    assert_false(rig_has_note(&looks.rig, "Nobody-1 was found"));
    list_code = 0;
    assert_true(sim_tdh_add_provider(looks.tdh, &late, span_text("Nobody-1")));
    tick(&looks, 0, 60);
    assert_true(is_on(&looks, &late));
    assert_true(is_on(&looks, &made_up));
    looks_fini(&looks);
}

/* A short removal, as in an update: wevtutil um, wevtutil im. */
static void a_provider_that_is_uninstalled_for_a_while_stays_on(void **state)
{
    (void)state;
    struct looks looks;
    looks_init(&looks, "Made-Up", "Nobody-1");
    begin(&looks, 0, 0);
    tick(&looks, 0, 30); /* the next look is due in a minute */
    sim_tdh_use(NULL);
    tick(&looks, 0, 90);
    assert_int_equal(lists_made, 3);
    assert_true(is_on(&looks, &made_up));
    assert_false(is_on_by_name(&looks, "Made-Up"));
    assert_true(rig_has_note(&looks.rig, "- provider Made-Up is no longer installed"));
    sim_tdh_use(looks.tdh);
    tick(&looks, 0, 120); /* not after two minutes */
    assert_int_equal(lists_made, 4);
    assert_true(rig_has_note(&looks.rig, "- provider Made-Up was found"));
    assert_true(is_on(&looks, &made_up));
    looks_fini(&looks);
}

/* Two entries mean one provider; only the list shows that. */
static void a_name_that_leads_to_a_provider_that_is_on_changes_what_is_asked_of_it(void **state)
{
    (void)state;
    struct etw_sim_enablement got;
    struct looks looks;
    looks_init(&looks, "0f0e0d0c-0b0a-0908-0706-050403020100:2", "Made-Up:4");
    const struct etw_sim_provider_options options = {.guid = made_up, .pid = 900};
    assert_non_null(etw_sim_provider_add(looks.rig.sim, &options));
    list_code = ETW_ERROR_NOT_ENOUGH_MEMORY;
    begin(&looks, 0, 0);
    assert_true(etw_sim_enabled(looks.rig.sim, NAME, &made_up, &got));
    assert_int_equal(got.level, 2);
    list_code = 0;
    tick(&looks, 0, 30);
    assert_true(etw_sim_enabled(looks.rig.sim, NAME, &made_up, &got));
    assert_int_equal(got.level, 4);
    assert_false(is_on_by_name(&looks, "Made-Up"));
    looks_fini(&looks);
}

static void a_stop_amid_a_look_forgets_nothing_that_is_on(void **state)
{
    (void)state;
    struct etw_provider_view view;
    struct looks looks;
    looks_init(&looks, "Made-Up", "Late-Provider");
    begin(&looks, 0, 0);
    etw_providers_view(looks.providers[0], 0, &view);
    const uint64_t serial = view.serial;
    assert_true(view.enabled && serial != 0);
    assert_true(sim_tdh_add_provider(looks.tdh, &late, span_text("Late-Provider")));
    stop_asked = true;
    tick(&looks, 0, 30);
    assert_false(is_on(&looks, &late));
    assert_true(is_on(&looks, &made_up));
    assert_true(lists(&looks, 0, &made_up));
    etw_providers_view(looks.providers[0], 0, &view);
    assert_true(guid_equal(&view.guid, &made_up));
    assert_int_equal(view.serial, serial);
    etw_providers_end(looks.providers[0], looks.session);
    assert_false(is_on(&looks, &made_up));
    assert_false(lists(&looks, 0, &made_up));
    looks_fini(&looks);
}

/* The request that it should have now. */
static void what_was_on_before_a_look_is_enabled_again_after_it(void **state)
{
    (void)state;
    struct etw_sim_enablement got;
    struct looks looks;
    looks_init(&looks, "Made-Up", "Late-Provider");
    begin(&looks, 0, 0);
    assert_true(sim_tdh_add_provider(looks.tdh, &late, span_text("Late-Provider")));
    stop_asked = true;
    tick(&looks, 0, 30);
    stop_asked = false;
    tick(&looks, 0, 31);
    assert_true(is_on(&looks, &late));
    assert_true(etw_sim_enabled(looks.rig.sim, NAME, &made_up, &got));
    assert_int_equal(got.enables, 2);
    tick(&looks, 0, 32); /* and that is all */
    assert_true(etw_sim_enabled(looks.rig.sim, NAME, &made_up, &got));
    assert_int_equal(got.enables, 2);
    looks_fini(&looks);
}

/* The session may outlive the agent. */
static void providers_that_were_taken_over_are_disabled_at_the_end(void **state)
{
    enum { BEFORE_THE_BEGIN, BEFORE_IT_IS_ENABLED, AFTER_A_LOOK, MOMENTS };
    (void)state;
    for (int moment = 0; moment < MOMENTS; moment++) {
        struct looks looks;
        looks_init(&looks, "Made-Up", "Late-Provider");
        begin(&looks, 0, 0);
        assert_true(is_on(&looks, &made_up));
        assert_true(etw_providers_take_over(looks.providers[1], &made_up, 1, NULL));
        stop_asked = true;
        if (moment >= BEFORE_IT_IS_ENABLED) {
            begin(&looks, 1, 0);
        }
        if (moment >= AFTER_A_LOOK) {
            assert_true(sim_tdh_add_provider(looks.tdh, &late, span_text("Late-Provider")));
            tick(&looks, 1, 30);
        }
        assert_true(lists(&looks, 1, &made_up));
        etw_providers_end(looks.providers[1], looks.session);
        assert_false(is_on(&looks, &made_up));
        assert_false(lists(&looks, 1, &made_up));
        looks_fini(&looks);
    }
}

static const struct etw_filter *payload_filter(struct rig *rig, struct etw_sim_enablement *got)
{
    assert_true(etw_sim_enabled(rig->sim, NAME, &made_up, got));
    for (uint32_t i = 0; i < got->filter_count; i++) {
        if (got->filters[i].type == ETW_FILTER_PAYLOAD) {
            return &got->filters[i];
        }
    }
    return NULL;
}

static void conditions_on_fields_are_for_etw(void **state)
{
    (void)state;
    static const char *two[] = {"10", "20"};
    static struct provider_predicate predicates[] = {
        {.field = "Size", .between = {two, 2}}, {.field = "Size", .is_not = "15"}};
    static struct provider_payload known[] = {{.id = "7", .fields = {predicates, 2}}};
    static struct provider_payload unknown[] = {{.id = "8", .fields = {predicates, 1}}};
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        struct etw_sim_enablement got;
        rig_init(&rig, NULL);
        struct sim_tdh *tdh = install();
        struct provider_spec spec = rig_spec("Made-Up");
        spec.payload = (struct config_list){i ? unknown : known, 1};
        rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
        rig_await(&rig, is_enabled, &made_up);
        assert_int_equal(payload_filter(&rig, &got) != NULL, i == 0);
        assert_int_equal(rig_has_note(&rig, "no manifest on this machine describes event 8"), i);
        rig_stop(&rig);
        sim_tdh_destroy(tdh);
        rig_fini(&rig);
    }
}

static void wpp_needs_its_control_guid(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, NULL);
    struct provider_spec spec = {.level = 4, .classic = true};
    rig_start_as(&rig, ETW_PLAN_REALTIME, NULL, &spec, 1);
    rig_await(&rig, rig_has_note, "by the control GUID of their provider. add name: GUID");
    rig_stop(&rig);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_what_the_machine_calls_so),
        cmocka_unit_test(a_name_that_is_installed_later_is_found),
        cmocka_unit_test(a_tracelogging_provider_is_known_by_its_guid),
        cmocka_unit_test(a_tracelogging_provider_may_come_later),
        cmocka_unit_test(sessions_share_lists_and_ask_for_them_less_and_less),
        cmocka_unit_test(a_session_with_an_older_clock_shares_the_list),
        cmocka_unit_test(a_list_that_cannot_be_had_is_told_once_and_asked_for_again_soon),
        cmocka_unit_test(a_list_that_cannot_be_had_once_is_no_answer_for_the_next_session),
        cmocka_unit_test(what_was_found_stays_on_while_the_list_cannot_be_had),
        cmocka_unit_test(a_provider_that_is_uninstalled_for_a_while_stays_on),
        cmocka_unit_test(a_name_that_leads_to_a_provider_that_is_on_changes_what_is_asked_of_it),
        cmocka_unit_test(a_stop_amid_a_look_forgets_nothing_that_is_on),
        cmocka_unit_test(what_was_on_before_a_look_is_enabled_again_after_it),
        cmocka_unit_test(providers_that_were_taken_over_are_disabled_at_the_end),
        cmocka_unit_test(conditions_on_fields_are_for_etw),
        cmocka_unit_test(wpp_needs_its_control_guid),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
