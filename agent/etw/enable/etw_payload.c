#include "etw/enable/etw_payload.h"

#include "etw/etw_api.h"
#include "etw/etw_text.h"

/* The texts of one event's conditions in UTF-16: more than a filter of 4096 bytes can hold. */
struct texts {
    etw_char units[ETW_MAX_FILTER_PAYLOAD_BYTES];
    size_t used;
};

static etw_char *add_text(struct texts *texts, const char *utf8)
{
    etw_char *text = texts->units + texts->used;
    size_t room = sizeof(texts->units) / sizeof(texts->units[0]) - texts->used;
    size_t count;
    if (!etw_text_encode(span_text(utf8), text, room, &count)) {
        return NULL;
    }
    texts->used += count + 1;
    return text;
}

bool etw_payload_can(void)
{
    const struct etw_api *api = etw_api_get();
    return api->TdhCreatePayloadFilter && api->TdhDeletePayloadFilter &&
           api->TdhAggregatePayloadFilters && api->TdhCleanupPayloadEventFilterDescriptor;
}

static bool create_one(const struct guid *provider, const struct etw_payload_filter *filter,
    void **ret_filter, struct error *err)
{
    struct texts texts = {.used = 0};
    struct etw_predicate predicates[ETW_MAX_PREDICATES];
    for (size_t i = 0; i < filter->count; i++) {
        const struct etw_payload_test *test = &filter->tests[i];
        predicates[i].compare_op = test->op;
        predicates[i].field_name = add_text(&texts, test->field);
        predicates[i].value = predicates[i].field_name ? add_text(&texts, test->value) : NULL;
        if (!predicates[i].value) {
            return error_set(err, ERR_LIMIT,
                "payload of event %u: the texts of its conditions are longer than ETW takes. "
                "shorten '%.60s'",
                filter->event.id, test->field);
        }
    }
    uint32_t result = etw_api_get()->TdhCreatePayloadFilter(
        provider, &filter->event, filter->match_any, filter->count, predicates, ret_filter);
    if (result != ETW_SUCCESS) {
        return etw_api_fail(err, result,
            "payload of event %u: Windows cannot make a filter of it (is the provider's manifest "
            "installed, and has the event a field '%.60s'?)",
            filter->event.id, filter->tests[0].field);
    }
    return true;
}

bool etw_payload_init(
    struct etw_payload *payload, const struct etw_request *request, struct error *err)
{
    const struct etw_api *api = etw_api_get();
    void *filters[ETW_MAX_FILTER_IDS] = {NULL};
    uint8_t match_all[ETW_MAX_FILTER_IDS] = {0}; /* only read if one event has several */
    uint32_t count = 0;
    bool ok = true;
    *payload = (struct etw_payload){0};
    while (ok && count < request->payload_count) {
        ok = create_one(&request->provider, &request->payload[count], &filters[count], err);
        count += ok;
    }
    if (ok && count) {
        uint32_t result = api->TdhAggregatePayloadFilters(
            count, filters, match_all, &payload->filter);
        ok = result == ETW_SUCCESS ||
             etw_api_fail(
                 err, result, "payload: Windows cannot join the filters of %u events", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        api->TdhDeletePayloadFilter(&filters[i]);
    }
    if (ok && payload->filter.size > ETW_MAX_FILTER_PAYLOAD_BYTES) {
        ok = error_set(err, ERR_LIMIT,
            "payload: the filter has %u bytes, ETW takes %d. use fewer "
            "conditions",
            payload->filter.size, ETW_MAX_FILTER_PAYLOAD_BYTES);
        etw_payload_fini(payload);
    }
    return ok;
}

void etw_payload_fini(struct etw_payload *payload)
{
    if (payload->filter.size) {
        etw_api_get()->TdhCleanupPayloadEventFilterDescriptor(&payload->filter);
    }
    *payload = (struct etw_payload){0};
}
