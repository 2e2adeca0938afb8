#ifndef ETWSHIP_TESTS_UNIT_FILTER_MODEL_EVENTS_H
#define ETWSHIP_TESTS_UNIT_FILTER_MODEL_EVENTS_H

#include <stdio.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "support/filter_model.h"
#include "unit/event/writer_fixture.h"

/* Random events, with values that random expressions can match. */

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* ---- chance ---------------------------------------------------------------------------------- */

static uint64_t chance_state = 20261121;

static inline unsigned chance(unsigned below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (unsigned)(chance_state >> 33) % below;
}

/* ---- events ---------------------------------------------------------------------------------- */

static const struct schema_map_entry bit_entries[] = {{0, {(const uint8_t *)"none", 4}},
    {1, {(const uint8_t *)"Read", 4}}, {6, {(const uint8_t *)"abc", 3}}};
static const struct schema_map bit_map = {
    .kind = MAP_BITS, .entries = bit_entries, .entry_count = 3};
static const struct schema_map_entry value_entries[] = {
    {1, {(const uint8_t *)"abc", 3}}, {5, {(const uint8_t *)"ABCD", 4}}};
static const struct schema_map value_map = {
    .kind = MAP_VALUE, .entries = value_entries, .entry_count = 2};

static const char *const small_texts[] = {"''", "'a'", "'abc'", "'ABC'", "'abcabd'", "'it' 27 's'",
    "'C:' 5c 'cmd.exe'", "c389 't' c3a9", "c3a9 'T' c389", "d096 'uk'", "'x*y?'", "'10.1.2.3'",
    "'2001:db8::1'", "'aab ab'", "'2026'"};
static const char *const wide_texts[] = {
    "", "L'abc'", "L'ABC.EXE'", "c900 L't' e900", "1604 L'x'", "L'10.1.2.3'", "L'a' 2200 L'b'"};
static const char *const bytes8[] = {"00", "01", "05", "06", "ff", "80"};
static const char *const bytes16[] = {"0000", "0100", "0500", "0600", "ffff", "0080"};
static const char *const bytes32[] = {
    "00000000", "01000000", "05000000", "06000000", "ffffffff", "00000080", "0a010203"};
static const char *const bytes64[] = {"0000000000000000", "0100000000000000", "0500000000000000",
    "0600000000000000", "ffffffffffffffff", "0000000000000080", "87d6ba0aef7add01"};
static const char *const floats[] = {"00000000", "0000803f", "cdcccc3d", "0000c07f", "0000a0c0"};
static const char *const doubles[] = {"0000000000000000", "000000000000f03f", "9a9999999999b93f",
    "000000000000f07f", "00000000000014c0", "000000000000f043"};
static const char *const guids[] = {
    "6e12951c ea7e a949 a3fea378b03ddb4d", "00000000000000000000000000000000"};
static const char *const v6s[] = {
    "20010db8000000000000000000000001", "00000000000000000000ffff0a010203"};
static const char *const sids[] = {"0101000000000005 12000000", "01ff", ""};
static const char *const blobs[] = {"", "00ff", "abcd"};
static const char *const systems[] = {
    "ea07 0b00 0600 1500 0900 1e00 0000 7b00", "ea07 0d00 0600 1500 0900 1e00 0000 7b00"};
static const char *const sockets[] = {"0200 01bb 0a010203 0000000000000000",
    "1700 0500 00000000 20010db8000000000000000000000001 05000000", "0100 2f00"};

struct kind {
    uint16_t in_type;
    uint16_t out_type;
    const struct schema_map *map;
    const char *const *values;
    unsigned value_count;
};

#define KIND(in, out, map, values)             \
    {                                          \
        in, out, map, values, COUNT_OF(values) \
    }

static const struct kind kinds[] = {
    KIND(IN_INT8, 0, NULL, bytes8),
    KIND(IN_UINT16, 0, NULL, bytes16),
    KIND(IN_INT32, 0, NULL, bytes32),
    KIND(IN_UINT32, 0, &bit_map, bytes32),
    KIND(IN_UINT32, 0, &value_map, bytes32),
    KIND(IN_UINT64, 0, NULL, bytes64),
    KIND(IN_INT64, 0, NULL, bytes64),
    KIND(IN_UINT64, OUT_HEX_INT64, &bit_map, bytes64),
    KIND(IN_POINTER, 0, NULL, bytes64),
    KIND(IN_FLOAT, 0, NULL, floats),
    KIND(IN_DOUBLE, 0, NULL, doubles),
    KIND(IN_BOOLEAN, 0, NULL, bytes32),
    KIND(IN_ANSI_STRING, OUT_UTF8, NULL, small_texts),
    KIND(IN_ANSI_STRING, OUT_UTF8, NULL, small_texts),
    KIND(IN_UNICODE_STRING, 0, NULL, wide_texts),
    KIND(IN_GUID, 0, NULL, guids),
    KIND(IN_FILETIME, 0, NULL, bytes64),
    KIND(IN_SYSTEMTIME, 0, NULL, systems),
    KIND(IN_SYSTEMTIME, OUT_DATETIME_UTC, NULL, systems),
    KIND(IN_SID, 0, NULL, sids),
    KIND(IN_BINARY, 0, NULL, blobs),
    KIND(IN_UINT32, OUT_IPV4, NULL, bytes32),
    KIND(IN_BINARY, OUT_IPV6, NULL, v6s),
    KIND(IN_BINARY, OUT_SOCKET_ADDRESS, NULL, sockets),
    KIND(IN_UINT32, OUT_WIN32_ERROR, NULL, bytes32),
};

/* Fields: A to F of any kind; S {A, B}; L numbers side by side; G of structs {A, B}; T texts. */
enum { PLAIN = 6, S = PLAIN, L, G, T, TOPS, S_A = TOPS, S_B, G_A, G_B, SCHEMA_FIELDS };
enum { MAX_FIELDS = 40, MAX_PAYLOADS = 40 };

struct model_event {
    struct arena arena;
    struct event_schema schema;
    struct schema_field schema_fields[SCHEMA_FIELDS];
    struct field fields[MAX_FIELDS];
    uint32_t field_count;
    struct span payloads[MAX_PAYLOADS];
    unsigned payload_count;
    struct event_record record;
    struct extended_item sid;
    struct event event;
    const struct json_node *json;
};

static const struct schema_keyword keywords[] = {
    {1, {(const uint8_t *)"abc", 3}}, {6, {(const uint8_t *)"Net", 3}}};
static const struct trace_info traces[] = {
    {.pointer_size = 8, .session_name = {(const uint8_t *)"abc", 3}},
    {.pointer_size = 8, .host_name = {(const uint8_t *)"ABC", 3}}};
static const uint64_t frames[] = {1, 5, 0xfffff80000001234};

static inline void make_schema(struct model_event *e, const struct kind **field_kinds)
{
    static const char *const names[SCHEMA_FIELDS] = {
        "A", "B", "C", "D", "E", "F", "S", "L", "G", "T", "A", "B", "A", "B"};
    for (unsigned i = 0; i < SCHEMA_FIELDS; i++) {
        const struct kind *kind = &kinds[chance(COUNT_OF(kinds))];
        if (i == L) {
            kind = &kinds[chance(11)];
        } else if (i == T) {
            kind = &kinds[12];
        }
        field_kinds[i] = kind;
        e->schema_fields[i] = (struct schema_field){.name = span_text(names[i]),
            .in_type = kind->in_type,
            .out_type = kind->out_type,
            .map = kind->map,
            .count = 1};
    }
    struct schema_field *fields = e->schema_fields;
    fields[S].flags = FIELD_STRUCT;
    fields[S].struct_start = S_A;
    fields[G].flags = FIELD_STRUCT | FIELD_FIXED_COUNT;
    fields[G].struct_start = G_A;
    fields[S].struct_members = fields[G].struct_members = 2;
    fields[L].flags = fields[T].flags = FIELD_FIXED_COUNT;
    e->schema = (struct event_schema){.kind = SCHEMA_MANIFEST,
        .source = "test",
        .has_layout = true,
        .fields = fields,
        .field_count = SCHEMA_FIELDS,
        .top_count = TOPS,
        .provider_name = span_text(chance(4) ? chance(2) ? "Abc-Prov" : "Net" : ""),
        .event_name = span_text(chance(2) ? "abc" : ""),
        .task_name = span_text(chance(2) ? "Net" : ""),
        .keywords = keywords,
        .keyword_count = chance(3),
        .message = span_text(chance(3) ? "" : "abc %1 %2")};
    struct error err = {0};
    if (!schema_finish(&e->schema, &e->arena, &err)) {
        fail_msg("%s", err.text);
    }
}

static inline struct field *add_field(struct model_event *e, unsigned schema_index, uint8_t shape)
{
    assert_true(e->field_count < MAX_FIELDS);
    struct field *field = &e->fields[e->field_count++];
    *field = (struct field){.schema = &e->schema_fields[schema_index],
        .count = 1,
        .end = e->field_count,
        .shape = shape};
    return field;
}

static inline struct span make_payload(struct model_event *e, const struct kind *kind)
{
    assert_true(e->payload_count < MAX_PAYLOADS);
    struct span payload = payload_make(kind->values[chance(kind->value_count)]);
    e->payloads[e->payload_count++] = payload;
    return payload;
}

static inline void add_value(struct model_event *e, unsigned schema_index, const struct kind *kind)
{
    struct span payload = make_payload(e, kind);
    struct field *field = add_field(e, schema_index, FIELD_VALUE);
    field->data = payload.data;
    field->size = (uint32_t)payload.size;
}

static inline void add_group(struct model_event *e, unsigned schema_index, unsigned first_member,
    const struct kind *const *field_kinds)
{
    struct field *group = add_field(e, schema_index, FIELD_GROUP);
    for (unsigned i = 0; i < 2; i++) {
        add_value(e, first_member + i, field_kinds[first_member + i]);
    }
    group->count = 2;
    group->end = e->field_count;
}

static inline void add_packed(struct model_event *e, const struct kind *kind)
{
    unsigned count = chance(4);
    struct span first = make_payload(e, kind);
    uint8_t *all = calloc(count + 1, first.size);
    assert_non_null(all);
    e->payloads[e->payload_count++] = span_make(all, 0);
    for (unsigned i = 0; i < count; i++) {
        memcpy(all + i * first.size, make_payload(e, kind).data, first.size);
    }
    struct field *field = add_field(e, L, FIELD_PACKED);
    field->data = all;
    field->size = (uint32_t)(count * first.size);
    field->count = count;
    field->value_bytes = (uint8_t)first.size;
}

static inline void make_fields(struct model_event *e, const struct kind *const *field_kinds)
{
    for (unsigned i = 0; i < PLAIN; i++) {
        add_value(e, i, field_kinds[i]);
    }
    add_group(e, S, S_A, field_kinds);
    add_packed(e, field_kinds[L]);
    struct field *groups = add_field(e, G, FIELD_ARRAY);
    groups->count = chance(3);
    for (unsigned i = 0; i < groups->count; i++) {
        add_group(e, G, G_A, field_kinds);
    }
    groups->end = e->field_count;
    struct field *texts = add_field(e, T, FIELD_ARRAY);
    texts->count = chance(3);
    for (unsigned i = 0; i < texts->count; i++) {
        add_value(e, T, field_kinds[T]);
    }
    texts->end = e->field_count;
}

static const struct span labels[] = {{(const uint8_t *)"site", 4}, {(const uint8_t *)"abc", 3}};
static const struct span tags[] = {{(const uint8_t *)"abc", 3}, {(const uint8_t *)"Net", 3}};
static const struct event_agent agent = {.name = {(const uint8_t *)"ABC", 3},
    .labels = labels,
    .label_count = 1,
    .tags = tags,
    .tag_count = 2};

static inline void make_record(struct model_event *e)
{
    static const uint8_t sid[] = {1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0};
    static const enum record_kind record_kinds[] = {
        RECORD_EVENT, RECORD_EVENT, RECORD_EVENT, RECORD_CLASSIC, RECORD_KERNEL, RECORD_MESSAGE};
    e->sid = (struct extended_item){EXTENDED_SID, span_make(sid, sizeof(sid))};
    e->record = (struct event_record){.kind = record_kinds[chance(COUNT_OF(record_kinds))],
        .pointer_size = 8,
        .present = (uint16_t)chance(4),
        .cpu = (uint16_t)chance(8),
        .process_id = chance(8),
        .thread_id = chance(8),
        .time = FIXTURE_TIME + chance(3) * 5000000,
        .provider = chance(2) ? fixture_guid : (struct guid){{1}},
        .descriptor = {.id = (uint16_t)chance(8),
            .level = (uint8_t)chance(6),
            .opcode = (uint8_t)chance(8),
            .task = (uint16_t)chance(2),
            .keyword = chance(8)},
        .activity_id = chance(2) ? fixture_guid : (struct guid){{0}},
        .extended = &e->sid,
        .extended_count = chance(2),
        .trace = &traces[chance(2)],
        .sequence = chance(8)};
}

static inline void make_event(struct model_event *e, struct event_writer *writer, struct buf *line)
{
    const struct kind *field_kinds[SCHEMA_FIELDS];
    arena_init(&e->arena, 1 << 24);
    make_schema(e, field_kinds);
    make_fields(e, field_kinds);
    make_record(e);
    bool raw = chance(10) == 0;
    e->record.payload = span_make("\xab\xcd", raw ? 2 : 0);
    e->event = (struct event){.record = &e->record,
        .schema = raw && chance(2) ? NULL : &e->schema,
        .fields = e->fields,
        .field_count = raw ? 0 : e->field_count,
        .status = raw ? DECODE_RAW : DECODE_COMPLETE,
        .pointer_size = 8,
        .stack = frames,
        .stack_count = chance(4)};
    e->schema.serial = UINT32_MAX;
    buf_reset(line);
    event_format_native.event(writer, &e->event, line);
    static uint32_t last_serial; /* like a cache's */
    e->schema.serial = ++last_serial;
    e->json = json_tree_parse(buf_span(line), &e->arena);
    if (!e->json) {
        fail_msg("%.*s", SPAN_ARG(buf_span(line)));
    }
}

/* Events, and the state that filters need for them. */
struct model_rig {
    struct model_event *events;
    unsigned count;
    struct buf text;
    struct filter_scratch scratch;
};

static inline void model_rig_init(struct model_rig *rig, unsigned count)
{
    *rig = (struct model_rig){.events = calloc(count, sizeof(*rig->events)), .count = count};
    assert_non_null(rig->events);
    buf_init(&rig->text, 1 << 20);
    event_tail_render(&agent, &rig->text);
    struct event_writer_settings settings = {.tail = buf_span(&rig->text)};
    struct event_writer *writer = event_writer_create(&settings, NULL);
    assert_non_null(writer);
    assert_true(filter_scratch_init(&rig->scratch, NULL, NULL));
    rig->scratch.paths.agent = &agent;
    for (unsigned i = 0; i < count; i++) {
        make_event(&rig->events[i], writer, &rig->text);
    }
    event_writer_destroy(writer);
}

static inline void model_rig_fini(struct model_rig *rig)
{
    for (unsigned i = 0; i < rig->count; i++) {
        for (unsigned k = 0; k < rig->events[i].payload_count; k++) {
            payload_free(rig->events[i].payloads[k]);
        }
        arena_fini(&rig->events[i].arena);
    }
    free(rig->events);
    filter_scratch_fini(&rig->scratch);
    buf_fini(&rig->text);
}

/* The event with only its first ${count} top-level fields, as decoder_begin leaves it. */
static inline struct event model_event_partial(const struct model_event *e, uint16_t count)
{
    struct event partial = e->event;
    uint32_t end = 0;
    for (uint16_t i = 0; i < count && end < e->event.field_count; i++) {
        end = e->fields[end].end;
    }
    partial.field_count = end;
    return partial;
}

#endif
