#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode/decode.h"
#include "event/write/event_formats.h"
#include "filter/filter.h"
#include "support/path_oracle.h"

/*
 * An expression and an event: byte 0 chooses the kind of record, bytes 1 and 2 are the size of the
 * expression, which follows; the rest is the payload of an event with a field of every kind. The
 * expression compiles or says why not. Its negation gives the opposite. An early decision is final.
 * Fields that it does not ask for, or an index of many rules, change nothing. Values by path are
 * those of the event's JSON.
 */
enum { MAX_TEXT = 1 << 22, HEAD = 3 };

static const struct schema_map_entry bit_entries[] = {
    {1, {(const uint8_t *)"READ", 4}}, {6, {(const uint8_t *)"WRITE", 5}}};
static const struct schema_map bit_map = {
    .kind = MAP_BITS, .entries = bit_entries, .entry_count = 2};
static const struct schema_map_entry value_entries[] = {
    {1, {(const uint8_t *)"one", 3}}, {0x30, {(const uint8_t *)"\xff\"", 2}}};
static const struct schema_map value_map = {
    .kind = MAP_VALUE, .entries = value_entries, .entry_count = 2};

/* N counts the array of structs A, each with a text, bits and a socket address. */
static const struct schema_field schema_fields[] = {
    {.name = {(const uint8_t *)"N", 1}, .in_type = IN_UINT8, .count = 1},
    {.name = {(const uint8_t *)"Text", 4}, .in_type = IN_UNICODE_STRING, .count = 1},
    {.name = {(const uint8_t *)"Ansi", 4}, .in_type = IN_ANSI_STRING, .count = 1},
    {.name = {(const uint8_t *)"A", 1},
        .flags = FIELD_STRUCT | FIELD_PARAM_COUNT,
        .count = 0,
        .struct_start = 16,
        .struct_members = 3},
    {.name = {(const uint8_t *)"Map", 3}, .in_type = IN_UINT8, .map = &value_map, .count = 1},
    {.name = {(const uint8_t *)"Float", 5}, .in_type = IN_FLOAT, .count = 1},
    {.name = {(const uint8_t *)"List", 4}, .in_type = IN_UINT16, .map = &value_map, .count = 3},
    {.name = {(const uint8_t *)"Time", 4}, .in_type = IN_FILETIME, .count = 1},
    {.name = {(const uint8_t *)"System", 6}, .in_type = IN_SYSTEMTIME, .count = 1},
    {.name = {(const uint8_t *)"Guid", 4}, .in_type = IN_GUID, .count = 1},
    {.name = {(const uint8_t *)"IP", 2}, .in_type = IN_UINT32, .out_type = OUT_IPV4, .count = 1},
    {.name = {(const uint8_t *)"Utf", 3},
        .in_type = IN_ANSI_STRING,
        .out_type = OUT_UTF8,
        .count = 1},
    {.name = {(const uint8_t *)"Sid", 3}, .in_type = IN_SID, .count = 1},
    {.name = {(const uint8_t *)"Ptr", 3}, .in_type = IN_POINTER, .count = 1},
    {.name = {(const uint8_t *)"Neg", 3}, .in_type = IN_INT32, .count = 1},
    {.name = {(const uint8_t *)"Rest", 4}, .in_type = IN_BINARY, .count = 1, .length = 4},
    {.name = {(const uint8_t *)"T", 1}, .in_type = IN_ANSI_STRING, .count = 1},
    {.name = {(const uint8_t *)"F", 1}, .in_type = IN_UINT8, .map = &bit_map, .count = 1},
    {.name = {(const uint8_t *)"S", 1},
        .in_type = IN_BINARY,
        .out_type = OUT_SOCKET_ADDRESS,
        .length = 8,
        .count = 1},
};
enum { FIELDS = sizeof(schema_fields) / sizeof(schema_fields[0]), TOPS = FIELDS - 3 };

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

static bool make_schema(
    struct event_schema *schema, struct schema_field *fields, struct arena *arena)
{
    memcpy(fields, schema_fields, sizeof(schema_fields));
    *schema = (struct event_schema){.kind = SCHEMA_MANIFEST,
        .source = "fuzz",
        .has_layout = true,
        .serial = 1,
        .provider_name = {(const uint8_t *)"Provider", 8},
        .message = {(const uint8_t *)"%2 and %4 %n %17", 16},
        .fields = fields,
        .field_count = FIELDS,
        .top_count = TOPS};
    return schema_finish(schema, arena, NULL);
}

static struct filter *compile(struct span text, struct filter_place *place, struct error *err)
{
    struct filter_rule rules[] = {{.action = FILTER_ACTION_KEEP, .text = text},
        {.action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"true", 4}}};
    return filter_create(rules, 2, place, err);
}

/* The decision is the same with only the fields that the filter asks for, and with the rest that it
 * asks for a type. */
static void check_partial(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, enum filter_verdict verdict)
{
    struct decoder decoder;
    struct event partial = *event;
    struct event_schema unknown; /* not of a cache, so no cache keeps anything for it */
    size_t rule;
    if (!event->schema || !decoder_init(&decoder, NULL)) {
        return;
    }
    unknown = *event->schema;
    unknown.serial = UINT32_MAX;
    partial.schema = &unknown;
    require(filter_event(filter, scratch, &partial, &rule) == verdict);
    uint16_t fields = filter_fields(filter, scratch, event);
    decoder_begin(&decoder, event->record, event->schema, event->pointer_size, fields, &partial);
    require(filter_event(filter, scratch, &partial, &rule) == verdict ||
            fields == EVENT_PATH_ALL_FIELDS);
    decoder_finish(&decoder, &partial);
    require(partial.status == event->status && partial.field_count == event->field_count &&
            span_equal(partial.rest, event->rest));
    require(filter_event(filter, scratch, &partial, &rule) == verdict);
    decoder_fini(&decoder);
}

static void check_verdicts(
    const struct filter *filter, struct filter_scratch *scratch, const struct event *event)
{
    size_t rule = 9;
    size_t early_rule = 9;
    uint64_t given_up = scratch->given_up;
    enum filter_verdict verdict = filter_event(filter, scratch, event, &rule);
    require(verdict != FILTER_UNDECIDED && rule == (verdict == FILTER_DROP));
    enum filter_verdict early = filter_header(filter, scratch, event->record, &early_rule);
    require(early == FILTER_UNDECIDED || (early == verdict && early_rule == rule));
    early = filter_candidates(filter, scratch, event, &event->schema, 1, &early_rule);
    require(early == FILTER_UNDECIDED || (early == verdict && early_rule == rule) ||
            given_up != scratch->given_up);
    if (given_up == scratch->given_up) {
        check_partial(filter, scratch, event, verdict);
    }
}

/* Many rules with the same tests are looked up by the values of their fields. */
static void check_many(struct span text, struct filter_scratch *scratch, const struct event *event,
    enum filter_verdict verdict)
{
    enum { MANY = 6 };
    struct filter_rule rules[MANY + 1];
    struct filter_place place;
    size_t rule = MANY + 1;
    for (size_t i = 0; i < MANY; i++) {
        rules[i] = (struct filter_rule){.action = FILTER_ACTION_KEEP, .text = text};
    }
    rules[MANY] = (struct filter_rule){
        .action = FILTER_ACTION_DROP, .text = {(const uint8_t *)"true", 4}};
    struct filter *filter = filter_create(rules, MANY + 1, &place, NULL);
    if (filter) {
        require(filter_event(filter, scratch, event, &rule) == verdict);
        require(rule == (verdict == FILTER_KEEP ? 0 : MANY));
    }
    filter_destroy(filter);
}

/* If an expression compiles, `not (…)` compiles, too, unless that is too deep or too long, and
 * gives the opposite. */
static void check_opposite(struct span text, const struct filter *filter,
    struct filter_scratch *scratch, const struct event *event)
{
    struct buf opposite;
    struct filter_place place;
    size_t rule;
    buf_init(&opposite, MAX_TEXT);
    buf_add_text(&opposite, "not (");
    buf_add_span(&opposite, text);
    buf_add_text(&opposite, ")");
    struct filter *other = compile(buf_span(&opposite), &place, NULL);
    if (other) {
        require(filter_event(filter, scratch, event, &rule) !=
                filter_event(other, scratch, event, &rule));
    }
    filter_destroy(other);
    buf_fini(&opposite);
}

static enum filter_verdict sample(
    struct span text, uint64_t every, struct filter_scratch *scratch, const struct event *event)
{
    static const char *const fields[] = {"data.A[*].T", "data.Text", "data.List", "provider.name"};
    struct filter_rule rule = {.action = FILTER_ACTION_SAMPLE,
        .text = text,
        .every = every,
        .fields = &fields[text.size % 4],
        .field_count = 1};
    struct filter_place place;
    size_t decided = 9;
    size_t early_decided = 9;
    struct filter *filter = filter_create(&rule, 1, &place, NULL);
    require(filter != NULL);
    uint64_t given_up = scratch->given_up;
    enum filter_verdict verdict = filter_event(filter, scratch, event, &decided);
    enum filter_verdict early = filter_candidates(
        filter, scratch, event, &event->schema, 1, &early_decided);
    require(verdict != FILTER_UNDECIDED && (verdict == FILTER_KEEP || decided == 0));
    require(early == FILTER_UNDECIDED || (early == verdict && early_decided == decided) ||
            given_up != scratch->given_up);
    filter_destroy(filter);
    return verdict;
}

/* A larger sample keeps every event that a smaller one keeps. */
static void check_sample(
    struct span text, struct filter_scratch *scratch, const struct event *event)
{
    enum filter_verdict few = sample(text, 5, scratch, event);
    enum filter_verdict many = sample(text, 2, scratch, event);
    require(few == FILTER_DROP || many == FILTER_KEEP);
    require(sample(text, 1, scratch, event) == FILTER_KEEP);
}

static void check_expression(
    struct span text, struct filter_scratch *scratch, const struct event *event)
{
    struct filter_place place = {.rule = 7};
    struct error err = {0};
    struct filter *filter = compile(text, &place, &err);
    if (!filter) {
        struct buf shown;
        buf_init(&shown, MAX_TEXT);
        require(place.rule == 0 && place.offset <= text.size && err.text[0]);
        filter_show_place(text, place.offset, &shown);
        buf_fini(&shown);
        return;
    }
    size_t rule;
    uint64_t given_up = scratch->given_up;
    check_verdicts(filter, scratch, event);
    enum filter_verdict verdict = filter_event(filter, scratch, event, &rule);
    if (given_up == scratch->given_up) {
        check_many(text, scratch, event, verdict);
    }
    check_opposite(text, filter, scratch, event);
    check_sample(text, scratch, event);
    filter_destroy(filter);
}

static void check_paths(struct filter_scratch *scratch, const struct event *event)
{
    static const struct event_writer_settings settings;
    struct event_writer *writer = event_writer_create(&settings, NULL);
    struct buf line;
    struct buf what;
    buf_init(&line, MAX_TEXT);
    buf_init(&what, MAX_TEXT);
    if (writer) {
        event_format_native.event(writer, event, &line);
        if (!line.failed && !path_oracle_check(event, &scratch->paths, buf_span(&line), &what)) {
            fprintf(stderr, "%.*s\n%.*s\n", SPAN_ARG(buf_span(&what)), SPAN_ARG(buf_span(&line)));
            abort();
        }
    }
    buf_fini(&line);
    buf_fini(&what);
    event_writer_destroy(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct trace_info trace = {.pointer_size = 8, .clock = {.frequency = 1}};
    if (size < HEAD) {
        return 0;
    }
    struct span rest = span_make(data + HEAD, size - HEAD);
    struct span text = span_first(rest, (size_t)data[1] | (size_t)data[2] << 8);
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct decoder decoder;
    struct event_schema schema;
    struct schema_field fields[FIELDS];
    struct filter_scratch scratch;
    bool ready = filter_scratch_init(&scratch, NULL, NULL);
    if (decoder_init(&decoder, NULL) && ready && make_schema(&schema, fields, &arena)) {
        struct event_record record = {.kind = (enum record_kind)(data[0] % 5),
            .pointer_size = data[0] & 0x40 ? 4 : 8,
            .present = data[0] >> 3,
            .process_id = data[0],
            .descriptor = {.id = data[0], .level = data[0] & 7},
            .payload = span_from(rest, text.size),
            .trace = &trace};
        struct event event;
        decoder_run(
            &decoder, &record, data[0] & 0x80 ? NULL : &schema, record.pointer_size, &event);
        check_expression(text, &scratch, &event);
        if (text.size % 4 == 0) {
            check_paths(&scratch, &event);
        }
    }
    decoder_fini(&decoder);
    filter_scratch_fini(&scratch);
    arena_fini(&arena);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const texts[] = {
        "",
        "not (data.Text == 'ab''c' or data.A[*].T in ('x', \"y\"c, 1-0x10, -5 - -1.5e3)) and true",
        "data.A[*].F has ('read', 0x6) and not data.List[*] > 2 or data.List_name has 'one'",
        "cidr(data.IP, '10.0.0.0/8', '::/0') or cidr(data.A[*].S.address, '192.0.2.0/24')",
        "data.Text matches '^a(b|c)*[^d]+$' and data.Ansi matches ('x', '\\\\d{2,}'c)",
        "data.Utf like ('*a?b*', 'c*') and data.Ansi contains 'A' or data.Utf endswith ''",
        "event.level in (error, 4) and event.level != verbose or process.pid <= 3 ",
        "@timestamp >= '1601-01-01T00:00:00Z' or data.Time < '2030-01-01T00:00:00+01:00'",
        "exists(data['Map']) and exists(data.Map_name) and data.System > '2000'",
        "message contains 'and' or data.Float > 0.5 or data.Ptr == '0x30' or data.Neg < 0",
        "provider.guid == '{00000000-0000-0000-0000-000000000000}' or provider.name == 'PROVIDER'",
        "data.Guid startswith '3' or data.Sid == 'S-1-5-18' or data.Rest == '00ff' or true or true",
    };
    static const uint8_t payload[] = "\x02"
                                     "a\0b\0c\0\0\0"
                                     "Abc\0"
                                     "x\0\x05\x02\0\1\2\xc0\0\2\7"
                                     "y\0\x01\x17\0\1\2\xc0\0\2\7"
                                     "\x01\0\0\x80\x3f\1\0\2\0\3\0"
                                     "\0\x80\x3e\xd5\xde\xb1\x9d\1"
                                     "\xea\7\x0b\0\6\0\x15\0\x09\0\x1e\0\0\0\x7b\0"
                                     "0123456789abcdef\x0a\1\2\3"
                                     "\xc3\xa9"
                                     "ab\0"
                                     "\1\1\0\0\0\0\0\5\x12\0\0\0"
                                     "00000000\xff\xff\xff\xff"
                                     "\0\xff\1\2";
    if (index >= 2 * (sizeof(texts) / sizeof(texts[0]))) {
        return 0;
    }
    const char *text = texts[index / 2];
    size_t length = strlen(text);
    if (HEAD + length + sizeof(payload) > max) {
        return 0;
    }
    out[0] = index % 2 ? 0x99 : 0x18 + 5 * 3;
    out[1] = (uint8_t)length;
    out[2] = 0;
    memcpy(out + HEAD, text, length);
    memcpy(out + HEAD + length, payload, sizeof(payload) - 1);
    return HEAD + length + sizeof(payload) - 1;
}
