#include "input/record/etl_record.h"

#include "base/bytes.h"
#include "base/reader.h"
#include "event/model/kernel_groups.h"
#include "event/model/record_file.h"
#include "event/model/record_process.h"
#include "input/record/etl_format.h"
#include "input/record/host_facts.h"

/*
 * Design: first framing (marker and size from 8 bytes, size checked against the fixed header of its
 * type), then one function per header family. Fixed headers are loaded directly because framing has
 * checked their bounds; everything of variable length goes through struct reader.
 */

enum {
    MARKER_HEADER_TYPE = 0xc, /* bits 31, TRACE_HEADER_FLAG, and 30: byte 2 is a HeaderType */
    MARKER_MESSAGE = 0x9,
    MARKER_ULONG32_TIME = 0xb,
};

static const uint32_t no_id = UINT32_MAX; /* unknown process or thread */

enum family {
    FAMILY_OPAQUE, /* without a public layout */
    FAMILY_SYSTEM,
    FAMILY_PERFINFO,
    FAMILY_CLASSIC,
    FAMILY_EVENT,
    FAMILY_MESSAGE,
    FAMILY_NONE, /* not a header */
};

struct header {
    uint8_t family;
    uint8_t size_at; /* where the record's size stands: after a version, if there is one */
    uint16_t size;   /* of its fixed part */
};

/* The header that starts with these ETL_RECORD_START_SIZE bytes. */
static inline const struct header *header_of(const uint8_t *start)
{
    static const struct header none = {.family = FAMILY_NONE};
    static const struct header opaque = {.family = FAMILY_OPAQUE};
    static const struct header message = {.family = FAMILY_MESSAGE};
    static const struct header by_type[] = {
        [ETL_SYSTEM32] = {FAMILY_SYSTEM, 4, ETL_SYSTEM_SIZE},
        [ETL_SYSTEM64] = {FAMILY_SYSTEM, 4, ETL_SYSTEM_SIZE},
        [ETL_COMPACT32] = {FAMILY_SYSTEM, 4, ETL_COMPACT_SIZE},
        [ETL_COMPACT64] = {FAMILY_SYSTEM, 4, ETL_COMPACT_SIZE},
        [ETL_FULL_HEADER32] = {FAMILY_CLASSIC, 0, ETL_FULL_HEADER_SIZE},
        [ETL_INSTANCE32] = {FAMILY_CLASSIC, 0, ETL_INSTANCE_SIZE},
        [ETL_PERFINFO32] = {FAMILY_PERFINFO, 4, ETL_PERFINFO_SIZE},
        [ETL_PERFINFO64] = {FAMILY_PERFINFO, 4, ETL_PERFINFO_SIZE},
        [ETL_EVENT_HEADER32] = {FAMILY_EVENT, 0, ETL_EVENT_HEADER_SIZE},
        [ETL_EVENT_HEADER64] = {FAMILY_EVENT, 0, ETL_EVENT_HEADER_SIZE},
        [ETL_FULL_HEADER64] = {FAMILY_CLASSIC, 0, ETL_FULL_HEADER_SIZE},
        [ETL_INSTANCE64] = {FAMILY_CLASSIC, 0, ETL_INSTANCE_SIZE},
    };
    uint8_t type = start[2];
    uint8_t marker = start[3] >> 4;
    if ((marker & MARKER_HEADER_TYPE) == MARKER_HEADER_TYPE) {
        return type < sizeof(by_type) / sizeof(by_type[0]) ? &by_type[type] : &opaque;
    }
    return marker == MARKER_MESSAGE ? &message : marker == MARKER_ULONG32_TIME ? &opaque : &none;
}

enum etl_frame etl_record_frame(const uint8_t *start, uint32_t *ret_size)
{
    uint32_t word = load_le32(start);
    if (word == 0 || word == UINT32_MAX) {
        return ETL_FRAME_END;
    }
    const struct header *header = header_of(start);
    uint32_t size = load_le16(start + header->size_at);
    if (header->family == FAMILY_NONE || size < ETL_RECORD_START_SIZE || size < header->size) {
        return ETL_FRAME_BAD;
    }
    *ret_size = size;
    return ETL_FRAME_RECORD;
}

static void set_time(struct event_record *record, struct etl_scope *scope, int64_t raw)
{
    record->time_raw = raw;
    record->time = trace_clock_filetime(&scope->trace->clock, raw);
    record->present |= RECORD_HAS_TIME;
    scope->last_raw = raw;
    scope->last_time = record->time;
    scope->has_last_time = true;
}

/* A record without time gets that of the previous record, as in Windows. */
static void inherit_time(struct event_record *record, const struct etl_scope *scope)
{
    if (scope->has_last_time) {
        record->time_raw = scope->last_raw;
        record->time = scope->last_time;
        record->present |= RECORD_HAS_TIME;
    } else {
        record->time_raw = scope->trace->clock.start_raw;
        record->time = scope->trace->clock.start_time;
    }
}

static void set_ids(struct event_record *record, uint32_t thread_id, uint32_t process_id)
{
    if (thread_id != no_id) {
        record->thread_id = thread_id;
        record->present |= RECORD_HAS_THREAD;
    }
    if (process_id != no_id) {
        record->process_id = process_id;
        record->present |= RECORD_HAS_PROCESS;
    }
}

/* Two u32 tick counts; in private sessions one u64 of CPU cycles instead. */
static void set_cpu_times(struct event_record *record, const uint8_t *times, bool private_session)
{
    if (private_session) {
        record->processor_time = load_le64(times);
        record->present |= RECORD_HAS_PROCESSOR_TIME;
    } else {
        record->kernel_ticks = load_le32(times);
        record->user_ticks = load_le32(times + 4);
        record->present |= RECORD_HAS_CPU_TIMES;
    }
}

static void set_hook(struct event_record *record, uint16_t hook_id, uint8_t version)
{
    record->kind = RECORD_KERNEL;
    record->hook_id = hook_id;
    record->descriptor.opcode = (uint8_t)hook_id;
    record->descriptor.version = version;
    const struct guid *class_guid = kernel_group_class(hook_id);
    if (class_guid) {
        record->provider = *class_guid;
    }
}

/* SYSTEM_TRACE_HEADER; COMPACT lacks the CPU times. */
static const char *read_system(
    struct span bytes, struct etl_scope *scope, struct event_record *record)
{
    const uint8_t *p = bytes.data;
    bool compact = record->header_type >= ETL_COMPACT32;
    record->pointer_size = record->header_type % 2 ? 4 : 8;
    set_hook(record, load_le16(p + 0x06), p[0]);
    set_ids(record, load_le32(p + 0x08), load_le32(p + 0x0c));
    set_time(record, scope, (int64_t)load_le64(p + 0x10));
    if (!compact) {
        set_cpu_times(record, p + 0x18, false);
    }
    record->payload = span_from(bytes, compact ? ETL_COMPACT_SIZE : ETL_SYSTEM_SIZE);
    return NULL;
}

/* PERFINFO_TRACE_HEADER; its optional extension becomes extended items. */
static const char *read_perfinfo(struct span bytes, struct etl_scope *scope,
    struct extended_item *items, struct event_record *record)
{
    const uint8_t *p = bytes.data;
    uint16_t version = load_le16(p);
    record->pointer_size = record->header_type == ETL_PERFINFO32 ? 4 : 8;
    set_hook(record, load_le16(p + 0x06), (uint8_t)version);
    set_time(record, scope, (int64_t)load_le64(p + 0x08));

    struct reader r = reader_make(span_from(bytes, ETL_PERFINFO_SIZE));
    record->payload = reader_rest(&r);
    size_t counters = (version & ETL_PERFINFO_COUNTERS) >> ETL_PERFINFO_COUNTERS_SHIFT;
    size_t count = 0;
    if (version & ETL_PERFINFO_PEBS) {
        items[count++] = (struct extended_item){EXTENDED_PEBS_INDEX, reader_take(&r, 8)};
    }
    if (counters) {
        items[count++] = (struct extended_item){
            EXTENDED_PMC_COUNTERS, reader_take(&r, counters * 8)};
    }
    if (r.failed) {
        return "the counters of a kernel record reach beyond it";
    }
    record->extended = count ? items : NULL;
    record->extended_count = count;
    record->payload = reader_rest(&r);
    return NULL;
}

/* EVENT_TRACE_HEADER, and EVENT_INSTANCE_GUID_HEADER which extends it. */
static const char *read_classic(
    struct span bytes, struct etl_scope *scope, struct event_record *record)
{
    const uint8_t *p = bytes.data;
    bool instance = record->header_type == ETL_INSTANCE32 || record->header_type == ETL_INSTANCE64;
    record->kind = RECORD_CLASSIC;
    record->pointer_size = record->header_type < ETL_PERFINFO32 ? 4 : 8;
    record->descriptor.opcode = p[0x04];
    record->descriptor.level = p[0x05];
    record->descriptor.version = p[0x06];
    set_ids(record, load_le32(p + 0x08), load_le32(p + 0x0c));
    set_time(record, scope, (int64_t)load_le64(p + 0x10));
    memcpy(record->provider.bytes, p + 0x18, sizeof(record->provider.bytes));
    set_cpu_times(record, p + 0x28, scope->private_session);
    if (instance) {
        record->instance_id = load_le32(p + 0x30);
        record->parent_instance_id = load_le32(p + 0x34);
        memcpy(record->parent_guid.bytes, p + 0x38, sizeof(record->parent_guid.bytes));
        record->present |= RECORD_HAS_INSTANCE;
    }
    record->payload = span_from(bytes, instance ? ETL_INSTANCE_SIZE : ETL_FULL_HEADER_SIZE);
    return NULL;
}

/* MESSAGE_TRACE_HEADER: optional fields in the order of their flags, then the arguments. */
static const char *read_message(
    struct span bytes, struct etl_scope *scope, struct event_record *record)
{
    const uint8_t *p = bytes.data;
    uint16_t flags = load_le16(p + 6);
    record->kind = RECORD_MESSAGE;
    record->header_type = ETL_MESSAGE;
    record->descriptor.id = load_le16(p + 4);
    record->message_flags = flags;
    record->present |= RECORD_HAS_MESSAGE_FLAGS;
    record->pointer_size = flags & ETL_WPP_POINTER64   ? 8
                           : flags & ETL_WPP_POINTER32 ? 4
                                                       : scope->trace->pointer_size;
    record->payload = span_from(bytes, ETL_RECORD_START_SIZE);

    struct reader r = reader_make(record->payload);
    uint32_t sequence = flags & ETL_WPP_SEQUENCE ? reader_u32(&r) : 0;
    uint32_t component = 0;
    struct guid guid = {{0}};
    if (flags & ETL_WPP_COMPONENT) { /* takes precedence if both are set */
        component = reader_u32(&r);
    } else if (flags & ETL_WPP_GUID) {
        guid = reader_guid(&r);
    }
    int64_t raw = flags & ETL_WPP_TIMESTAMP ? (int64_t)reader_u64(&r) : 0;
    uint32_t thread_id = flags & ETL_WPP_SYSTEMINFO ? reader_u32(&r) : no_id;
    uint32_t process_id = flags & ETL_WPP_SYSTEMINFO ? reader_u32(&r) : no_id;
    if (r.failed) {
        inherit_time(record, scope);
        record->present |= RECORD_TIME_OF_BUFFER;
        return "the header of a message record reaches beyond it";
    }
    record->message_sequence = sequence;
    record->message_component = component;
    record->provider = guid;
    record->present |= flags & ETL_WPP_SEQUENCE ? RECORD_HAS_SEQUENCE : 0;
    record->present |= flags & ETL_WPP_COMPONENT ? RECORD_HAS_COMPONENT : 0;
    set_ids(record, thread_id, process_id);
    if (flags & ETL_WPP_TIMESTAMP) {
        set_time(record, scope, raw);
    } else {
        inherit_time(record, scope);
        record->present |= RECORD_TIME_OF_BUFFER;
    }
    record->payload = reader_rest(&r);
    return NULL;
}

/* Read one extended item after an EVENT_HEADER: u16 length including this header and padding, u16
 * type, u16 linkage (bit 0: another follows), u16 data size, data, padding. False, with nothing
 * consumed, if it reaches beyond the record. */
static inline bool take_extended(
    struct reader *r, struct extended_item *ret_item, bool *ret_another)
{
    enum { ITEM_HEADER_SIZE = 8 };
    size_t left = reader_left(r);
    if (left < ITEM_HEADER_SIZE) {
        return false;
    }
    const uint8_t *p = r->at;
    size_t length = load_le16(p);
    size_t size = load_le16(p + 6);
    bool another = p[4] & 1;
    /* the padding of the last item may be missing, like that of the record */
    size_t skip = !another && length > left ? left : length;
    if (length < ITEM_HEADER_SIZE + size || ITEM_HEADER_SIZE + size > left || skip > left) {
        return false;
    }
    reader_skip(r, skip);
    *ret_item = (struct extended_item){load_le16(p + 2), span_make(p + ITEM_HEADER_SIZE, size)};
    *ret_another = another;
    return true;
}

static const char *read_extended(
    struct reader *r, struct extended_item *items, struct event_record *record)
{
    bool more = true;
    size_t left_out = 0;
    while (more) {
        struct extended_item item;
        if (!take_extended(r, &item, &more)) {
            return "an extended data item reaches beyond its record";
        }
        if (record->extended_count < RECORD_MAX_EXTENDED) {
            items[record->extended_count++] = item;
        } else {
            left_out++;
        }
    }
    return left_out ? "a record has more extended data items than fit" : NULL;
}

static const char *read_event(struct span bytes, struct etl_scope *scope,
    struct extended_item *items, struct event_record *record)
{
    const uint8_t *p = bytes.data;
    record->kind = RECORD_EVENT;
    record->pointer_size = record->header_type == ETL_EVENT_HEADER32 ? 4 : 8;
    record->flags = load_le16(p + 0x04);
    record->event_property = load_le16(p + 0x06);
    set_ids(record, load_le32(p + 0x08), load_le32(p + 0x0c));
    set_time(record, scope, (int64_t)load_le64(p + 0x10));
    memcpy(record->provider.bytes, p + 0x18, sizeof(record->provider.bytes));
    record->descriptor = (struct event_descriptor){
        .id = load_le16(p + 0x28),
        .version = p[0x2a],
        .channel = p[0x2b],
        .level = p[0x2c],
        .opcode = p[0x2d],
        .task = load_le16(p + 0x2e),
        .keyword = load_le64(p + 0x30),
    };
    if (!(record->flags & EVENT_FLAG_NO_CPUTIME)) {
        bool is_private = scope->private_session || record->flags & EVENT_FLAG_PRIVATE_SESSION;
        set_cpu_times(record, p + 0x38, is_private);
    }
    memcpy(record->activity_id.bytes, p + 0x40, sizeof(record->activity_id.bytes));

    struct reader r = reader_make(span_from(bytes, ETL_EVENT_HEADER_SIZE));
    const char *problem = NULL;
    if (record->flags & EVENT_FLAG_EXTENDED_INFO) {
        record->extended = items;
        problem = read_extended(&r, items, record);
    }
    record->payload = reader_rest(&r);
    return problem;
}

/* Delivered as bytes, with everything after marker and size. */
static const char *read_opaque(
    struct span bytes, const struct etl_scope *scope, struct event_record *record)
{
    record->kind = RECORD_OPAQUE;
    if (bytes.data[3] >> 4 == MARKER_ULONG32_TIME) {
        record->header_type = ETL_ULONG32_TIME;
    }
    record->payload = span_from(bytes, ETL_RECORD_START_SIZE);
    inherit_time(record, scope);
    return NULL;
}

const char *etl_record_read(struct span bytes, struct etl_scope *scope, struct extended_item *items,
    struct event_record *record)
{
    *record = (struct event_record){
        .header_type = bytes.data[2],
        .pointer_size = scope->trace->pointer_size,
        .cpu = scope->cpu,
        .trace = scope->trace,
        .position = scope->position,
    };
    switch (header_of(bytes.data)->family) {
    case FAMILY_SYSTEM:
        return read_system(bytes, scope, record);
    case FAMILY_PERFINFO:
        return read_perfinfo(bytes, scope, items, record);
    case FAMILY_CLASSIC:
        return read_classic(bytes, scope, record);
    case FAMILY_EVENT:
        return read_event(bytes, scope, items, record);
    case FAMILY_MESSAGE:
        return read_message(bytes, scope, record);
    default:
        return read_opaque(bytes, scope, record);
    }
}

/* ---- plain events ---------------------------------------------------------------------------- */

static bool is_plain_hook(uint16_t hook_id)
{
    enum { GROUP_TRACE = 0x00, GROUP_CONFIG = 0x0b, GROUP_STACK_WALK = 0x18 };
    uint8_t group = (uint8_t)(hook_id >> 8);
    return group != GROUP_TRACE && group != GROUP_CONFIG && group != GROUP_STACK_WALK &&
           !record_process_hook(hook_id) && !record_file_hook(hook_id);
}

static bool are_extended_sound(struct span bytes)
{
    struct reader r = reader_make(span_from(bytes, ETL_EVENT_HEADER_SIZE));
    bool more = true;
    for (size_t i = 0; more; i++) {
        struct extended_item item;
        if (i == RECORD_MAX_EXTENDED || !take_extended(&r, &item, &more)) {
            return false;
        }
    }
    return true;
}

bool etl_record_is_plain_event(struct span bytes)
{
    enum { EXTENDED = ETL_PERFINFO_COUNTERS | ETL_PERFINFO_PEBS };
    const uint8_t *p = bytes.data;
    switch (header_of(p)->family) {
    case FAMILY_PERFINFO:
        return !(load_le16(p) & EXTENDED) && is_plain_hook(load_le16(p + 0x06));
    case FAMILY_SYSTEM:
        return is_plain_hook(load_le16(p + 0x06));
    case FAMILY_EVENT:
        return load_le16(p + 0x28) != RECORD_MANIFEST_ID &&
               record_process_class(p + 0x18) == RECORD_OF_OTHERS &&
               !record_file_may_name(p + 0x18) &&
               (!(load_le16(p + 0x04) & EVENT_FLAG_EXTENDED_INFO) || are_extended_sound(bytes));
    case FAMILY_OPAQUE:
        return true;
    default:
        return false; /* that of a message may reach beyond it */
    }
}
