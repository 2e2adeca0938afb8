#include <stdio.h>
#include <stdlib.h>

#include "filter/filter.h"
#include "support/filter_model.h"
#include "unit/event/writer_fixture.h"

/*
 * A million random pairs of expression and event: the compiled program against filter_model.h, which
 * reads the JSON that the event's writer makes of it. What header or schema decide must be what the
 * whole event says.
 */
enum { EVENTS = 400, EXPRESSIONS = 20000, EVENTS_PER_EXPRESSION = 50 };

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

/* ---- chance ------------------------------------------------------------------------------------ */

static uint64_t chance_state = 20261121;

static unsigned chance(unsigned below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (unsigned)(chance_state >> 33) % below;
}

/* ---- events ------------------------------------------------------------------------------------ */

static const struct schema_map_entry bit_entries[] = {{0, {(const uint8_t *)"none", 4}},
    {1, {(const uint8_t *)"Read", 4}}, {6, {(const uint8_t *)"abc", 3}}};
static const struct schema_map bit_map = {MAP_BITS, bit_entries, 3};
static const struct schema_map_entry value_entries[] = {
    {1, {(const uint8_t *)"abc", 3}}, {5, {(const uint8_t *)"ABCD", 4}}};
static const struct schema_map value_map = {MAP_VALUE, value_entries, 2};

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

static void make_schema(struct model_event *e, const struct kind **field_kinds)
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

static struct field *add_field(struct model_event *e, unsigned schema_index, uint8_t shape)
{
    assert_true(e->field_count < MAX_FIELDS);
    struct field *field = &e->fields[e->field_count++];
    *field = (struct field){.schema = &e->schema_fields[schema_index],
        .count = 1,
        .end = e->field_count,
        .shape = shape};
    return field;
}

static struct span make_payload(struct model_event *e, const struct kind *kind)
{
    assert_true(e->payload_count < MAX_PAYLOADS);
    struct span payload = payload_make(kind->values[chance(kind->value_count)]);
    e->payloads[e->payload_count++] = payload;
    return payload;
}

static void add_value(struct model_event *e, unsigned schema_index, const struct kind *kind)
{
    struct span payload = make_payload(e, kind);
    struct field *field = add_field(e, schema_index, FIELD_VALUE);
    field->data = payload.data;
    field->size = (uint32_t)payload.size;
}

static void add_group(struct model_event *e, unsigned schema_index, unsigned first_member,
    const struct kind *const *field_kinds)
{
    struct field *group = add_field(e, schema_index, FIELD_GROUP);
    for (unsigned i = 0; i < 2; i++) {
        add_value(e, first_member + i, field_kinds[first_member + i]);
    }
    group->count = 2;
    group->end = e->field_count;
}

static void add_packed(struct model_event *e, const struct kind *kind)
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

static void make_fields(struct model_event *e, const struct kind *const *field_kinds)
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

static void make_record(struct model_event *e)
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

static void make_event(struct model_event *e, struct event_writer *writer, struct buf *line)
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
    e->json = json_tree_parse(buf_span(line), &e->arena);
    if (!e->json) {
        fail_msg("%.*s", SPAN_ARG(buf_span(line)));
    }
}

/* ---- expressions ------------------------------------------------------------------------------- */

enum path_type { ANY, NUMBER, HEX, TEXT, GUID, TIME, TEXT_LIST, HEX_LIST, OBJECT };

static const struct {
    const char *path;
    enum path_type type;
} paths[] = {{"data.A", ANY}, {"data.B", ANY}, {"data.C", ANY}, {"data.D", ANY}, {"data.E", ANY},
    {"data.F", ANY}, {"data.A_name", ANY}, {"data.B_name", ANY}, {"data.C_name", ANY},
    {"data.S.A", ANY}, {"data.S.B_name", ANY}, {"data.S", ANY}, {"data.L", ANY}, {"data.L[*]", ANY},
    {"data.L_name", ANY}, {"data.G", ANY}, {"data.G[*].A", ANY}, {"data.G[*].B", ANY},
    {"data.G[*].A_name", ANY}, {"data.G.A", ANY}, {"data.T", ANY}, {"data.T[*]", ANY},
    {"data.A.address", ANY}, {"data.B.port", ANY}, {"data.Missing", ANY}, {"data.A[*]", ANY},
    {"event.code", NUMBER}, {"event.level", NUMBER}, {"event.opcode", NUMBER},
    {"event.version", NUMBER}, {"event.keywords", HEX}, {"event.keywords_name", TEXT_LIST},
    {"event.name", TEXT}, {"event.task_name", TEXT}, {"event.level_name", TEXT},
    {"event.opcode_name", TEXT}, {"provider.name", TEXT}, {"provider.guid", GUID},
    {"provider.kind", TEXT}, {"process.pid", NUMBER}, {"process.thread.id", NUMBER},
    {"etw.session", TEXT}, {"etw.cpu", NUMBER}, {"etw.sequence", NUMBER}, {"@timestamp", TIME},
    {"activity_id", GUID}, {"event.class_guid", GUID}, {"extended.sid", TEXT},
    {"extended.stack", HEX_LIST}, {"message", TEXT}, {"host.name", TEXT}, {"agent.name", TEXT},
    {"labels.site", TEXT}, {"tags", TEXT_LIST}, {"payload", TEXT}, {"process", OBJECT},
    {"data", OBJECT}, {"extended", OBJECT}, {"wpp.message_number", NUMBER}};

static const char *const numbers[] = {"0", "1", "5", "6", "-1", "-5", "255", "0x6", "4294967295",
    "18446744073709551615", "9223372036854775808", "-9223372036854775808", "0.1", "1.0", "-5.5",
    "1e19", "5.0", "0xffffffff"};
static const char *const texts[] = {"", "a", "abc", "ABC", "b", "ab", "it's", "C:\\CMD.EXE",
    "\xc3\x89t\xc3\xa9", "\xc3\xa9T\xc3\x89", "\xd0\xb6uk", "Net", "10.1.2.3", "0x5", "0X05", "5",
    "1c95126e-7eea-49a9-a3fe-a378b03ddb4d", "{1C95126E-7EEA-49A9-A3FE-A378B03DDB4D}",
    "2026-11-21T09:30:00.1234567Z", "2026-11-21T10:30:00.6234567+01:00", "2026", "S-1-5-18", "read",
    "Warning", "a\"b", "2026-11-21T09:30:00.123Z"};
static const char *const times[] = {"2026-11-21T09:30:00.1234567Z",
    "2026-11-21T10:30:00.6234567+01:00", "2026-11-21", "2030-01-01T00:00:00Z"};
static const char *const patterns[] = {
    "abc", "^a", "e$", "a.*b", "[0-9]+", "(bc|d)", "^$", "^.?b", "\\.exe$"};
static const char *const globs[] = {
    "*", "a*", "*c", "*b*", "?bc", "a?c", "*.exe", "??", "", "*a*b*"};
static const char *const networks[] = {
    "10.0.0.0/8", "10.1.2.3", "0.0.0.0/0", "2001:db8::/32", "::/0", "10.1.2.2/31", "::1/128"};

#define PICK(table) ((table)[chance(COUNT_OF(table))])

static void set_text(struct model_literal *literal, const char *text)
{
    literal->type = MODEL_TEXT;
    literal->exact = chance(5) == 0;
    snprintf(literal->text, sizeof(literal->text), "%s", text);
}

static void set_number(struct model_literal *literal, const char *text)
{
    literal->type = MODEL_NUMBER;
    snprintf(literal->low, sizeof(literal->low), "%s", text);
}

/* What the event has at the path, if that can be a literal. */
static bool take_value(
    const struct model_node *node, const struct model_event *event, struct model_literal *literal)
{
    const struct json_node *value;
    if (filter_model_values(event->json, node->path, &value, 1) == 0) {
        return false;
    }
    if (value->type == JSON_ARRAY && value->child) {
        value = value->child;
    }
    if (value->type == JSON_NUMBER && value->text.size < MODEL_NUMBER_SIZE) {
        snprintf(literal->low, sizeof(literal->low), "%.*s", SPAN_ARG(value->text));
        literal->type = MODEL_NUMBER;
        return true;
    }
    if (value->type == JSON_STRING && value->text.size < MODEL_TEXT_SIZE) {
        char text[MODEL_TEXT_SIZE];
        snprintf(text, sizeof(text), "%.*s", SPAN_ARG(value->text));
        set_text(literal, text);
        return true;
    }
    return false;
}

static void make_comparand(struct model_literal *literal, enum path_type type,
    const struct model_node *node, const struct model_event *event)
{
    if (chance(2) && take_value(node, event, literal)) {
        return;
    }
    switch (type) {
    case NUMBER:
        set_number(literal, PICK(numbers));
        break;
    case HEX:
    case HEX_LIST:
        set_number(literal, PICK(numbers));
        if (chance(3) == 0) {
            set_text(literal, "0x5");
        }
        break;
    case TEXT:
    case TEXT_LIST:
        set_text(literal, PICK(texts));
        break;
    case GUID:
        set_text(literal, texts[16 + chance(2)]);
        break;
    case TIME:
        set_text(literal, PICK(times));
        break;
    default:
        if (chance(8) == 0) {
            literal->type = MODEL_BOOL;
            literal->truth = chance(2);
        } else if (chance(2)) {
            set_text(literal, PICK(texts));
        } else {
            set_number(literal, PICK(numbers));
        }
    }
}

static bool is_text_type(enum path_type type)
{
    return type == ANY || type == TEXT || type == TEXT_LIST || type == GUID || type == TIME ||
           type == HEX;
}

/* A test that the types of the field allow. */
static void make_literal(struct model_node *node, enum path_type type,
    const struct model_event *event, struct model_literal *literal)
{
    switch (node->test) {
    case MODEL_CONTAINS:
    case MODEL_STARTS:
    case MODEL_ENDS:
        if (chance(2) || !take_value(node, event, literal) || literal->type != MODEL_TEXT) {
            set_text(literal, PICK(texts));
        }
        break;
    case MODEL_LIKE:
        set_text(literal, PICK(globs));
        break;
    case MODEL_MATCHES:
        set_text(literal, PICK(patterns));
        break;
    case MODEL_CIDR:
        set_text(literal, PICK(networks));
        literal->exact = false;
        break;
    case MODEL_HAS:
        if (type == TEXT_LIST || (type != HEX_LIST && type != NUMBER && chance(2))) {
            set_text(literal, PICK(texts));
        } else {
            static const char *const bits[] = {"1", "4", "6", "0x5", "0x8000000000000000", "-1"};
            set_number(literal, PICK(bits));
        }
        break;
    case MODEL_IN:
        if ((type == ANY || type == NUMBER || type == HEX) && chance(3) == 0) {
            static const char *const lows[] = {"-9", "0", "1", "-0.5"};
            static const char *const highs[] = {"1", "5", "7.5", "0xffffffff"};
            literal->type = MODEL_RANGE;
            snprintf(literal->low, sizeof(literal->low), "%s", PICK(lows));
            snprintf(literal->high, sizeof(literal->high), "%s", PICK(highs));
            break;
        }
        make_comparand(literal, type, node, event);
        break;
    default:
        make_comparand(literal, type, node, event);
        if (literal->type == MODEL_BOOL) {
            node->test = MODEL_UNEQUAL;
        }
    }
}

static void make_test(struct model_node *node, const struct model_event *events)
{
    unsigned index = chance(COUNT_OF(paths));
    enum path_type type = paths[index].type;
    node->type = MODEL_NODE_TEST;
    node->path = paths[index].path;
    node->test = (enum model_test)chance(MODEL_EXISTS + 1);
    bool search = node->test >= MODEL_CONTAINS && node->test <= MODEL_MATCHES;
    bool can = node->test == MODEL_HAS ? type == ANY || type == HEX || type == NUMBER ||
                                             type == TEXT_LIST || type == HEX_LIST
               : node->test == MODEL_CIDR ? type == ANY || type == TEXT || type == TEXT_LIST
               : search                   ? is_text_type(type)
                                          : type != OBJECT;
    if (!can || type == OBJECT) {
        node->test = type == OBJECT ? MODEL_EXISTS : MODEL_EQUAL;
    }
    if (node->test == MODEL_EXISTS) {
        return;
    }
    node->literal_count = node->test < MODEL_IN ? 1 : 1 + chance(MODEL_MAX_LITERALS);
    for (unsigned i = 0; i < node->literal_count; i++) {
        make_literal(node, type, &events[chance(EVENTS)], &node->literals[i]);
    }
}

static struct model_node *make_node(
    struct arena *arena, const struct model_event *events, unsigned depth)
{
    struct model_node *node = arena_alloc(arena, sizeof(*node));
    assert_non_null(node);
    unsigned choice = chance(10);
    if (depth == 0 || choice < 4) {
        if (choice == 0 && chance(4) == 0) {
            node->type = MODEL_NODE_TRUE;
        } else {
            make_test(node, events);
        }
        return node;
    }
    node->type = choice < 6 ? MODEL_NODE_NOT : choice < 8 ? MODEL_NODE_AND : MODEL_NODE_OR;
    node->child_count = node->type == MODEL_NODE_NOT ? 1 : 2 + chance(2);
    for (unsigned i = 0; i < node->child_count; i++) {
        node->children[i] = make_node(arena, events, depth - 1);
    }
    return node;
}

/* ---- both ---------------------------------------------------------------------------------------- */

struct tally {
    unsigned pairs;
    unsigned kept;
    unsigned by_header;
    unsigned by_schema;
};

static void check_pair(const struct filter *filter, struct filter_scratch *scratch,
    const struct model_node *node, const struct model_event *event, struct span text,
    struct tally *tally)
{
    const struct event_schema *schema = event->event.schema;
    size_t rule = 0;
    bool expected = filter_model_holds(node, event->json);
    enum filter_verdict verdict = filter_event(filter, scratch, &event->event, &rule);
    if (verdict != (expected ? FILTER_KEEP : FILTER_DROP) || rule != !expected) {
        fail_msg("%.*s is %d", SPAN_ARG(text), verdict == FILTER_KEEP);
    }
    enum filter_verdict header = filter_header(filter, scratch, &event->record, &rule);
    enum filter_verdict early = filter_candidates(
        filter, scratch, &event->event, &schema, 1, &rule);
    if ((header != FILTER_UNDECIDED && header != verdict) ||
        (early != FILTER_UNDECIDED && early != verdict) ||
        (early == FILTER_UNDECIDED && header != FILTER_UNDECIDED)) {
        fail_msg("%.*s: header %d, schema %d, event %d", SPAN_ARG(text), header, early, verdict);
    }
    tally->pairs++;
    tally->kept += expected;
    tally->by_header += header != FILTER_UNDECIDED;
    tally->by_schema += early != FILTER_UNDECIDED;
}

static void check_expression(const struct model_event *events, struct filter_scratch *scratch,
    struct buf *text, struct tally *tally)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    const struct model_node *node = make_node(&arena, events, chance(4));
    buf_reset(text);
    filter_model_write(node, chance(1 << 16), text);
    struct filter_rule rules[] = {{.action = FILTER_ACTION_KEEP, .text = buf_span(text)},
        {.action = FILTER_ACTION_DROP, .text = span_text("true")}};
    struct filter_place place;
    struct error err;
    struct filter *filter = filter_create(rules, 2, &place, &err);
    if (!filter) {
        fail_msg("%.*s: %s", SPAN_ARG(buf_span(text)), err.text);
    }
    for (unsigned i = 0; i < EVENTS_PER_EXPRESSION; i++) {
        check_pair(filter, scratch, node, &events[chance(EVENTS)], buf_span(text), tally);
    }
    filter_destroy(filter);
    arena_fini(&arena);
}

static void a_million_random_pairs_agree_with_the_model(void **state)
{
    (void)state;
    struct buf buf;
    struct tally tally = {0};
    struct filter_scratch scratch;
    struct model_event *events = calloc(EVENTS, sizeof(*events));
    assert_non_null(events);
    buf_init(&buf, 1 << 20);
    event_tail_render(&agent, &buf);
    struct event_writer_settings settings = {.tail = buf_span(&buf)};
    struct event_writer *writer = event_writer_create(&settings, NULL);
    assert_non_null(writer);
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    scratch.paths.agent = &agent;
    for (unsigned i = 0; i < EVENTS; i++) {
        make_event(&events[i], writer, &buf);
    }
    for (unsigned i = 0; i < EXPRESSIONS; i++) {
        check_expression(events, &scratch, &buf, &tally);
    }
    /* The pairs are worth something. */
    assert_int_equal(tally.pairs, 1000000);
    assert_in_range(tally.kept, 200000, 800000);
    assert_in_range(tally.by_header, 100000, 900000);
    assert_in_range(tally.by_schema, tally.by_header + 10000, 950000);
    assert_int_equal(scratch.given_up, 0);
    for (unsigned i = 0; i < EVENTS; i++) {
        for (unsigned k = 0; k < events[i].payload_count; k++) {
            payload_free(events[i].payloads[k]);
        }
        arena_fini(&events[i].arena);
    }
    free(events);
    event_writer_destroy(writer);
    filter_scratch_fini(&scratch);
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_random_pairs_agree_with_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
