#include "cli/selftest/selftest_provider.h"

#include "etw/etw_api.h"

/* PENABLECALLBACK. A request to capture the state (2) changes nothing. */
static void on_enable(const struct guid *source_id, uint32_t is_enabled, uint8_t level,
    uint64_t match_any_keyword, uint64_t match_all_keyword, const struct etw_filter *filter,
    void *context)
{
    (void)source_id;
    (void)level;
    (void)match_all_keyword;
    (void)filter;
    const struct selftest_provider *provider = context;
    if (is_enabled <= ETW_PROVIDER_ENABLE) {
        provider->changed(provider->self, is_enabled == ETW_PROVIDER_ENABLE, match_any_keyword);
    }
}

uint32_t selftest_provider_register(struct selftest_provider *provider, const struct guid *guid)
{
    return etw_api_get()->EventRegister(
        guid, provider->changed ? on_enable : NULL, provider, &provider->handle);
}

void selftest_provider_unregister(struct selftest_provider *provider)
{
    if (provider->handle) {
        etw_api_get()->EventUnregister(provider->handle);
        provider->handle = 0;
    }
}
