#include "etw/etw_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etw/etw_api.h"
#include "support/test.h"

/* Lists as TDH lays them out: PROVIDER_ENUMERATION_INFO, PROVIDER_FIELD_INFOARRAY and
 * PROVIDER_EVENT_INFO on learn.microsoft.com. */
enum { ROOM = 512 };

static const struct guid dns = {{1, 2, 3}};
static const struct guid other = {{9, 9}};

static uint8_t list[ROOM];
static uint32_t list_bytes;
static unsigned grows; /* so often the list has grown when it is read */

static uint32_t answer(void *out, uint32_t *bytes)
{
    uint32_t need = list_bytes + (grows ? 16 : 0);
    if (*bytes < need) {
        *bytes = need;
        grows -= grows ? 1 : 0;
        return ETW_ERROR_INSUFFICIENT_BUFFER;
    }
    memcpy(out, list, list_bytes);
    return ETW_SUCCESS;
}

static uint32_t providers(struct etw_provider_list *ret_list, uint32_t *bytes)
{
    return answer(ret_list, bytes);
}

static uint32_t keywords(
    const struct guid *provider, uint32_t field_type, struct etw_field_list *ret, uint32_t *bytes)
{
    assert_int_equal(field_type, ETW_FIELD_KEYWORD);
    return guid_equal(provider, &dns) ? answer(ret, bytes) : ETW_ERROR_NOT_FOUND;
}

static uint32_t events(
    const struct guid *provider, struct etw_provider_events *ret, uint32_t *bytes)
{
    return guid_equal(provider, &dns) ? answer(ret, bytes) : ETW_ERROR_NOT_FOUND;
}

static uint32_t denied(struct etw_provider_list *ret_list, uint32_t *bytes)
{
    (void)ret_list;
    *bytes = 0;
    return ETW_ERROR_ACCESS_DENIED;
}

static const struct etw_api api = {.TdhEnumerateProviders = providers,
    .TdhEnumerateProviderFieldInformation = keywords,
    .TdhEnumerateManifestProviderEvents = events};

static void put_text(size_t at, const char *text)
{
    for (size_t i = 0; i <= strlen(text); i++) {
        list[at + 2 * i] = (uint8_t)text[i];
        list[at + 2 * i + 1] = 0;
    }
}

static void put_providers(uint32_t count)
{
    struct etw_provider_list head = {.count = count};
    struct etw_provider_info first = {.guid = dns, .name_offset = 100};
    struct etw_provider_info second = {.guid = other, .name_offset = 200};
    memset(list, 0, sizeof(list));
    memcpy(list, &head, sizeof(head));
    memcpy(list + 8, &first, sizeof(first));
    memcpy(list + 32, &second, sizeof(second));
    put_text(100, "Microsoft-Windows-DNS-Client");
    put_text(200, "Other");
    list_bytes = 220;
    grows = 0;
}

static void providers_are_found_by_name_and_guid(void **state)
{
    (void)state;
    put_providers(2);
    grows = 2;
    struct guid found;
    struct etw_names *names = etw_names_create(NULL);
    assert_non_null(names);
    assert_true(etw_names_find(names, span_text("microsoft-windows-dns-client"), &found));
    assert_true(guid_equal(&found, &dns));
    assert_true(etw_names_find(names, span_text("Other"), &found));
    assert_true(guid_equal(&found, &other));
    assert_false(etw_names_find(names, span_text("Othe"), &found));
    assert_false(etw_names_find(names, span_text(""), &found));
    etw_names_destroy(names);
    assert_false(etw_names_find(NULL, span_text("Other"), &found));
}

struct told {
    size_t count;
    char names[4][64];
    bool is_mof[4];
};

static void tell(void *self, const struct etw_known_provider *provider)
{
    struct told *told = self;
    assert_true(told->count < 4);
    snprintf(told->names[told->count], sizeof(told->names[0]), "%s", provider->name);
    told->is_mof[told->count++] = provider->is_mof;
}

static void the_whole_list_is_told(void **state)
{
    (void)state;
    struct told told = {.count = 0};
    struct etw_provider_info mof = {.guid = other, .schema_source = 1, .name_offset = 0};
    put_providers(2);
    memcpy(list + 32, &mof, sizeof(mof));
    struct etw_names *names = etw_names_create(NULL);
    etw_names_each(names, tell, &told);
    etw_names_each(NULL, tell, &told);
    etw_names_destroy(names);
    assert_int_equal(told.count, 2);
    assert_string_equal(told.names[0], "Microsoft-Windows-DNS-Client");
    assert_false(told.is_mof[0]);
    assert_string_equal(told.names[1], "");
    assert_true(told.is_mof[1]);
}

static void lists_that_make_no_sense_are_read_as_far_as_they_go(void **state)
{
    (void)state;
    struct guid found;
    for (uint32_t bytes = 1; bytes < 220; bytes++) {
        put_providers(1000);
        list_bytes = bytes;
        struct etw_names *names = etw_names_create(NULL);
        assert_non_null(names);
        bool has = etw_names_find(names, span_text("Other"), &found);
        assert_true(!has || bytes >= 200 + 2 * strlen("Other"));
        etw_names_destroy(names);
    }
    put_providers(2);
    struct etw_provider_info odd = {.guid = dns, .name_offset = 101};
    struct etw_provider_info far = {.guid = other, .name_offset = 0x7ffffffe};
    memcpy(list + 8, &odd, sizeof(odd));
    memcpy(list + 32, &far, sizeof(far));
    struct etw_names *names = etw_names_create(NULL);
    assert_false(etw_names_find(names, span_text("Other"), &found));
    etw_names_destroy(names);
}

static void refusals_are_told(void **state)
{
    (void)state;
    struct error err;
    static const struct etw_api none = {.TdhEnumerateProviders = NULL};
    static const struct etw_api no = {.TdhEnumerateProviders = denied};
    uint64_t bits;
    struct event_descriptor event;
    etw_api_use(&none);
    assert_null(etw_names_create(&err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    assert_false(etw_names_keyword(&dns, span_text("A"), &bits));
    assert_int_equal(etw_names_events(&dns, 1, &event, 1), 0);
    etw_api_use(&no);
    assert_null(etw_names_create(&err));
    assert_int_equal(err.os_code, ETW_ERROR_ACCESS_DENIED);
    etw_api_use(&api);
}

static void keywords_are_bits(void **state)
{
    (void)state;
    struct etw_field_list head = {.count = 2};
    struct etw_field_info rows[] = {
        {.name_offset = 100, .value = 0x10}, {.name_offset = 140, .value = 0x8000000000000000}};
    memset(list, 0, sizeof(list));
    memcpy(list, &head, sizeof(head));
    memcpy(list + 8, rows, sizeof(rows));
    put_text(100, "Files ");
    put_text(140, "Operational");
    list_bytes = 180;
    grows = 0;
    uint64_t bits = 7;
    assert_true(etw_names_keyword(&dns, span_text("operational"), &bits));
    assert_true(bits == 0x8000000000000000);
    /* The message compiler has left a space after the text. */
    assert_true(etw_names_keyword(&dns, span_text("Files"), &bits));
    assert_int_equal(bits, 0x10);
    bits = 7;
    assert_false(etw_names_keyword(&dns, span_text("File"), &bits));
    assert_false(etw_names_keyword(&other, span_text("Files"), &bits));
    assert_int_equal(bits, 7);
    list_bytes = 30; /* a row and a half */
    assert_false(etw_names_keyword(&dns, span_text("Operational"), &bits));
}

static void events_are_found_in_all_their_versions(void **state)
{
    (void)state;
    struct etw_provider_events head = {.count = 3};
    struct event_descriptor rows[] = {{.id = 1, .version = 0}, {.id = 2}, {.id = 1, .version = 1}};
    struct event_descriptor found[2];
    memset(list, 0, sizeof(list));
    memcpy(list, &head, sizeof(head));
    memcpy(list + 8, rows, sizeof(rows));
    list_bytes = 8 + sizeof(rows);
    assert_int_equal(etw_names_events(&dns, 1, found, 2), 2);
    assert_int_equal(found[1].version, 1);
    assert_int_equal(etw_names_events(&dns, 1, found, 1), 1);
    assert_int_equal(etw_names_events(&dns, 3, found, 2), 0);
    assert_int_equal(etw_names_events(&other, 1, found, 2), 0);
    list_bytes = 8 + 2 * sizeof(rows[0]) + 3; /* said to hold three */
    assert_int_equal(etw_names_events(&dns, 1, found, 2), 1);
}

static int set_up(void **state)
{
    (void)state;
    etw_api_use(&api);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(providers_are_found_by_name_and_guid),
        cmocka_unit_test(the_whole_list_is_told),
        cmocka_unit_test(lists_that_make_no_sense_are_read_as_far_as_they_go),
        cmocka_unit_test(refusals_are_told),
        cmocka_unit_test(keywords_are_bits),
        cmocka_unit_test(events_are_found_in_all_their_versions),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
