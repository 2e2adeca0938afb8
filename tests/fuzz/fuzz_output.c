#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "decode/decode.h"
#include "event/event_process.h"
#include "event/event_writer.h"
#include "fuzz/fuzz.h"
#include "schema/wpp_plan.h"
#include "support/json_check.h"
#include "support/otlp_text.h"

/*
 * All that formats write, of input that is as bad as it can be: names and texts of any bytes, any
 * numbers in headers, extended items, definitions, processes and machines. The input is a list of
 * choices in the order in which make_writers() and run() ask for them (compilers may differ in the
 * order within one initializer); zeros are behind its end. What comes out is one
 * JSON object a line (support/json_check.h says what that is), or in the pretty format valid UTF-8
 * without control characters. What otlp writes in protobuf is what otel writes in JSON.
 */
enum {
    MAX_ITEMS = 6,
    MAX_FIELDS = 12,
    MAX_EXTENDED = 6,
    MAX_STACK = 3,
    MAX_OUT_BYTES = 1 << 24,
    ARENA_BYTES = 1 << 22,
    FORMATS = 5,
    OTEL = 3, /* of these */
    OTLP = 4,
    TRACES = 2
};

struct input {
    struct reader r;
    struct arena arena;
    uint8_t
        *payloads[MAX_ITEMS]; /* blocks of the exact size, so that a sanitizer sees reads behind */
    size_t payload_count;
    struct event_agent agent;
    struct span labels[4];
    struct span tags[1];
};

/* ---- choices ---------------------------------------------------------------------------------- */

static uint8_t *copy(struct input *in, struct span text)
{
    uint8_t *bytes = arena_alloc(&in->arena, text.size + 1);
    if (!bytes) {
        abort(); /* the arena is larger than what an input can ask for */
    }
    memcpy(bytes, text.size ? text.data : (const uint8_t *)"", text.size);
    bytes[text.size] = 0;
    return bytes;
}

/* Up to 64 bytes of the input, or one of what writers have to look out for. */
static struct span pick_text(struct input *in)
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

static const char *pick_string(struct input *in)
{
    return (const char *)copy(in, pick_text(in));
}

/* Times, sizes and masks: mostly at an edge. */
static uint64_t pick_number(struct input *in)
{
    static const uint64_t edges[] = {0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 0x100000000,
        UINT64_C(134397270001234567), UINT64_C(2650467743999999999), UINT64_C(2650467744000000000),
        INT64_MAX, UINT64_C(1) << 63, UINT64_MAX, 999999, 1000000, UINT64_C(10000000000000000)};
    enum { EDGES = sizeof(edges) / sizeof(edges[0]) };
    uint8_t choice = reader_u8(&in->r);
    return choice < 0xc0 ? edges[choice % EDGES] : reader_u64(&in->r);
}

static struct guid pick_guid(struct input *in)
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

/* ---- machine, definition, process --------------------------------------------------------------- */

static void make_trace(struct input *in, struct trace_info *trace)
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

static uint16_t pick_in_type(struct input *in)
{
    static const uint16_t others[] = {IN_MANIFEST_COUNTED_STRING, IN_MANIFEST_COUNTED_ANSI_STRING,
        IN_MANIFEST_COUNTED_BINARY, IN_COUNTED_STRING, IN_COUNTED_ANSI_STRING,
        IN_REVERSED_COUNTED_STRING, IN_NON_NUL_TERMINATED_STRING, IN_NON_NUL_TERMINATED_ANSI_STRING,
        IN_UNICODE_CHAR, IN_ANSI_CHAR, IN_SIZE_T, IN_HEX_DUMP, IN_WBEM_SID, IN_WMI_TIME,
        IN_WPP_SID};
    uint8_t choice = reader_u8(&in->r);
    return choice < 0xa0 ? choice % 22 : others[choice % (sizeof(others) / sizeof(others[0]))];
}

static const struct schema_map *pick_map(struct input *in)
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

static void make_fields(struct input *in, struct event_schema *schema)
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

static void make_keywords(struct input *in, struct event_schema *schema)
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

static bool take_message(void *self, const struct tmf_message *message)
{
    struct wpp_sink *sink = self;
    sink->schema = wpp_plan_make(message, sink->arena, NULL);
    return false; /* the first one will do */
}

/* Of a text that is a TMF file, or is none. */
static struct event_schema *make_wpp(struct input *in)
{
    size_t size = reader_u16(&in->r) % 1024;
    size = size < reader_left(&in->r) ? size : reader_left(&in->r);
    struct span text = span_make(copy(in, reader_take(&in->r, size)), size);
    struct wpp_sink sink = {.arena = &in->arena};
    tmf_read(
        text, &in->arena, "fuzz", &(struct tmf_sink){.message = take_message, .self = &sink}, NULL);
    return sink.schema;
}

/* NULL: what was asked for is no definition. */
static struct event_schema *make_schema(struct input *in)
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

static void make_process(struct input *in, struct event_process *process)
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

/* ---- records ---------------------------------------------------------------------------------- */

static struct span pick_payload(struct input *in)
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

static void add_extended(struct input *in, struct event_record *record)
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

static void make_record(
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

/* ---- what comes out ------------------------------------------------------------------------------- */

struct output {
    const struct event_format *formats[FORMATS];
    struct event_writer *writers[FORMATS];
    struct buf lines[FORMATS];
    bool has_colors;
};

/* One record of protobuf, and the same as a line. */
static void check_otlp(struct span record, struct span line)
{
    struct buf text;
    buf_init(&text, MAX_OUT_BYTES);
    const char *wrong = record.size ? otlp_text(span_first(record, record.size - 1), &text)
                                    : "no record";
    if (!text.failed && (wrong || !span_equal(buf_span(&text), line))) {
        fprintf(stderr, "otlp: %s: %.*s: %.*s\n", wrong ? wrong : "not what JSON says",
            SPAN_ARG(buf_span(&text)), SPAN_ARG(line));
        abort();
    }
    buf_fini(&text);
}

static void check(const struct output *output)
{
    if (!output->lines[OTEL].failed && !output->lines[OTLP].failed) {
        check_otlp(buf_span(&output->lines[OTLP]), buf_span(&output->lines[OTEL]));
    }
    for (size_t i = 0; i < OTLP; i++) {
        size_t at = 0;
        struct span line = buf_span(&output->lines[i]);
        bool is_pretty = output->formats[i] == &event_format_pretty;
        if (output->lines[i].failed || (is_pretty && output->has_colors)) {
            continue;
        }
        const char *wrong = is_pretty ? json_check_utf8(line, &at) : json_check_line(line, &at);
        if (wrong || line.size == 0 || line.data[line.size - 1] != '\n') {
            fprintf(stderr, "%s: byte %zu: %s: %.*s\n", output->formats[i]->name, at,
                wrong ? wrong : "no end of the line", SPAN_ARG(line));
            abort();
        }
    }
}

static void reset(struct output *output)
{
    for (size_t i = 0; i < FORMATS; i++) {
        buf_reset(&output->lines[i]);
    }
}

/* What is known of all events lies before the records in the input. */
struct world {
    struct trace_info traces[TRACES];
    struct event_schema *schema;
    struct event_process process;
    struct decoder *decoder;
};

static void write_event(struct input *in, const struct world *world, struct output *output)
{
    struct event_record record;
    struct event event;
    uint64_t stack[MAX_STACK];
    uint8_t choice = reader_u8(&in->r);
    make_record(in, world->traces, &record);
    decoder_run(
        world->decoder, &record, choice & 1 ? NULL : world->schema, choice & 2 ? 4 : 8, &event);
    event.process = choice & 4 ? &world->process : NULL;
    event.error = choice & 8 ? pick_string(in) : event.error;
    event.stack_count = choice >> 4 & 3;
    for (size_t i = 0; i < event.stack_count; i++) {
        stack[i] = pick_number(in);
    }
    event.stack = event.stack_count ? stack : NULL;
    const struct event_rollup rollup = {
        .count = pick_number(in), .first = pick_number(in), .last = pick_number(in)};
    for (size_t i = 0; i < FORMATS; i++) {
        output->formats[i]->event(output->writers[i], &event, &output->lines[i]);
    }
    check(output);
    for (size_t i = 0; choice & 0x40 && i < FORMATS; i++) {
        output->formats[i]->rollup(&rollup, &output->lines[i]);
    }
    check(output);
}

static void write_gap(struct input *in, const struct world *world, struct output *output)
{
    static const char *const stages[] = {"etw", "output", "file"};
    static const char *const reasons[] = {"events_lost", "global_message_numbers"};
    uint8_t choice = reader_u8(&in->r);
    const struct gap gap = {.stage = stages[choice % 3],
        .reason = reasons[choice >> 2 & 1],
        .unit = choice & 8 ? "events" : "bytes",
        .exact = choice & 16,
        .output = choice & 32 ? pick_string(in) : NULL,
        .provider = choice & 64 ? pick_string(in) : NULL,
        .trace = choice & 128 ? NULL : &world->traces[0],
        .count = pick_number(in),
        .from = pick_number(in),
        .to = pick_number(in)};
    uint64_t now = pick_number(in);
    uint64_t sequence = pick_number(in);
    for (size_t i = 0; i < FORMATS; i++) {
        output->formats[i]->gap(output->writers[i], &gap, now, sequence, &output->lines[i]);
    }
    check(output);
}

static void write_guard(struct input *in, const struct world *world, struct output *output)
{
    uint8_t choice = reader_u8(&in->r);
    const struct guard_report report = {.kind = "clock_jumped",
        .action = (enum guard_action)(choice % GUARD_ACTIONS),
        .session = pick_text(in),
        .provider = pick_text(in),
        .provider_guid = pick_guid(in),
        .repairs = (uint32_t)pick_number(in),
        .detail = pick_text(in),
        .shift_ms = (int64_t)pick_number(in),
        .by_pid = (uint32_t)pick_number(in),
        .by_image = pick_text(in),
        .by_user = pick_text(in),
        .time = pick_number(in),
        .trace = choice & 128 ? NULL : &world->traces[1]};
    for (size_t i = 0; i < FORMATS; i++) {
        output->formats[i]->guard(output->writers[i], &report, &output->lines[i]);
    }
    check(output);
}

static void write_status(struct input *in, struct output *output)
{
    const struct status status = {.counters = span_text("{\"a\":1}"), .message = pick_text(in)};
    uint64_t now = pick_number(in);
    uint64_t sequence = pick_number(in);
    for (size_t i = 0; i < FORMATS; i++) {
        output->formats[i]->status(output->writers[i], &status, now, sequence, &output->lines[i]);
    }
    check(output);
}

static void run(struct input *in, struct world *world, struct output *output)
{
    for (size_t i = 0; i < TRACES; i++) {
        make_trace(in, &world->traces[i]);
    }
    make_process(in, &world->process);
    world->schema = make_schema(in);
    for (size_t i = 0; i < MAX_ITEMS && reader_left(&in->r); i++) {
        uint8_t item = reader_u8(&in->r);
        reset(output);
        if (item < 0xa0) {
            write_event(in, world, output);
        } else if (item < 0xd0) {
            write_gap(in, world, output);
        } else if (item < 0xf0) {
            write_guard(in, world, output);
        } else {
            write_status(in, output);
        }
    }
}

static bool make_writers(struct input *in, struct output *output, struct buf *tail)
{
    uint8_t flags = reader_u8(&in->r);
    uint8_t max_string_bytes = reader_u8(&in->r);
    in->labels[0] = span_text("a");
    in->labels[1] = pick_text(in);
    in->labels[2] = span_text("b\"");
    in->labels[3] = pick_text(in);
    in->tags[0] = pick_text(in);
    in->agent = (struct event_agent){.name = pick_text(in),
        .version = span_text("1"),
        .labels = in->labels,
        .label_count = 2,
        .tags = in->tags,
        .tag_count = 1};
    event_tail_render(&in->agent, tail);
    const struct event_writer_settings settings = {.session = pick_text(in),
        .tail = flags & 1 ? buf_span(tail) : span_make(NULL, 0),
        .agent = flags & 1 ? &in->agent : NULL,
        .colors = flags & 2,
        .options = {.uint64_strings = flags & 4,
            .dataset_varies = flags & 8,
            .max_string_bytes = flags & 16 ? 16u + max_string_bytes : 0}};
    output->has_colors = flags & 2;
    uint64_t read_at = pick_number(in);
    bool ok = true;
    for (size_t i = 0; i < FORMATS; i++) {
        static const char *const names[FORMATS] = {"native", "ecs", "pretty", "otel", "otlp"};
        output->formats[i] = event_format_find(span_text(names[i]));
        output->writers[i] = event_writer_create(&settings, NULL);
        buf_init(&output->lines[i], MAX_OUT_BYTES);
        ok = ok && output->writers[i];
        if (output->writers[i] && flags & 32) {
            event_writer_read_at(output->writers[i], read_at);
        }
    }
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.r = reader_make(span_make(data, size))};
    struct output output;
    struct decoder decoder;
    struct buf tail;
    buf_init(&tail, 1 << 16);
    arena_init(&in.arena, ARENA_BYTES);
    bool has_writers = make_writers(&in, &output, &tail);
    if (decoder_init(&decoder, NULL)) {
        struct world world = {.decoder = &decoder};
        if (has_writers) {
            run(&in, &world, &output);
        }
        decoder_fini(&decoder);
    }
    for (size_t i = 0; i < FORMATS; i++) {
        event_writer_destroy(output.writers[i]);
        buf_fini(&output.lines[i]);
    }
    for (size_t i = 0; i < in.payload_count; i++) {
        free(in.payloads[i]);
    }
    buf_fini(&tail);
    arena_fini(&in.arena);
    return 0;
}

/* Choices at random: as many bytes as some events take; the same behind a message of WPP, and behind a
 * trace with a path alone. ONE is a choice without bytes behind it: no text, a small number. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char tmf[] = "a5bbbdd9-73f9-3bed-93aa-521a4c96d934 d\"\\ // SRC=m\"\\.c MJ= MN=\n"
                              "#typev main_c31 10 \"%0v\\n\\\"=0x%10!x! %11!s! %1!s! %4!s! %8!d!\" "
                              "// LEVEL=\"E FLAGS=F FUNC=r\n"
                              "{\na\"b\\, ItemLong -- 10\nname, ItemString -- 11\n}\n";
    enum {
        SEEDS = 64,
        SIZE = 1500,
        ONE = 65,
        WORLD = 52,
        PATH_AT = 23,
        DEFINITION = 13,
        TEXT = 0xce
    };
    if (index >= SEEDS || max < SIZE) {
        return 0;
    }
    uint32_t state = (uint32_t)index * 2654435761u + 1;
    for (size_t i = 0; i < SIZE; i++) {
        state = state * 1664525u + 1013904223u;
        out[i] = (uint8_t)(state >> 24);
    }
    if (index % 4 == 0) {
        memset(out, ONE, WORLD);
        out[WORLD] = 0xff;
        out[WORLD + 1] = (sizeof(tmf) - 1) & 0xff;
        out[WORLD + 2] = (sizeof(tmf) - 1) >> 8;
        memcpy(out + WORLD + 3, tmf, sizeof(tmf) - 1);
    } else if (index % 4 == 1) {
        memset(out, ONE, WORLD + DEFINITION);
        out[PATH_AT] = TEXT;
        out[WORLD + DEFINITION] = index % 8 == 1 ? 0xa0 : 0xd0; /* a gap, or a guard's report */
    }
    return SIZE;
}
