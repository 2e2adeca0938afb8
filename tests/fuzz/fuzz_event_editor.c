#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "event/edit/event_editor.h"
#include "event/write/event_formats.h"
#include "fuzz/fuzz.h"
#include "support/json_check.h"

/*
 * Edits over a payload: byte 0 is the number of edits, byte 1 how the event was decoded. Then come
 * two bytes for each edit: its kind, and the path below that it edits. The rest is the payload. The
 * first half of the edits goes to the event, the second half on top of that. The result is JSON in
 * both shapes, and equal the second time, when it uses what was kept of the first.
 */
enum { MAX_EDITS = 15, MAX_JSON = 1 << 25, PROPERTIES = 11, TOP = 7 };

static const char *const paths[] = {"data", "data.S", "data.S.A", "data.S.T", "data.L",
    "data.L[*].T", "data.L.A", "data.N", "data.N[*]", "data.T", "data.X", "data.X.port", "data.B",
    "data.A_name", "message", "labels.x", "host.name", "activity_id", "extended.sid", "payload",
    "tags", "labels"};
static const char *const values[] = {"A", "T", "New", "A_name", "\xc3\xa4\"\\", "N"};

enum {
    PATHS = sizeof(paths) / sizeof(paths[0]),
    VALUES = sizeof(values) / sizeof(values[0]),
    KINDS = EVENT_EDIT_TRUNCATE + 1,
};

/* S {A, T}, A, L: A of {A, T}, N: A numbers, T, X: a socket address, B: the rest. */
static bool make_schema(struct event_schema *schema, struct arena *arena)
{
    static const struct schema_map_entry entries[] = {{1, {(const uint8_t *)"one", 3}}};
    static const struct schema_map map = {.kind = MAP_VALUE, .entries = entries, .entry_count = 1};
    static const char *const names[] = {"S", "A", "L", "N", "T", "X", "B", "A", "T", "A", "T"};
    struct schema_field *fields = arena_alloc_array(arena, PROPERTIES, sizeof(*fields));
    if (!fields) {
        return false;
    }
    for (size_t i = 0; i < PROPERTIES; i++) {
        fields[i] = (struct schema_field){
            .name = span_text(names[i]), .in_type = IN_UNICODE_STRING, .count = 1};
    }
    fields[1].in_type = IN_UINT8;
    fields[0].flags = FIELD_STRUCT;
    fields[2].flags = FIELD_STRUCT | FIELD_PARAM_COUNT;
    fields[0].struct_start = TOP;
    fields[2].struct_start = TOP + 2;
    fields[0].struct_members = fields[2].struct_members = 2;
    fields[2].count = fields[3].count = 1;
    fields[3].in_type = IN_UINT16;
    fields[3].flags = FIELD_PARAM_COUNT;
    fields[3].map = &map;
    fields[5].in_type = IN_BINARY;
    fields[5].out_type = OUT_SOCKET_ADDRESS;
    fields[5].length = 16;
    fields[6].in_type = IN_NON_NUL_TERMINATED_ANSI_STRING;
    fields[TOP].in_type = IN_UINT32;
    fields[TOP].map = &map;
    fields[TOP + 2] = fields[TOP];
    *schema = (struct event_schema){.kind = SCHEMA_MANIFEST,
        .source = "fuzz",
        .serial = 1,
        .has_layout = true,
        .message = span_text("%1|%2|%3|%4|%5|%6|%7"),
        .fields = fields,
        .field_count = PROPERTIES,
        .top_count = TOP};
    return schema_finish(schema, arena, NULL);
}

static void check_line(const struct event_format *format, struct event_writer *writer,
    const struct event *event, struct buf lines[2])
{
    for (size_t i = 0; i < 2; i++) {
        buf_reset(&lines[i]);
        format->event(writer, event, &lines[i]);
    }
    if (lines[0].failed || lines[1].failed) {
        return;
    }
    size_t at;
    if (!span_equal(buf_span(&lines[0]), buf_span(&lines[1])) ||
        json_check_line(buf_span(&lines[0]), &at)) {
        abort();
    }
}

static void write(const struct event *event)
{
    static const struct event_writer_settings settings;
    struct event_writer *writers[] = {event_writer_create(&settings, NULL),
        event_writer_create(&settings, NULL), event_writer_create(&settings, NULL)};
    struct buf lines[2];
    buf_init(&lines[0], MAX_JSON);
    buf_init(&lines[1], MAX_JSON);
    if (writers[0] && writers[1] && writers[2]) {
        check_line(&event_format_native, writers[0], event, lines);
        check_line(&event_format_ecs, writers[1], event, lines);
        buf_reset(&lines[0]);
        event_format_pretty.event(writers[2], event, &lines[0]);
        size_t at;
        if (!lines[0].failed && json_check_utf8(buf_span(&lines[0]), &at)) {
            abort();
        }
    }
    for (size_t i = 0; i < 3; i++) {
        event_writer_destroy(writers[i]);
    }
    buf_fini(&lines[0]);
    buf_fini(&lines[1]);
}

/* The edit that byte ${what} and byte ${where} stand for; not all of them are possible together. */
static bool compile(uint8_t what, uint8_t where, const struct plat_hash_key *key,
    struct arena *arena, struct event_edit *ret_edit)
{
    struct event_edit_words words = {.kind = (enum event_edit_kind)(what % KINDS),
        .path = span_text(paths[where % PATHS]),
        .value = span_text(values[what / KINDS % VALUES]),
        .bytes = 1u + where / PATHS,
        .key = key};
    return event_edit_compile(&words, arena, ret_edit, NULL);
}

static void edit(const struct event *event, struct span script, struct arena *arena)
{
    struct event_editor *editors[] = {event_editor_create(NULL), event_editor_create(NULL)};
    struct event_path_context context;
    struct plat_hash_key key;
    if (plat_hash_key_init(&key, span_text("0123456789abcdef"), NULL) &&
        event_path_context_init(&context, NULL, NULL) && editors[0] && editors[1]) {
        size_t half = script.size / 4 * 2;
        event_editor_begin(editors[0], event, NULL);
        for (size_t at = 0; at + 2 <= script.size; at += 2) {
            struct event_edit *one = arena_alloc(arena, sizeof(*one));
            if (at == half) {
                write(event_editor_finish(editors[0], &context));
                event_editor_begin_from(editors[1], editors[0]);
            }
            if (one && compile(script.data[at], script.data[at + 1], &key, arena, one)) {
                event_editor_apply(editors[at >= half], one, &context);
            }
        }
        if (script.size >= 2) {
            write(event_editor_finish(editors[1], &context));
        }
    }
    event_path_context_fini(&context);
    event_editor_destroy(editors[0]);
    event_editor_destroy(editors[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct trace_info trace = {.host_name = {(const uint8_t *)"host", 4}};
    if (size < 2) {
        return 0;
    }
    struct span script = span_first(span_make(data + 2, size - 2), data[0] % (MAX_EDITS + 1) * 2u);
    struct span payload = span_from(span_make(data + 2, size - 2), script.size);
    /* A block of the exact size, so that a sanitizer sees every read beyond it. */
    uint8_t *bytes = malloc(payload.size + 1);
    struct arena arena;
    struct decoder decoder;
    struct event_schema schema;
    arena_init(&arena, 1 << 22);
    if (bytes && decoder_init(&decoder, NULL)) {
        if (payload.size) {
            memcpy(bytes, payload.data, payload.size);
        }
        struct event_record record = {.kind = RECORD_EVENT,
            .pointer_size = 8,
            .time = UINT64_C(134397270001234567),
            .payload = span_make(bytes, payload.size),
            .trace = &trace};
        if (!make_schema(&schema, &arena)) {
            abort();
        }
        struct event event;
        decoder_run(&decoder, &record, data[1] & 1 ? NULL : &schema, 8, &event);
        edit(&event, script, &arena);
        decoder_fini(&decoder);
    }
    arena_fini(&arena);
    free(bytes);
    return 0;
}

/* Edits in all combinations, over a payload in which each of them finds its field. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const uint8_t payload[] = {1, 0, 0, 0, 'a', 0, 0, 0, 2, 1, 0, 0, 0, 'b', 0, 0, 0, 2, 0,
        0, 0, 'c', 0, 0, 0, 1, 0, 2, 0, 't', 0, 0xe4, 0, 0, 0, 2, 0, 1, 0xbb, 10, 0, 0, 1, 0, 0, 0,
        0, 0, 0, 0, 0, 'r', 'e', 's', 't'};
    enum { SEEDS = 64 };
    size_t size = 2 + 2 * MAX_EDITS + sizeof(payload);
    if (index >= SEEDS || size > max) {
        return 0;
    }
    uint32_t state = (uint32_t)index * 2654435761u + 1;
    out[0] = MAX_EDITS;
    out[1] = index % 8 == 7;
    for (size_t i = 0; i < 2 * MAX_EDITS; i++) {
        state = state * 1664525u + 1013904223u;
        out[2 + i] = (uint8_t)(state >> 24);
    }
    memcpy(out + 2 + 2 * MAX_EDITS, payload, sizeof(payload));
    return size;
}
