#include "base/bytes.h"
#include "event/model/event_stack.h"
#include "event/write/event_path_own.h"

/* Members of `extended` that are not lists, as format_native.c writes them. */

static bool has_extended(const struct event *event)
{
    const struct event_record *record = event->record;
    for (size_t i = 0; i < record->extended_count; i++) {
        uint16_t type = record->extended[i].type;
        if (type != EXTENDED_RELATED_ACTIVITY_ID && type != EXTENDED_SCHEMA_TL &&
            type != EXTENDED_PROV_TRAITS && !record_is_log_message(record, &record->extended[i])) {
            return true;
        }
    }
    return event->stack_count || (record->present & RECORD_HAS_INSTANCE);
}

static struct event_value number_item(struct span bytes)
{
    return bytes.size == 8   ? event_value_uint(load_le64(bytes.data))
           : bytes.size == 4 ? event_value_uint(load_le32(bytes.data))
                             : event_value_bytes(EVENT_VALUE_BYTES, bytes);
}

static struct event_value guid_item(struct span bytes)
{
    return event_value_bytes(bytes.size == 16 ? EVENT_VALUE_GUID : EVENT_VALUE_BYTES, bytes);
}

static struct event_value instance_member(
    enum event_path_field field, const struct event_record *record)
{
    const struct extended_item *item = record_extended(record, EXTENDED_INSTANCE_INFO);
    if (!item) {
        bool is_there = record->present & RECORD_HAS_INSTANCE;
        switch (field) {
        case PATH_EXTENDED_INSTANCE:
            return event_path_object_if(is_there);
        case PATH_EXTENDED_INSTANCE_ID:
            return event_path_uint_if(is_there, record->instance_id);
        case PATH_EXTENDED_INSTANCE_PARENT_ID:
            return event_path_uint_if(is_there, record->parent_instance_id);
        default:
            return event_path_guid_if(
                is_there && !guid_is_zero(&record->parent_guid), record->parent_guid.bytes);
        }
    }
    const uint8_t *data = item->data.data;
    bool whole = item->data.size >= 24;
    switch (field) {
    case PATH_EXTENDED_INSTANCE:
        return whole ? event_path_object_if(true)
                     : event_value_bytes(EVENT_VALUE_BYTES, item->data);
    case PATH_EXTENDED_INSTANCE_ID:
        return event_path_uint_if(whole, whole ? load_le32(data) : 0);
    case PATH_EXTENDED_INSTANCE_PARENT_ID:
        return event_path_uint_if(whole, whole ? load_le32(data + 4) : 0);
    default:
        return event_path_guid_if(whole, whole ? data + 8 : NULL);
    }
}

static struct event_value stack_match_id(const struct event_record *record)
{
    for (size_t i = 0; i < record->extended_count; i++) {
        struct span data = record->extended[i].data;
        if (event_stack_is_item(record->extended[i].type) && data.size >= 8 &&
            load_le64(data.data)) {
            return event_value_uint(load_le64(data.data));
        }
    }
    return event_path_none();
}

static struct event_value extended_item(const struct event_record *record, uint16_t type,
    struct event_value (*value)(struct span bytes))
{
    const struct extended_item *item = record_extended(record, (enum extended_type)type);
    if (item && type == EXTENDED_SID && (record->present & RECORD_SID_IS_TEXT)) {
        return event_value_utf8(item->data);
    }
    return item ? value(item->data) : event_path_none();
}

static struct event_value bytes_item(struct span bytes)
{
    return event_value_bytes(EVENT_VALUE_BYTES, bytes);
}

struct event_value event_path_extended(const struct event_path *path, const struct event *event)
{
    const struct event_record *record = event->record;
    switch (path->field) {
    case PATH_EXTENDED:
        return event_path_object_if(has_extended(event));
    case PATH_EXTENDED_SID:
        return extended_item(record, EXTENDED_SID, event_value_sid);
    case PATH_EXTENDED_SESSION_ID:
        return extended_item(record, EXTENDED_TS_ID, number_item);
    case PATH_EXTENDED_STACK_MATCH_ID:
        return stack_match_id(record);
    case PATH_EXTENDED_PEBS_INDEX:
        return extended_item(record, EXTENDED_PEBS_INDEX, number_item);
    case PATH_EXTENDED_PSM_KEY:
        return extended_item(record, EXTENDED_PSM_KEY, bytes_item);
    case PATH_EXTENDED_EVENT_KEY:
        return extended_item(record, EXTENDED_EVENT_KEY, number_item);
    case PATH_EXTENDED_START_KEY:
        return extended_item(record, EXTENDED_PROCESS_START_KEY, number_item);
    case PATH_EXTENDED_CONTROL_GUID:
        return extended_item(record, EXTENDED_CONTROL_GUID, guid_item);
    case PATH_EXTENDED_QPC_DELTA:
        return extended_item(record, EXTENDED_QPC_DELTA, number_item);
    case PATH_EXTENDED_CONTAINER_ID:
        return extended_item(record, EXTENDED_CONTAINER_ID, guid_item);
    case PATH_EXTENDED_TYPE:
        return extended_item(record, path->item, bytes_item);
    default:
        return instance_member((enum event_path_field)path->field, record);
    }
}
