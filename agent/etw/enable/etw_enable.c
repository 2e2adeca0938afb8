#include "etw/enable/etw_enable.h"

#include <stdio.h>
#include <stdlib.h>

#include "etw/enable/etw_filters.h"
#include "etw/enable/etw_keywords.h"
#include "etw/enable/etw_payload.h"
#include "etw/enable/etw_registrations.h"
#include "etw/etw_api.h"

/*
 * A Windows without some kind of filter or property refuses the whole call with INVALID_PARAMETER
 * and does not name it. Then the provider is enabled with the parts that every supported version
 * has, and the others are added one by one, each in a call of its own: parts that fail are left out
 * and reported. Meanwhile too many events arrive, never too few; only the last call waits for the
 * provider.
 */
enum {
    OLD_PROPERTIES = ETW_ENABLE_SID | ETW_ENABLE_TS_ID | ETW_ENABLE_STACK_TRACE |
                     ETW_ENABLE_PSM_KEY | ETW_ENABLE_PROVIDER_GROUP,
    STACK_KINDS = ETW_FILTER_KIND(ETW_FILTER_STACKWALK) |
                  ETW_FILTER_KIND(ETW_FILTER_STACKWALK_NAME) |
                  ETW_FILTER_KIND(ETW_FILTER_STACKWALK_LEVEL_KW)
};

/* The request and the arguments of the call. */
struct attempt {
    uint64_t session;
    const struct etw_request *request;
    const struct etw_filter *payload;
    struct etw_filters filters;
    uint32_t kinds;
    uint32_t properties;
};

static bool is_refusal(uint32_t result)
{
    return result == ETW_ERROR_INVALID_PARAMETER || result == ETW_ERROR_NOT_SUPPORTED;
}

/* A group and a provider may have one GUID, and each call names which of them it means
 * (EVENT_ENABLE_PROPERTY_PROVIDER_GROUP of enable_trace_parameters). */
static uint32_t control(uint64_t session, const struct guid *provider, bool is_group, uint32_t code,
    uint32_t timeout_ms)
{
    struct etw_enable_parameters of_group = {
        .version = 2, .enable_property = ETW_ENABLE_PROVIDER_GROUP};
    return etw_api_get()->EnableTraceEx2(
        session, provider, code, 0, 0, 0, timeout_ms, is_group ? &of_group : NULL);
}

static uint32_t enable_once(
    struct attempt *attempt, uint32_t kinds, uint32_t properties, uint32_t timeout_ms)
{
    const struct etw_request *r = attempt->request;
    etw_filters_build(&attempt->filters, r, kinds, attempt->payload);
    struct etw_enable_parameters parameters = {
        .version = 2,
        .enable_property = properties,
        .source_id = r->source_id,
        .filters = attempt->filters.count ? (uint64_t)(uintptr_t)attempt->filters.items : 0,
        .filter_count = attempt->filters.count,
    };
    return etw_api_get()->EnableTraceEx2(attempt->session, &r->provider, ETW_PROVIDER_ENABLE,
        r->level ? r->level : 0xff, etw_keywords_any(r), etw_keywords_all(r), timeout_ms,
        &parameters);
}

/* Windows may refuse another level for a provider that no process has registered (enabletraceex2,
 * ERROR_INVALID_FUNCTION). Such a provider writes nothing, so it is disabled first. */
static uint32_t enable(
    struct attempt *attempt, uint32_t kinds, uint32_t properties, uint32_t timeout_ms)
{
    uint32_t result = enable_once(attempt, kinds, properties, timeout_ms);
    if (result == ETW_ERROR_INVALID_FUNCTION) {
        control(attempt->session, &attempt->request->provider,
            properties & ETW_ENABLE_PROVIDER_GROUP, ETW_PROVIDER_DISABLE, 0);
        result = enable_once(attempt, kinds, properties, timeout_ms);
    }
    return result;
}

/* Repeat the call with ${kind} and ${property} added: keep them if ETW accepts it. */
static void extend(struct attempt *attempt, uint32_t kind, uint32_t property)
{
    uint32_t result = enable(attempt, attempt->kinds | kind, attempt->properties | property, 0);
    if (!is_refusal(result)) {
        attempt->kinds |= kind;
        attempt->properties |= property;
    }
}

/* Windows refused the whole request: add the parts one by one. Returns the last result. */
static uint32_t enable_what_it_knows(
    struct attempt *attempt, uint32_t wanted_kinds, uint32_t wanted_properties)
{
    attempt->kinds = 0;
    attempt->properties = wanted_properties & OLD_PROPERTIES;
    uint32_t result = enable(attempt, 0, attempt->properties, 0);
    if (is_refusal(result)) {
        return result;
    }
    for (uint32_t bit = 1; bit <= ETW_ENABLE_CONTAINER_TRACKING; bit <<= 1) {
        if (wanted_properties & ~attempt->properties & bit) {
            extend(attempt, 0, bit);
        }
    }
    for (size_t i = 0; etw_filters_kind(i); i++) {
        if (wanted_kinds & etw_filters_kind(i)) {
            extend(attempt, etw_filters_kind(i), 0);
        }
    }
    /* A refused call may have changed the state: repeat the accepted one. */
    return enable(attempt, attempt->kinds, attempt->properties, attempt->request->timeout_ms);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const struct {
    struct guid guid;
    const char *name;
    const char *text;
} protected[] = {
    /* {f4e1897c-bb5d-5668-f1d8-040f4d8dd344} */
    {{{0x7c, 0x89, 0xe1, 0xf4, 0x5d, 0xbb, 0x68, 0x56, 0xf1, 0xd8, 0x04, 0x0f, 0x4d, 0x8d, 0xd3,
         0x44}},
        "Microsoft-Windows-Threat-Intelligence",
        "Windows reserves it for protected processes of anti-malware vendors (PPL). leave it out"},
    /* {54849625-5478-4994-a5ba-3e3b0328c30d} */
    {{{0x25, 0x96, 0x84, 0x54, 0x78, 0x54, 0x94, 0x49, 0xa5, 0xba, 0x3e, 0x3b, 0x03, 0x28, 0xc3,
         0x0d}},
        "Microsoft-Windows-Security-Auditing",
        "Windows reserves it for EventLog-Security, a session of the Event Log. read its events "
        "from "
        "the log 'Security', or attach to that session as LocalSystem"},
};

const char *etw_enable_protected(struct span name, const struct guid *provider)
{
    for (size_t i = 0; i < sizeof(protected) / sizeof(protected[0]); i++) {
        if (guid_equal(provider, &protected[i].guid) ||
            span_equal_nocase(name, span_text(protected[i].name))) {
            return protected[i].text;
        }
    }
    return NULL;
}

/* Names of the sessions that have enabled the provider, as far as known. */
static void name_holders(const struct guid *provider, char *names, size_t size)
{
    struct etw_session_list list;
    struct etw_registrations *found = malloc(sizeof(*found));
    size_t used = 0;
    *names = '\0';
    if (!found || !etw_registrations_query(provider, found, NULL) || !found->known ||
        !etw_control_list(&list, NULL)) {
        free(found);
        return;
    }
    for (size_t i = 0; i < list.count && used < size; i++) {
        bool holds = false;
        for (size_t j = 0; j < found->hold_count && !holds; j++) {
            holds = found->holds[j].logger_id == etw_control_logger_id(&list.items[i]);
        }
        if (holds) {
            int more = snprintf(
                names + used, size - used, "%s%.40s", used ? ", " : ": ", list.items[i].name);
            used += more > 0 ? (size_t)more : 0;
        }
    }
    etw_control_list_fini(&list);
    free(found);
}

static bool enable_failed(
    const char *name, const struct guid *provider, uint32_t result, struct error *err)
{
    const char *needs = etw_enable_protected(span_make(NULL, 0), provider);
    if (needs && (result == ETW_ERROR_ACCESS_DENIED || result == ETW_ERROR_INVALID_PARAMETER)) {
        return error_set_os(err, result, needs, "provider %.100s cannot be enabled", name);
    }
    if (result == ETW_ERROR_NO_SYSTEM_RESOURCES) {
        char names[256];
        name_holders(provider, names, sizeof(names));
        return error_set_os(err, result, "stop one of them",
            "provider %.100s cannot be enabled: it serves 8 sessions already%s", name, names);
    }
    return etw_api_fail(err, result, "provider %.100s cannot be enabled", name);
}

/* ---- enable ---------------------------------------------------------------------------------- */

static bool run(struct attempt *attempt, const char *name, uint32_t kinds,
    struct etw_outcome *ret_outcome, struct error *err)
{
    const struct etw_request *request = attempt->request;
    uint32_t wanted_kinds = etw_enable_kinds(request);
    uint32_t wanted_properties = request->properties |
                                 (wanted_kinds & STACK_KINDS ? ETW_ENABLE_STACK_TRACE : 0);
    attempt->kinds = kinds;
    attempt->properties = wanted_properties;
    uint32_t result = enable(attempt, kinds, wanted_properties, request->timeout_ms);
    if (is_refusal(result) && (kinds || (wanted_properties & ~(uint32_t)OLD_PROPERTIES))) {
        result = enable_what_it_knows(attempt, kinds, wanted_properties);
    }
    if (result != ETW_SUCCESS && result != ETW_ERROR_TIMEOUT) {
        return enable_failed(name, &request->provider, result, err);
    }
    *ret_outcome = (struct etw_outcome){
        .acting = attempt->kinds,
        .refused = wanted_kinds & ~attempt->kinds,
        .refused_properties = wanted_properties & ~attempt->properties,
        .timed_out = result == ETW_ERROR_TIMEOUT,
    };
    return true;
}

bool etw_enable_provider(uint64_t session, const char *name, const struct etw_request *request,
    struct etw_outcome *ret_outcome, struct error *err)
{
    const uint32_t payload_kind = ETW_FILTER_KIND(ETW_FILTER_PAYLOAD);
    uint32_t kinds = etw_enable_kinds(request);
    struct etw_payload payload = {.filter = {.size = 0}};
    if (!etw_api_get()->EnableTraceEx2) {
        return etw_api_missing(err, "EnableTraceEx2");
    }
    if (!etw_enable_check(request, err)) {
        return false;
    }
    if ((kinds & payload_kind) && !etw_payload_can()) {
        kinds &= ~payload_kind;
    } else if ((kinds & payload_kind) && !etw_payload_init(&payload, request, err)) {
        if (!request->payload_is_spare) {
            return false;
        }
        kinds &= ~payload_kind;
    }
    struct attempt attempt = {.session = session, .request = request, .payload = &payload.filter};
    bool ok = run(&attempt, name, kinds, ret_outcome, err);
    if (ok && request->payload_is_spare) {
        ret_outcome->refused &= ~payload_kind;
    }
    etw_payload_fini(&payload);
    return ok;
}

/* ---- the rest of EnableTraceEx2, and TraceSetInformation ------------------------------------- */

bool etw_enable_stop(uint64_t session, const char *name, const struct guid *provider, bool is_group,
    struct error *err)
{
    if (!etw_api_get()->EnableTraceEx2) {
        return etw_api_missing(err, "EnableTraceEx2");
    }
    uint32_t result = control(session, provider, is_group, ETW_PROVIDER_DISABLE, 0);
    return result == ETW_SUCCESS ||
           etw_api_fail(err, result, "provider %.100s cannot be disabled", name);
}

bool etw_enable_capture_state(uint64_t session, const char *name, const struct guid *provider,
    bool is_group, uint32_t timeout_ms, struct error *err)
{
    if (!etw_api_get()->EnableTraceEx2) {
        return etw_api_missing(err, "EnableTraceEx2");
    }
    uint32_t result = control(session, provider, is_group, ETW_PROVIDER_CAPTURE_STATE, timeout_ms);
    return result == ETW_SUCCESS || result == ETW_ERROR_TIMEOUT ||
           etw_api_fail(err, result, "provider %.100s cannot be asked to log its state", name);
}

bool etw_enable_disallow(
    uint64_t session, const struct guid *providers, size_t count, struct error *err)
{
    struct guid list[ETW_MAX_DISALLOWED];
    if (count > ETW_MAX_DISALLOWED) {
        return error_set(err, ERR_LIMIT,
            "%zu providers are excluded from a group; ETW takes %d at most", count,
            ETW_MAX_DISALLOWED);
    }
    if (!etw_api_get()->TraceSetInformation) {
        return etw_api_missing(err, "TraceSetInformation");
    }
    if (count) {
        memcpy(list, providers, count * sizeof(*providers));
    }
    uint32_t result = etw_api_get()->TraceSetInformation(
        session, ETW_INFO_SET_DISALLOW_LIST, list, (uint32_t)(count * sizeof(*providers)));
    return result == ETW_SUCCESS ||
           etw_api_fail(err, result, "providers cannot be left out of their group");
}
