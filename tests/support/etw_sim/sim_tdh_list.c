#include "base/bytes.h"
#include "base/map.h"
#include "support/etl_put.h"
#include "support/etw_sim/sim_tdh_own.h"

/*
 * What is installed: TdhEnumerateProviders and its kin (tdh.h). A list is its entries, then the
 * texts that they point to.
 */
enum { LIST_HEAD_BYTES = 8, PROVIDER_BYTES = 24, FIELD_BYTES = 16, ERROR_EMPTY = 4306 };

/* ---- providers ------------------------------------------------------------------------------- */

enum { SOURCE_XML = 0, SOURCE_WBEM = 1, SOURCE_ANY = UINT16_MAX };

static bool is_listed(const struct sim_tdh_provider *provider, uint32_t source)
{
    return source == SOURCE_ANY || provider->is_mof == (source == SOURCE_WBEM);
}

static void put_provider_list(
    struct buf *out, const struct sim_tdh_provider *list, size_t count, uint32_t source)
{
    uint32_t listed = 0;
    etl_put_zeros(out, LIST_HEAD_BYTES);
    for (size_t i = 0; i < count; i++) {
        if (is_listed(&list[i], source)) {
            etl_put_guid(out, &list[i].guid);
            etl_put_u32(out, list[i].is_mof);
            etl_put_u32(out, 0);
            listed++;
        }
    }
    size_t slot = LIST_HEAD_BYTES + PROVIDER_BYTES - sizeof(uint32_t);
    for (size_t i = 0; i < count && !out->failed; i++) {
        if (is_listed(&list[i], source)) {
            store_le32(out->data + slot, (uint32_t)out->size);
            slot += PROVIDER_BYTES;
            etl_put_utf16_span(out, list[i].name);
            etl_put_u16(out, 0);
        }
    }
    if (!out->failed) {
        store_le32(out->data, listed);
    }
}

static uint32_t enumerate(uint32_t source, struct etw_provider_list *ret_list, uint32_t *bytes)
{
    struct buf made;
    buf_init(&made, SIM_TDH_MAX_ANSWER);
    struct sim_tdh *tdh = sim_tdh_enter();
    const struct sim_tdh_provider *list = NULL;
    size_t count = 0;
    if (!tdh || sim_tdh_providers(tdh, &list, &count)) {
        put_provider_list(&made, list, count, source);
    } else {
        made.failed = true;
    }
    if (tdh) {
        sim_tdh_leave(tdh);
    }
    uint32_t code = sim_tdh_give(&made, ret_list, bytes);
    buf_fini(&made);
    return code;
}

uint32_t etw_sim_TdhEnumerateProviders(struct etw_provider_list *ret_list, uint32_t *bytes)
{
    return bytes ? enumerate(SOURCE_ANY, ret_list, bytes) : ETW_ERROR_INVALID_PARAMETER;
}

uint32_t etw_sim_TdhEnumerateProvidersForDecodingSource(
    uint32_t source, struct etw_provider_list *ret_list, uint32_t list_bytes, uint32_t *ret_bytes)
{
    if (!ret_bytes || (source != SOURCE_XML && source != SOURCE_WBEM)) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    *ret_bytes = list_bytes;
    return enumerate(source, ret_list, ret_bytes);
}

/* ---- what providers have: keywords, levels, channels, tasks, opcodes ------------------------- */

struct field_list {
    struct buf values; /* u64 each */
    struct buf texts;  /* struct span each */
    uint32_t field_type;
    bool wants_value;
    uint64_t value;
};

static size_t list_count(const struct field_list *list)
{
    return list->values.size / sizeof(uint64_t);
}

/* Keywords are asked for by mask: all whose bits it has. */
static bool is_wanted(const struct field_list *list, uint64_t value)
{
    if (!list->wants_value) {
        return true;
    }
    return list->field_type == ETW_FIELD_KEYWORD ? (value & list->value) != 0
                                                 : value == list->value;
}

static void note_field(struct field_list *list, uint64_t value, struct span name)
{
    if (name.size == 0 || !is_wanted(list, value)) {
        return;
    }
    for (size_t i = 0; i < list_count(list); i++) {
        if (load_le64(list->values.data + i * sizeof(uint64_t)) == value) {
            return;
        }
    }
    etl_put_u64(&list->values, value);
    buf_add(&list->texts, &name, sizeof(name));
}

static void note_fields_of(struct field_list *list, const struct event_schema *schema)
{
    const struct event_descriptor *d = &schema->descriptor;
    switch (list->field_type) {
    case ETW_FIELD_KEYWORD:
        for (size_t i = 0; i < schema->keyword_count; i++) {
            if (schema->keywords[i].mask) {
                note_field(list, schema->keywords[i].mask, schema->keywords[i].name);
            }
        }
        break;
    case ETW_FIELD_LEVEL:
        note_field(list, d->level, schema->level_name);
        break;
    case ETW_FIELD_CHANNEL:
        note_field(list, d->channel, schema->channel_name);
        break;
    case ETW_FIELD_TASK:
        note_field(list, d->task, schema->task_name);
        break;
    default: /* an opcode may belong to a task: its value has both */
        note_field(list, (uint64_t)d->opcode << 16 | d->task, schema->opcode_name);
        break;
    }
}

static void put_field_list(struct buf *out, const struct field_list *list)
{
    size_t count = list_count(list);
    etl_put_u32(out, (uint32_t)count);
    etl_put_u32(out, list->field_type);
    for (size_t i = 0; i < count; i++) {
        etl_put_u32(out, 0);
        etl_put_u32(out, 0); /* no description */
        etl_put_u64(out, load_le64(list->values.data + i * sizeof(uint64_t)));
    }
    for (size_t i = 0; i < count && !out->failed; i++) {
        struct span name;
        memcpy(&name, list->texts.data + i * sizeof(name), sizeof(name));
        store_le32(out->data + LIST_HEAD_BYTES + i * FIELD_BYTES, (uint32_t)out->size);
        etl_put_utf16_span(out, name);
        etl_put_u16(out, 0);
    }
}

static uint32_t answer_fields(struct sim_tdh *tdh, const struct guid *guid, struct field_list *list,
    struct etw_field_list *ret_list, uint32_t *bytes)
{
    const struct sim_tdh_provider *provider = sim_tdh_provider(tdh, guid);
    if (!provider) {
        return ETW_ERROR_NOT_FOUND;
    }
    buf_init(&list->values, SIM_TDH_MAX_ANSWER);
    buf_init(&list->texts, SIM_TDH_MAX_ANSWER);
    for (size_t i = 0; i < provider->schema_count; i++) {
        note_fields_of(list, provider->schemas[i]);
    }
    uint32_t code = ETW_ERROR_NOT_FOUND;
    if (list_count(list)) {
        struct buf made;
        buf_init(&made, SIM_TDH_MAX_ANSWER);
        put_field_list(&made, list);
        code = sim_tdh_give(&made, ret_list, bytes);
        buf_fini(&made);
    }
    buf_fini(&list->values);
    buf_fini(&list->texts);
    return code;
}

static uint32_t give_fields(const struct guid *provider, struct field_list *list,
    struct etw_field_list *ret_list, uint32_t *bytes)
{
    if (!provider || !bytes) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    if (list->field_type > ETW_FIELD_OPCODE) {
        return ETW_ERROR_NOT_SUPPORTED;
    }
    struct sim_tdh *tdh = sim_tdh_enter();
    if (!tdh) {
        return ETW_ERROR_NOT_FOUND;
    }
    uint32_t code = answer_fields(tdh, provider, list, ret_list, bytes);
    sim_tdh_leave(tdh);
    return code;
}

uint32_t etw_sim_TdhEnumerateProviderFieldInformation(const struct guid *provider,
    uint32_t field_type, struct etw_field_list *ret_list, uint32_t *bytes)
{
    struct field_list list = {.field_type = field_type};
    return give_fields(provider, &list, ret_list, bytes);
}

uint32_t etw_sim_TdhQueryProviderFieldInformation(const struct guid *provider, uint64_t value,
    uint32_t field_type, struct etw_field_list *ret_list, uint32_t *bytes)
{
    struct field_list list = {.field_type = field_type, .wants_value = true, .value = value};
    return give_fields(provider, &list, ret_list, bytes);
}

/* ---- events of a manifest -------------------------------------------------------------------- */

static void put_descriptor(struct buf *out, const struct event_descriptor *d)
{
    etl_put_u16(out, d->id);
    etl_put_u8(out, d->version);
    etl_put_u8(out, d->channel);
    etl_put_u8(out, d->level);
    etl_put_u8(out, d->opcode);
    etl_put_u16(out, d->task);
    etl_put_u64(out, d->keyword);
}

/* One definition per id and version: of several sources, the first one's. */
static uint32_t put_events(struct buf *out, const struct sim_tdh_provider *provider)
{
    uint32_t count = 0;
    const struct event_descriptor *last = NULL;
    etl_put_zeros(out, LIST_HEAD_BYTES);
    for (size_t i = 0; i < provider->schema_count; i++) {
        const struct event_descriptor *d = &provider->schemas[i]->descriptor;
        if (!last || last->id != d->id || last->version != d->version) {
            put_descriptor(out, d);
            last = d;
            count++;
        }
    }
    if (!out->failed) {
        store_le32(out->data, count);
    }
    return count;
}

uint32_t etw_sim_TdhEnumerateManifestProviderEvents(
    const struct guid *provider, struct etw_provider_events *ret_events, uint32_t *bytes)
{
    if (!provider || !bytes) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct sim_tdh *tdh = sim_tdh_enter();
    if (!tdh) {
        return ETW_ERROR_NOT_FOUND;
    }
    const struct sim_tdh_provider *found = sim_tdh_provider(tdh, provider);
    uint32_t code = ETW_ERROR_NOT_FOUND;
    if (found && !found->is_mof) {
        struct buf made;
        buf_init(&made, SIM_TDH_MAX_ANSWER);
        code = put_events(&made, found) ? sim_tdh_give(&made, ret_events, bytes)
                                        : (uint32_t)ERROR_EMPTY;
        buf_fini(&made);
    }
    sim_tdh_leave(tdh);
    return code;
}

/* ---- not there ------------------------------------------------------------------------------- */

/* NOLINTBEGIN(readability-non-const-parameter): the types are those of Windows. */
/* What manifests say of filters is not read: every provider is one without any. */
uint32_t etw_sim_TdhEnumerateProviderFilters(const struct guid *provider, uint32_t context_count,
    struct etw_tdh_context *context, uint32_t *ret_count, void *ret_filters, uint32_t *bytes)
{
    (void)context_count;
    (void)context;
    (void)ret_filters;
    if (!provider || !ret_count || !bytes) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    *ret_count = 0;
    return ETW_ERROR_NOT_FOUND;
}

uint32_t etw_sim_TdhGetAllEventsInformation(struct etw_event_record *record, void *wbem,
    uint32_t *ret_index, uint32_t *ret_count, void *ret_infos, uint32_t *bytes)
{
    (void)record;
    (void)wbem;
    (void)ret_index;
    (void)ret_count;
    (void)ret_infos;
    (void)bytes;
    return ETW_ERROR_NOT_SUPPORTED;
}
/* NOLINTEND(readability-non-const-parameter) */

uint32_t etw_sim_TdhLoadManifestFromBinary(const etw_char *path)
{
    (void)path;
    return ETW_ERROR_NOT_SUPPORTED;
}
