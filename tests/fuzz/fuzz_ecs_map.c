#include <stdlib.h>

#include "base/reader.h"
#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "fuzz/fuzz.h"
#include "support/json_check.h"

/*
 * Events that the mapping knows, with fields of any type in the places where it looks for them.
 * Bytes 0 and 1 choose a row of the table, byte 2 is the number of properties. Then come 3 bytes
 * per property: in type, out type, and the row that gives its name, counted from the first one. The
 * rest is the payload. Whether the event is mapped or not, its line is one JSON object without a
 * repeated member.
 */
enum { MAX_FIELDS = 12, MAX_JSON = 1 << 24, ARENA_BYTES = 1 << 20 };

struct row {
    const char *provider;
    const char *events;
    const char *source;
};

static const struct row rows[] = {
#define ROW(provider, events, versions, field, source, conversion, parameter) \
    {provider, events, source},
#include "ecs_map_rows.def"
#undef ROW
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct {
    const char *name;
    const char *guid;
    bool is_class;
} providers[] = {
#define MANIFEST false
#define CLASS true
#define LOG false
#define PROVIDER(name, guid, kind) {name, guid, kind},
#include "ecs_map_providers.def"
#undef PROVIDER
#undef LOG
#undef CLASS
#undef MANIFEST
};

enum { PROVIDERS = sizeof(providers) / sizeof(providers[0]) };

/* Types that payloads of these providers have, and others. */
static uint16_t in_type_of(uint8_t byte)
{
    return byte < 0x80 ? byte % 22 : IN_UNICODE_STRING;
}

static void check_line(struct span line)
{
    size_t at;
    if (json_check_line(line, &at)) {
        abort();
    }
}

static void write(const struct event *event)
{
    static const struct event_writer_settings settings;
    struct event_writer *writer = event_writer_create(&settings, NULL);
    struct buf out;
    buf_init(&out, MAX_JSON);
    if (writer) {
        event_format_ecs.event(writer, event, &out);
        if (!out.failed) {
            check_line(buf_span(&out));
        }
        event_writer_destroy(writer);
    }
    buf_fini(&out);
}

static void run(const struct event_schema *schema, const struct row *row, struct span payload)
{
    static const struct trace_info trace = {.pointer_size = 8};
    struct decoder decoder;
    struct event event;
    struct event_record record = {
        .kind = schema->kind == SCHEMA_MOF ? RECORD_CLASSIC : RECORD_EVENT,
        .payload = payload,
        .pointer_size = 8,
        .process_id = 4,
        .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD,
        .trace = &trace};
    unsigned long number = strtoul(row->events, NULL, 10);
    record.descriptor.id = (uint16_t)number;
    record.descriptor.opcode = (uint8_t)number;
    record.descriptor.version = 1;
    record.provider = schema->provider;
    if (!decoder_init(&decoder, NULL)) {
        return;
    }
    decoder_run(&decoder, &record, schema, 8, &event);
    write(&event);
    decoder_fini(&decoder);
}

static void find_provider(const char *name, struct event_schema *schema)
{
    for (size_t i = 0; i < PROVIDERS; i++) {
        if (strcmp(providers[i].name, name) == 0) {
            bool has_guid = guid_parse(span_text(providers[i].guid), &schema->provider);
            schema->provider_name = span_text(name);
            schema->class_guid = schema->provider;
            schema->kind = !has_guid               ? SCHEMA_EVENTLOG
                           : providers[i].is_class ? SCHEMA_MOF
                                                   : SCHEMA_MANIFEST;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader r = reader_make(span_make(data, size));
    size_t first = reader_u16(&r) % ROWS;
    uint16_t count = reader_u8(&r) % (MAX_FIELDS + 1);
    struct schema_field fields[MAX_FIELDS] = {{.in_type = 0}};
    for (size_t i = 0; i < count; i++) {
        fields[i].in_type = in_type_of(reader_u8(&r));
        fields[i].out_type = reader_u8(&r) % 40;
        const struct row *row = &rows[(first + reader_u8(&r) % 32) % ROWS];
        fields[i].name = span_text(row->source[0] == '=' ? "Other" : row->source);
        fields[i].count = 1;
    }
    struct event_schema schema = {
        .has_layout = true, .fields = fields, .field_count = count, .top_count = count};
    find_provider(rows[first].provider, &schema);
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    if (!r.failed && schema_finish(&schema, &arena, NULL)) {
        /* A block of its own, so that a sanitizer sees reads beyond it. */
        struct span rest = reader_rest(&r);
        uint8_t *payload = malloc(rest.size ? rest.size : 1);
        if (payload) {
            if (rest.size) {
                memcpy(payload, rest.data, rest.size);
            }
            run(&schema, &rows[first], span_make(payload, rest.size));
        }
        free(payload);
    }
    arena_fini(&arena);
    return 0;
}

/* Seed ${index}: the fields after one row of each provider, as texts that conversions accept. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const texts[] = {"type:  5 a.b;192.0.2.1;::1;", "C:\\w\\a.exe", "HKLM\\A\\b",
        "http://u@h:80/p?q#f", "MD5=0a,SHA1=0b", "D\\u", "S-1-5-18", "0x1f", "::ffff:1.2.3.4",
        " Host Application = x\n", "\"a b\" \\\"c", "A(b): name=c; value=d\n", "CN=a\\,b,DC=c",
        "QWORD (0x1-0x2)"};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]), SEEDS = 64, FIELDS = 8 };
    size_t row = index * (ROWS / SEEDS);
    if (index >= SEEDS || max < 4096) {
        return 0;
    }
    uint8_t *p = out;
    *p++ = (uint8_t)row;
    *p++ = (uint8_t)(row >> 8);
    *p++ = FIELDS;
    for (size_t i = 0; i < FIELDS; i++) {
        *p++ = IN_UNICODE_STRING;
        *p++ = 0;
        *p++ = (uint8_t)i;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        const char *text = texts[(index + i) % TEXTS];
        for (size_t at = 0; at == 0 || text[at - 1]; at++) {
            *p++ = (uint8_t)text[at];
            *p++ = 0;
        }
    }
    return (size_t)(p - out);
}
