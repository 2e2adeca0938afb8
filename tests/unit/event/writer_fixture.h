#ifndef ETWSHIP_TESTS_UNIT_EVENT_WRITER_FIXTURE_H
#define ETWSHIP_TESTS_UNIT_EVENT_WRITER_FIXTURE_H

#include "event/write/event_formats.h"
#include "support/payload.h"
#include "support/test.h"

/* An event made field by field, and a writer for it. A test may change members before the event is
 * written. */
struct piece {
    const char *name;
    uint16_t in_type;
    uint16_t out_type;
    const char *payload; /* in the form of payload.h */
    const struct schema_map *map;
};

enum { FIXTURE_MAX_FIELDS = 70 };

struct writer_fixture {
    struct arena arena;
    struct event_writer *writer;
    struct buf out;
    struct trace_info trace;
    struct event_schema schema;
    struct schema_field schema_fields[FIXTURE_MAX_FIELDS];
    struct field fields[FIXTURE_MAX_FIELDS];
    struct event_record record;
    struct event event;
    struct span payload;
};

/* 2026-11-21T09:30:00.1234567Z */
#define FIXTURE_TIME UINT64_C(134397270001234567)
#define FIXTURE_STAMP "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\","

static const struct guid fixture_guid = {{0x6e, 0x12, 0x95, 0x1c, 0xea, 0x7e, 0xa9, 0x49, 0xa3,
    0xfe, 0xa3, 0x78, 0xb0, 0x3d, 0xdb, 0x4d}};
#define FIXTURE_GUID "1c95126e-7eea-49a9-a3fe-a378b03ddb4d"

static inline void fixture_set_fields(
    struct writer_fixture *f, const struct piece *pieces, size_t count)
{
    struct span bytes[FIXTURE_MAX_FIELDS];
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        bytes[i] = payload_make(pieces[i].payload);
        size += bytes[i].size;
        f->schema_fields[i] = (struct schema_field){.name = span_text(pieces[i].name),
            .in_type = pieces[i].in_type,
            .out_type = pieces[i].out_type,
            .map = pieces[i].map,
            .count = 1};
    }
    f->schema.fields = f->schema_fields;
    f->schema.field_count = (uint16_t)count;
    f->schema.top_count = (uint16_t)count;
    struct error err = {0};
    if (!schema_finish(&f->schema, &f->arena, &err)) {
        fail_msg("%s", err.text);
    }
    payload_free(f->payload);
    uint8_t *all = malloc(size ? size : 1);
    assert_non_null(all);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i].size) {
            memcpy(all + at, bytes[i].data, bytes[i].size);
        }
        f->fields[i] = (struct field){.schema = &f->schema_fields[i],
            .data = all + at,
            .size = (uint32_t)bytes[i].size,
            .count = 1,
            .end = (uint32_t)i + 1,
            .shape = FIELD_VALUE};
        at += bytes[i].size;
        payload_free(bytes[i]);
    }
    f->payload = span_make(all, size);
    f->record.payload = f->payload;
    f->event.field_count = (uint32_t)count;
}

/* A record with only a time, a provider and a processor, of a schema without names. */
static inline void fixture_init(
    struct writer_fixture *f, enum record_kind kind, enum schema_kind schema_kind)
{
    static const struct event_writer_settings settings;
    *f = (struct writer_fixture){.payload = {NULL, 0}};
    arena_init(&f->arena, 1 << 24);
    buf_init(&f->out, 1 << 24);
    f->writer = event_writer_create(&settings, NULL);
    assert_non_null(f->writer);
    f->trace = (struct trace_info){
        .pointer_size = 8, .clock = {.type = TRACE_CLOCK_SYSTEM_TIME, .frequency = 10000000}};
    f->schema = (struct event_schema){
        .kind = schema_kind, .source = "test", .serial = 1, .has_layout = true};
    f->record = (struct event_record){.kind = kind,
        .pointer_size = 8,
        .time = FIXTURE_TIME,
        .cpu = 3,
        .provider = fixture_guid,
        .trace = &f->trace,
        .sequence = 7};
    f->event = (struct event){.record = &f->record,
        .schema = &f->schema,
        .fields = f->fields,
        .status = DECODE_COMPLETE,
        .pointer_size = 8};
    fixture_set_fields(f, NULL, 0);
}

static inline void fixture_fini(struct writer_fixture *f)
{
    event_writer_destroy(f->writer);
    payload_free(f->payload);
    arena_fini(&f->arena);
    buf_fini(&f->out);
}

static inline void fixture_use_writer(
    struct writer_fixture *f, const struct event_writer_settings *settings)
{
    event_writer_destroy(f->writer);
    f->writer = event_writer_create(settings, NULL);
    assert_non_null(f->writer);
}

static inline void assert_written_at(struct writer_fixture *f, const struct event_format *format,
    const char *text, const char *file, int line)
{
    buf_reset(&f->out);
    format->event(f->writer, &f->event, &f->out);
    assert_false(f->out.failed);
    assert_span_at(buf_span(&f->out), text, file, line);
}

/* 1234 events that the fixture's trace lost in 1.9 seconds. */
static inline struct gap fixture_gap(const struct writer_fixture *f)
{
    return (struct gap){.stage = "etw",
        .reason = "events_lost",
        .unit = "events",
        .count = 1234,
        .exact = true,
        .from = FIXTURE_TIME - 19000000,
        .to = FIXTURE_TIME,
        .trace = &f->trace};
}

/* A guard's report with all possible members. */
static inline struct guard_report fixture_report(const struct writer_fixture *f)
{
    return (struct guard_report){.kind = "provider_disabled",
        .action = GUARD_REPAIRED,
        .session = span_text("etwship-security"),
        .provider = span_text("Microsoft-Windows-DNS-Client"),
        .provider_guid = {{0x6e, 0x12, 0x95, 0x1c, 0xea, 0x7e, 0xa9, 0x49, 0xa3, 0xfe, 0xa3, 0x78,
            0xb0, 0x3d, 0xdb, 0x4d}},
        .repairs = 2,
        .detail = span_text("it was \"off\""),
        .by_pid = 4242,
        .by_image = span_text("C:\\a\\x.exe"),
        .by_user = span_text("S-1-5-18"),
        .time = FIXTURE_TIME,
        .trace = &f->trace};
}

#define GUARD_OBJECT                                                                            \
    "{\"kind\":\"provider_disabled\",\"action\":\"repaired\",\"session\":\"etwship-security\"," \
    "\"provider\":\"Microsoft-Windows-DNS-Client\",\"provider_guid\":"                          \
    "\"1c95126e-7eea-49a9-a3fe-a378b03ddb4d\",\"repairs\":2,\"detail\":\"it was \\\"off\\\"\"," \
    "\"by\":{\"pid\":4242,\"image\":\"C:\\\\a\\\\x.exe\",\"user\":\"S-1-5-18\"}}"
#define GUARD_MESSAGE \
    "\"message\":\"etwship-security: it was \\\"off\\\", by process 4242 C:\\\\a\\\\x.exe\""

/* Parts of native lines of the fixture's event. */
#define EVENT_0(members)                                                                       \
    "\"event\":{\"code\":0,\"version\":0,\"level\":0,\"task\":0,\"opcode\":0,\"opcode_name\":" \
    "\"Info\",\"channel\":0,\"keywords\":\"0x0\"},\"etw\":{\"sequence\":7,\"cpu\":3" members
#define PROVIDER(kind) "\"provider\":{\"guid\":\"" FIXTURE_GUID "\",\"kind\":\"" kind "\"},"
#define PLAIN(kind, rest) FIXTURE_STAMP PROVIDER(kind) EVENT_0("}") rest "}"

#define assert_native(f, text) \
    assert_written_at((f), &event_format_native, text "\n", __FILE__, __LINE__)

#endif
