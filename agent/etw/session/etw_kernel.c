#include "etw/session/etw_kernel.h"

#include "etw/etw_api.h"

/*
 * Groups of kernel events beyond the first word are set on the running session
 * (TraceSystemTraceEnableFlagsInfo, Windows 8+). If Windows refuses that, the session is stopped
 * and started again with an extension of EnableFlags, the older, undocumented way.
 */
const struct guid etw_kernel_guid = {/* 9e814aad-3204-11d2-9a82-006008a86939 */
    {0xad, 0x4a, 0x81, 0x9e, 0x04, 0x32, 0xd2, 0x11, 0x9a, 0x82, 0x00, 0x60, 0x08, 0xa8, 0x69,
        0x39}};

enum { LAST_WORD = ETW_GROUP_WORDS - 1, MASK_BITS = 29, EXTENSION_WORDS = 10 };

bool etw_kernel_add(struct etw_groups *groups, uint32_t mask, struct error *err)
{
    uint32_t word = mask >> MASK_BITS;
    uint32_t bits = mask & ((UINT32_C(1) << MASK_BITS) - 1);
    if (bits == 0) {
        return error_set(err, ERR_CONFIG, "kernel flag 0x%x has no bit. see `etwship check`", mask);
    }
    if (word == LAST_WORD) {
        return error_set(
            err, ERR_CONFIG, "kernel flag 0x%x changes how the system behaves. leave it out", mask);
    }
    groups->words[word] |= bits;
    return true;
}

static bool has_more_words(const struct etw_groups *groups)
{
    uint32_t all = 0;
    for (size_t i = 1; i < ETW_GROUP_WORDS; i++) {
        all |= groups->words[i];
    }
    return all != 0;
}

/* ---- TraceSetInformation --------------------------------------------------------------------- */

bool etw_kernel_set_groups(
    uint64_t session, const char *name, const struct etw_groups *groups, struct error *err)
{
    const struct etw_api *api = etw_api_get();
    uint32_t words[ETW_GROUP_WORDS] = {0};
    uint32_t bytes = 0;
    if (!api->TraceQueryInformation || !api->TraceSetInformation) {
        return etw_api_missing(err, "TraceSetInformation");
    }
    uint32_t result = api->TraceQueryInformation(
        session, ETW_INFO_SYSTEM_ENABLE_FLAGS, words, sizeof(words), &bytes);
    if (result == ETW_SUCCESS) {
        for (size_t i = 0; i < ETW_GROUP_WORDS; i++) {
            words[i] |= groups->words[i];
        }
        result = api->TraceSetInformation(
            session, ETW_INFO_SYSTEM_ENABLE_FLAGS, words, sizeof(words));
    }
    return result == ETW_SUCCESS ||
           etw_api_fail(
               err, result, "session %.100s: its groups of kernel events cannot be set", name);
}

bool etw_kernel_bring_back(
    uint64_t session, const char *name, const struct etw_groups *groups, struct error *err)
{
    struct error why;
    if ((groups->words[0] == 0 && !has_more_words(groups)) ||
        etw_kernel_set_groups(session, name, groups, &why)) {
        return true;
    }
    bool is_told = why.code == ERR_UNSUPPORTED && !has_more_words(groups);
    if (!is_told && err) {
        *err = why;
    }
    return is_told;
}

bool etw_kernel_get_groups(
    uint64_t session, const char *name, struct etw_groups *ret_groups, struct error *err)
{
    struct etw_groups groups = {.words = {0}};
    uint32_t bytes = 0;
    if (!etw_api_get()->TraceQueryInformation) {
        return etw_api_missing(err, "TraceQueryInformation");
    }
    uint32_t result = etw_api_get()->TraceQueryInformation(
        session, ETW_INFO_SYSTEM_ENABLE_FLAGS, groups.words, sizeof(groups.words), &bytes);
    if (result != ETW_SUCCESS) {
        return etw_api_fail(
            err, result, "session %.100s: its groups of kernel events are unknown", name);
    }
    *ret_groups = groups;
    return true;
}

/* Set ${events} as the list of ${info_class}; ${what}: what they then have, for errors. */
static bool set_events(uint64_t session, uint32_t info_class, const struct etw_stack_event *events,
    size_t count, struct error *err, const char *name, const char *what)
{
    struct etw_classic_event_id ids[ETW_MAX_STACK_EVENTS];
    if (!etw_api_get()->TraceSetInformation) {
        return etw_api_missing(err, "TraceSetInformation");
    }
    if (count > ETW_MAX_STACK_EVENTS) {
        return error_set(err, ERR_LIMIT,
            "session %.100s: %zu kinds of kernel events with %s, ETW takes %d. name fewer", name,
            count, what, ETW_MAX_STACK_EVENTS);
    }
    for (size_t i = 0; i < count; i++) {
        ids[i] = (struct etw_classic_event_id){
            .guid = events[i].class_guid, .type = events[i].type};
    }
    uint32_t result = etw_api_get()->TraceSetInformation(
        session, info_class, ids, (uint32_t)(count * sizeof(ids[0])));
    return result == ETW_SUCCESS ||
           etw_api_fail(
               err, result, "session %.100s: its kernel events cannot have %s", name, what);
}

bool etw_kernel_set_stacks(uint64_t session, const char *name, const struct etw_stack_event *stacks,
    size_t count, struct error *err)
{
    return set_events(session, ETW_INFO_STACK_TRACING, stacks, count, err, name, "stacks");
}

bool etw_kernel_set_counters(uint64_t session, const char *name, const uint32_t *sources,
    size_t source_count, const struct etw_stack_event *events, size_t event_count,
    struct error *err)
{
    uint32_t list[ETW_MAX_PROFILE_SOURCES];
    if (!etw_api_get()->TraceSetInformation) {
        return etw_api_missing(err, "TraceSetInformation");
    }
    if (source_count == 0 || source_count > ETW_MAX_PROFILE_SOURCES) {
        return error_set(err, ERR_LIMIT, "session %.100s: %zu counters. name 1 to %d", name,
            source_count, ETW_MAX_PROFILE_SOURCES);
    }
    memcpy(list, sources, source_count * sizeof(list[0]));
    uint32_t result = etw_api_get()->TraceSetInformation(
        session, ETW_INFO_PMC_COUNTER_LIST, list, (uint32_t)(source_count * sizeof(list[0])));
    if (result != ETW_SUCCESS) {
        return etw_api_fail(err, result, "session %.100s: its counters cannot be set", name);
    }
    return set_events(session, ETW_INFO_PMC_EVENT_LIST, events, event_count, err, name, "counters");
}

bool etw_kernel_rundown(uint64_t session, const char *name, struct error *err)
{
    uint64_t handle = session;
    struct etw_filter filter = {.data = (uint64_t)(uintptr_t)&handle,
        .size = sizeof(handle),
        .type = ETW_FILTER_TRACEHANDLE};
    struct etw_enable_parameters parameters = {
        .version = 2, .filters = (uint64_t)(uintptr_t)&filter, .filter_count = 1};
    if (!etw_api_get()->EnableTraceEx2) {
        return etw_api_missing(err, "EnableTraceEx2");
    }
    uint32_t result = etw_api_get()->EnableTraceEx2(
        session, &etw_kernel_guid, ETW_PROVIDER_CAPTURE_STATE, 0, 0, 0, 0, &parameters);
    return result == ETW_SUCCESS ||
           etw_api_fail(err, result,
               "session %.100s: the kernel does not list the running processes in it", name);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* TRACE_ENABLE_FLAG_EXT_HEADER, then one item of type 1 (ETW_EXT_ENABLE_FLAGS) with all words;
 * lengths in dwords, headers included. */
bool etw_kernel_start_extended(const struct etw_session_spec *spec, const struct etw_groups *groups,
    struct etw_session_state *ret_state, struct error *err)
{
    uint8_t bytes[EXTENSION_WORDS * 4];
    struct etw_session_spec extended = *spec;
    store_le16(bytes, EXTENSION_WORDS);
    store_le16(bytes + 2, 1);
    store_le16(bytes + 4, 1 + ETW_GROUP_WORDS);
    store_le16(bytes + 6, 1);
    for (size_t i = 0; i < ETW_GROUP_WORDS; i++) {
        store_le32(bytes + 8 + 4 * i, groups->words[i]);
    }
    extended.extension = span_make(bytes, sizeof(bytes));
    return etw_control_start(&extended, ret_state, err);
}

static bool may_start_extended(const struct error *err)
{
    return err->code == ERR_UNSUPPORTED || err->os_code == ETW_ERROR_INVALID_PARAMETER ||
           err->os_code == ETW_ERROR_NOT_SUPPORTED ||
           err->os_code == ETW_ERROR_CALL_NOT_IMPLEMENTED;
}

static bool check_start(const struct etw_session_spec *spec, size_t stack_count, struct error *err)
{
    struct etw_session_state wanted = {.mode = spec->mode, .guid = spec->guid};
    bool has_old_name = spec->name && etw_text_same_name(spec->name, ETW_KERNEL_LOGGER);
    if (has_old_name != guid_equal(&spec->guid, &etw_kernel_guid)) {
        return error_set(err, ERR_CONFIG,
            "session %.100s: the name '%s' needs its GUID, and the GUID this name. use both or "
            "neither",
            spec->name ? spec->name : "", ETW_KERNEL_LOGGER);
    }
    if (!etw_control_is_system(&wanted)) {
        return error_set(err, ERR_CONFIG,
            "session %.100s: kernel events need a session of type system or kernel", spec->name);
    }
    if (stack_count > ETW_MAX_STACK_EVENTS) {
        return error_set(err, ERR_LIMIT,
            "session %.100s: %zu kinds of kernel events with stacks, ETW takes %d. name fewer",
            spec->name, stack_count, ETW_MAX_STACK_EVENTS);
    }
    return true;
}

bool etw_kernel_start(const struct etw_session_spec *spec, const struct etw_groups *groups,
    const struct etw_stack_event *stacks, size_t stack_count, struct etw_session_state *ret_state,
    struct error *err)
{
    struct etw_session_state state;
    struct etw_session_spec plain = *spec;
    struct error why;
    plain.enable_flags = groups->words[0];
    plain.extension = span_make(NULL, 0);
    if (!check_start(spec, stack_count, err) || !etw_control_start(&plain, &state, err)) {
        return false;
    }
    if (has_more_words(groups) && !etw_kernel_set_groups(state.handle, spec->name, groups, &why)) {
        bool stopped = etw_control_stop(spec->name, NULL, NULL);
        if (!stopped || !may_start_extended(&why)) {
            *err = why;
            return false;
        }
        if (!etw_kernel_start_extended(&plain, groups, &state, err)) {
            return false;
        }
    }
    if (stack_count && !etw_kernel_set_stacks(state.handle, spec->name, stacks, stack_count, err)) {
        etw_control_stop(spec->name, NULL, NULL);
        return false;
    }
    *ret_state = state;
    return true;
}
