#include "input/windows/etw_record.h"

#include "base/bytes.h"
#include "event/model/kernel_groups.h"
#include "input/record/etl_format.h"

enum {
    GROUP_PROCESS = 0x03,
    GROUP_IMAGE = 0x14,
    GROUP_EVENT_TRACE = 0x00,
    TYPE_IMAGE_LOAD = 0x0a, /* the only hook of Image in the group of Process */
    TYPE_HEADER = 0,
    LOST_EVENT = 32,
    LOST_BUFFER = 33,
    LOST_FILE = 34,
};

static const uint32_t no_id = UINT32_MAX; /* unknown process or thread */

/* {6a399ae0-4bc6-4de9-870b-3657f8947e7e}, RT_LostEvent on learn.microsoft.com. */
static const struct guid lost_events = {{0xe0, 0x9a, 0x39, 0x6a, 0xc6, 0x4b, 0xe9, 0x4d, 0x87, 0x0b,
    0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e}};

enum etw_record_role etw_record_role(const struct etw_event_record *record)
{
    const struct etw_event_header *header = &record->header;
    if (guid_equal(&header->provider_id, &lost_events)) {
        switch (header->descriptor.opcode) {
        case LOST_EVENT:
            return ETW_RECORD_LOST;
        case LOST_BUFFER:
            return ETW_RECORD_LOST_BUFFER;
        case LOST_FILE:
            return ETW_RECORD_LOST_FILE;
        default:
            return ETW_RECORD_EVENT;
        }
    }
    bool is_header = (header->flags & EVENT_FLAG_CLASSIC) &&
                     header->descriptor.opcode == TYPE_HEADER &&
                     guid_equal(
                         &header->provider_id, &kernel_group_find(GROUP_EVENT_TRACE)->class_guid);
    return is_header ? ETW_RECORD_HEADER : ETW_RECORD_EVENT;
}

/* Hook of a kernel event by class and type; false if the class is not the kernel's. */
static bool find_hook(const struct guid *class_guid, uint8_t type, uint16_t *ret_hook)
{
    for (unsigned group = 0; group < KERNEL_GROUP_COUNT; group++) {
        if (guid_equal(class_guid, &kernel_group_find((uint8_t)group)->class_guid)) {
            if (group == GROUP_IMAGE && type == TYPE_IMAGE_LOAD) {
                group = GROUP_PROCESS;
            }
            *ret_hook = (uint16_t)(group << 8 | type);
            return true;
        }
    }
    return false;
}

static void set_kind(const struct etw_event_header *header, struct event_record *record)
{
    bool narrow = record->pointer_size == 4;
    if (header->flags & EVENT_FLAG_TRACE_MESSAGE) {
        record->kind = RECORD_MESSAGE;
        record->header_type = ETL_MESSAGE;
    } else if (!(header->flags & EVENT_FLAG_CLASSIC)) {
        record->kind = RECORD_EVENT;
        record->header_type = narrow ? ETL_EVENT_HEADER32 : ETL_EVENT_HEADER64;
    } else if (find_hook(&header->provider_id, header->descriptor.opcode, &record->hook_id)) {
        record->kind = RECORD_KERNEL;
        record->header_type = narrow ? ETL_SYSTEM32 : ETL_SYSTEM64;
    } else {
        record->kind = RECORD_CLASSIC;
        record->header_type = narrow ? ETL_FULL_HEADER32 : ETL_FULL_HEADER64;
    }
}

static void set_cpu_times(const struct etw_event_header *header, struct event_record *record)
{
    if (header->flags & EVENT_FLAG_NO_CPUTIME || record->kind == RECORD_MESSAGE) {
        return;
    }
    if (header->flags & EVENT_FLAG_PRIVATE_SESSION) {
        record->processor_time = header->processor_time;
        record->present |= RECORD_HAS_PROCESSOR_TIME;
    } else {
        record->kernel_ticks = header->kernel_time;
        record->user_ticks = header->user_time;
        record->present |= RECORD_HAS_CPU_TIMES;
    }
}

static void set_extended(
    const struct etw_event_record *from, struct extended_item *items, struct event_record *record)
{
    size_t count = 0;
    for (size_t i = 0; from->extended_data && i < from->extended_data_count; i++) {
        const struct etw_extended_item *item = &from->extended_data[i];
        if (count == RECORD_MAX_EXTENDED) {
            break;
        }
        if (item->data || item->data_size == 0) {
            items[count++] = (struct extended_item){
                item->ext_type, span_make((const void *)(uintptr_t)item->data, item->data_size)};
        }
    }
    record->extended = count ? items : NULL;
    record->extended_count = count;
}

/*
 * Clears header values that a message lacks. Its flags say which, but an EVENT_RECORD does not
 * contain them, so zeros count as missing: a time of 0, and process and thread both 0, although a
 * driver may have written those while the processor was idle. A component id takes the place of the
 * GUID's start.
 */
static void set_message(const struct etw_event_header *header, struct event_record *record)
{
    static const struct guid none;
    const uint8_t *id = header->provider_id.bytes;
    if (record->process_id == 0 && record->thread_id == 0) {
        record->present &= (uint16_t) ~(RECORD_HAS_PROCESS | RECORD_HAS_THREAD);
    }
    record->present |= header->time_stamp == 0 ? RECORD_TIME_OF_BUFFER : 0;
    if (memcmp(id + 4, none.bytes, sizeof(none.bytes) - 4) == 0 && load_le32(id)) {
        record->message_component = load_le32(id);
        record->present |= RECORD_HAS_COMPONENT;
        record->provider = none;
    }
}

void etw_record_read(const struct etw_event_record *from, const struct trace_info *trace,
    int64_t previous_raw, struct extended_item *items, struct event_record *ret_record)
{
    const struct etw_event_header *header = &from->header;
    bool has_time = header->time_stamp || !(header->flags & EVENT_FLAG_TRACE_MESSAGE);
    int64_t raw = has_time       ? header->time_stamp
                  : previous_raw ? previous_raw
                                 : trace->clock.start_raw;
    struct event_record record = {
        .pointer_size = header->flags & EVENT_FLAG_32_BIT   ? 4
                        : header->flags & EVENT_FLAG_64_BIT ? 8
                                                            : trace->pointer_size,
        .present = RECORD_HAS_TIME,
        .flags = header->flags,
        .event_property = header->event_property,
        /* without PROCESSOR_INDEX the high byte is an alignment */
        .cpu = header->flags & EVENT_FLAG_PROCESSOR_INDEX ? from->processor_index
                                                          : from->processor_index & 0xff,
        .time_raw = raw,
        .time = trace_clock_filetime(&trace->clock, raw),
        .provider = header->provider_id,
        .descriptor = header->descriptor,
        .activity_id = header->activity_id,
        .payload = span_make(from->user_data, from->user_data ? from->user_data_length : 0),
        .trace = trace,
    };
    if (header->process_id != no_id) {
        record.process_id = header->process_id;
        record.present |= RECORD_HAS_PROCESS;
    }
    if (header->thread_id != no_id) {
        record.thread_id = header->thread_id;
        record.present |= RECORD_HAS_THREAD;
    }
    set_kind(header, &record);
    if (record.kind == RECORD_MESSAGE) {
        set_message(header, &record);
    }
    set_cpu_times(header, &record);
    set_extended(from, items, &record);
    *ret_record = record;
}
