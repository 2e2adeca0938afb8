#include <stdlib.h>

#include "etw/etw_api.h"
#include "etw/session/etw_kernel.h"

/* The profile timer and the processor's counters: TraceSampledProfileIntervalInfo and
 * TraceProfileSourceListInfo, both without a session (evntrace.h). */

enum {
    DEFAULT_INTERVAL_100NS = 10000,
    MAX_LIST_BYTES = 1024 * 1024,
    SOURCE_BYTES = 24 /* PROFILE_SOURCE_INFO before its description */
};

bool etw_kernel_set_profile(uint32_t interval_100ns, uint32_t *ret_old_100ns, struct error *err)
{
    const struct etw_api *api = etw_api_get();
    struct etw_profile_interval old = {.source = 0};
    struct etw_profile_interval wanted = {.source = 0, .interval_100ns = interval_100ns};
    uint32_t bytes = 0;
    if (!api->TraceSetInformation) {
        return etw_api_missing(err, "TraceSetInformation");
    }
    bool told = api->TraceQueryInformation &&
                api->TraceQueryInformation(0, ETW_INFO_SAMPLED_PROFILE_INTERVAL, &old, sizeof(old),
                    &bytes) == ETW_SUCCESS &&
                old.interval_100ns;
    uint32_t result = api->TraceSetInformation(
        0, ETW_INFO_SAMPLED_PROFILE_INTERVAL, &wanted, sizeof(wanted));
    if (result != ETW_SUCCESS) {
        return etw_api_fail(
            err, result, "the profile timer cannot be set to %u units of 100 ns", interval_100ns);
    }
    *ret_old_100ns = told ? old.interval_100ns : DEFAULT_INTERVAL_100NS;
    return true;
}

/* Read the chain of PROFILE_SOURCE_INFO, up to ${capacity}. Returns the number read. */
static size_t read_sources(
    struct span list, struct etw_profile_source *ret_sources, size_t capacity)
{
    size_t count = 0;
    while (count < capacity && list.size >= SOURCE_BYTES) {
        struct etw_profile_source *source = &ret_sources[count++];
        uint32_t next = load_le32(list.data);
        struct span entry = next ? span_first(list, next) : list;
        etw_char units[sizeof(source->name)];
        size_t unit_count = 0;
        for (size_t at = SOURCE_BYTES; at + 2 <= entry.size; at += 2) {
            if (unit_count == sizeof(units) / sizeof(units[0])) {
                break;
            }
            units[unit_count++] = load_le16(entry.data + at);
        }
        source->source = load_le32(list.data + 4);
        source->min_interval = load_le32(list.data + 8);
        source->max_interval = load_le32(list.data + 12);
        etw_text_decode(units, unit_count, source->name, sizeof(source->name));
        if (next < SOURCE_BYTES) {
            break;
        }
        list = span_from(list, next);
    }
    return count;
}

static bool wants_more(uint32_t result)
{
    return result == ETW_ERROR_BAD_LENGTH || result == ETW_ERROR_MORE_DATA ||
           result == ETW_ERROR_INSUFFICIENT_BUFFER;
}

bool etw_kernel_profile_sources(
    struct etw_profile_source *ret_sources, size_t capacity, size_t *ret_count, struct error *err)
{
    const struct etw_api *api = etw_api_get();
    uint32_t result = ETW_ERROR_BAD_LENGTH;
    if (!api->TraceQueryInformation) {
        return etw_api_missing(err, "TraceQueryInformation");
    }
    for (uint32_t size = 4096; wants_more(result) && size <= MAX_LIST_BYTES; size *= 2) {
        uint32_t used = 0;
        uint8_t *list = calloc(1, size);
        if (!list) {
            return error_set(err, ERR_MEMORY, "out of memory for the processor's counters");
        }
        result = api->TraceQueryInformation(0, ETW_INFO_PROFILE_SOURCE_LIST, list, size, &used);
        if (result == ETW_SUCCESS) {
            *ret_count = read_sources(
                span_make(list, used < size ? used : size), ret_sources, capacity);
        }
        free(list);
    }
    return result == ETW_SUCCESS ||
           etw_api_fail(err, result, "the processor's counters cannot be listed");
}
