#include <stdlib.h>

#include "base/reader.h"
#include "decode/decode.h"
#include "event/value/value_json.h"
#include "event/write/event_formats.h"
#include "fuzz/fuzz.h"
#include "support/json_check.h"

/*
 * The first bytes describe a schema, as a trace could: byte 0 and 1 are the number of properties
 * and of top-level ones, byte 2 where a map goes, then 8 bytes per property: in type, out type,
 * flags, count, length, struct start, struct members, name. The rest is the payload, whose first
 * bytes also make the items of an extended header.
 */
enum { MAX_FIELDS = 40, MAX_JSON = 1 << 26, ARENA_BYTES = 1 << 20 };

static const uint16_t wide_types[] = {IN_COUNTED_STRING, IN_COUNTED_ANSI_STRING,
    IN_REVERSED_COUNTED_STRING, IN_REVERSED_COUNTED_ANSI_STRING, IN_NON_NUL_TERMINATED_STRING,
    IN_NON_NUL_TERMINATED_ANSI_STRING, IN_UNICODE_CHAR, IN_ANSI_CHAR, IN_SIZE_T, IN_HEX_DUMP,
    IN_WBEM_SID, IN_WMI_TIME};

static const struct schema_map_entry entries[] = {
    {0, {(const uint8_t *)"zero", 4}},
    {1, {(const uint8_t *)"o\"ne", 4}},
    {6, {(const uint8_t *)"", 0}},
};
static const struct schema_map maps[] = {{.kind = MAP_VALUE, .entries = entries, .entry_count = 3},
    {.kind = MAP_BITS, .entries = entries, .entry_count = 3}};

static uint16_t in_type_of(uint8_t byte)
{
    size_t count = sizeof(wide_types) / sizeof(wide_types[0]);
    return byte < 0x80 ? byte % 27 : wide_types[byte % count];
}

static void read_field(struct reader *r, struct schema_field *field)
{
    static const char names[] = "A.B_name_2\"\xff";
    field->in_type = in_type_of(reader_u8(r));
    field->out_type = reader_u8(r) % 40;
    field->flags = reader_u8(r);
    uint8_t count = reader_u8(r);
    field->count = count == 0xff ? 0xffff : count;
    field->length = reader_u8(r);
    field->struct_start = reader_u8(r);
    field->struct_members = reader_u8(r);
    uint8_t name = reader_u8(r);
    field->name = span_make(names + name % 8, name / 8 % 5);
    field->map = name >= 0xe0 ? &maps[name & 1] : NULL;
}

/* Every view lies inside the payload, and the fields form a tree. */
static void check_fields(const struct event *event, uint32_t first, uint32_t end)
{
    struct span payload = event->record->payload;
    for (uint32_t i = first; i < end; i = event->fields[i].end) {
        const struct field *field = &event->fields[i];
        bool inside = field->size == 0 ||
                      (field->data >= payload.data &&
                          field->data + field->size <= payload.data + payload.size);
        bool packed_fits = field->shape != FIELD_PACKED ||
                           field->size == (uint64_t)field->count * field->value_bytes;
        if (!inside || !packed_fits || field->end <= i || field->end > end) {
            abort();
        }
        check_fields(event, i + 1, field->end);
    }
}

/* Whatever the event, its line is one JSON object and a newline. */
static void check_line(const struct event_format *format, const struct event *event)
{
    static const struct event_writer_settings settings = {.session = {(const uint8_t *)"s\"", 2}};
    struct event_writer *writer = event_writer_create(&settings, NULL);
    if (!writer) {
        return;
    }
    event_writer_read_at(writer, UINT64_C(132000000000000000));
    struct buf out;
    buf_init(&out, MAX_JSON);
    format->event(writer, event, &out);
    size_t at;
    if (!out.failed && json_check_line(buf_span(&out), &at)) {
        abort();
    }
    buf_fini(&out);
    event_writer_destroy(writer);
}

enum { MAX_ITEMS = 6 };

/* Types and sizes follow from the bytes of the payload; the items overlap. */
static size_t make_items(struct span payload, struct extended_item items[MAX_ITEMS])
{
    size_t count = payload.size / 2 < MAX_ITEMS ? payload.size / 2 : MAX_ITEMS;
    for (size_t i = 0; i < count; i++) {
        items[i].type = payload.data[2 * i] % 0x15;
        items[i].data = span_first(span_from(payload, i), payload.data[2 * i + 1] % 80);
    }
    return count;
}

static const struct trace_clock clock = {
    .type = TRACE_CLOCK_QPC, .start_time = 132000000000000000, .frequency = 10000000};

static void check_lines(const struct event *event)
{
    const struct trace_info trace = {
        .path = {(const uint8_t *)"C:\\a", 4}, .pointer_size = 8, .clock = clock};
    struct extended_item items[MAX_ITEMS];
    struct event_record record = *event->record;
    record.extended = items;
    record.extended_count = make_items(record.payload, items);
    record.flags = (uint16_t)(record.payload.size * 257);
    record.present = (uint16_t)record.payload.size;
    record.kind = (enum record_kind)(record.payload.size % (RECORD_OPAQUE + 1));
    record.trace = &trace;
    struct event full = *event;
    full.record = &record;
    check_line(&event_format_native, &full);
    check_line(&event_format_ecs, &full);
}

static void run(const struct event_schema *schema, struct span payload, uint8_t pointer_size)
{
    const struct value_context context = {.ansi = &codepage_1252, .clock = &clock};
    struct decoder decoder;
    if (!decoder_init(&decoder, NULL)) {
        return;
    }
    struct event_record record = {.payload = payload, .pointer_size = 8};
    struct event event;
    decoder_run(&decoder, &record, schema, pointer_size, &event);
    bool partial = event.status == DECODE_PARTIAL;
    if (partial != (event.error != NULL) || event.field_count > DECODE_MAX_FIELDS ||
        event.rest.size > payload.size ||
        (event.status == DECODE_COMPLETE && event.rest.size != 0)) {
        abort();
    }
    check_fields(&event, 0, event.field_count);
    struct buf out;
    buf_init(&out, MAX_JSON);
    value_json_object(&context, &event, 0, event.field_count, &out);
    if (!out.failed && (out.size < 2 || out.data[0] != '{' || out.data[out.size - 1] != '}')) {
        abort();
    }
    for (uint32_t i = 0; i < event.field_count && i < 16; i++) {
        buf_reset(&out);
        value_json_text(&context, &event, i, &out);
    }
    buf_fini(&out);
    if (pointer_size == 8) { /* lines take most of the time */
        check_lines(&event);
    }
    decoder_fini(&decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct schema_field fields[MAX_FIELDS] = {{.in_type = 0}};
    struct reader r = reader_make(span_make(data, size));
    uint16_t count = reader_u8(&r) % (MAX_FIELDS + 1);
    uint16_t top_count = reader_u8(&r) % (MAX_FIELDS + 1);
    struct event_schema schema = {.kind = SCHEMA_MANIFEST,
        .has_layout = true,
        .fields = fields,
        .field_count = count,
        .top_count = top_count < count ? top_count : count};
    for (size_t i = 0; i < count; i++) {
        read_field(&r, &fields[i]);
    }
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    if (!r.failed && schema_finish(&schema, &arena, NULL)) {
        /* A block of its own, so that a sanitizer sees reads before it, too. */
        struct span rest = reader_rest(&r);
        uint8_t *payload = malloc(rest.size ? rest.size : 1);
        if (payload) {
            if (rest.size) {
                memcpy(payload, rest.data, rest.size);
            }
            run(&schema, span_make(payload, rest.size), 4);
            run(&schema, span_make(payload, rest.size), 8);
        }
        free(payload);
    }
    arena_fini(&arena);
    return 0;
}

/* Seed ${index}: two properties of each type, then a struct array; bytes that are small numbers. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    enum { TYPES = 27, SEEDS = TYPES + 12, PAYLOAD = 96, PROPERTIES = 5, PROPERTY_BYTES = 8 };
    if (index >= SEEDS || max < 2 + PROPERTIES * PROPERTY_BYTES + PAYLOAD) {
        return 0;
    }
    uint8_t type = (uint8_t)(index < TYPES ? index : 0x80 + (index - TYPES));
    uint8_t out_type = (uint8_t)(index % 40);
    const uint8_t head[2 + PROPERTIES * PROPERTY_BYTES] = {
        PROPERTIES,
        3,
        IN_UINT8,
        0,
        0,
        1,
        0,
        0,
        0,
        0xe8,
        type,
        out_type,
        0,
        1,
        0,
        0,
        0,
        0x10,
        0,
        0,
        FIELD_STRUCT | FIELD_PARAM_COUNT,
        0,
        0,
        3,
        2,
        0x0a,
        type,
        0,
        FIELD_COUNTED,
        1,
        0,
        0,
        0,
        0x0b,
        IN_BINARY,
        out_type,
        FIELD_PARAM_LENGTH,
        1,
        0,
        0,
        0,
        0xe9,
    };
    memcpy(out, head, sizeof(head));
    for (size_t i = 0; i < PAYLOAD; i++) {
        out[sizeof(head) + i] = (uint8_t)(i % 3 == 0 ? 1 : i % 7 == 0 ? 'a' : 0);
    }
    return sizeof(head) + PAYLOAD;
}
