#include "support/etw_sim/sim_tdh_own.h"
#include "support/etw_sim/sim_tdh_wpp.h"

/* What one event looks like: TdhGetEventInformation and its kin (tdh.h). */

uint32_t sim_tdh_describe(
    const struct etw_event_record *record, struct sim_tdh_event *ret_event, struct buf *info)
{
    struct sim_tdh *tdh = sim_tdh_enter();
    if (!tdh) {
        return ETW_ERROR_NOT_FOUND;
    }
    sim_tdh_event_of(record, ret_event);
    const struct event_schema *schema;
    struct tei_options options;
    bool found = sim_tdh_find(tdh, &ret_event->record, &schema, &options);
    if (found) {
        tei_put_event(info, schema, &options);
    }
    sim_tdh_leave(tdh);
    if (info->failed) {
        return ETW_ERROR_OUTOFMEMORY;
    }
    return found ? ETW_SUCCESS : ETW_ERROR_NOT_FOUND;
}

uint32_t etw_sim_TdhGetEventInformation(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, void *ret_info, uint32_t *info_bytes)
{
    if (!record || !info_bytes) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct sim_tdh_event event;
    struct buf made;
    buf_init(&made, SIM_TDH_MAX_ANSWER);
    uint32_t code = sim_tdh_wpp_is(record)
                        ? sim_tdh_wpp_describe(record, context_count, context, &made)
                        : sim_tdh_describe(record, &event, &made);
    if (code == ETW_SUCCESS) {
        code = sim_tdh_give(&made, ret_info, info_bytes);
    }
    buf_fini(&made);
    return code;
}

/* The map of ${schema} that goes by ${name}, or NULL. */
static const struct schema_map *map_of(const struct event_schema *schema, struct span name)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct schema_field *field = &schema->fields[i];
        if (field->map && span_equal(tei_map_name(field), name)) {
            return field->map;
        }
    }
    return NULL;
}

/* The event's own map of that name, else that of another event of its provider. */
static const struct schema_map *find_map(
    struct sim_tdh *tdh, const struct event_record *record, struct span name)
{
    const struct event_schema *schema;
    struct tei_options options;
    const struct schema_map *map = NULL;
    if (sim_tdh_find(tdh, record, &schema, &options)) {
        map = map_of(schema, name);
    }
    const struct sim_tdh_provider *provider = map ? NULL : sim_tdh_provider(tdh, &record->provider);
    for (size_t i = 0; provider && !map && i < provider->schema_count; i++) {
        map = map_of(provider->schemas[i], name);
    }
    return map;
}

uint32_t etw_sim_TdhGetEventMapInformation(
    struct etw_event_record *record, etw_char *name, void *ret_map, uint32_t *map_bytes)
{
    if (!record || !name || !map_bytes) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct sim_tdh *tdh = sim_tdh_enter();
    if (!tdh) {
        return ETW_ERROR_NOT_FOUND;
    }
    struct sim_tdh_event event;
    sim_tdh_event_of(record, &event);
    struct buf text;
    struct buf made;
    buf_init(&made, SIM_TDH_MAX_ANSWER);
    uint32_t code = ETW_ERROR_OUTOFMEMORY;
    if (sim_tdh_utf8(name, &text)) {
        struct span wanted = span_make(text.data, text.size - 1);
        const struct schema_map *map = find_map(tdh, &event.record, wanted);
        code = ETW_ERROR_NOT_FOUND;
        if (map) {
            tei_put_map(&made, map, wanted);
            code = sim_tdh_give(&made, ret_map, map_bytes);
        }
    }
    buf_fini(&made);
    buf_fini(&text);
    sim_tdh_leave(tdh);
    return code;
}

uint32_t etw_sim_TdhGetManifestEventInformation(const struct guid *provider,
    const struct event_descriptor *descriptor, void *ret_info, uint32_t *info_bytes)
{
    if (!provider || !descriptor) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct etw_event_record record = {
        .header = {.provider_id = *provider, .descriptor = *descriptor}};
    return etw_sim_TdhGetEventInformation(&record, 0, NULL, ret_info, info_bytes);
}

/* ---- manifests ------------------------------------------------------------------------------- */

static uint32_t with_path(
    const etw_char *path, uint32_t (*does)(struct sim_tdh *tdh, const char *path))
{
    struct sim_tdh *tdh = sim_tdh_current();
    if (!tdh || !path) {
        return path ? ETW_ERROR_FILE_NOT_FOUND : ETW_ERROR_INVALID_PARAMETER;
    }
    struct buf text;
    uint32_t code = sim_tdh_utf8(path, &text) ? does(tdh, (const char *)text.data)
                                              : ETW_ERROR_OUTOFMEMORY;
    buf_fini(&text);
    return code;
}

uint32_t etw_sim_TdhLoadManifest(const etw_char *path)
{
    return with_path(path, sim_tdh_load);
}

uint32_t etw_sim_TdhUnloadManifest(const etw_char *path)
{
    return with_path(path, sim_tdh_unload);
}
