#include "etw/enable/etw_keywords.h"

#include "etw/session/etw_kernel.h"
#include "etw_enable_rig.h"

/* Keywords at which providers act. Values are those of TraceEvent's ClrTraceEventParser.Keywords
 * and of TplEventSource.cs, written as numbers. */

static struct guid guid_of(const char *text)
{
    struct guid guid;
    assert_true(guid_parse(span_text(text), &guid));
    return guid;
}

static void every_row_is_one_bit_of_one_provider_and_says_what_happens(void **state)
{
    (void)state;
    size_t count = 0;
    for (const struct etw_keyword *k; (k = etw_keywords_get(count)) != NULL; count++) {
        assert_true(k->mask && (k->mask & (k->mask - 1)) == 0);
        assert_true(k->name[0] && k->effect[0] && !guid_is_zero(&k->guid));
        assert_null(etw_kernel_provider_of(&k->guid));
        for (size_t i = 0; i < count; i++) {
            const struct etw_keyword *other = etw_keywords_get(i);
            bool same = guid_equal(&other->guid, &k->guid);
            assert_int_equal(same, strcmp(other->provider, k->provider) == 0);
            assert_false(same && other->mask == k->mask);
        }
    }
    assert_true(count > 0);
}

static void all_keywords_are_all_but_those(void **state)
{
    static const struct {
        const char *provider;
        uint64_t any, named, expected;
    } rows[] = {
        {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 0, 0, ~UINT64_C(0x2a00040)},
        {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", UINT64_MAX, 0, ~UINT64_C(0x2a00040)},
        {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", UINT64_MAX, 0x800001, ~UINT64_C(0x2200040)},
        {"e13c0d23-ccbc-4e12-931b-d9cc2eee27e4", 0x800001, 0x800001, 0x800001},
        {"2e5dba47-a3d2-4d16-8ee0-6671ffdcd7b5", 0, 0, ~UINT64_C(0x10080)},
        {"1c95126e-7eea-49a9-a3fe-a378b03ddb4d", 0, 0, UINT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memset(&request, 0, sizeof(request));
        fake.count = 0;
        request.provider = guid_of(rows[i].provider);
        request.any = rows[i].any;
        request.named = rows[i].named;
        assert_true(enable(NULL));
        assert_int_equal(fake.calls[0].any, rows[i].expected);
    }
    /* A name that has not been looked up yet. */
    struct guid hashed = guid_from_name(span_text("microsoft-windows-dotnetruntime"));
    assert_int_equal(etw_keywords_with_effects(&hashed), 0x2a00040);
}

/* A filter by names is also for the coming events. */
static void filters_by_name_get_the_same_keywords(void **state)
{
    const uint8_t *data = NULL;
    (void)state;
    request.provider = guid_of("2e5dba47-a3d2-4d16-8ee0-6671ffdcd7b5");
    request.names = (struct etw_filter_texts){.count = 1, .texts = {"X"}};
    assert_true(enable(NULL));
    assert_non_null(fake_filter(&fake.calls[0], 0x80000400, &data));
    assert_int_equal(load_le64(data), ~UINT64_C(0x10080));
}

static void a_name_counts_though_another_entry_asks_for_all(void **state)
{
    struct etw_request all = {.provider = guid_of("e13c0d23-ccbc-4e12-931b-d9cc2eee27e4")};
    struct etw_request named = all;
    (void)state;
    named.any = named.named = 0x800000;
    etw_enable_merge(&all, &named);
    assert_int_equal(etw_keywords_any(&all), ~UINT64_C(0x2200040));
}

static void system_providers_are_not_enabled_without_keywords(void **state)
{
    struct error err;
    (void)state;
    for (size_t i = 0; etw_kernel_system_provider(i); i++) {
        request.provider = etw_kernel_system_provider(i)->guid;
        request.any = i % 2 ? UINT64_MAX : 0;
        assert_false(enable(&err));
        assert_int_equal(err.code, ERR_CONFIG);
        assert_non_null(strstr(err.text, etw_kernel_system_provider(i)->keywords));
        assert_int_equal(fake.count, 0);
    }
    request.any = 1;
    assert_true(enable(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_one_bit_of_one_provider_and_says_what_happens),
        enable_test(all_keywords_are_all_but_those),
        enable_test(filters_by_name_get_the_same_keywords),
        cmocka_unit_test(a_name_counts_though_another_entry_asks_for_all),
        enable_test(system_providers_are_not_enabled_without_keywords),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
