#include "app/plan/provider_selection.h"

#include <stdio.h>

#include "event/value/wpp_format.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"
#include "support/test.h"

static const struct guid dns = {{0x6e, 0x12, 0x95, 0x1c, 0xea, 0x7e, 0xa9, 0x49, 0xa3, 0xfe, 0xa3,
    0x78, 0xb0, 0x3d, 0xdb, 0x4d}};
#define DNS_GUID "1c95126e-7eea-49a9-a3fe-a378b03ddb4d"

static const struct event_schema dns_schema = {.kind = SCHEMA_MANIFEST,
    .provider_name = {(const uint8_t *)"Microsoft-Windows-DNS-Client", 28}};

static bool passes_with(
    const char *text, const struct event_record *record, const struct event_schema *schema)
{
    struct error err = {0};
    struct provider_selection *selection = provider_selection_create(&text, 1, &err);
    if (!selection) {
        fail_msg("%s", err.text);
    }
    const struct event event = {.record = record, .schema = schema};
    bool passes = provider_selection_passes(selection, &event);
    provider_selection_destroy(selection);
    return passes;
}

static bool passes(const char *text, struct event_descriptor descriptor)
{
    const struct event_record record = {
        .kind = RECORD_EVENT, .provider = dns, .descriptor = descriptor};
    return passes_with(text, &record, NULL);
}

static void a_provider_is_named_by_guid_or_name(void **state)
{
    (void)state;
    const struct event_record record = {.kind = RECORD_EVENT, .provider = dns};
    assert_true(passes_with(DNS_GUID, &record, NULL));
    assert_true(passes_with("{" DNS_GUID "}", &record, NULL));
    assert_true(passes_with("1C95126E-7EEA-49A9-A3FE-A378B03DDB4D", &record, NULL));
    assert_false(passes_with("1c95126e-7eea-49a9-a3fe-a378b03ddb4e", &record, NULL));
    const struct event_record digits = {.kind = RECORD_EVENT, .provider = {{1, 2, 3}}};
    assert_true(passes_with("00030201-0000-0000-0000-000000000000", &digits, NULL));
    assert_true(passes_with("microsoft-windows-dns-client", &record, &dns_schema));
    assert_false(passes_with("Microsoft-Windows-DNS", &record, &dns_schema));
    /* Some names are known: no definition is needed. */
    assert_true(passes_with("Microsoft-Windows-DNS-client", &record, NULL));
    assert_false(passes_with("Microsoft-Windows-PowerShell", &record, NULL));
    /* EventSource and TraceLogging derive the GUID from the name: no definition is needed. */
    struct event_record derived = {.kind = RECORD_EVENT};
    derived.provider = guid_from_name(span_text("MyCompany-App"));
    assert_true(passes_with("mycompany-app", &derived, NULL));
    assert_false(passes_with("mycompany-apq", &derived, NULL));
}

static void levels_go_by_name_or_number(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint8_t level;
    } levels[] = {{DNS_GUID ":critical", 1}, {DNS_GUID ":error", 2}, {DNS_GUID ":warning", 3},
        {DNS_GUID ":information", 4}, {DNS_GUID ":verbose", 5}, {DNS_GUID ":info", 4},
        {DNS_GUID ":informational", 4}, {DNS_GUID ":Warning", 3}, {DNS_GUID ":4", 4},
        {DNS_GUID ":0x10", 16}, {DNS_GUID ":255", 255}, {DNS_GUID ":0xff", 255}, {DNS_GUID, 255},
        {DNS_GUID ":", 255}, {DNS_GUID "::", 255}, {"{" DNS_GUID "}:2", 2}};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        for (unsigned level = 0; level < 256; level++) {
            bool expected = level == 0 || level <= levels[i].level;
            bool got = passes(levels[i].text, (struct event_descriptor){.level = (uint8_t)level});
            if (got != expected) {
                fail_msg("%s, level %u", levels[i].text, level);
            }
        }
    }
}

static void ids_are_lists_of_numbers_and_ranges(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint16_t in[8]; /* 0 ends it */
        uint16_t out[8];
    } cases[] = {
        {DNS_GUID "::7", {7}, {6, 8}},
        {DNS_GUID "::1+5-9", {1, 5, 6, 9}, {2, 4, 10}},
        {DNS_GUID "::1,5-9,0x10", {1, 5, 9, 16}, {2, 4, 10, 15, 17}},
        {DNS_GUID "::3-3", {3}, {2, 4}},
        {DNS_GUID "::65535", {65535}, {65534}},
        {DNS_GUID "::", {1, 65535}, {0}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (const uint16_t *id = cases[i].in; *id; id++) {
            assert_true(passes(cases[i].text, (struct event_descriptor){.id = *id}));
        }
        for (const uint16_t *id = cases[i].out; *id; id++) {
            assert_false(passes(cases[i].text, (struct event_descriptor){.id = *id}));
        }
    }
    assert_true(passes(DNS_GUID "::0-2", (struct event_descriptor){.id = 0}));
}

static void keywords_are_masks_of_any_and_all(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t keyword;
        bool passes;
    } cases[] = {
        {DNS_GUID ":::0x6", 0x2, true},
        {DNS_GUID ":::0x6", 0x4, true},
        {DNS_GUID ":::6", 0x8, false},
        {DNS_GUID ":::0x6", 0, true}, /* keyword 0 passes every mask */
        {DNS_GUID ":::0", 0x8, true}, /* any 0: all */
        {DNS_GUID "::::0x6", 0x2, false},
        {DNS_GUID "::::0x6", 0x6, true},
        {DNS_GUID "::::0x6", 0xe, true},
        {DNS_GUID "::::0x6", 0, true},
        {DNS_GUID ":::0x1:0x6", 0x6, false},
        {DNS_GUID ":::0x1:0x6", 0x7, true},
        {DNS_GUID ":::0xffffffffffffffff", UINT64_C(1) << 63, true},
        {DNS_GUID ":::18446744073709551615", 1, true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool got = passes(cases[i].text, (struct event_descriptor){.keyword = cases[i].keyword});
        if (got != cases[i].passes) {
            fail_msg("%s, keyword 0x%llx", cases[i].text, (unsigned long long)cases[i].keyword);
        }
    }
}

static void all_parts_have_to_agree(void **state)
{
    (void)state;
    static const char text[] = DNS_GUID ":3:1-2:0x10:0x30";
    const struct event_descriptor good = {.id = 1, .level = 3, .keyword = 0x30};
    assert_true(passes(text, good));
    struct event_descriptor bad = good;
    bad.level = 4;
    assert_false(passes(text, bad));
    bad = good;
    bad.id = 3;
    assert_false(passes(text, bad));
    bad = good;
    bad.keyword = 0x10;
    assert_false(passes(text, bad));
}

static void any_of_several_providers_may_match(void **state)
{
    (void)state;
    const struct event_record record = {
        .kind = RECORD_EVENT, .provider = dns, .descriptor = {.level = 4}};
    const struct event event = {.record = &record};
    const char *const texts[] = {"Other", DNS_GUID ":2", DNS_GUID ":4"};
    for (size_t count = 0; count <= 3; count++) {
        struct provider_selection *selection = provider_selection_create(texts, count, NULL);
        assert_non_null(selection);
        assert_int_equal(provider_selection_passes(selection, &event), count == 0 || count == 3);
        provider_selection_destroy(selection);
    }
}

static void classes_match_by_class_or_provider_and_by_type(void **state)
{
    (void)state;
    struct event_schema schema = {
        .kind = SCHEMA_MOF, .provider = {{0xad}}, .provider_name = span_text("MSNT_SystemTrace")};
    const struct event_record record = {
        .kind = RECORD_KERNEL, .provider = dns, .descriptor = {.opcode = 5}};
    assert_true(passes_with("MSNT_SystemTrace", &record, &schema));
    assert_true(passes_with(DNS_GUID, &record, &schema));
    assert_true(passes_with("000000ad-0000-0000-0000-000000000000", &record, &schema));
    assert_true(passes_with(DNS_GUID "::5", &record, &schema));
    assert_false(passes_with(DNS_GUID "::6", &record, &schema));
}

#define MESSAGES "a5bbbdd9-73f9-3bed-93aa-521a4c96d934"
static const char formats[] = MESSAGES " driver // SRC=main.c MJ= MN=\n"
                                       "#typev main_c31 10 \"%0hello\" //   "
                                       "LEVEL=TRACE_LEVEL_ERROR FLAGS=POWER FUNC=main\n"
                                       "{\n}\n";

static char folder[TEMP_FOLDER_BYTES];
static char format_path[TEMP_FOLDER_BYTES + 16];

static int write_formats(void **state)
{
    (void)state;
    struct error err = {0};
    if (temp_folder_make(folder, "provider_selection")) {
        return -1;
    }
    snprintf(format_path, sizeof(format_path), "%s/driver.tmf", folder);
    struct plat_file *file = plat_file_open(format_path, PLAT_FILE_CREATE, &err);
    bool good = file && plat_file_write(file, span_text(formats), &err);
    plat_file_close(file);
    return good ? 0 : -1;
}

static int remove_formats(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static bool passes_wpp_of(bool is_live, const struct provider_spec *spec, const char *guid_text,
    uint16_t number, const struct wpp_format *format)
{
    struct error err = {0};
    struct event_record record = {.kind = RECORD_MESSAGE, .descriptor.id = number};
    struct event_schema schema = {.kind = SCHEMA_WPP, .wpp = format};
    const struct event event = {.record = &record, .schema = format ? &schema : NULL};
    assert_true(guid_parse(span_text(guid_text), &record.provider));
    struct provider_selection *selection = provider_selection_create_from(spec, 1, is_live, &err);
    assert_non_null(selection);
    bool passes = provider_selection_passes(selection, &event);
    assert_int_equal(provider_selection_knows(selection, &event), strcmp(guid_text, MESSAGES) == 0);
    provider_selection_destroy(selection);
    return passes;
}

static bool passes_wpp(const struct provider_spec *spec, const char *guid_text, uint16_t number,
    const struct wpp_format *format)
{
    return passes_wpp_of(false, spec, guid_text, number, format);
}

/* Records of messages have the GUID of their source file, not the provider's. */
static void messages_match_by_their_formats(void **state)
{
    (void)state;
    struct provider_spec spec;
    provider_spec_init(&spec);
    spec.classic = true;
    spec.wpp = format_path;
    assert_true(passes_wpp(&spec, MESSAGES, 10, NULL));
    assert_true(passes_wpp(&spec, MESSAGES, 11, NULL)); /* no format has that number */
    assert_false(passes_wpp(&spec, "a5bbbdd9-73f9-3bed-93aa-521a4c96d935", 10, NULL));
    assert_false(passes_wpp(&spec, "00000000-0000-0000-0000-000000000000", 10, NULL));
    spec.wpp = folder;
    assert_true(passes_wpp(&spec, MESSAGES, 10, NULL));
    spec.include = (struct provider_events){.ranges = {{11, 12}}, .range_count = 1};
    assert_false(passes_wpp(&spec, MESSAGES, 10, NULL));
    assert_true(passes_wpp(&spec, MESSAGES, 12, NULL));
}

/* The files are read once, for all entries that name them. */
static void entries_may_name_the_same_formats(void **state)
{
    (void)state;
    struct error err = {0};
    struct event_record record = {.kind = RECORD_MESSAGE, .descriptor.id = 12};
    const struct event event = {.record = &record};
    struct provider_spec specs[3];
    char path[sizeof(format_path)];
    memcpy(path, format_path, sizeof(path));
    for (size_t i = 0; i < 3; i++) {
        provider_spec_init(&specs[i]);
        specs[i].wpp = i ? path : format_path;
        specs[i].include = (struct provider_events){
            .ranges = {{(uint16_t)(10 + i), (uint16_t)(10 + i)}}, .range_count = 1};
    }
    assert_true(guid_parse(span_text(MESSAGES), &record.provider));
    struct provider_selection *selection = provider_selection_create_from(specs, 3, false, &err);
    assert_non_null(selection);
    assert_true(provider_selection_passes(selection, &event));
    record.descriptor.id = 13;
    assert_false(provider_selection_passes(selection, &event));
    provider_selection_destroy(selection);
}

/* Records have neither level nor flags; their formats name them. */
static void levels_and_flags_of_messages_are_those_of_their_format(void **state)
{
    (void)state;
    static struct {
        const char *level_name;
        uint8_t level;
        const char *flags[2];
        bool passes;
    } cases[] = {
        {"TRACE_LEVEL_WARNING", 3, {NULL}, true}, {"TRACE_LEVEL_WARNING", 2, {NULL}, false},
        {"TRACE_LEVEL_FATAL", 1, {NULL}, true}, {"TRACE_LEVEL_VERBOSE", 5, {NULL}, true},
        {"TRACE_LEVEL_VERBOSE", 0, {NULL}, true}, /* 0: all */
        {"MY_LEVEL", 1, {NULL}, true},            /* its number is unknown */
        {"", 1, {NULL}, true}, {"", 255, {"POWER"}, true}, {"", 255, {"NET", "POWER"}, true},
        {"", 255, {"power"}, true}, /* like the names of flags of control GUIDs */
        {"", 255, {"NET"}, false}, {"", 255, {"NET", "0x10"}, true}, /* its name is unknown */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct wpp_format format = {
            .level = span_text(cases[i].level_name), .flags = span_text("POWER")};
        struct provider_spec spec;
        provider_spec_init(&spec);
        spec.wpp = format_path;
        spec.level = cases[i].level;
        spec.flags.items = cases[i].flags;
        spec.flags.count = (size_t)(cases[i].flags[0] != NULL) + (cases[i].flags[1] != NULL);
        if (passes_wpp(&spec, MESSAGES, 10, &format) != cases[i].passes) {
            fail_msg("%s at level %u (%zu)", cases[i].level_name, cases[i].level, i);
        }
    }
}

/* A bit may have two names, and the format may use the other one; so may a level. The code that
 * wrote the message has tested the bits. */
static void what_a_live_session_gets_has_its_level_and_flags(void **state)
{
    (void)state;
    static const char *flags[] = {"ALIAS"};
    const struct wpp_format format = {
        .level = span_text("TRACE_LEVEL_VERBOSE"), .flags = span_text("POWER")};
    struct provider_spec spec;
    provider_spec_init(&spec);
    spec.wpp = format_path;
    spec.level = 4;
    assert_true(passes_wpp_of(true, &spec, MESSAGES, 10, &format));
    assert_false(passes_wpp_of(false, &spec, MESSAGES, 10, &format));
    spec.level = 0;
    spec.flags.items = flags;
    spec.flags.count = 1;
    assert_true(passes_wpp_of(true, &spec, MESSAGES, 10, &format));
    assert_false(passes_wpp_of(false, &spec, MESSAGES, 10, &format));
    spec.exclude = (struct provider_events){.ranges = {{10, 10}}, .range_count = 1};
    assert_false(passes_wpp_of(true, &spec, MESSAGES, 10, &format));
    assert_false(passes_wpp_of(true, &spec, "a5bbbdd9-73f9-3bed-93aa-521a4c96d935", 11, &format));
}

static void texts_that_say_nothing_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", ":", ":4", "A:loud", "A:256", "A:-1", "A:4 ", "A: 4",
        "A:0x", "A:0x100", "A:1e1", "A::x", "A::65536", "A::-5", "A::5-1", "A::1,,2", "A::,1",
        "A::1-2-3", "A::1-", "A::1,", "A:::x", "A:::0x1g", "A:::0x10000000000000000",
        "A:::18446744073709551616", "A::::-1", "A::::99999999999999999999999999", "A:4:1:2:3:4",
        "A:4:1:2:3::"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct error err = {0};
        struct provider_selection *selection = provider_selection_create(&texts[i], 1, &err);
        if (selection || err.code != ERR_CONFIG || !strstr(err.text, "provider '")) {
            fail_msg("'%s' was taken: %s", texts[i], err.text);
        }
    }
}

static void there_are_limits(void **state)
{
    (void)state;
    const char *many[1025];
    for (size_t i = 0; i < 1025; i++) {
        many[i] = "A";
    }
    struct error err = {0};
    assert_null(provider_selection_create(many, 1025, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    provider_selection_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_provider_is_named_by_guid_or_name),
        cmocka_unit_test(levels_go_by_name_or_number),
        cmocka_unit_test(ids_are_lists_of_numbers_and_ranges),
        cmocka_unit_test(keywords_are_masks_of_any_and_all),
        cmocka_unit_test(all_parts_have_to_agree),
        cmocka_unit_test(any_of_several_providers_may_match),
        cmocka_unit_test(classes_match_by_class_or_provider_and_by_type),
        cmocka_unit_test(messages_match_by_their_formats),
        cmocka_unit_test(entries_may_name_the_same_formats),
        cmocka_unit_test(levels_and_flags_of_messages_are_those_of_their_format),
        cmocka_unit_test(what_a_live_session_gets_has_its_level_and_flags),
        cmocka_unit_test(texts_that_say_nothing_are_refused),
        cmocka_unit_test(there_are_limits),
    };
    return cmocka_run_group_tests(tests, write_formats, remove_formats);
}
