#include "input/windows/etw_plan.h"

#include <stdlib.h>

#include "etw/etw_types.h"
#include "support/test.h"

/* Expected values: EVENT_TRACE_PROPERTIES, Logging Mode Constants, ENABLE_TRACE_PARAMETERS and
 * EVENT_FILTER_DESCRIPTOR on learn.microsoft.com. */
enum { MB = 1 << 20, MS_NS = 1000000 };

static const struct live_session defaults = {.buffers = {.size_bytes = 256 * 1024, .min = 64},
    .flush_ns = (uint64_t)1000 * MS_NS,
    .independent = true};

static bool find_event(struct span name, struct guid *ret_class, uint8_t *ret_type)
{
    if (!span_is(name, "Process/Start")) {
        return false;
    }
    memset(ret_class, 0x77, sizeof(*ret_class));
    *ret_type = 1;
    return true;
}

static struct etw_plan *make(enum etw_plan_kind kind, const void *settings,
    const struct provider_spec *providers, size_t count)
{
    struct error err = {0};
    struct input_env env = {.name = "security",
        .providers = providers,
        .provider_count = count,
        .kernel_event = find_event};
    struct etw_plan *plan = etw_plan_create(kind, settings, &env, &err);
    if (!plan) {
        print_error("%s\n", err.text);
    }
    assert_non_null(plan);
    return plan;
}

static void refuse(enum etw_plan_kind kind, const void *settings, const char *text)
{
    struct error err = {0};
    struct input_env env = {.name = "s", .kernel_event = find_event};
    assert_null(etw_plan_create(kind, settings, &env, &err));
    assert_non_null(strstr(err.text, text));
}

static void a_realtime_session_has_sound_defaults(void **state)
{
    (void)state;
    struct live_realtime settings = {.session = defaults};
    struct etw_plan *plan = make(ETW_PLAN_REALTIME, &settings, NULL, 0);
    struct guid guid = guid_from_name(span_text("etwship-security"));
    assert_string_equal(plan->name, "etwship-security");
    assert_string_equal(plan->session.name, "etwship-security");
    assert_true(guid_equal(&plan->session.guid, &guid));
    assert_true(plan->ours);
    assert_true(plan->reads);
    assert_false(plan->is_system);
    assert_int_equal(plan->session.clock, 1);
    assert_int_equal(plan->session.buffer_kb, 256);
    assert_int_equal(plan->session.min_buffers, 64);
    assert_int_equal(plan->session.max_buffers, 128);
    assert_int_equal(plan->session.flush_ms, 1000);
    assert_int_equal(plan->session.mode, 0x100 | 0x8000000 | 0x800000);
    assert_null(plan->session.file);
    etw_plan_destroy(plan);
}

static void settings_become_bits_of_the_mode(void **state)
{
    (void)state;
    const struct {
        struct live_session session;
        uint32_t mode;
    } cases[] = {
        {{.buffers = {.paged = true}, .independent = true},
            0x100 | 0x8000000 | 0x800000 | 0x1000000},
        {{.sequence = LIVE_SEQUENCE_GLOBAL}, 0x100 | 0x800000 | 0x4000},
        {{.sequence = LIVE_SEQUENCE_LOCAL}, 0x100 | 0x800000 | 0x8000},
        {{.hybrid = LIVE_HYBRID_STOP}, 0x100 | 0x400000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct live_realtime settings = {.session = cases[i].session};
        struct etw_plan *plan = make(ETW_PLAN_REALTIME, &settings, NULL, 0);
        assert_int_equal(plan->session.mode, cases[i].mode);
        etw_plan_destroy(plan);
    }
    struct live_realtime other = {.session = {.clock = LIVE_CLOCK_SYSTEM,
                                      .buffers = {.min = 4, .max = 5},
                                      .flush_ns = (uint64_t)250 * MS_NS,
                                      .delivery = LIVE_DELIVERY_RAW,
                                      .keep_on_restart = true}};
    struct etw_plan *plan = make(ETW_PLAN_REALTIME, &other, NULL, 0);
    assert_int_equal(plan->session.clock, 2);
    assert_int_equal(plan->session.max_buffers, 5);
    assert_int_equal(plan->session.flush_ms, 250);
    assert_true(plan->raw);
    assert_true(plan->keeps);
    etw_plan_destroy(plan);
}

static void kernel_events_come_in_a_system_session_of_our_own(void **state)
{
    (void)state;
    const char *flags[] = {"process", "PERF_REG_HIVE", "0x20000002"};
    const char *stacks[] = {"Process/Start", "0x1402", "782"};
    struct live_kernel settings = {.session = defaults,
        .groups = {.flags = {flags, 3}, .stacks = {stacks, 3}, .profile_ns = MS_NS}};
    struct etw_plan *plan = make(ETW_PLAN_SYSTEM, &settings, NULL, 0);
    assert_true(plan->is_system);
    assert_true(plan->ours);
    assert_int_equal(plan->session.mode, 0x100 | 0x8000000 | 0x800000 | 0x2000000);
    assert_int_equal(plan->groups.words[0], 1);
    assert_int_equal(plan->groups.words[1], 2);
    assert_int_equal(plan->groups.words[2], 0x01000000);
    assert_int_equal(plan->stack_count, 3);
    assert_int_equal(plan->stacks[0].type, 1);
    assert_int_equal(plan->stacks[0].class_guid.bytes[0], 0x77);
    assert_int_equal(plan->stacks[1].type, 2);
    struct guid image;
    assert_true(guid_parse(span_text("2cb15d1d-5fc1-11d2-abe1-00a0c911f518"), &image));
    assert_true(guid_equal(&plan->stacks[1].class_guid, &image));
    assert_int_equal(plan->stacks[2].type, 14);
    assert_int_equal(plan->profile_100ns, 10000);
    etw_plan_destroy(plan);
}

static void what_profiles_needs_a_privilege(void **state)
{
    (void)state;
    static const char *events[] = {"Process/Start"};
    static const char *sources[] = {"TotalCycles"};
    static const struct {
        const char *flag;
        uint64_t profile_ns;
        bool counters;
        bool profiles;
    } rows[] = {
        {"process", 0, false, false}, {"PERF_REG_HIVE", 0, false, false},
        {"process", MS_NS, false, true}, {"process", 0, true, true},
        {"0x01000000", 0, false, true},  /* EVENT_TRACE_FLAG_PROFILE */
        {"0x20000400", 0, false, true},  /* PERF_PMC_PROFILE */
        {"0x00000400", 0, false, false}, /* the same bit of another word: DISK_IO_INIT */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *flags[] = {rows[i].flag};
        struct live_kernel settings = {
            .session = defaults, .groups = {.flags = {flags, 1}, .profile_ns = rows[i].profile_ns}};
        if (rows[i].counters) {
            settings.groups.counters.events = (struct config_strings){events, 1};
            settings.groups.counters.sources = (struct config_strings){sources, 1};
        }
        struct etw_plan *plan = make(ETW_PLAN_SYSTEM, &settings, NULL, 0);
        assert_int_equal(plan->profiles, rows[i].profiles);
        etw_plan_destroy(plan);
    }
}

static void the_kernel_logger_keeps_its_name_and_guid(void **state)
{
    (void)state;
    const char *flags[] = {"process"};
    struct live_kernel settings = {.session = defaults, .groups = {.flags = {flags, 1}}};
    struct etw_plan *plan = make(ETW_PLAN_KERNEL, &settings, NULL, 0);
    struct guid guid;
    assert_true(guid_parse(span_text("9e814aad-3204-11d2-9a82-006008a86939"), &guid));
    assert_string_equal(plan->name, "NT Kernel Logger");
    assert_true(guid_equal(&plan->session.guid, &guid));
    assert_int_equal(plan->session.mode & 0x2000000, 0);
    assert_false(plan->ours); /* another program may run it */
    etw_plan_destroy(plan);
}

static void a_session_of_another_program_is_only_read(void **state)
{
    (void)state;
    struct live_attach settings = {.session = "Boot", .delivery = LIVE_DELIVERY_RAW};
    struct etw_plan *plan = make(ETW_PLAN_ATTACH, &settings, NULL, 0);
    assert_string_equal(plan->name, "Boot");
    assert_false(plan->ours);
    assert_true(plan->reads);
    assert_true(plan->raw);
    etw_plan_destroy(plan);
}

static void heaps_are_a_programs_or_those_of_processes(void **state)
{
    static const char *pids[] = {"12", "0x10"};
    static const char *stacks[] = {"free", "create", "destroy", "realloc", "alloc"};
    static const uint8_t types[] = {0x24, 0x20, 0x23, 0x22, 0x21};
    (void)state;
    struct live_heap settings = {.session = defaults,
        .launch = "\"C:\\My Apps\\app.exe\" -x",
        .stacks = {.items = stacks, .count = 5}};
    struct etw_plan *plan = make(ETW_PLAN_HEAP, &settings, NULL, 0);
    char guid[GUID_TEXT_SIZE];
    guid_write(&plan->session.guid, guid);
    assert_memory_equal(guid, "222962ab-6180-4b88-a825-346b75f2a24a", 36);
    assert_string_equal(plan->name, "etwship-security");
    assert_true(plan->reads && plan->ours && !plan->is_system);
    assert_int_equal(plan->session.mode & 0x02000000, 0); /* SYSTEM_LOGGER */
    assert_string_equal(plan->heap.image, "app.exe");
    assert_string_equal(plan->heap.folder, "C:\\My Apps\\");
    assert_false(plan->heap.ends_program);
    assert_int_equal(plan->heap.stack_count, 5);
    assert_memory_equal(plan->heap.stacks, types, 5);
    etw_plan_destroy(plan);

    settings = (struct live_heap){.session = defaults, .pids = {.items = pids, .count = 2}};
    plan = make(ETW_PLAN_HEAP, &settings, NULL, 0);
    assert_null(plan->heap.launch);
    assert_int_equal(plan->heap.pid_count, 2);
    assert_int_equal(plan->heap.pids[0], 12);
    assert_int_equal(plan->heap.pids[1], 16);
    assert_int_equal(plan->heap.stack_count, 0);
    etw_plan_destroy(plan);
}

static void files_get_their_mode_and_size(void **state)
{
    (void)state;
    static const struct {
        struct live_log_file file;
        bool live;
        uint32_t mode; /* but 0x8000000 and 0x800000 */
        uint32_t max;
        uint32_t buffers;
    } cases[] = {
        {{.path = "a.etl"}, false, 0x1, 0, 64},
        {{.path = "a.etl"}, true, 0x101, 0, 64},
        {{.path = "a", .mode = LIVE_LOG_CIRCULAR, .max_size_bytes = 3 * MB}, false, 0x2, 3, 64},
        {{.path = "a", .mode = LIVE_LOG_CIRCULAR, .max_size_bytes = MB + 1}, false, 0x2002, 1025,
            64},
        {{.path = "a", .mode = LIVE_LOG_APPEND}, false, 0x4, 0, 64},
        {{.path = "a%d", .mode = LIVE_LOG_NEWFILE, .max_size_bytes = MB}, false, 0x8, 1, 64},
        {{.path = "a", .preallocate = true, .max_size_bytes = MB}, false, 0x21, 1, 64},
        {{.path = "a", .mode = LIVE_LOG_BUFFERING, .max_size_bytes = 200 * MB}, false, 0x400, 0,
            800},
        {{.path = "a", .mode = LIVE_LOG_BUFFERING, .max_size_bytes = 1}, false, 0x400, 0, 2},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct live_record settings = {
            .session = defaults, .log_file = cases[i].file, .live = cases[i].live};
        struct etw_plan *plan = make(ETW_PLAN_RECORD, &settings, NULL, 0);
        assert_int_equal(plan->reads, cases[i].live);
        assert_int_equal(plan->session.mode, cases[i].mode | 0x8000000 | 0x800000);
        assert_int_equal(plan->session.max_file_size, cases[i].max);
        assert_int_equal(plan->session.min_buffers, cases[i].buffers);
        assert_string_equal(plan->session.file, cases[i].file.path);
        assert_int_equal(plan->snapshot, cases[i].file.mode == LIVE_LOG_BUFFERING);
        etw_plan_destroy(plan);
    }
}

static void what_cannot_be_planned_is_said(void **state)
{
    (void)state;
    const char *bad_flags[] = {"cpu"};
    const char *flags[] = {"process"};
    const char *bad_name[] = {"Process/Begin"};
    const char *bad_hook[] = {"0xff01"};
    struct live_kernel settings = {.session = defaults, .groups = {.flags = {bad_flags, 1}}};
    refuse(ETW_PLAN_SYSTEM, &settings, "unknown group 'cpu'");
    settings.groups = (struct live_groups){.flags = {flags, 1}, .stacks = {bad_name, 1}};
    refuse(ETW_PLAN_SYSTEM, &settings, "unknown kernel event Process/Begin");
    settings.groups.stacks.items = bad_hook;
    refuse(ETW_PLAN_SYSTEM, &settings, "no kernel event has the hook 0xff01");
}

/* ---- providers ------------------------------------------------------------------------------- */

static struct provider_spec spec_of(const char *text)
{
    struct provider_spec spec;
    struct error err;
    assert_true(provider_spec_parse(&spec, span_text(text), &err));
    return spec;
}

static void a_provider_becomes_a_request(void **state)
{
    (void)state;
    struct provider_spec spec = spec_of("Some-Provider:4:1+5-7:0x10:0x30");
    spec.exclude.ranges[spec.exclude.range_count++] = (struct provider_id_range){6, 6};
    spec.pids[0] = 4;
    spec.pid_count = 1;
    const char *programs[] = {"a.exe", "b.exe"};
    spec.executables = (struct config_strings){programs, 2};
    spec.extended = 1 << PROVIDER_EXTENDED_SID | 1 << PROVIDER_EXTENDED_STACK |
                    1 << PROVIDER_EXTENDED_START_KEY;
    spec.only_keywords = true;
    const char *app = "App";
    spec.apps = (struct config_strings){&app, 1};
    spec.container = "{1}";
    struct etw_request *request = calloc(1, sizeof(*request));
    uint32_t too_much;
    etw_plan_request(&spec, request, &too_much);
    struct guid guid = guid_from_name(span_text("Some-Provider"));
    assert_true(guid_equal(&request->provider, &guid));
    assert_int_equal(request->level, 4);
    assert_int_equal(request->any, 0x10);
    assert_int_equal(request->all, 0x30);
    assert_int_equal(request->properties, 0x1 | 0x4 | 0x10 | 0x80);
    assert_int_equal(request->events.count, 3);
    assert_false(request->events.exclude);
    assert_int_equal(request->events.ids[0], 1);
    assert_int_equal(request->events.ids[1], 5);
    assert_int_equal(request->events.ids[2], 7);
    assert_int_equal(request->pid_count, 1);
    assert_int_equal(request->executables.count, 2);
    assert_string_equal(request->apps.texts[0], "App");
    assert_string_equal(request->container.texts[0], "{1}");
    assert_int_equal(too_much, 0);
    free(request);
}

static void filters_that_etw_cannot_take_are_left_to_the_agent(void **state)
{
    (void)state;
    static const char *const names[] = {"Start"};
    static const char *const other[] = {"Stop"};
    enum { IDS = 0x200, NAMES = 0x400 };
    const struct {
        struct provider_events include;
        struct provider_events exclude;
        bool group;
        uint32_t too_much;
        uint16_t ids;
        uint16_t texts;
        bool excludes;
    } cases[] = {
        {{.ranges = {{1, 64}}, .range_count = 1}, {.range_count = 0}, false, 0, 64, 0, false},
        {{.ranges = {{1, 65}}, .range_count = 1}, {.range_count = 0}, false, IDS, 0, 0, false},
        {{.ranges = {{1, 64}, {64, 64}}, .range_count = 2}, {.range_count = 0}, false, 0, 64, 0,
            false},
        {{.range_count = 0}, {.ranges = {{0, 65535}}, .range_count = 1}, false, IDS, 0, 0, false},
        {{.range_count = 0}, {.ranges = {{3, 4}}, .range_count = 1}, false, 0, 2, 0, true},
        {{.names = names, .name_count = 1}, {.range_count = 0}, false, 0, 0, 1, false},
        {{.range_count = 0}, {.names = names, .name_count = 1}, false, 0, 0, 1, true},
        /* ETW applies either ids or names, and here it is unknown which. */
        {{.ranges = {{1, 1}}, .range_count = 1, .names = names, .name_count = 1},
            {.range_count = 0}, false, IDS | NAMES, 0, 0, false},
        {{.names = names, .name_count = 1}, {.names = other, .name_count = 1}, false, NAMES, 0, 0,
            false},
        /* No id is left: an empty list would be no filter at all. */
        {{.ranges = {{1, 1}}, .range_count = 1}, {.ranges = {{1, 1}}, .range_count = 1}, false, IDS,
            0, 0, false},
        {{.ranges = {{1, 1}}, .range_count = 1}, {.range_count = 0}, true, IDS, 0, 0, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct provider_spec spec = spec_of("A");
        spec.include = cases[i].include;
        spec.exclude = cases[i].exclude;
        spec.group = cases[i].group;
        struct etw_request *request = calloc(1, sizeof(*request));
        uint32_t too_much;
        etw_plan_request(&spec, request, &too_much);
        assert_int_equal(too_much, cases[i].too_much);
        assert_int_equal(request->events.count, cases[i].ids);
        assert_int_equal(request->names.count, cases[i].texts);
        if (cases[i].ids || cases[i].texts) {
            assert_int_equal(
                cases[i].ids ? request->events.exclude : request->names.exclude, cases[i].excludes);
        }
        free(request);
    }
}

static void stacks_are_asked_for_by_id_name_or_level(void **state)
{
    (void)state;
    static const char *const names[] = {"Start"};
    struct provider_spec spec = spec_of("A");
    spec.stacks = (struct provider_stacks){
        .events = {.ranges = {{7, 8}}, .range_count = 1, .names = names, .name_count = 1},
        .by_level = true,
        .level = 2,
        .any = 0x10};
    struct etw_request *request = calloc(1, sizeof(*request));
    uint32_t too_much;
    etw_plan_request(&spec, request, &too_much);
    assert_int_equal(request->stack_events.count, 2);
    assert_int_equal(request->stack_names.count, 1);
    assert_true(request->stack_by_level);
    assert_int_equal(request->stack_level, 2);
    assert_int_equal(request->stack_any, 0x10);
    free(request);
}

static void names_are_looked_up_and_guids_are_not(void **state)
{
    (void)state;
    struct provider_spec specs[] = {
        spec_of("Some-Provider"), spec_of("1c95126e-7eea-49a9-a3fe-a378b03ddb4d")};
    struct live_realtime settings = {.session = defaults};
    struct etw_plan *plan = make(ETW_PLAN_REALTIME, &settings, specs, 2);
    assert_int_equal(plan->entry_count, 2);
    assert_true(plan->entries[0].named);
    assert_string_equal(plan->entries[0].label, "Some-Provider");
    assert_false(plan->entries[1].named);
    assert_string_equal(plan->entries[1].label, "1c95126e-7eea-49a9-a3fe-a378b03ddb4d");
    etw_plan_destroy(plan);
}

static void providers_of_the_kernel_are_known_by_name(void **state)
{
    (void)state;
    struct provider_spec specs[] = {spec_of("SystemProcessProvider"), spec_of("Process"),
        spec_of("151f55dc-467d-471f-83b5-5f889d46ff66")};
    struct guid guid;
    assert_true(guid_parse(span_text("151f55dc-467d-471f-83b5-5f889d46ff66"), &guid));
    struct live_kernel system = {.session = defaults};
    struct etw_plan *plan = make(ETW_PLAN_SYSTEM, &system, specs, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_false(plan->entries[i].named);
        assert_true(guid_equal(&plan->entries[i].request.provider, &guid));
        assert_non_null(etw_plan_system_provider(&specs[i], true));
    }
    etw_plan_destroy(plan);

    /* On other machines a provider may have the name Process. */
    struct live_record record = {.session = defaults, .log_file = {.path = "a.etl"}};
    plan = make(ETW_PLAN_RECORD, &record, specs + 1, 1);
    assert_true(plan->entries[0].named);
    assert_false(plan->is_system);
    assert_null(etw_plan_system_provider(&specs[1], false));
    etw_plan_destroy(plan);

    /* Only sessions of kernel events get what they write. */
    plan = make(ETW_PLAN_RECORD, &record, specs, 1);
    assert_true(plan->is_system);
    assert_true(plan->session.mode & ETW_MODE_SYSTEM_LOGGER);
    etw_plan_destroy(plan);
}

static struct guid fingerprint(const struct live_session *session, const char *provider)
{
    struct live_realtime settings = {.session = *session};
    struct provider_spec spec = spec_of(provider);
    struct etw_plan *plan = make(ETW_PLAN_REALTIME, &settings, &spec, 1);
    struct guid print = plan->fingerprint;
    etw_plan_destroy(plan);
    return print;
}

static void the_fingerprint_is_of_what_cannot_be_changed_later(void **state)
{
    (void)state;
    struct live_session other = defaults;
    struct guid print = fingerprint(&defaults, "A");
    struct guid same = fingerprint(&defaults, "A:2:5"); /* filters are set again in any case */
    assert_true(guid_equal(&print, &same));
    struct guid changed = fingerprint(&defaults, "B");
    assert_false(guid_equal(&print, &changed));
    other.buffers.size_bytes *= 2;
    changed = fingerprint(&other, "A");
    assert_false(guid_equal(&print, &changed));
    other = defaults;
    other.clock = LIVE_CLOCK_SYSTEM;
    changed = fingerprint(&other, "A");
    assert_false(guid_equal(&print, &changed));
    other = defaults;
    other.keep_on_restart = true; /* a setting of the agent, not of the session */
    changed = fingerprint(&other, "A");
    assert_true(guid_equal(&print, &changed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_realtime_session_has_sound_defaults),
        cmocka_unit_test(settings_become_bits_of_the_mode),
        cmocka_unit_test(kernel_events_come_in_a_system_session_of_our_own),
        cmocka_unit_test(what_profiles_needs_a_privilege),
        cmocka_unit_test(the_kernel_logger_keeps_its_name_and_guid),
        cmocka_unit_test(a_session_of_another_program_is_only_read),
        cmocka_unit_test(heaps_are_a_programs_or_those_of_processes),
        cmocka_unit_test(files_get_their_mode_and_size),
        cmocka_unit_test(what_cannot_be_planned_is_said),
        cmocka_unit_test(a_provider_becomes_a_request),
        cmocka_unit_test(filters_that_etw_cannot_take_are_left_to_the_agent),
        cmocka_unit_test(stacks_are_asked_for_by_id_name_or_level),
        cmocka_unit_test(names_are_looked_up_and_guids_are_not),
        cmocka_unit_test(providers_of_the_kernel_are_known_by_name),
        cmocka_unit_test(the_fingerprint_is_of_what_cannot_be_changed_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
