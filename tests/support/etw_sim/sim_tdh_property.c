#include <stdlib.h>

#include "base/bytes.h"
#include "support/etw_sim/sim_tdh_own.h"
#include "support/etw_sim/sim_tdh_wpp.h"
#include "support/etw_sim/sim_value.h"

/*
 * TdhGetProperty and its kin (tdh.h): a property by the name that TRACE_EVENT_INFO gives it. The
 * payload is walked along that structure, as a caller would, up to what was asked for. The bytes
 * are those of the payload, counts and terminators included.
 */
enum {
    ERROR_EVT_INVALID_EVENT_DATA = 15005,
    MAX_PATH = 8,
    MAX_ELEMENTS = UINT16_MAX,
    HEAD_BYTES = 0x70,
    PROPERTY_BYTES = 24,
    PROPERTY_STRUCT = 0x01,
    PROPERTY_PARAM_LENGTH = 0x02,
    PROPERTY_PARAM_COUNT = 0x04,
    PROPERTY_PARAM_FIXED_LENGTH = 0x10,
};

#define OFF_THE_PATH UINT32_MAX

struct property {
    uint32_t flags;
    struct span name;
    uint16_t first;
    uint16_t second;
    uint16_t count;
    uint16_t length;
};

struct walk {
    struct span info;
    struct span payload;
    size_t at;
    uint8_t pointer_size;
    uint32_t property_count;
    uint32_t *numbers; /* of properties that are lengths or counts, by index */
    const struct etw_property_path *path;
    uint32_t path_count;
    bool found;
    size_t start;
    size_t end;
    bool broken;
};

static struct property read_property(const struct walk *w, uint32_t index)
{
    const uint8_t *at = w->info.data + HEAD_BYTES + (size_t)index * PROPERTY_BYTES;
    const void *name = w->info.data + load_le32(at + 4);
    return (struct property){.flags = load_le32(at),
        .name = sim_tdh_utf16(name),
        .first = load_le16(at + 8),
        .second = load_le16(at + 10),
        .count = load_le16(at + 16),
        .length = load_le16(at + 18)};
}

static bool is_named(const struct walk *w, uint32_t level, const struct property *property)
{
    return level < w->path_count &&
           span_equal(
               property->name, sim_tdh_utf16((const etw_char *)(uintptr_t)w->path[level].name));
}

static void take_value(struct walk *w, uint32_t index, const struct property *property)
{
    bool is_text = property->first == IN_UNICODE_STRING || property->first == IN_ANSI_STRING ||
                   property->first == IN_BINARY;
    uint32_t length = property->flags & PROPERTY_PARAM_LENGTH ? w->numbers[property->length]
                                                              : property->length;
    const struct sim_value_type type = {.in_type = property->first,
        .out_type = property->second,
        .length = (uint16_t)length,
        .has_length = is_text && (length || (property->flags & (PROPERTY_PARAM_LENGTH |
                                                                   PROPERTY_PARAM_FIXED_LENGTH))),
        .pointer_size = w->pointer_size};
    struct sim_value value;
    if (length > UINT16_MAX || !sim_value_take(&type, span_from(w->payload, w->at), &value)) {
        w->broken = true;
        return;
    }
    w->numbers[index] = (uint32_t)sim_value_number(value.bytes);
    w->at += value.whole.size;
}

static void take_property(struct walk *w, uint32_t index, uint32_t level, uint32_t depth);

/* ${level}: how much of the path led here; the members may be the rest of it. */
static void take_members(
    struct walk *w, const struct property *property, uint32_t level, uint32_t depth)
{
    for (uint32_t i = 0; i < property->second && !w->broken && !w->found; i++) {
        take_property(w, property->first + i, level, depth + 1);
    }
}

/* Is element ${i} where the path goes on, or what it asks for? */
static bool is_wanted(uint32_t wanted, uint32_t i)
{
    return wanted == ETW_PROPERTY_ALL || wanted == i;
}

static void take_element(struct walk *w, uint32_t index, const struct property *property,
    uint32_t inner_level, uint32_t depth)
{
    if (property->flags & PROPERTY_STRUCT) {
        take_members(w, property, inner_level, depth);
    } else {
        take_value(w, index, property);
    }
}

static void take_property(struct walk *w, uint32_t index, uint32_t level, uint32_t depth)
{
    if (index >= w->property_count || depth > SCHEMA_MAX_DEPTH) {
        w->broken = true;
        return;
    }
    struct property property = read_property(w, index);
    bool hit = is_named(w, level, &property);
    bool last = hit && level + 1 == w->path_count;
    uint32_t wanted = hit ? w->path[level].array_index : 0;
    uint32_t count = property.flags & PROPERTY_PARAM_COUNT ? w->numbers[property.count]
                                                           : property.count;
    size_t first = w->at;
    size_t end = w->at;
    for (uint32_t i = 0; i < count && !w->broken && !w->found; i++) {
        bool inside = hit && !last && is_wanted(wanted, i);
        size_t start = w->at;
        take_element(w, index, &property, inside ? level + 1 : OFF_THE_PATH, depth);
        if (last && is_wanted(wanted, i)) {
            first = wanted == ETW_PROPERTY_ALL ? first : start;
            end = w->at;
        }
        w->broken |= i >= MAX_ELEMENTS;
    }
    if (last && !w->broken && (wanted == ETW_PROPERTY_ALL || wanted < count)) {
        w->found = true;
        w->start = first;
        w->end = end;
    }
}

static uint32_t walk(struct walk *w)
{
    w->property_count = load_le32(w->info.data + 0x64);
    uint32_t top_count = load_le32(w->info.data + 0x68);
    w->numbers = calloc(w->property_count + 1u, sizeof(*w->numbers));
    if (!w->numbers) {
        return ETW_ERROR_OUTOFMEMORY;
    }
    for (uint32_t i = 0; i < top_count && !w->found && !w->broken; i++) {
        take_property(w, i, 0, 0);
    }
    free(w->numbers);
    if (w->broken) {
        return ERROR_EVT_INVALID_EVENT_DATA;
    }
    return w->found ? ETW_SUCCESS : ETW_ERROR_NOT_FOUND;
}

/* Where the property lies in the payload. */
static uint32_t locate(struct etw_event_record *record, uint32_t path_count,
    const struct etw_property_path *path, uint32_t *ret_offset, uint32_t *ret_bytes)
{
    if (!record || !path || path_count == 0 || path_count > MAX_PATH) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    struct sim_tdh_event event;
    struct buf info;
    buf_init(&info, SIM_TDH_MAX_ANSWER);
    uint32_t code = sim_tdh_describe(record, &event, &info);
    if (code == ETW_SUCCESS) {
        struct walk w = {.info = buf_span(&info),
            .payload = event.record.payload,
            .pointer_size = event.record.pointer_size,
            .path = path,
            .path_count = path_count};
        code = walk(&w);
        if (code == ETW_SUCCESS) {
            *ret_offset = (uint32_t)w.start;
            *ret_bytes = (uint32_t)(w.end - w.start);
        }
    }
    buf_fini(&info);
    return code;
}

uint32_t etw_sim_TdhGetPropertyOffsetAndSize(struct etw_event_record *record,
    uint32_t context_count, struct etw_tdh_context *context, uint32_t path_count,
    struct etw_property_path *path, uint32_t *ret_offset, uint32_t *ret_bytes)
{
    (void)context_count;
    (void)context;
    if (!ret_offset || !ret_bytes) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    return locate(record, path_count, path, ret_offset, ret_bytes);
}

/* Of a message of WPP code: its properties are made, they do not lie in the payload. */
static uint32_t get_of_message(const struct etw_event_record *record, uint32_t context_count,
    const struct etw_tdh_context *context, uint32_t path_count,
    const struct etw_property_path *path, uint32_t *bytes, uint8_t *ret_buffer)
{
    struct buf made;
    if (!path || path_count != 1) {
        return ETW_ERROR_INVALID_PARAMETER;
    }
    buf_init(&made, SIM_TDH_MAX_ANSWER);
    uint32_t code = sim_tdh_wpp_property(
        record, context_count, context, (const etw_char *)(uintptr_t)path->name, &made);
    code = code ? code : sim_tdh_give(&made, ret_buffer, bytes);
    buf_fini(&made);
    return code;
}

uint32_t etw_sim_TdhGetPropertySize(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, uint32_t path_count, struct etw_property_path *path,
    uint32_t *ret_bytes)
{
    uint32_t offset = 0;
    if (sim_tdh_wpp_is(record) && ret_bytes) {
        *ret_bytes = 0;
        uint32_t code = get_of_message(
            record, context_count, context, path_count, path, ret_bytes, NULL);
        return code == ETW_ERROR_INSUFFICIENT_BUFFER ? ETW_SUCCESS : code;
    }
    return etw_sim_TdhGetPropertyOffsetAndSize(
        record, context_count, context, path_count, path, &offset, ret_bytes);
}

uint32_t etw_sim_TdhGetProperty(struct etw_event_record *record, uint32_t context_count,
    struct etw_tdh_context *context, uint32_t path_count, struct etw_property_path *path,
    uint32_t buffer_bytes, uint8_t *ret_buffer)
{
    uint32_t offset = 0;
    uint32_t bytes = buffer_bytes;
    if (sim_tdh_wpp_is(record)) {
        return get_of_message(record, context_count, context, path_count, path, &bytes, ret_buffer);
    }
    uint32_t code = etw_sim_TdhGetPropertyOffsetAndSize(
        record, context_count, context, path_count, path, &offset, &bytes);
    if (code != ETW_SUCCESS) {
        return code;
    }
    if (bytes > buffer_bytes || (bytes && !ret_buffer)) {
        return ETW_ERROR_INSUFFICIENT_BUFFER;
    }
    if (bytes) {
        memcpy(ret_buffer, (const uint8_t *)record->user_data + offset, bytes);
    }
    return ETW_SUCCESS;
}
