#include "event/shape/ecs_extended.h"

#include "base/bytes.h"
#include "base/put.h"
#include "event/shape/ecs_value.h"

/*
 * winlog.event_data.extended_data: the extended items of the header by the names of their types
 * (EVENT_HEADER_EXT_TYPE_*, evntcons.h). 64-bit numbers are strings, since `long` refuses those
 * above 2^63 - 1. An item with a size that its type does not allow is written like one of an
 * unknown type: as hex under the number of its type, so that no field changes its type.
 */

enum item_kind {
    ITEM_UNKNOWN,
    ITEM_HEX,
    ITEM_GUID,
    ITEM_SID,
    ITEM_U32,      /* number */
    ITEM_U64,      /* string; further bytes are ignored */
    ITEM_U64_LIST, /* strings */
    ITEM_KEY32,    /* match id, then a number */
    ITEM_KEY64,    /* match id, then a string */
    ITEM_STACK,    /* written by add_stack */
};

struct item_type {
    const char *name;
    enum item_kind kind;
};

static const struct item_type types[] = {
    [EXTENDED_RELATED_ACTIVITY_ID] = {"RELATED_ACTIVITYID", ITEM_GUID},
    [EXTENDED_SID] = {"SID", ITEM_SID},
    [EXTENDED_TS_ID] = {"TS_ID", ITEM_U32},
    [EXTENDED_INSTANCE_INFO] = {"INSTANCE_INFO", ITEM_U64},
    [EXTENDED_STACK_TRACE32] = {"STACK_TRACE32", ITEM_STACK},
    [EXTENDED_STACK_TRACE64] = {"STACK_TRACE64", ITEM_STACK},
    [EXTENDED_PEBS_INDEX] = {"PEBS_INDEX", ITEM_U64},
    [EXTENDED_PMC_COUNTERS] = {"PMC_COUNTERS", ITEM_U64_LIST},
    [EXTENDED_PSM_KEY] = {"PSM_KEY", ITEM_U64},
    [EXTENDED_EVENT_KEY] = {"EVENT_KEY", ITEM_U64},
    [EXTENDED_SCHEMA_TL] = {"EVENT_SCHEMA_TL", ITEM_HEX},
    [EXTENDED_PROV_TRAITS] = {"PROV_TRAITS", ITEM_HEX},
    [EXTENDED_PROCESS_START_KEY] = {"PROCESS_START_KEY", ITEM_U64},
    [EXTENDED_CONTROL_GUID] = {"CONTROL_GUID", ITEM_GUID},
    [EXTENDED_QPC_DELTA] = {"QPC_DELTA", ITEM_U64},
    [EXTENDED_CONTAINER_ID] = {"CONTAINER_ID", ITEM_GUID},
    [EXTENDED_STACK_KEY32] = {"STACK_KEY32", ITEM_KEY32},
    [EXTENDED_STACK_KEY64] = {"STACK_KEY64", ITEM_KEY64},
};

enum { TYPES = sizeof(types) / sizeof(types[0]), MATCH_ID_BYTES = 8 };

static enum item_kind kind_of(uint16_t type)
{
    return type < TYPES ? types[type].kind : ITEM_UNKNOWN;
}

/* ---- items ----------------------------------------------------------------------------------- */

static uint8_t *put_list(uint8_t *p, struct span bytes)
{
    *p++ = '[';
    for (size_t at = 0; at + 8 <= bytes.size; at += 8) {
        if (at) {
            *p++ = ',';
        }
        p = ecs_value_put_number(p, load_le64(bytes.data + at));
    }
    *p++ = ']';
    return p;
}

/* The value of an item, or NULL if its bytes are invalid. */
static uint8_t *put_item(uint8_t *p, enum item_kind kind, struct span bytes)
{
    switch (kind) {
    case ITEM_HEX:
        return bytes.size ? ecs_value_put_bytes(p, bytes) : NULL;
    case ITEM_GUID:
        return bytes.size == 16 ? ecs_value_put_guid(p, bytes.data) : NULL;
    case ITEM_SID: {
        uint8_t *q = p + 1;
        if (!put_sid(&q, bytes)) {
            return NULL;
        }
        *p = '"';
        *q++ = '"';
        return q;
    }
    case ITEM_U32:
        return bytes.size >= 4 ? put_u64(p, load_le32(bytes.data)) : NULL;
    case ITEM_U64:
        return bytes.size >= 8 ? ecs_value_put_number(p, load_le64(bytes.data)) : NULL;
    case ITEM_U64_LIST:
        return bytes.size >= 8 ? put_list(p, bytes) : NULL;
    case ITEM_KEY32:
        return bytes.size >= 12 ? put_u64(p, load_le32(bytes.data + MATCH_ID_BYTES)) : NULL;
    case ITEM_KEY64:
        return bytes.size >= 16 ? ecs_value_put_number(p, load_le64(bytes.data + MATCH_ID_BYTES))
                                : NULL;
    default:
        return NULL;
    }
}

/* True if an item before number ${index} has the same type: it would be a duplicate in JSON. */
static bool is_repeated(const struct event_record *record, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (record->extended[i].type == record->extended[index].type) {
            return true;
        }
    }
    return false;
}

static void add_key(struct buf *out, const char *name, const char *end)
{
    buf_add_text(out, ",\"");
    buf_add_text(out, name);
    buf_add_text(out, end);
}

static void add_number(struct buf *out, const char *key, uint64_t value)
{
    buf_add_text(out, key);
    buf_add_u64(out, value);
    buf_add_byte(out, '"');
}

/* The reader of an event log makes these items; the log itself has none. */
static bool is_of_reader(const struct event_record *record, uint16_t type)
{
    bool describes = type == EXTENDED_SCHEMA_TL || type == EXTENDED_PROV_TRAITS ||
                     type == EXTENDED_LOG_MESSAGE;
    return describes && (record->present & RECORD_OF_LOG);
}

static void add_item(uint16_t type, struct span bytes, struct buf *out)
{
    enum { NUMBER_BYTES = 3 }; /* the longest: a list of 64-bit numbers, 23 bytes for 8 */
    size_t start = out->size;
    enum item_kind kind = kind_of(type);
    if (kind != ITEM_UNKNOWN) {
        add_key(out, types[type].name, "\":");
    }
    if (!buf_reserve(out, 512 + bytes.size * NUMBER_BYTES)) {
        return;
    }
    uint8_t *end = put_item(out->data + out->size, kind, bytes);
    if (!end) {
        out->size = start;
        uint8_t name[PUT_MAX];
        uint8_t *name_end = ecs_value_put_hex(name, type); /* in quotes */
        buf_add_text(out, ",\"TYPE_");
        buf_add(out, name + 1, (size_t)(name_end - name) - 1);
        buf_add_byte(out, ':');
        if (!buf_reserve(out, PUT_MAX + bytes.size * 2)) {
            return;
        }
        end = ecs_value_put_bytes(out->data + out->size, bytes);
    }
    out->size = (size_t)(end - out->data);
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* All frames of one width as a list; ${any}: there is at least one. */
static bool add_frames(const struct event_record *record, uint16_t type, struct buf *out)
{
    size_t width = type == EXTENDED_STACK_TRACE32 ? 4 : 8;
    bool first = true;
    for (size_t i = 0; i < record->extended_count; i++) {
        struct span data = record->extended[i].data;
        if (record->extended[i].type != type) {
            continue;
        }
        for (size_t at = MATCH_ID_BYTES; at + width <= data.size; at += width) {
            if (!buf_reserve(out, PUT_MAX)) {
                return false;
            }
            if (first) {
                add_key(out, types[type].name, "\":[");
            } else {
                buf_add_byte(out, ',');
            }
            first = false;
            if (!buf_reserve(out, PUT_MAX)) {
                return false;
            }
            uint8_t *p = out->data + out->size;
            p = width == 4 ? put_u64(p, load_le32(data.data + at))
                           : ecs_value_put_number(p, load_le64(data.data + at));
            out->size = (size_t)(p - out->data);
        }
    }
    return !first;
}

/* Frames from kernel stacks of the trace are always 64 bits wide here. */
static void add_joined(const struct event *event, bool any, struct buf *out)
{
    for (uint32_t i = 0; i < event->stack_count; i++) {
        buf_add_text(out, any ? "," : ",\"STACK_TRACE64\":[");
        any = true;
        if (!buf_reserve(out, PUT_MAX)) {
            return;
        }
        uint8_t *p = out->data + out->size;
        out->size += (size_t)(ecs_value_put_number(p, event->stack[i]) - p);
    }
    if (any) {
        buf_add_byte(out, ']');
    }
}

static void add_stacks(const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    for (size_t i = 0; i < record->extended_count; i++) {
        struct span data = record->extended[i].data;
        if (kind_of(record->extended[i].type) == ITEM_STACK && data.size >= MATCH_ID_BYTES &&
            load_le64(data.data)) {
            add_number(out, ",\"STACK_MATCH_ID\":\"", load_le64(data.data));
            break;
        }
    }
    if (add_frames(record, EXTENDED_STACK_TRACE32, out)) {
        buf_add_byte(out, ']');
    }
    add_joined(event, add_frames(record, EXTENDED_STACK_TRACE64, out), out);
}

/* ---- the object ------------------------------------------------------------------------------ */

void ecs_extended_add(const struct event *event, struct buf *out)
{
    const struct event_record *record = event->record;
    bool has_instance = record->present & RECORD_HAS_INSTANCE;
    if (record->extended_count == 0 && event->stack_count == 0 && !has_instance) {
        return;
    }
    size_t start = out->size;
    buf_add_text(out, ",\"extended_data\":");
    size_t first = out->size;
    if (has_instance && !record_extended(record, EXTENDED_INSTANCE_INFO)) {
        uint64_t ids = record->instance_id | (uint64_t)record->parent_instance_id << 32;
        add_number(out, ",\"INSTANCE_INFO\":\"", ids);
    }
    for (size_t i = 0; i < record->extended_count && !out->failed; i++) {
        const struct extended_item *item = &record->extended[i];
        if (kind_of(item->type) != ITEM_STACK && !is_repeated(record, i) &&
            !is_of_reader(record, item->type)) {
            if (item->type == EXTENDED_SID && (record->present & RECORD_SID_IS_TEXT)) {
                buf_add_text(out, ",\"SID\":");
                value_json_string(item->data, out);
            } else {
                add_item(item->type, item->data, out);
            }
        }
    }
    add_stacks(event, out);
    value_json_close(out, start, first);
}
