#include "support/test.h"

#include "schema/source/known_providers.h"

static struct guid guid_of(const char *text)
{
    struct guid guid;
    assert_true(guid_parse(span_text(text), &guid));
    return guid;
}

/* GUIDs and names from Microsoft's documentation and manifests. */
static const struct {
    const char *name;
    const char *guid;
} documented[] = {
    {"Microsoft-Windows-Kernel-Process", "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716"},
    {"Microsoft-Windows-DNS-Client", "1c95126e-7eea-49a9-a3fe-a378b03ddb4d"},
    {"Microsoft-Windows-PowerShell", "a0c1853b-5c40-4b15-8766-3cf1c58f985a"},
    {"PowerShellCore", "f90714a8-5509-434a-bf6d-b1624c8a19a2"},
    {"Microsoft-Windows-Security-Auditing", "54849625-5478-4994-a5ba-3e3b0328c30d"},
    {"Microsoft-Windows-DotNETRuntime", "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"},
    {"Microsoft-Windows-Threat-Intelligence", "f4e1897c-bb5d-5668-f1d8-040f4d8dd344"},
    {"Service Control Manager", "555908d1-a6d7-4695-8e1e-26931d2012f4"},
};

static void documented_names_and_guids_find_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(documented) / sizeof(documented[0]); i++) {
        struct guid expected = guid_of(documented[i].guid);
        struct guid guid;
        assert_true(span_is(known_providers_name(&expected), documented[i].name));
        assert_true(known_providers_guid(span_text(documented[i].name), &guid));
        assert_true(guid_equal(&guid, &expected));
    }
}

/* EventSource and TraceLogging derive the GUID from the name: the name alone proves such a row. */
static void names_of_event_sources_hash_to_their_guids(void **state)
{
    (void)state;
    static const char *const sources[] = {"System.Runtime", "System.Net.Http", "Azure-Core",
        "Microsoft-AspNetCore-Server-Kestrel", "Microsoft-DotNETCore-SampleProfiler"};
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct guid expected = guid_from_name(span_text(sources[i]));
        struct guid guid;
        assert_true(known_providers_guid(span_text(sources[i]), &guid));
        assert_true(guid_equal(&guid, &expected));
        assert_true(span_is(known_providers_name(&guid), sources[i]));
    }
}

static void case_does_not_matter_and_a_part_of_a_name_is_none(void **state)
{
    (void)state;
    struct guid guid;
    struct guid dns = guid_of("1c95126e-7eea-49a9-a3fe-a378b03ddb4d");
    assert_true(known_providers_guid(span_text("MICROSOFT-windows-dns-CLIENT"), &guid));
    assert_true(guid_equal(&guid, &dns));
    static const char *const none[] = {
        "", "Microsoft-Windows-DNS-Clien", "Microsoft-Windows-DNS-Client2", "zzz", "\x01"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_false(known_providers_guid(span_text(none[i]), &guid));
    }
}

static void unknown_guids_have_no_name(void **state)
{
    (void)state;
    static const char *const none[] = {"00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff", "1c95126e-7eea-49a9-a3fe-a378b03ddb4e"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        struct guid guid = guid_of(none[i]);
        assert_int_equal(known_providers_name(&guid).size, 0);
    }
}

/* A GUID with two names in public lists: one of them is shown, both find it. */
static void a_further_name_is_found_but_not_shown(void **state)
{
    (void)state;
    static const struct {
        const char *guid;
        const char *shown;
        const char *alias;
    } rows[] = {
        {"478ea8a8-00be-4ba6-8e75-8b9dc7db9f78", "Microsoft-Windows-ESE", "Microsoft-ETW-ESE"},
        {"0888e5ef-9b98-4695-979d-e92ce4247224", "Microsoft-Windows-RestartManager",
            "RmClient_RestartManager"},
        {"485e7de9-0a80-11d8-ad15-505054503030", "UMDF - Framework Trace", "UMDF - WDF Core"},
        {"9e814aad-3204-11d2-9a82-006008a86939", "MSNT_SystemTrace", "Windows Kernel Trace"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct guid expected = guid_of(rows[i].guid);
        struct guid guid;
        assert_true(span_is(known_providers_name(&expected), rows[i].shown));
        assert_true(known_providers_guid(span_text(rows[i].alias), &guid));
        assert_true(guid_equal(&guid, &expected));
    }
}

/* The GUID of a provider changed with Windows: both GUIDs have the name, which finds the newer
 * one. */
static void an_older_guid_is_shown_but_not_found(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *newer;
        const char *older;
    } rows[] = {
        {"Microsoft-Windows-Dwm-Core", "9e9bba3c-2e38-40cb-99f4-9e8281425164",
            "8c9dd1ad-e6e5-4b07-b455-684a9d879900"},
        {"Microsoft-Windows-Win32k", "8c416c79-d49b-4f01-a467-e56d3aa8234c",
            "e7ef96be-969f-414f-97d7-3ddb7b558ccc"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct guid newer = guid_of(rows[i].newer);
        struct guid older = guid_of(rows[i].older);
        struct guid guid;
        assert_true(span_is(known_providers_name(&newer), rows[i].name));
        assert_true(span_is(known_providers_name(&older), rows[i].name));
        assert_true(known_providers_guid(span_text(rows[i].name), &guid));
        assert_true(guid_equal(&guid, &newer));
    }
}

struct walk {
    size_t count;
    size_t of_other_guid; /* names that find a different GUID than that of their row */
    struct guid last;
};

static void check_row(void *self, const struct guid *provider, struct span name)
{
    struct walk *walk = self;
    struct guid guid;
    assert_true(name.size > 0);
    assert_ptr_equal(known_providers_name(provider).data, name.data);
    assert_true(known_providers_guid(name, &guid));
    walk->of_other_guid += !guid_equal(&guid, provider);
    assert_true(walk->count == 0 || memcmp(walk->last.bytes, provider->bytes, 16) < 0);
    walk->last = *provider;
    walk->count++;
}

/* Both lists are sorted for the search: every row is found. */
static void every_row_is_found_by_guid_and_by_name(void **state)
{
    (void)state;
    struct walk walk = {.count = 0};
    known_providers_each(check_row, &walk);
    assert_true(walk.count > 1200);
    assert_int_equal(walk.of_other_guid, 6); /* the rows called `older` */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documented_names_and_guids_find_each_other),
        cmocka_unit_test(names_of_event_sources_hash_to_their_guids),
        cmocka_unit_test(case_does_not_matter_and_a_part_of_a_name_is_none),
        cmocka_unit_test(unknown_guids_have_no_name),
        cmocka_unit_test(a_further_name_is_found_but_not_shown),
        cmocka_unit_test(an_older_guid_is_shown_but_not_found),
        cmocka_unit_test(every_row_is_found_by_guid_and_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
