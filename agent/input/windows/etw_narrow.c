#include "input/windows/etw_narrow.h"

#include "etw/enable/etw_keywords.h"

/*
 * An event must pass both the entry and the rules, so either mask may be used; the entry's stays
 * unless the other one is certainly narrower. ETW takes a list of ids to include or to exclude,
 * whichever is short enough.
 */
enum { IDS = 65536 };

static bool lies_in(const struct provider_events *events, uint32_t id)
{
    for (size_t i = 0; i < events->range_count; i++) {
        if (id >= events->ranges[i].first && id <= events->ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* True if the entry's own ranges include the id. */
static bool asks(const struct provider_spec *spec, uint32_t id)
{
    return (spec->include.range_count == 0 || lies_in(&spec->include, id)) &&
           !lies_in(&spec->exclude, id);
}

static void narrow_level(struct etw_request *request, const struct provider_scope *scope)
{
    uint8_t level = request->level ? request->level : PROVIDER_LEVEL_ALL;
    request->level = scope->level < level ? scope->level : level;
}

static void narrow_keywords(struct etw_request *request, const struct provider_scope *scope)
{
    uint64_t effects = etw_keywords_with_effects(&request->provider) & ~request->named;
    if (scope->any == 0 || scope->any & effects) { /* the rules restrict no keywords */
        return;
    }
    if (request->any == 0) {
        request->any = scope->any;
        request->all = scope->all;
        return;
    }
    if ((scope->any & ~request->any) == 0) {
        request->any = scope->any;
    }
    request->all |= scope->all;
}

static void narrow_ids(
    struct etw_request *request, const struct provider_spec *spec, uint32_t *too_much)
{
    const struct provider_scope *scope = spec->scope;
    struct etw_filter_ids in = {.count = 0};
    struct etw_filter_ids out = {.exclude = true};
    uint32_t in_count = 0;
    uint32_t out_count = 0;
    if (!scope->ids || spec->group || spec->include.name_count + spec->exclude.name_count) {
        return;
    }
    for (uint32_t id = 0; id < IDS; id++) {
        bool comes = provider_scope_has(scope, id) && asks(spec, id);
        struct etw_filter_ids *list = comes ? &in : &out;
        uint32_t *count = comes ? &in_count : &out_count;
        if ((*count)++ < ETW_MAX_FILTER_IDS) {
            list->ids[list->count++] = (uint16_t)id;
        }
    }
    bool includes = in_count && in_count <= ETW_MAX_FILTER_IDS;
    if (includes || (out_count && out_count <= ETW_MAX_FILTER_IDS)) {
        request->events = includes ? in : out;
        *too_much &= ~ETW_FILTER_KIND(ETW_FILTER_EVENT_ID);
    }
}

static bool asks_for_process(const struct etw_request *request, uint32_t pid)
{
    for (size_t i = 0; i < request->pid_count; i++) {
        if (request->pids[i] == pid) {
            return true;
        }
    }
    return request->pid_count == 0;
}

static void narrow_pids(struct etw_request *request, const struct provider_scope *scope)
{
    uint32_t pids[PROVIDER_MAX_PIDS];
    uint16_t count = 0;
    for (size_t i = 0; i < scope->pid_count; i++) {
        pids[count] = scope->pids[i];
        count = (uint16_t)(count + asks_for_process(request, scope->pids[i]));
    }
    if (count) {
        request->pids_are_spare = request->pid_count == 0;
        memcpy(request->pids, pids, count * sizeof(pids[0]));
        request->pid_count = count;
    }
}

void etw_narrow(struct etw_request *request, const struct provider_spec *spec, uint32_t *too_much)
{
    const struct provider_scope *scope = spec->scope;
    narrow_level(request, scope);
    narrow_keywords(request, scope);
    narrow_ids(request, spec, too_much);
    narrow_pids(request, scope);
    if (spec->payload.count == 0 && !spec->group) {
        request->payload = scope->payload;
        request->payload_count = scope->payload_count;
        request->payload_is_spare = true;
    }
}
