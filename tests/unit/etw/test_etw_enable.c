/* Enabling a provider, also on older systems. */
#include "etw_enable_rig.h"

/* ---- the call -------------------------------------------------------------------------------- */

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

/* ---- older systems --------------------------------------------------------------------------- */

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
        /* Only the last call counts. */
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
        assert_int_equal(fake.calls[i].timeout_ms, 0); /* a trial does not wait */
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
        assert_in_range(fake.count, 1, 3);
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

/* ---- the rest -------------------------------------------------------------------------------- */

static void providers_are_disabled_and_asked_for_their_state(void **state)
{
    struct error err;
    (void)state;
    assert_true(etw_enable_stop(7, "DNS", &provider, false, NULL));
    assert_int_equal(fake.calls[0].code, 0);
    assert_true(guid_equal(&fake.calls[0].provider, &provider));
    assert_true(etw_enable_capture_state(7, "DNS", &provider, false, 300, NULL));
    assert_int_equal(fake.calls[1].code, 2);
    assert_int_equal(fake.calls[1].timeout_ms, 300);
    assert_int_equal(fake.calls[1].parameters.enable_property, 0);
    assert_true(etw_enable_stop(7, "DNS", &provider, true, NULL));
    assert_int_equal(fake.calls[2].parameters.version, 2);
    assert_int_equal(fake.calls[2].parameters.enable_property, 0x20);
    fake.answer = refuse;
    refused_with = 6;
    assert_false(etw_enable_stop(7, "DNS", &provider, false, &err));
    assert_non_null(strstr(err.text, "provider DNS cannot be disabled"));
    assert_false(etw_enable_capture_state(7, "DNS", &provider, false, 0, &err));
    assert_non_null(strstr(err.text, "cannot be asked to log its state"));
    fake.api = (struct etw_api){0};
    assert_false(etw_enable_stop(7, "DNS", &provider, false, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_false(enable(&err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

static void members_of_a_group_are_left_out_by_a_list(void **state)
{
    struct guid guids[ETW_MAX_DISALLOWED + 1] = {provider, source};
    struct error err;
    (void)state;
    assert_true(etw_enable_disallow(7, guids, 2, NULL));
    const struct fake_call *call = &fake.calls[0];
    assert_int_equal(call->code, 10);
    assert_int_equal(call->block_bytes, 32);
    assert_memory_equal(call->block, guids, 32);
    assert_false(etw_enable_disallow(7, guids, ETW_MAX_DISALLOWED + 1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    fake.api.TraceSetInformation = NULL;
    assert_false(etw_enable_disallow(7, guids, 1, &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
}

static void protected_providers_are_known_by_name_and_by_guid(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *guid;
        const char *text; /* NULL: every account may have it */
    } cases[] = {
        {"microsoft-windows-threat-intelligence", NULL, "(PPL)"},
        {"", "f4e1897c-bb5d-5668-f1d8-040f4d8dd344", "(PPL)"},
        {"Microsoft-Windows-Security-Auditing", NULL, "EventLog-Security"},
        {"", "54849625-5478-4994-a5ba-3e3b0328c30d", "EventLog-Security"},
        {"Microsoft-Windows-Security-Auditin", NULL, NULL},
        {"", "1c95126e-7eea-49a9-a3fe-a378b03ddb4d", NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct guid guid = {{0}};
        assert_true(!cases[i].guid || guid_parse(span_text(cases[i].guid), &guid));
        const char *text = etw_enable_protected(span_text(cases[i].name), &guid);
        assert_int_equal(text != NULL, cases[i].text != NULL);
        assert_true(!text || strstr(text, cases[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        enable_test(a_provider_without_filters_is_enabled_with_its_masks),
        enable_test(level_0_and_no_keyword_mean_every_one),
        enable_test(kinds_that_windows_does_not_know_are_left_out_and_told),
        enable_test(properties_that_windows_does_not_know_are_told),
        enable_test(what_is_wrong_with_the_provider_itself_is_an_error),
        enable_test(a_protected_provider_is_explained),
        enable_test(providers_that_answer_too_late_are_enabled_all_the_same),
        enable_test(providers_are_disabled_and_asked_for_their_state),
        enable_test(members_of_a_group_are_left_out_by_a_list),
        cmocka_unit_test(protected_providers_are_known_by_name_and_by_guid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
