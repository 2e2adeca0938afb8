#include <stdlib.h>
#include <string.h>

#include "etw/etw_api.h"
#include "etw/etw_names.h"
#include "fuzz/fuzz.h"

/* Any bytes as TDH's lists of providers, their keywords and events: they are read within their
 * bounds. */
static struct span answer;

static uint32_t give(void *out, uint32_t *bytes)
{
    bool fits = *bytes >= answer.size && out;
    if (fits && answer.size) {
        memcpy(out, answer.data, answer.size);
    }
    *bytes = (uint32_t)answer.size;
    return fits ? ETW_SUCCESS : ETW_ERROR_INSUFFICIENT_BUFFER;
}

static uint32_t providers(struct etw_provider_list *ret_list, uint32_t *bytes)
{
    return give(ret_list, bytes);
}

static uint32_t keywords(
    const struct guid *provider, uint32_t type, struct etw_field_list *ret_list, uint32_t *bytes)
{
    (void)provider;
    (void)type;
    return give(ret_list, bytes);
}

static uint32_t events(
    const struct guid *provider, struct etw_provider_events *ret_events, uint32_t *bytes)
{
    (void)provider;
    return give(ret_events, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct etw_api api = {.TdhEnumerateProviders = providers,
        .TdhEnumerateProviderFieldInformation = keywords,
        .TdhEnumerateManifestProviderEvents = events};
    struct guid guid = {{1}};
    uint64_t bits;
    struct event_descriptor found[4];
    answer = span_make(data, size);
    etw_api_use(&api);
    struct etw_names *names = etw_names_create(NULL);
    etw_names_find(names, span_text("Name"), &guid);
    etw_names_destroy(names);
    etw_names_keyword(&guid, span_text("Name"), &bits);
    if (etw_names_events(&guid, 1, found, 4) > 4) {
        abort();
    }
    etw_api_use(NULL);
    return 0;
}

/* Two providers of one name; a keyword. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const uint32_t list[] = {
        2, 0, 1, 2, 3, 4, 0, 56, 5, 6, 7, 8, 1, 56, 0x0061004e, 0x0065006d, 0};
    static const uint32_t fields[] = {1, 0, 24, 0, 0x10, 0, 0x0061004e, 0x0065006d, 0};
    const void *seeds[] = {list, fields};
    const size_t sizes[] = {sizeof(list), sizeof(fields)};
    if (index >= 2 || sizes[index] > max) {
        return 0;
    }
    memcpy(out, seeds[index], sizes[index]);
    return sizes[index];
}
