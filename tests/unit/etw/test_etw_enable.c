#include "etw/etw_enable.h"
#include "etw_fake.h"

/* Offsets and limits of evntprov.h, written as numbers. */

static const struct guid provider = {{0x6e, 0x12, 0x95, 0x1c, 0xea, 0x7e, 0xa9, 0x49, 0xa3, 0xfe,
    0xa3, 0x78, 0xb0, 0x3d, 0xdb, 0x4d}};
static const struct guid source = {{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6}};

/* Requests are large: one that every test begins anew. */
static struct etw_request request;
static struct etw_outcome outcome;

static int set_up(void **state)
{
    memset(&request, 0, sizeof(request));
    memset(&outcome, 0xee, sizeof(outcome));
    request.provider = provider;
    return fake_set_up(state);
}

#define enable_test(function) cmocka_unit_test_setup_teardown(function, set_up, fake_tear_down)

static bool enable(struct error *err)
{
    return etw_enable_provider(0x1234500023, "DNS", &request, &outcome, err);
}

/* ---- the call ---------------------------------------------------------------------------------------------- */

static void a_provider_without_filters_is_enabled_with_its_masks(void **state)
{
    (void)state;
    request.level = 4;
    request.any = UINT64_C(0x8000000000000010);
    request.all = 0x10;
    request.properties = 0x181;
    request.source_id = source;
    request.timeout_ms = 5000;
    assert_true(enable(NULL));
    const struct fake_call *call = &fake.calls[0];
    uint8_t p[48];
    memcpy(p, &call->parameters, 48);
    assert_int_equal(fake.count, 1);
    assert_int_equal(call->session, 0x1234500023);
    assert_int_equal(call->code, 1);
    assert_true(guid_equal(&call->provider, &provider));
    assert_int_equal(call->level, 4);
    assert_int_equal(call->any, UINT64_C(0x8000000000000010));
    assert_int_equal(call->all, 0x10);
    assert_int_equal(call->timeout_ms, 5000);
    assert_int_equal(load_le32(p), 2);
    assert_int_equal(load_le32(p + 4), 0x181);
    assert_int_equal(load_le32(p + 8), 0);
    assert_memory_equal(p + 12, source.bytes, 16);
    assert_int_equal(load_le64(p + 32), 0);
    assert_int_equal(load_le32(p + 40), 0);
    assert_int_equal(outcome.acting, 0);
    assert_int_equal(outcome.refused, 0);
    assert_int_equal(outcome.refused_properties, 0);
    assert_false(outcome.timed_out);
}

static void level_0_and_no_keyword_mean_every_one(void **state)
{
    (void)state;
    request.all = 0x10;
    assert_true(enable(NULL));
    assert_int_equal(fake.calls[0].level, 255);
    assert_int_equal(fake.calls[0].any, UINT64_MAX);
    assert_int_equal(fake.calls[0].all, 0);
}

/* ---- bytes of filters -------------------------------------------------------------------------------------- */

/* The only filter of the last call. */
static const uint8_t *only_filter(uint32_t type, uint32_t size)
{
    const struct fake_call *call = &fake.calls[fake.count - 1];
    assert_int_equal(call->parameters.filter_count, 1);
    assert_int_equal(call->filters[0].type, type);
    assert_int_equal(call->filters[0].size, size);
    return call->filter_data[0];
}

static void ids_are_a_flag_a_count_and_the_ids(void **state)
{
    static const uint8_t in[] = {1, 0, 3, 0, 1, 0, 2, 0, 0xff, 0xff};
    static const uint8_t out[] = {0, 0, 1, 0, 0x34, 0x12};
    (void)state;
    request.events = (struct etw_filter_ids){.count = 3, .ids = {1, 2, 0xffff}};
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80000200, sizeof(in)), in, sizeof(in));
    request.events = (struct etw_filter_ids){.exclude = true, .count = 1, .ids = {0x1234}};
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80000200, sizeof(out)), out, sizeof(out));
}

static void names_follow_masks_level_and_count(void **state)
{
    static const uint8_t expected[] = {0x20, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 255, 0,
        2, 0, 'B', 'e', 'a', 't', 0, 'S', 't', 'o', 'p', 0};
    (void)state;
    request.any = 0x20;
    request.all = 0x10;
    request.names = (struct etw_filter_texts){
        .exclude = true, .count = 2, .texts = {"Beat", "Stop"}};
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80000400, sizeof(expected)), expected, sizeof(expected));
}

static void processes_are_pids_or_names_with_semicolons(void **state)
{
    static const uint8_t pids[] = {4, 0, 0, 0, 0x78, 0x56, 0x34, 0x12};
    static const uint8_t names[] = {'a', 0, '.', 0, 'e', 0, ';', 0, 0xe9, 0, 0, 0};
    static const struct {
        size_t offset;
        uint32_t type;
    } rows[] = {
        {offsetof(struct etw_request, executables), 0x80000008},
        {offsetof(struct etw_request, packages), 0x80000010},
        {offsetof(struct etw_request, apps), 0x80000020},
    };
    (void)state;
    request.pid_count = 2;
    request.pids[0] = 4;
    request.pids[1] = 0x12345678;
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80000004, sizeof(pids)), pids, sizeof(pids));
    for (size_t i = 0; i < 3; i++) {
        memset(&request, 0, sizeof(request));
        struct etw_filter_texts *texts = (void *)((uint8_t *)&request + rows[i].offset);
        *texts = (struct etw_filter_texts){.count = 2, .texts = {"a.e", "\xc3\xa9"}};
        assert_true(enable(NULL));
        assert_memory_equal(only_filter(rows[i].type, sizeof(names)), names, sizeof(names));
    }
}

static void stacks_are_chosen_by_id_name_level_and_keyword(void **state)
{
    const uint8_t *data;
    (void)state;
    request.stack_events = (struct etw_filter_ids){.count = 1, .ids = {7}};
    request.stack_names = (struct etw_filter_texts){.count = 1, .texts = {"X"}};
    request.stack_by_level = true;
    request.stack_level = 2;
    request.stack_any = 0x40;
    request.stack_all = 0x41;
    assert_true(enable(NULL));
    const struct fake_call *call = &fake.calls[0];
    assert_int_equal(call->parameters.enable_property, 0x4);
    assert_int_equal(call->parameters.filter_count, 3);
    assert_int_equal(fake_filter(call, 0x80001000, &data)->size, 6);
    assert_int_equal(load_le16(data + 4), 7);
    assert_int_equal(fake_filter(call, 0x80002000, &data)->size, 22);
    assert_int_equal(data[16], 255);
    assert_string_equal((const char *)data + 20, "X");
    assert_int_equal(fake_filter(call, 0x80004000, &data)->size, 24);
    assert_int_equal(load_le64(data), 0x40);
    assert_int_equal(load_le64(data + 8), 0x41);
    assert_int_equal(data[16], 2);
    assert_int_equal(data[17], 1);
}

static void a_container_is_given_as_it_is(void **state)
{
    static const uint8_t id[] = {'{', 0, '1', 0, '}', 0};
    (void)state;
    request.container = span_make(id, sizeof(id));
    assert_true(enable(NULL));
    assert_memory_equal(only_filter(0x80008000, sizeof(id)), id, sizeof(id));
}

/* ---- limits ---------------------------------------------------------------------------------------------------- */

/* A text of ${size} letters. */
static const char *letters(size_t size)
{
    static char texts[4][5000];
    static size_t next;
    char *text = texts[next++ % 4];
    memset(text, 'x', size);
    text[size] = '\0';
    return text;
}

static void expect_limit(const char *text)
{
    struct error err;
    assert_false(enable(&err));
    assert_int_equal(err.code, ERR_LIMIT);
    if (!strstr(err.text, text)) {
        fail_msg("'%s' does not say '%s'", err.text, text);
    }
    assert_int_equal(fake.count, 0);
}

static void names_of_processes_fill_1024_bytes_of_utf16(void **state)
{
    (void)state;
    request.executables = (struct etw_filter_texts){.count = 2, .texts = {"a.exe", letters(505)}};
    assert_true(enable(NULL)); /* 5 + 1 + 505 + 1 units */
    assert_int_equal(fake.calls[0].filters[0].size, 1024);
    fake.count = 0;
    request.executables.texts[1] = letters(506);
    expect_limit("executables: ETW takes 1024 bytes of names");
    request.executables.texts[1] = letters(4900);
    expect_limit("executables: ETW takes 1024 bytes of names");
}

static void names_of_events_fill_4096_bytes(void **state)
{
    (void)state;
    request.names = (struct etw_filter_texts){.count = 2, .texts = {"a", letters(4073)}};
    assert_true(enable(NULL)); /* 20 + 2 + 4074 */
    assert_int_equal(fake.calls[0].filters[0].size, 4096);
    fake.count = 0;
    request.names.texts[1] = letters(4074);
    expect_limit("event names: ETW takes 4096 bytes of names");
    request.names = (struct etw_filter_texts){.count = 257};
    expect_limit("event names: at most 256 names");
}

static void ids_and_processes_are_counted(void **state)
{
    (void)state;
    request.events.count = 64;
    assert_true(enable(NULL));
    assert_int_equal(fake.calls[0].filters[0].size, 4 + 128);
    fake.count = 0;
    request.events.count = 65;
    expect_limit("event ids: ETW takes 64 at most, not 65");
    request.events.count = 0;
    request.stack_events.count = 65;
    expect_limit("stacks by event id: ETW takes 64 at most");
    request.stack_events.count = 0;
    request.pid_count = 9;
    expect_limit("processes: ETW takes 8 at most, not 9");
    request.pid_count = 0;
    request.container = span_make(letters(1025), 1025);
    expect_limit("container: ETW takes 1024 at most");
}

static void more_than_eight_kinds_are_too_many(void **state)
{
    (void)state;
    request.pid_count = 1;
    request.executables = (struct etw_filter_texts){.count = 1, .texts = {"a"}};
    request.packages = request.executables;
    request.apps = request.executables;
    request.events.count = 1;
    request.names = request.executables;
    request.stack_events.count = 1;
    request.stack_names = request.executables;
    assert_true(enable(NULL));
    assert_int_equal(fake.calls[0].parameters.filter_count, 8);
    fake.count = 0;
    request.stack_by_level = true;
    expect_limit("9 kinds of filters, ETW takes 8");
    etw_enable_drop(&request, ETW_FILTER_KIND(ETW_FILTER_PID));
    assert_true(enable(NULL));
}

static void names_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *text;
        bool of_events;
        bool is_fine;
    } rows[] = {{"", false, false}, {"", true, false}, {"a;b", false, false}, {"a;b", true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {.code = ERR_NONE};
        struct etw_filter_texts texts = {.count = 1, .texts = {rows[i].text}};
        request.names = rows[i].of_events ? texts : (struct etw_filter_texts){0};
        request.packages = rows[i].of_events ? (struct etw_filter_texts){0} : texts;
        assert_int_equal(enable(&err), rows[i].is_fine);
        assert_int_equal(err.code, rows[i].is_fine ? ERR_NONE : ERR_CONFIG);
    }
}

static void groups_are_not_filtered_by_their_events(void **state)
{
    struct error err;
    (void)state;
    request.properties = ETW_ENABLE_PROVIDER_GROUP;
    request.events.count = 1;
    assert_false(enable(&err));
    assert_int_equal(err.code, ERR_CONFIG);
    assert_non_null(strstr(err.text, "event ids: ETW does not filter a group"));
    request.events.count = 0;
    request.pid_count = 1;
    assert_true(enable(NULL));
}

static void each_kind_can_be_asked_for_and_dropped(void **state)
{
    static const uint32_t kinds[] = {
        0x4, 0x8, 0x10, 0x20, 0x100, 0x200, 0x400, 0x1000, 0x2000, 0x4000, 0x8000};
    struct etw_payload_test test = {"F", ETW_PAYLOAD_IS, "1"};
    struct etw_payload_filter payload = {.count = 1, .tests = &test};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        request.pid_count = 1;
        request.executables = (struct etw_filter_texts){.count = 1, .texts = {"a"}};
        request.packages = request.apps = request.names = request.stack_names = request.executables;
        request.events.count = request.stack_events.count = 1;
        request.stack_by_level = true;
        request.container = span_text("cc");
        request.payload = &payload;
        request.payload_count = 1;
        assert_int_equal(etw_enable_kinds(&request), 0xf73c);
        assert_true(etw_enable_fits(&request, kinds[i], NULL));
        etw_enable_drop(&request, kinds[i]);
        assert_int_equal(etw_enable_kinds(&request), 0xf73c & ~kinds[i]);
        etw_enable_drop(&request, 0xffffffff);
        assert_int_equal(etw_enable_kinds(&request), 0);
    }
    assert_string_equal(etw_enable_kind_name(0x400), "event names");
    assert_string_equal(etw_enable_kind_name(0x800), "other");
}

/* ---- older systems ------------------------------------------------------------------------------------------ */

static uint32_t unknown_types;      /* of filters */
static uint32_t unknown_properties; /* ETW_ENABLE_* */

static uint32_t answer_as_older(const struct fake_call *call, void *block)
{
    (void)block;
    for (uint32_t i = 0; i < call->parameters.filter_count; i++) {
        if (call->filters[i].type & unknown_types & 0x7fffffff) {
            return ETW_ERROR_INVALID_PARAMETER;
        }
    }
    return call->parameters.enable_property & unknown_properties ? ETW_ERROR_INVALID_PARAMETER : 0;
}

static void kinds_that_windows_does_not_know_are_left_out_and_told(void **state)
{
    static const struct {
        uint32_t unknown;
        uint32_t acting;
        uint32_t refused;
    } rows[] = {
        {0, 0x2600 | 0x8, 0},
        {0x400, 0x2200 | 0x8, 0x400},
        {0x2400, 0x200 | 0x8, 0x2400},
        {0xffff, 0, 0x2600 | 0x8},
        {0x8, 0x2600, 0x8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake.count = 0;
        fake.answer = answer_as_older;
        unknown_types = rows[i].unknown;
        unknown_properties = 0;
        request.events.count = 2;
        request.executables = (struct etw_filter_texts){.count = 1, .texts = {"a.exe"}};
        request.names = request.stack_names = request.executables;
        assert_true(enable(NULL));
        assert_int_equal(outcome.acting, rows[i].acting);
        assert_int_equal(outcome.refused, rows[i].refused);
        assert_int_equal(outcome.refused_properties, 0);
        /* What counts is the last call. */
        const struct fake_call *last = &fake.calls[fake.count - 1];
        uint32_t in_force = 0;
        for (uint32_t j = 0; j < last->parameters.filter_count; j++) {
            in_force |= last->filters[j].type & 0x7fffffff;
        }
        assert_int_equal(in_force, rows[i].acting);
        assert_int_equal(last->parameters.enable_property, ETW_ENABLE_STACK_TRACE);
        assert_in_range(fake.count, 1, 8);
    }
}

static void properties_that_windows_does_not_know_are_told(void **state)
{
    (void)state;
    fake.answer = answer_as_older;
    unknown_types = 0;
    unknown_properties = 0xc00;
    request.properties = 0xc85;
    request.timeout_ms = 700;
    request.pid_count = 1;
    assert_true(enable(NULL));
    assert_int_equal(outcome.refused_properties, 0xc00);
    assert_int_equal(outcome.acting, 0x4);
    const struct fake_call *last = &fake.calls[fake.count - 1];
    assert_int_equal(last->parameters.enable_property, 0x85);
    assert_int_equal(last->timeout_ms, 700);
    for (size_t i = 1; i + 1 < fake.count; i++) {
        assert_int_equal(fake.calls[i].timeout_ms, 0); /* nobody waits for what is only tried */
    }
    assert_int_equal(last->parameters.filter_count, 1);
}

static uint32_t refused_with;

static uint32_t refuse(const struct fake_call *call, void *block)
{
    (void)call;
    (void)block;
    return refused_with;
}

static void what_is_wrong_with_the_provider_itself_is_an_error(void **state)
{
    static const struct {
        uint32_t code;
        const char *text;
    } rows[] = {
        {5, "Performance Log Users"},
        {87, "provider DNS cannot be enabled"},
        {1, "the provider is not registered"},
        {1450, "it serves 8 sessions already"},
    };
    (void)state;
    fake.answer = refuse;
    request.events.count = 1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err;
        fake.count = 0;
        refused_with = rows[i].code;
        assert_false(enable(&err));
        assert_int_equal(err.os_code, rows[i].code);
        if (!strstr(err.text, rows[i].text)) {
            fail_msg("'%s' does not say '%s'", err.text, rows[i].text);
        }
        assert_in_range(fake.count, 1, 2);
    }
}

static void a_protected_provider_is_explained(void **state)
{
    struct error err;
    (void)state;
    fake.answer = refuse;
    refused_with = 5;
    assert_true(guid_parse(span_text("f4e1897c-bb5d-5668-f1d8-040f4d8dd344"), &request.provider));
    assert_false(enable(&err));
    assert_non_null(strstr(err.text, "PPL"));
    assert_true(guid_parse(span_text("54849625-5478-4994-a5ba-3e3b0328c30d"), &request.provider));
    assert_false(enable(&err));
    assert_non_null(strstr(err.text, "Event Log"));
}

static void providers_that_answer_too_late_are_enabled_all_the_same(void **state)
{
    (void)state;
    fake.answer = refuse;
    refused_with = ETW_ERROR_TIMEOUT;
    request.timeout_ms = 10;
    assert_true(enable(NULL));
    assert_true(outcome.timed_out);
    assert_int_equal(fake.count, 1);
}

/* ---- payload -------------------------------------------------------------------------------------------------- */

static struct {
    char field[2][64];
    char value[2][64];
    uint16_t ops[2];
    uint16_t id;
    uint8_t match_any;
    uint32_t created, deleted, joined, cleaned;
    uint32_t create_result;
    uint32_t size;
} tdh;

static uint32_t tdh_create(const struct guid *guid, const struct etw_event_descriptor *descriptor,
    uint8_t match_any, uint32_t count, struct etw_predicate *predicates, void **ret_filter)
{
    assert_true(guid_equal(guid, &provider));
    tdh.id = descriptor->id;
    tdh.match_any = match_any;
    for (uint32_t i = 0; i < count && i < 2; i++) {
        etw_text_decode(predicates[i].field_name, 64, tdh.field[i], 64);
        etw_text_decode(predicates[i].value, 64, tdh.value[i], 64);
        tdh.ops[i] = predicates[i].compare_op;
    }
    if (tdh.create_result) {
        return tdh.create_result;
    }
    tdh.created++;
    *ret_filter = &tdh;
    return 0;
}

static uint32_t tdh_delete(void **filter)
{
    assert_ptr_equal(*filter, &tdh);
    *filter = NULL;
    tdh.deleted++;
    return 0;
}

static uint32_t tdh_join(
    uint32_t count, void **filters, uint8_t *match_all, struct etw_filter *ret_filter)
{
    static const uint8_t blob[8192] = "secret";
    assert_int_equal(count, tdh.created);
    for (uint32_t i = 0; i < count; i++) {
        assert_ptr_equal(filters[i], &tdh);
        assert_int_equal(match_all[i], 0);
    }
    tdh.joined++;
    *ret_filter = (struct etw_filter){
        .data = (uint64_t)(uintptr_t)blob, .size = tdh.size, .type = 0x80000100};
    return 0;
}

static uint32_t tdh_clean(struct etw_filter *filter)
{
    assert_int_equal(filter->size, tdh.size);
    tdh.cleaned++;
    return 0;
}

static const struct etw_payload_test payload_tests[] = {
    {"ImageName", ETW_PAYLOAD_CONTAINS, "powershell"}, {"Size", ETW_PAYLOAD_BETWEEN, "1,5"}};
static const struct etw_payload_filter payloads[] = {
    {.event = {.id = 1}, .count = 1, .tests = payload_tests},
    {.event = {.id = 5}, .match_any = true, .count = 2, .tests = payload_tests},
};

static int payload_set_up(void **state)
{
    int result = set_up(state);
    memset(&tdh, 0, sizeof(tdh));
    tdh.size = 100;
    fake.api.TdhCreatePayloadFilter = tdh_create;
    fake.api.TdhDeletePayloadFilter = tdh_delete;
    fake.api.TdhAggregatePayloadFilters = tdh_join;
    fake.api.TdhCleanupPayloadEventFilterDescriptor = tdh_clean;
    request.payload = payloads;
    request.payload_count = 2;
    return result;
}

#define payload_test(function) \
    cmocka_unit_test_setup_teardown(function, payload_set_up, fake_tear_down)

static void conditions_become_a_filter_of_windows(void **state)
{
    (void)state;
    assert_true(enable(NULL));
    assert_string_equal((const char *)only_filter(0x80000100, 100), "secret");
    assert_int_equal(tdh.id, 5);
    assert_int_equal(tdh.match_any, 1);
    assert_string_equal(tdh.field[0], "ImageName");
    assert_int_equal(tdh.ops[0], 20);
    assert_string_equal(tdh.value[0], "powershell");
    assert_string_equal(tdh.field[1], "Size");
    assert_int_equal(tdh.ops[1], 6);
    assert_string_equal(tdh.value[1], "1,5");
    assert_int_equal(tdh.created, 2);
    assert_int_equal(tdh.deleted, 2);
    assert_int_equal(tdh.joined, 1);
    assert_int_equal(tdh.cleaned, 1);
    assert_int_equal(outcome.acting, 0x100);
}

static void a_system_without_payload_filters_leaves_them_to_the_agent(void **state)
{
    (void)state;
    fake.api.TdhAggregatePayloadFilters = NULL;
    assert_true(enable(NULL));
    assert_int_equal(outcome.refused, 0x100);
    assert_int_equal(outcome.acting, 0);
    assert_int_equal(fake.calls[0].parameters.filter_count, 0);
    assert_int_equal(tdh.created, 0);
}

static void conditions_that_windows_cannot_take_name_the_event(void **state)
{
    struct error err;
    (void)state;
    tdh.create_result = 1168;
    assert_false(enable(&err));
    assert_int_equal(err.os_code, 1168);
    assert_non_null(strstr(err.text, "payload of event 1"));
    assert_non_null(strstr(err.text, "'ImageName'"));
    assert_int_equal(fake.count, 0);
    assert_int_equal(tdh.deleted, tdh.created);
    tdh.create_result = 0;
    tdh.size = 4097;
    assert_false(enable(&err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_int_equal(tdh.cleaned, 1);
    assert_int_equal(tdh.deleted, tdh.created);
}

static void conditions_have_limits(void **state)
{
    struct etw_payload_filter filter = {.event = {.id = 3}, .count = 9, .tests = payload_tests};
    struct etw_payload_test long_test = {letters(4096), ETW_PAYLOAD_IS, "1"};
    (void)state;
    request.payload = &filter;
    request.payload_count = 1;
    expect_limit("event 3 has 9 conditions, ETW takes 1 to 8");
    filter.count = 0;
    expect_limit("event 3 has 0 conditions");
    filter = (struct etw_payload_filter){.count = 1, .tests = &long_test};
    expect_limit("longer than ETW takes");
    request.payload_count = 65;
    expect_limit("conditions for 65 events, at most 64");
    request.payload = NULL;
}

/* ---- the rest --------------------------------------------------------------------------------------------------- */

static void providers_are_disabled_and_asked_for_their_state(void **state)
{
    struct error err;
    (void)state;
    assert_true(etw_enable_stop(7, "DNS", &provider, NULL));
    assert_int_equal(fake.calls[0].code, 0);
    assert_true(guid_equal(&fake.calls[0].provider, &provider));
    assert_true(etw_enable_capture_state(7, "DNS", &provider, 300, NULL));
    assert_int_equal(fake.calls[1].code, 2);
    assert_int_equal(fake.calls[1].timeout_ms, 300);
    fake.answer = refuse;
    refused_with = 6;
    assert_false(etw_enable_stop(7, "DNS", &provider, &err));
    assert_non_null(strstr(err.text, "provider DNS cannot be disabled"));
    assert_false(etw_enable_capture_state(7, "DNS", &provider, 0, &err));
    assert_non_null(strstr(err.text, "cannot be asked for its state"));
    fake.api = (struct etw_api){0};
    assert_false(etw_enable_stop(7, "DNS", &provider, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_false(enable(&err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

static void lists_of_providers_go_to_the_session(void **state)
{
    struct guid guids[ETW_MAX_PERIODIC + 1] = {provider, source};
    struct error err;
    (void)state;
    assert_true(etw_enable_periodic_capture(7, 3600, guids, 2, NULL));
    const struct fake_call *call = &fake.calls[0];
    assert_int_equal(call->code, 16);
    assert_int_equal(call->block_bytes, 8 + 32);
    assert_int_equal(load_le32(call->block), 3600);
    assert_int_equal(load_le16(call->block + 4), 2);
    assert_memory_equal(call->block + 8, guids, 32);
    assert_true(etw_enable_periodic_capture(7, 0, NULL, 0, NULL));
    assert_int_equal(fake.calls[1].block_bytes, 8);
    assert_true(etw_enable_disallow(7, guids, 2, NULL));
    assert_int_equal(fake.calls[2].code, 10);
    assert_int_equal(fake.calls[2].block_bytes, 32);
    assert_false(etw_enable_periodic_capture(7, 1, guids, ETW_MAX_PERIODIC + 1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_false(etw_enable_disallow(7, guids, ETW_MAX_PERIODIC + 1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    fake.api.TraceSetInformation = NULL;
    assert_false(etw_enable_periodic_capture(7, 1, guids, 1, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        enable_test(a_provider_without_filters_is_enabled_with_its_masks),
        enable_test(level_0_and_no_keyword_mean_every_one),
        enable_test(ids_are_a_flag_a_count_and_the_ids),
        enable_test(names_follow_masks_level_and_count),
        enable_test(processes_are_pids_or_names_with_semicolons),
        enable_test(stacks_are_chosen_by_id_name_level_and_keyword),
        enable_test(a_container_is_given_as_it_is),
        enable_test(names_of_processes_fill_1024_bytes_of_utf16),
        enable_test(names_of_events_fill_4096_bytes),
        enable_test(ids_and_processes_are_counted),
        enable_test(more_than_eight_kinds_are_too_many),
        enable_test(names_that_cannot_be_are_refused),
        enable_test(groups_are_not_filtered_by_their_events),
        enable_test(each_kind_can_be_asked_for_and_dropped),
        enable_test(kinds_that_windows_does_not_know_are_left_out_and_told),
        enable_test(properties_that_windows_does_not_know_are_told),
        enable_test(what_is_wrong_with_the_provider_itself_is_an_error),
        enable_test(a_protected_provider_is_explained),
        enable_test(providers_that_answer_too_late_are_enabled_all_the_same),
        payload_test(conditions_become_a_filter_of_windows),
        payload_test(a_system_without_payload_filters_leaves_them_to_the_agent),
        payload_test(conditions_that_windows_cannot_take_name_the_event),
        payload_test(conditions_have_limits),
        enable_test(providers_are_disabled_and_asked_for_their_state),
        enable_test(lists_of_providers_go_to_the_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
