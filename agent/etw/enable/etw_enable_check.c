#include "etw/enable/etw_filters.h"
#include "etw/enable/etw_keywords.h"
#include "etw/etw_text.h"
#include "etw/session/etw_kernel.h"

/* Checks a request against ETW's limits (evntprov.h, MAX_EVENT_FILTER_*). Pure functions. */

const char *etw_enable_kind_name(uint32_t kind)
{
    return etw_filters_kind_name(kind);
}

static size_t amount(const struct etw_request *request, uint32_t kind)
{
    switch (kind) {
    case ETW_FILTER_KIND(ETW_FILTER_PID):
        return request->pid_count;
    case ETW_FILTER_KIND(ETW_FILTER_PAYLOAD):
        return request->payload_count;
    case ETW_FILTER_KIND(ETW_FILTER_EVENT_ID):
        return request->events.count;
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK):
        return request->stack_events.count;
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK_LEVEL_KW):
        return request->stack_by_level;
    default:
        return etw_filters_texts(request, kind) ? etw_filters_texts(request, kind)->count : 0;
    }
}

uint32_t etw_enable_kinds(const struct etw_request *request)
{
    uint32_t kinds = 0;
    for (size_t i = 0; etw_filters_kind(i); i++) {
        uint32_t kind = etw_filters_kind(i);
        kinds |= amount(request, kind) ? kind : 0;
    }
    return kinds;
}

void etw_enable_drop(struct etw_request *request, uint32_t kinds)
{
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_PID)) {
        request->pid_count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_EXECUTABLE_NAME)) {
        request->executables.count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_PACKAGE_ID)) {
        request->packages.count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_PACKAGE_APP_ID)) {
        request->apps.count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_PAYLOAD)) {
        request->payload_count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_EVENT_ID)) {
        request->events.count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME)) {
        request->names.count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_STACKWALK)) {
        request->stack_events.count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_STACKWALK_NAME)) {
        request->stack_names.count = 0;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_STACKWALK_LEVEL_KW)) {
        request->stack_by_level = false;
    }
    if (kinds & ETW_FILTER_KIND(ETW_FILTER_CONTAINER)) {
        request->container.count = 0;
    }
}

static bool is_of_events(uint32_t kind)
{
    return kind == ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME) ||
           kind == ETW_FILTER_KIND(ETW_FILTER_STACKWALK_NAME);
}

/* Bytes of a UTF-8 text in UTF-16. */
static size_t utf16_bytes(const char *text)
{
    etw_char units[ETW_MAX_FILTER_BYTES / 2 + 1];
    size_t count = 0;
    bool fits = etw_text_encode(span_text(text), units, sizeof(units) / sizeof(units[0]), &count);
    return fits ? count * 2 : ETW_MAX_FILTER_BYTES;
}

static bool texts_fit(const struct etw_filter_texts *texts, uint32_t kind, struct error *err)
{
    bool of_events = is_of_events(kind);
    size_t max = of_events ? ETW_MAX_FILTER_NAME_BYTES : ETW_MAX_FILTER_BYTES;
    size_t bytes = of_events ? ETW_FILTERS_NAME_BYTES : 0;
    const char *what = etw_enable_kind_name(kind);
    if (texts->count > ETW_MAX_FILTER_TEXTS) {
        return error_set(
            err, ERR_LIMIT, "%s: at most %d names. name fewer", what, ETW_MAX_FILTER_TEXTS);
    }
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = texts->texts[i];
        if (!*text || (!of_events && strchr(text, ';'))) {
            return error_set(err, ERR_CONFIG,
                "%s: '%.100s': a name must not be empty%s. list each name separately", what, text,
                of_events ? "" : " or hold a ';'");
        }
        /* One more each: the NUL, or the ';' between and the NUL after the last. */
        bytes += of_events ? strlen(text) + 1 : utf16_bytes(text) + 2;
        if (bytes > max) {
            return error_set(err, ERR_LIMIT,
                "%s: ETW takes %zu bytes of names, and the names up to '%.60s' exceed that. name "
                "fewer",
                what, max, text);
        }
    }
    return true;
}

static bool payload_fits(const struct etw_request *request, struct error *err)
{
    if (request->payload_count > ETW_MAX_FILTER_IDS) {
        return error_set(err, ERR_LIMIT,
            "payload: conditions for %zu events, at most %d. use fewer", request->payload_count,
            ETW_MAX_FILTER_IDS);
    }
    for (size_t i = 0; i < request->payload_count; i++) {
        const struct etw_payload_filter *filter = &request->payload[i];
        if (filter->count == 0 || filter->count > ETW_MAX_PREDICATES) {
            return error_set(err, ERR_LIMIT,
                "payload: event %u has %u conditions, ETW takes 1 to %d. use fewer",
                filter->event.id, filter->count, ETW_MAX_PREDICATES);
        }
    }
    return true;
}

static bool is_within(size_t count, size_t max, uint32_t kind, struct error *err)
{
    if (count > max) {
        return error_set(err, ERR_LIMIT, "%s: ETW takes %zu at most, not %zu. use fewer",
            etw_enable_kind_name(kind), max, count);
    }
    return true;
}

bool etw_enable_fits(const struct etw_request *request, uint32_t kind, struct error *err)
{
    switch (kind) {
    case ETW_FILTER_KIND(ETW_FILTER_PID):
        return is_within(request->pid_count, ETW_MAX_FILTER_PIDS, kind, err);
    case ETW_FILTER_KIND(ETW_FILTER_EVENT_ID):
        return is_within(request->events.count, ETW_MAX_FILTER_IDS, kind, err);
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK):
        return is_within(request->stack_events.count, ETW_MAX_FILTER_IDS, kind, err);
    case ETW_FILTER_KIND(ETW_FILTER_PAYLOAD):
        return payload_fits(request, err);
    case ETW_FILTER_KIND(ETW_FILTER_CONTAINER):
        return is_within(request->container.count, 1, kind, err) &&
               texts_fit(&request->container, kind, err);
    default:
        return !etw_filters_texts(request, kind) ||
               texts_fit(etw_filters_texts(request, kind), kind, err);
    }
}

bool etw_enable_check(const struct etw_request *request, struct error *err)
{
    const uint32_t not_for_groups = ETW_FILTER_KIND(ETW_FILTER_EVENT_ID) |
                                    ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME) |
                                    ETW_FILTER_KIND(ETW_FILTER_PAYLOAD);
    uint32_t kinds = etw_enable_kinds(request);
    const struct etw_system_provider *system = etw_kernel_provider_of(&request->provider);
    size_t count = 0;
    if (system && etw_keywords_are_all(request->any)) {
        return error_set(err, ERR_CONFIG,
            "%s without keywords enables all its events. name some of %s", system->name,
            system->keywords);
    }
    for (size_t i = 0; etw_filters_kind(i); i++) {
        uint32_t kind = etw_filters_kind(i);
        count += (kinds & kind) != 0;
        if ((kinds & kind) && !etw_enable_fits(request, kind, err)) {
            return false;
        }
        if ((kinds & kind & not_for_groups) && (request->properties & ETW_ENABLE_PROVIDER_GROUP)) {
            return error_set(err, ERR_CONFIG,
                "%s: ETW does not filter a group of providers by them. use a rule of the session",
                etw_enable_kind_name(kind));
        }
    }
    if (count > ETW_MAX_FILTERS) {
        return error_set(err, ERR_LIMIT, "%zu kinds of filters, ETW takes %d. use fewer", count,
            ETW_MAX_FILTERS);
    }
    return true;
}
