#include "cli/text/stat_trace.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/append.h"
#include "base/bytes.h"
#include "base/put.h"
#include "event/model/kernel_groups.h"
#include "event/value/value_json.h"

enum { KEY_BYTES = 512 };

static struct key_counts *const *list_tables(struct stat_trace *stat, struct key_counts *list[14])
{
    list[0] = &stat->buffer_types;
    list[1] = &stat->system_groups;
    list[2] = &stat->system_events;
    list[3] = &stat->classic_providers;
    list[4] = &stat->classic_events;
    list[5] = &stat->event_providers;
    list[6] = &stat->events;
    list[7] = &stat->event_header_flags;
    list[8] = &stat->message_providers;
    list[9] = &stat->messages;
    list[10] = &stat->tracelogging;
    list[11] = &stat->extended_data;
    list[12] = &stat->manifest_records;
    list[13] = &stat->metadata_opcodes;
    return list;
}

void stat_trace_init(struct stat_trace *stat)
{
    *stat = (struct stat_trace){.buffers = 0};
    struct key_counts *list[14];
    list_tables(stat, list);
    for (size_t i = 0; i < 14; i++) {
        key_counts_init(list[i]);
    }
}

void stat_trace_fini(struct stat_trace *stat)
{
    struct key_counts *list[14];
    list_tables(stat, list);
    for (size_t i = 0; i < 14; i++) {
        key_counts_fini(list[i]);
    }
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *header_type_name(unsigned type)
{
    static const char *const names[] = {[1] = "SYSTEM32",
        [2] = "SYSTEM64",
        [3] = "COMPACT32",
        [4] = "COMPACT64",
        [10] = "FULL_HEADER32",
        [11] = "INSTANCE32",
        [12] = "TIMED",
        [13] = "ERROR",
        [14] = "WNODE_HEADER",
        [15] = "MESSAGE",
        [16] = "PERFINFO32",
        [17] = "PERFINFO64",
        [18] = "EVENT_HEADER32",
        [19] = "EVENT_HEADER64",
        [20] = "FULL_HEADER64",
        [21] = "INSTANCE64"};
    return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

static const char *const flag_names[] = {"FLUSH_MARKER", "EVENTS_LOST", "BUFFER_LOST",
    "RTBACKUP_CORRUPT", "RTBACKUP", "PROC_INDEX", "COMPRESSED"};

static const char *const type_names[] = {
    "GENERIC", "RUNDOWN", "CTX_SWAP", "REFTIME", "HEADER", "BATCHED", "EMPTY_MARKER", "DBG_INFO"};

static const char *const extended_names[] = {[0x01] = "RELATED_ACTIVITYID",
    [0x02] = "SID",
    [0x03] = "TS_ID",
    [0x04] = "INSTANCE_INFO",
    [0x05] = "STACK_TRACE32",
    [0x06] = "STACK_TRACE64",
    [0x07] = "PEBS_INDEX",
    [0x08] = "PMC_COUNTERS",
    [0x09] = "PSM_KEY",
    [0x0a] = "EVENT_KEY",
    [0x0b] = "EVENT_SCHEMA_TL",
    [0x0c] = "PROV_TRAITS",
    [0x0d] = "PROCESS_START_KEY",
    [0x0e] = "CONTROL_GUID",
    [0x0f] = "QPC_DELTA",
    [0x10] = "CONTAINER_ID",
    [0x11] = "STACK_KEY32",
    [0x12] = "STACK_KEY64"};

#define NAME_OF(names, i) ((i) < sizeof(names) / sizeof((names)[0]) ? (names)[i] : NULL)

/* LogFileMode (EVENT_TRACE_*_MODE, evntrace.h), by bit. */
static const char *const mode_names[32] = {"FILE_SEQUENTIAL", "FILE_CIRCULAR", "FILE_APPEND",
    "FILE_NEWFILE", NULL, "FILE_PREALLOCATE", "NONSTOPPABLE", "SECURE", "REAL_TIME",
    "DELAY_OPEN_FILE", "BUFFERING", "PRIVATE_LOGGER", "ADD_HEADER", "USE_KBYTES_FOR_SIZE",
    "USE_GLOBAL_SEQUENCE", "USE_LOCAL_SEQUENCE", "RELOG", "PRIVATE_IN_PROC", "BUFFER_INTERFACE",
    "KD_FILTER", "REALTIME_RELOG", "LOST_EVENTS_DEBUG", "STOP_ON_HYBRID_SHUTDOWN",
    "PERSIST_ON_HYBRID_SHUTDOWN", "USE_PAGED_MEMORY", "SYSTEM_LOGGER", "COMPRESSED",
    "INDEPENDENT_SESSION", "NO_PER_PROCESSOR_BUFFERING", "BLOCKING", NULL, "ADDTO_TRIAGE_DUMP"};

/* ---- counting -------------------------------------------------------------------------------- */

static void add_name(struct key_counts *counts, const char *name, unsigned number)
{
    char text[16];
    if (!name) {
        snprintf(text, sizeof(text), "0x%x", number);
        name = text;
    }
    key_counts_add(counts, span_text(name));
}

bool stat_trace_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    struct stat_trace *stat = self;
    (void)epoch;
    stat->buffers++;
    stat->empty_buffers += buffer->empty;
    stat->cpus[buffer->cpu & ETL_CPU_MASK] = true;
    for (size_t bit = 0; bit < 16; bit++) {
        stat->buffer_flags[bit] += buffer->flags >> bit & 1;
    }
    add_name(&stat->buffer_types, NAME_OF(type_names, buffer->type), buffer->type);
    return true;
}

static void add_guid(struct key_counts *counts, const struct guid *guid)
{
    char text[GUID_TEXT_SIZE];
    guid_write(guid, text);
    key_counts_add(counts, span_make(text, sizeof(text)));
}

static void add_key(struct key_counts *counts, const struct guid *guid, const char *rest)
{
    char text[KEY_BYTES];
    guid_write(guid, text);
    int size = snprintf(text + GUID_TEXT_SIZE, sizeof(text) - GUID_TEXT_SIZE, "/%s", rest);
    key_counts_add(counts, span_make(text, GUID_TEXT_SIZE + (size_t)size));
}

static void count_kernel(struct stat_trace *stat, const struct event_record *record)
{
    unsigned group = record->hook_id >> 8;
    const struct kernel_group *known = kernel_group_find((uint8_t)group);
    char name[64];
    if (known) {
        snprintf(name, sizeof(name), "%s", known->name);
    } else {
        snprintf(name, sizeof(name), "0x%02x", group);
    }
    key_counts_add(&stat->system_groups, span_text(name));
    append_printf(
        name, sizeof(name), "/%u/v%u", record->hook_id & 0xff, record->descriptor.version);
    key_counts_add(&stat->system_events, span_text(name));
}

static void count_classic(struct stat_trace *stat, const struct event_record *record)
{
    char rest[64];
    snprintf(rest, sizeof(rest), "op%u/v%u", record->descriptor.opcode, record->descriptor.version);
    add_guid(&stat->classic_providers, &record->provider);
    add_key(&stat->classic_events, &record->provider, rest);
    if (guid_equal(&record->provider, &record_metadata_class)) {
        snprintf(rest, sizeof(rest), "%u", record->descriptor.opcode);
        key_counts_add(&stat->metadata_opcodes, span_text(rest));
    }
}

/* Name in a TraceLogging blob: u16 size, tag bytes until one has its high bit clear, then text. */
static void count_tracelogging(
    struct stat_trace *stat, const struct event_record *record, struct span blob)
{
    size_t at = 2;
    while (at < blob.size && blob.data[at] & 0x80) {
        at++;
    }
    struct span name = span_until_nul(span_from(blob, at + 1));
    char rest[KEY_BYTES - GUID_TEXT_SIZE - 8];
    snprintf(rest, sizeof(rest), "%.*s", SPAN_ARG(span_first(name, sizeof(rest) - 1)));
    add_key(&stat->tracelogging, &record->provider, rest);
}

static void count_event(struct stat_trace *stat, const struct event_record *record)
{
    const struct event_descriptor *d = &record->descriptor;
    char rest[64];
    snprintf(rest, sizeof(rest), "id%u/v%u/op%u", d->id, d->version, d->opcode);
    add_guid(&stat->event_providers, &record->provider);
    add_key(&stat->events, &record->provider, rest);
    snprintf(rest, sizeof(rest), "0x%x", record->flags);
    key_counts_add(&stat->event_header_flags, span_text(rest));
    for (size_t i = 0; i < record->extended_count; i++) {
        const struct extended_item *item = &record->extended[i];
        add_name(&stat->extended_data, NAME_OF(extended_names, item->type), item->type);
        if (item->type == EXTENDED_SCHEMA_TL) {
            count_tracelogging(stat, record, item->data);
        }
    }
    if (record_is_manifest_data(record)) {
        add_guid(&stat->manifest_records, &record->provider);
    }
}

bool stat_trace_record(void *self, const struct event_record *record)
{
    struct stat_trace *stat = self;
    stat->records++;
    stat->header_types[record->header_type]++;
    switch (record->kind) {
    case RECORD_KERNEL:
        count_kernel(stat, record);
        break;
    case RECORD_CLASSIC:
        count_classic(stat, record);
        break;
    case RECORD_EVENT:
        count_event(stat, record);
        break;
    case RECORD_MESSAGE: {
        char rest[16];
        snprintf(rest, sizeof(rest), "%u", record->descriptor.id);
        add_guid(&stat->message_providers, &record->provider);
        add_key(&stat->messages, &record->provider, rest);
        break;
    }
    default:
        break;
    }
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* `,"name":{…}`, and the number of keys that did not fit. */
static void add_counts(const char *name, const struct key_counts *counts, struct buf *out)
{
    if (counts->beyond) {
        buf_printf(out, ",\"%s_not_listed\":%llu", name, (unsigned long long)counts->beyond);
    }
    size_t count;
    struct key_count **rows = key_counts_sorted(counts, &count);
    buf_printf(out, ",\"%s\":{", name);
    for (size_t i = 0; i < count; i++) {
        buf_add_text(out, i ? "," : "");
        value_json_string(rows[i]->key, out);
        buf_printf(out, ":%llu", (unsigned long long)rows[i]->count);
    }
    buf_add_byte(out, '}');
    free(rows);
}

static void add_numbers(const struct stat_trace *stat, struct buf *out)
{
    const char *separator = "";
    buf_add_text(out, ",\"header_types\":{");
    for (unsigned i = 0; i < 256; i++) {
        if (stat->header_types[i]) {
            const char *name = header_type_name(i);
            char number[8];
            snprintf(number, sizeof(number), "0x%x", i);
            buf_printf(out, "%s\"%s\":%llu", separator, name ? name : number,
                (unsigned long long)stat->header_types[i]);
            separator = ",";
        }
    }
    separator = "";
    buf_add_text(out, "},\"buffer_flags\":{");
    for (unsigned bit = 0; bit < 16; bit++) {
        if (stat->buffer_flags[bit]) {
            const char *name = NAME_OF(flag_names, bit);
            char number[8];
            snprintf(number, sizeof(number), "0x%x", 1u << bit);
            buf_printf(out, "%s\"%s\":%llu", separator, name ? name : number,
                (unsigned long long)stat->buffer_flags[bit]);
            separator = ",";
        }
    }
    separator = "";
    buf_add_text(out, "},\"cpus\":[");
    for (unsigned cpu = 0; cpu < sizeof(stat->cpus) / sizeof(stat->cpus[0]); cpu++) {
        if (stat->cpus[cpu]) {
            buf_printf(out, "%s%u", separator, cpu);
            separator = ",";
        }
    }
    buf_add_byte(out, ']');
}

static void add_time(const char *name, uint64_t filetime, struct buf *out)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = text;
    if (filetime && put_filetime(&end, filetime)) {
        buf_printf(out, ",\"%s\":\"", name);
        buf_add(out, text, (size_t)(end - text));
        buf_add_byte(out, '"');
    }
}

static void add_header(const struct etl_info *info, struct buf *out)
{
    const char *separator = "";
    buf_printf(out,
        ",\"header\":{\"buffer_size\":%u,\"os_version\":\"%u.%u\",\"sub_version\":\"%u.%u\"",
        info->buffer_size, info->os_major, info->os_minor, info->sub_version, info->sub_minor);
    buf_printf(out, ",\"os_build\":%u,\"processors\":%u", info->os_build, info->processors);
    add_time("end_time", info->end_time, out);
    buf_printf(out, ",\"timer_resolution\":%u,\"max_file_mb\":%u,\"mode\":%u,\"mode_names\":[",
        info->timer_resolution, info->max_file_mb, info->mode);
    for (unsigned bit = 0; bit < 32; bit++) {
        if (info->mode >> bit & 1) {
            char number[16];
            snprintf(number, sizeof(number), "0x%x", 1u << bit);
            buf_printf(out, "%s\"%s\"", separator, mode_names[bit] ? mode_names[bit] : number);
            separator = ",";
        }
    }
    buf_printf(out, "],\"buffers_written\":%u,\"start_buffers\":%u,\"pointer_size\":%u",
        info->buffers_written, info->start_buffers, info->pointer_size);
    buf_printf(out, ",\"events_lost\":%u,\"cpu_mhz\":%u", info->events_lost, info->cpu_mhz);
    add_time("boot_time", info->boot_time, out);
    buf_printf(out, ",\"perf_freq\":%llu", (unsigned long long)info->perf_freq);
    add_time("start_time", info->start_time, out);
    buf_printf(out, ",\"clock_type\":%u,\"buffers_lost\":%u,\"tz_bias_min\":%d", info->clock_type,
        info->buffers_lost, info->tz_bias_min);
    buf_add_text(out, ",\"logger_name\":");
    value_json_string(info->logger_name, out);
    buf_add_text(out, ",\"log_file_name\":");
    value_json_string(info->log_file_name, out);
    buf_add_byte(out, '}');
}

void stat_trace_json(const struct stat_trace *stat, const struct etl_info *info, struct buf *out)
{
    buf_printf(out, "\"buffers\":%llu,\"empty_buffers\":%llu,\"records\":%llu",
        (unsigned long long)stat->buffers, (unsigned long long)stat->empty_buffers,
        (unsigned long long)stat->records);
    add_numbers(stat, out);
    add_counts("buffer_types", &stat->buffer_types, out);
    add_counts("system_groups", &stat->system_groups, out);
    add_counts("system_events", &stat->system_events, out);
    add_counts("classic_providers", &stat->classic_providers, out);
    add_counts("classic_events", &stat->classic_events, out);
    add_counts("event_providers", &stat->event_providers, out);
    add_counts("events", &stat->events, out);
    add_counts("message_providers", &stat->message_providers, out);
    add_counts("messages", &stat->messages, out);
    add_counts("tracelogging", &stat->tracelogging, out);
    add_counts("extended_data", &stat->extended_data, out);
    add_counts("event_header_flags", &stat->event_header_flags, out);
    add_counts("eventsource_manifest_records", &stat->manifest_records, out);
    add_counts("ktc_metadata_opcodes", &stat->metadata_opcodes, out);
    add_header(info, out);
}
