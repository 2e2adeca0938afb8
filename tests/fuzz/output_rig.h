#ifndef ETWSHIP_TESTS_FUZZ_OUTPUT_RIG_H
#define ETWSHIP_TESTS_FUZZ_OUTPUT_RIG_H

#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "event/write/event_process.h"
#include "event/write/event_writer.h"
#include "schema/wpp/wpp_plan.h"

/* The choices of fuzz_output.c: texts and numbers, machines, definitions, processes and records,
 * each made from the input's next bytes. */
enum { MAX_ITEMS = 6, MAX_FIELDS = 12, MAX_EXTENDED = 6 };

struct input {
    struct reader r;
    struct arena arena;
    /* blocks of the exact size, so that a sanitizer sees reads beyond them */
    uint8_t *payloads[MAX_ITEMS];
    size_t payload_count;
    struct event_agent agent;
    struct span labels[4];
    struct span tags[1];
};

/* ---- choices --------------------------------------------------------------------------------- */

static inline uint8_t *copy(struct input *in, struct span text)
{
    uint8_t *bytes = arena_alloc(&in->arena, text.size + 1);
    if (!bytes) {
        abort(); /* the arena is larger than what an input can ask for */
    }
    memcpy(bytes, text.size ? text.data : (const uint8_t *)"", text.size);
    bytes[text.size] = 0;
    return bytes;
}

/* Up to 64 bytes of the input, or one of the texts that are hard for writers. */
static inline struct span pick_text(struct input *in)
{
    static const char *const bad[] = {"", "\xff", "\xfe", "\xed\xa0\x80", "\xc0\x80",
        "\xf4\x90\x80\x80", "\"", "\\", "\n", "\r\n", "\x1b[2J", "\x7f", "\xc2\x9b", "\xe2\x80\xa8",
        "A", "A_name", "A_raw", "A.B", "A_2", "field_1", "_", "\xc3\xa9", "\xf0\x9f\x98\x80",
        "a\x01", "\\u0000", "sid", "stack", "port", "\xe2\x82", "0"};
    enum { BAD = sizeof(bad) / sizeof(bad[0]), LONG_TEXT = 600 };
    uint8_t choice = reader_u8(&in->r);
    if (choice == 0xff) {
        static uint8_t text[LONG_TEXT];
        memset(text, 'n', LONG_TEXT);
        return span_make(text, LONG_TEXT);
    }
    if (choice >= 0xc0) {
        return span_text(bad[choice % BAD]);
    }
    size_t size = choice % 65u;
    size = size < reader_left(&in->r) ? size : reader_left(&in->r);
    return span_make(copy(in, reader_take(&in->r, size)), size);
}

static inline const char *pick_string(struct input *in)
{
    return (const char *)copy(in, pick_text(in));
}

/* Times, sizes and masks: mostly at an edge. */
static inline uint64_t pick_number(struct input *in)
{
    static const uint64_t edges[] = {0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 0x100000000,
        UINT64_C(134397270001234567), UINT64_C(2650467743999999999), UINT64_C(2650467744000000000),
        INT64_MAX, UINT64_C(1) << 63, UINT64_MAX, 999999, 1000000, UINT64_C(10000000000000000)};
    enum { EDGES = sizeof(edges) / sizeof(edges[0]) };
    uint8_t choice = reader_u8(&in->r);
    return choice < 0xc0 ? edges[choice % EDGES] : reader_u64(&in->r);
}

static inline struct guid pick_guid(struct input *in)
{
    /* Microsoft-Windows-Kernel-Process, Microsoft-Windows-DNS-Client; classes Process and TcpIp */
    static const char *const known[] = {"22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716",
        "1c95126e-7eea-49a9-a3fe-a378b03ddb4d", "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c",
        "9a280ac0-c8e0-11d1-84e2-00c04fb998a2"};
    struct guid guid = {{0}};
    uint8_t choice = reader_u8(&in->r);
    if (choice >= 0xc0) {
        guid = reader_guid(&in->r);
    } else if (choice >= 0x40) {
        guid_parse(span_text(known[choice % 4]), &guid);
    }
    return guid;
}

/* ---- machine, definition, process ------------------------------------------------------------ */

static inline void make_trace(struct input *in, struct trace_info *trace)
{
    struct span *ip = arena_alloc(&in->arena, sizeof(*ip));
    if (!ip) {
        abort();
    }
    *trace = (struct trace_info){.session_name = pick_text(in),
        .path = pick_text(in),
        .host_name = pick_text(in),
        .host_fqdn = pick_text(in),
        .host_domain = pick_text(in),
        .host_architecture = pick_text(in),
        .os_name = pick_text(in),
        .os_version = pick_text(in),
        .os_kernel = pick_text(in),
        .host_id = pick_text(in),
        .host_ips = ip,
        .pointer_size = 8,
        .clock = {.type = (enum trace_clock_type)(reader_u8(&in->r) % 4),
            .start_time = pick_number(in),
            .start_raw = (int64_t)pick_number(in),
            .frequency = 10000000}};
    *ip = pick_text(in);
    trace->host_ip_count = ip->size ? 1 : 0;
}

static inline uint16_t pick_in_type(struct input *in)
{
    static const uint16_t others[] = {IN_MANIFEST_COUNTED_STRING, IN_MANIFEST_COUNTED_ANSI_STRING,
        IN_MANIFEST_COUNTED_BINARY, IN_COUNTED_STRING, IN_COUNTED_ANSI_STRING,
        IN_REVERSED_COUNTED_STRING, IN_NON_NUL_TERMINATED_STRING, IN_NON_NUL_TERMINATED_ANSI_STRING,
        IN_UNICODE_CHAR, IN_ANSI_CHAR, IN_SIZE_T, IN_HEX_DUMP, IN_WBEM_SID, IN_WMI_TIME,
        IN_WPP_SID};
    uint8_t choice = reader_u8(&in->r);
    return choice < 0xa0 ? choice % 22 : others[choice % (sizeof(others) / sizeof(others[0]))];
}

static inline const struct schema_map *pick_map(struct input *in)
{
    uint8_t choice = reader_u8(&in->r);
    if (choice < 0xa0) {
        return NULL;
    }
    enum { ENTRIES = 3 };
    struct schema_map_entry *entries = arena_alloc_array(&in->arena, ENTRIES, sizeof(*entries));
    struct schema_map *map = arena_alloc(&in->arena, sizeof(*map));
    if (!entries || !map) {
        abort();
    }
    for (size_t i = 0; i < ENTRIES; i++) {
        entries[i] = (struct schema_map_entry){pick_number(in), pick_text(in)};
    }
    *map = (struct schema_map){.kind = choice % 2 ? MAP_VALUE : MAP_BITS,
        .entries = entries,
        .entry_count = ENTRIES,
        .name = pick_text(in)};
    schema_map_sort(entries, ENTRIES);
    return map;
}

static inline void make_fields(struct input *in, struct event_schema *schema)
{
    uint16_t count = reader_u8(&in->r) % (MAX_FIELDS + 1);
    uint16_t top = count ? (uint16_t)(count - reader_u8(&in->r) % 4u % count) : 0;
    struct schema_field *fields = arena_alloc_array(&in->arena, count, sizeof(*fields));
    if (!fields && count) {
        abort();
    }
    for (uint16_t i = 0; i < count; i++) {
        uint8_t flags = reader_u8(&in->r);
        fields[i] = (struct schema_field){.name = pick_text(in),
            .in_type = pick_in_type(in),
            .out_type = reader_u8(&in->r) % 40,
            .flags = flags < 0xa0 ? 0 : (uint16_t)(flags & 0x7f),
            .count = flags < 0xa0 ? 1 : reader_u8(&in->r) % 8,
            .length = flags < 0x80 ? 0 : reader_u8(&in->r) % 32,
            .struct_start = top,
            .struct_members = (uint16_t)(count - top),
            .map = pick_map(in)};
    }
    schema->fields = fields;
    schema->field_count = count;
    schema->top_count = top;
}

static inline void make_keywords(struct input *in, struct event_schema *schema)
{
    enum { KEYWORDS = 2 };
    struct schema_keyword *keywords = arena_alloc_array(&in->arena, KEYWORDS, sizeof(*keywords));
    if (!keywords) {
        abort();
    }
    for (size_t i = 0; i < KEYWORDS; i++) {
        keywords[i] = (struct schema_keyword){pick_number(in), pick_text(in)};
    }
    schema->keywords = keywords;
    schema->keyword_count = KEYWORDS;
}

struct wpp_sink {
    struct arena *arena;
    struct event_schema *schema;
};

static inline bool take_message(void *self, const struct tmf_message *message)
{
    struct wpp_sink *sink = self;
    sink->schema = wpp_plan_make(message, sink->arena, NULL);
    return false; /* the first one will do */
}

/* For a text that is a TMF file, or is none. */
static inline struct event_schema *make_wpp(struct input *in)
{
    size_t size = reader_u16(&in->r) % 1024;
    size = size < reader_left(&in->r) ? size : reader_left(&in->r);
    struct span text = span_make(copy(in, reader_take(&in->r, size)), size);
    struct wpp_sink sink = {.arena = &in->arena};
    tmf_read(
        text, &in->arena, "fuzz", &(struct tmf_sink){.message = take_message, .self = &sink}, NULL);
    return sink.schema;
}

/* NULL: the bytes give no definition. */
static inline struct event_schema *make_schema(struct input *in)
{
    uint8_t kind = reader_u8(&in->r);
    if (kind >= 0xc0) {
        struct event_schema *wpp = make_wpp(in);
        if (wpp) {
            wpp->serial = 1;
        }
        return wpp;
    }
    struct event_schema *schema = arena_alloc(&in->arena, sizeof(*schema));
    if (!schema) {
        abort();
    }
    *schema = (struct event_schema){.kind = (enum schema_kind)(kind % (SCHEMA_STRING + 1)),
        .source = "fuzz",
        .serial = 1,
        .has_layout = kind < 0xb0,
        .provider = pick_guid(in),
        .provider_name = pick_text(in),
        .event_name = pick_text(in),
        .task_name = pick_text(in),
        .opcode_name = pick_text(in),
        .level_name = pick_text(in),
        .channel_name = pick_text(in),
        .message = pick_text(in)};
    schema->class_guid = schema->provider;
    make_keywords(in, schema);
    make_fields(in, schema);
    return schema_finish(schema, &in->arena, NULL) ? schema : NULL;
}

static inline void make_process(struct input *in, struct event_process *process)
{
    static const char *const levels[] = {NULL, "low", "high"};
    *process = (struct event_process){.serial = 1,
        .pid = (uint32_t)pick_number(in),
        .name = pick_text(in),
        .executable = pick_text(in),
        .command_line = pick_text(in),
        .start = pick_number(in),
        .start_key = pick_number(in),
        .has_parent = reader_u8(&in->r) % 2,
        .parent_pid = (uint32_t)pick_number(in),
        .parent_name = pick_text(in),
        .parent_executable = pick_text(in),
        .user_id = pick_text(in),
        .user_name = pick_text(in),
        .user_domain = pick_text(in),
        .has_session = reader_u8(&in->r) % 2,
        .session_id = (uint32_t)pick_number(in),
        .integrity = levels[reader_u8(&in->r) % 3]};
}

/* ---- records --------------------------------------------------------------------------------- */

static inline struct span pick_payload(struct input *in)
{
    size_t size = reader_u16(&in->r) % 512;
    size = size < reader_left(&in->r) ? size : reader_left(&in->r);
    uint8_t *bytes = malloc(size ? size : 1);
    if (!bytes) {
        abort();
    }
    struct span payload = reader_take(&in->r, size);
    if (size) {
        memcpy(bytes, payload.data, size);
    }
    in->payloads[in->payload_count++] = bytes;
    return span_make(bytes, size);
}

static inline void add_extended(struct input *in, struct event_record *record)
{
    size_t count = reader_u8(&in->r) % (MAX_EXTENDED + 1);
    struct extended_item *items = arena_alloc_array(&in->arena, count, sizeof(*items));
    for (size_t i = 0; items && i < count; i++) {
        items[i] = (struct extended_item){
            .type = reader_u8(&in->r) % (EXTENDED_STACK_KEY64 + 2), .data = pick_text(in)};
    }
    record->extended = items;
    record->extended_count = items ? count : 0;
}

static inline void make_record(
    struct input *in, const struct trace_info *traces, struct event_record *record)
{
    uint8_t kind = reader_u8(&in->r);
    *record = (struct event_record){.kind = (enum record_kind)(kind % (RECORD_OPAQUE + 1)),
        .pointer_size = kind & 0x80 ? 4 : 8,
        .present = reader_u16(&in->r),
        .flags = reader_u16(&in->r),
        .event_property = reader_u16(&in->r),
        .cpu = reader_u16(&in->r),
        .hook_id = reader_u16(&in->r),
        .process_id = (uint32_t)pick_number(in),
        .thread_id = (uint32_t)pick_number(in),
        .kernel_ticks = (uint32_t)pick_number(in),
        .user_ticks = (uint32_t)pick_number(in),
        .processor_time = pick_number(in),
        .time_raw = (int64_t)pick_number(in),
        .time = pick_number(in),
        .provider = pick_guid(in),
        .descriptor = record_read_descriptor(&in->r),
        .activity_id = pick_guid(in),
        .parent_guid = pick_guid(in),
        .instance_id = (uint32_t)pick_number(in),
        .parent_instance_id = (uint32_t)pick_number(in),
        .message_flags = reader_u16(&in->r),
        .message_sequence = (uint32_t)pick_number(in),
        .message_component = (uint32_t)pick_number(in),
        .trace = kind & 0x40 ? NULL : &traces[kind >> 5 & 1],
        .sequence = pick_number(in)};
    add_extended(in, record);
    record->payload = pick_payload(in);
}

#endif
