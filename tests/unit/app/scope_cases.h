#ifndef ETWSHIP_TESTS_UNIT_APP_SCOPE_CASES_H
#define ETWSHIP_TESTS_UNIT_APP_SCOPE_CASES_H

#include <stdio.h>
#include <stdlib.h>

#include "filter/push/filter_push.h"
#include "input/live/provider_scope.h"
#include "support/test.h"

/* Random entries of providers, definitions, lists of rules and events. */
enum { DEFINITIONS = 7, MAX_LISTS = 2, MAX_RULES = 4 };
enum { MAX_EXPRESSION = 4096, MAX_MEMORY = 1 << 22, PAYLOAD_BYTES = 64 };

static uint64_t chance_state;

static unsigned chance(unsigned below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return (unsigned)(chance_state >> 33) % below;
}

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))
#define PICK(table) ((table)[chance(COUNT_OF(table))])

static const uint16_t ids[] = {0, 1, 2, 3, 5, 9, 700, 65534};
static const uint8_t levels[] = {0, 1, 2, 3, 4, 5, 5, 5};
static const uint64_t keywords[] = {0, 1, 0x10, 0x11, 0x20, UINT64_C(0x8000000000000010),
    UINT64_C(0x8000000000000000), UINT64_C(0x00ffffffffffffff)};
static const uint32_t pids[] = {0, 4, 7, 8, 9, 1000, 4242};
static const char *const words[] = {"", "abc", "ABC", "xabcx", "a,b", "cmd.exe"};
static const struct guid guid = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};

/* ---- events ---------------------------------------------------------------------------------- */

static const struct schema_keyword names[] = {
    {0x1, {(const uint8_t *)"Kone", 4}}, {0x10, {(const uint8_t *)"Kten", 4}}};

#define FIELD(text, type)                                                   \
    {                                                                       \
        .name = {(const uint8_t *)(text), 1}, .in_type = (type), .count = 1 \
    }

static const struct schema_field layouts[][2] = {
    {FIELD("N", IN_UINT32), FIELD("T", IN_UNICODE_STRING)},
    {FIELD("W", IN_INT16), FIELD("H", IN_HEX_INT64)},
    {FIELD("T", IN_UNICODE_STRING), FIELD("W", IN_INT16)},
};

struct definition {
    struct event_schema schema;
    struct schema_field fields[2];
    unsigned layout;
};

/* The values of the payload. */
struct values {
    uint32_t n;
    int16_t w;
    uint64_t h;
    const char *t;
};

struct case_ {
    struct arena arena;
    struct definition definitions[DEFINITIONS];
    struct filter_push_event known[DEFINITIONS];
    struct filter *filters[2 * MAX_LISTS];
    const struct filter *every[MAX_LISTS];
    const struct filter *any[MAX_LISTS];
    struct filter_push_question question;
    struct filter_push push;
    struct provider_spec spec;
    struct provider_scope scope;
    struct etw_payload_filter payload[64];
    struct etw_payload_test tests[64 * 8];
    struct etw_request wide;
    struct etw_request narrow;
    struct provider_selection *selection;
    char text[MAX_EXPRESSION]; /* of all lists, for people */
    size_t text_size;
};

struct made {
    struct event_record record;
    struct values values;
    const struct definition *definition; /* NULL: the event is not decoded */
    uint8_t payload[PAYLOAD_BYTES];
};

/* Remove the values of the descriptor that a definition does not state; or set any values there, as
 * events may have. */
static void change_unstated(unsigned unstated, bool any, struct event_descriptor *d)
{
    d->level = unstated & SCHEMA_NO_LEVEL ? (uint8_t)(any ? chance(20) : 0) : d->level;
    d->keyword = unstated & SCHEMA_NO_KEYWORDS ? any ? PICK(keywords) : 0 : d->keyword;
    d->task = unstated & SCHEMA_NO_TASK ? (uint16_t)(any ? chance(3) : 0) : d->task;
    d->opcode = unstated & SCHEMA_NO_OPCODE ? (uint8_t)(any ? chance(3) : 0) : d->opcode;
    d->channel = unstated & SCHEMA_NO_CHANNEL ? (uint8_t)(any ? chance(3) : 0) : d->channel;
}

static void make_definition(struct case_ *c, struct definition *d)
{
    struct error err;
    d->layout = chance(COUNT_OF(layouts));
    memcpy(d->fields, layouts[d->layout], sizeof(d->fields));
    d->schema = (struct event_schema){.kind = SCHEMA_MANIFEST,
        .source = "test",
        .has_layout = true,
        .provider = guid,
        .provider_name = span_text("Prov-X"),
        .event_name = span_text(chance(2) ? "Start" : "Stop"),
        .task_name = span_text("Task"),
        .keywords = names,
        .keyword_count = COUNT_OF(names),
        .fields = d->fields,
        .field_count = 2,
        .top_count = 2,
        .descriptor = {.id = PICK(ids),
            .version = (uint8_t)chance(2),
            .level = chance(20) ? PICK(levels) : 16,
            .opcode = (uint8_t)chance(3),
            .task = (uint16_t)chance(3),
            .keyword = PICK(keywords)}};
    d->schema.unstated = (uint8_t)(chance(4) ? 0 : chance(SCHEMA_ALL_UNSTATED + 1));
    change_unstated(d->schema.unstated, false, &d->schema.descriptor);
    assert_true(schema_finish(&d->schema, &c->arena, &err));
}

static size_t put_values(struct made *made, unsigned layout)
{
    uint8_t *p = made->payload;
    for (size_t i = 0; i < 2; i++) {
        switch (*layouts[layout][i].name.data) {
        case 'N':
            store_le32(p, made->values.n);
            p += 4;
            break;
        case 'W':
            store_le16(p, (uint16_t)made->values.w);
            p += 2;
            break;
        case 'H':
            store_le64(p, made->values.h);
            p += 8;
            break;
        default:
            for (const char *t = made->values.t; *t; t++, p += 2) {
                store_le16(p, (uint8_t)*t);
            }
            store_le16(p, 0);
            p += 2;
        }
    }
    return (size_t)(p - made->payload);
}

static const struct definition *definition_of(const struct case_ *c, uint16_t id)
{
    for (size_t i = 0; i < c->question.event_count; i++) {
        if (c->known[i].descriptor.id == id) {
            return &c->definitions[i];
        }
    }
    return NULL;
}

/* An event of a definition, or without a known one. */
static void make_event(const struct case_ *c, struct made *made)
{
    const struct definition *d = &c->definitions[chance(DEFINITIONS)];
    struct event_record *r = &made->record;
    made->values = (struct values){
        chance(4), (int16_t)(chance(5) - 2), chance(3) ? chance(4) : UINT64_MAX, PICK(words)};
    made->definition = d;
    *r = (struct event_record){.kind = RECORD_EVENT,
        .provider = guid,
        .pointer_size = 8,
        .present = chance(10) ? RECORD_HAS_PROCESS : 0,
        .process_id = PICK(pids),
        .descriptor = d->schema.descriptor};
    change_unstated(d->schema.unstated, true, &r->descriptor);
    bool is_strange = chance(4) == 0;
    if (is_strange) {
        r->descriptor = (struct event_descriptor){
            .id = chance(2) ? PICK(ids) : (uint16_t)chance(65536),
            .level = c->question.is_manifest || chance(2) ? PICK(levels) : (uint8_t)chance(256),
            .version = (uint8_t)chance(3),
            .opcode = (uint8_t)chance(3),
            .keyword = chance(2) ? PICK(keywords) : (uint64_t)chance(65536) << chance(48)};
        made->definition = NULL;
        if (definition_of(c, r->descriptor.id)) {
            made->definition = definition_of(c, r->descriptor.id);
            r->descriptor = made->definition->schema.descriptor;
            change_unstated(made->definition->schema.unstated, true, &r->descriptor);
        } else if (!c->question.is_manifest && chance(4) == 0) {
            r->kind = RECORD_CLASSIC;
            r->descriptor.id = 0;
        }
    }
    size_t size = put_values(made, made->definition ? made->definition->layout : 0);
    r->payload = span_make(made->payload, chance(30) ? size : chance((unsigned)size));
}

/* ---- rules ----------------------------------------------------------------------------------- */

struct writer {
    char *text;
    size_t size;
    size_t used;
};

static void put(struct writer *w, const char *text)
{
    int more = snprintf(w->text + w->used, w->size - w->used, "%s", text);
    w->used += more > 0 && w->used + (size_t)more < w->size ? (size_t)more : 0;
}

static void put_number(struct writer *w, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    put(w, text);
}

static const char *const orders[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};

static void put_numbers(struct writer *w, uint64_t (*one)(void))
{
    if (chance(2)) {
        put(w, PICK(orders));
        put_number(w, one());
        put(w, chance(10) ? "" : ".5");
        return;
    }
    put(w, " in (");
    uint64_t first = one();
    put_number(w, first);
    if (chance(2)) {
        put(w, "-");
        put_number(w, first + chance(10));
    }
    put(w, ", ");
    put_number(w, one());
    put(w, ")");
}

static uint64_t one_id(void)
{
    return PICK(ids);
}

static uint64_t one_level(void)
{
    return PICK(levels);
}

static uint64_t one_pid(void)
{
    return PICK(pids);
}

static uint64_t one_small(void)
{
    return chance(4);
}

static void put_keywords(struct writer *w)
{
    static const char *const tests[] = {" has 0x1", " has 0x10", " has 0x11", " has ('kone', 0x20)",
        " has 'Kten'", " == 0x10", " in (0x10, 0x11)", " == 0", " > 15", " has (0x10, 0x1)",
        " has 'KONE'c", " has 'Other'", " != 0x10", " has 0x8000000000000000"};
    put(w, "event.keywords");
    put(w, PICK(tests));
}

static void put_text_test(struct writer *w)
{
    static const char *const tests[] = {"provider.name == 'PROV-x'", "provider.name == 'Other'",
        "provider.name in ('Prov-X'c, 'Other')", "exists(provider.name)",
        "provider.name startswith 'prov'",
        "provider.guid == '04030201-0605-0807-090a-0b0c0d0e0f10'", "etw.session == 'S'",
        "etw.session == 'other'", "event.name == 'Start'", "event.task_name == 'TASK'",
        "event.keywords_name == 'Kone'", "exists(event.code)", "exists(event.keywords)",
        "exists(process.pid)", "data.T == 'abc'", "data.T == 'abc'c", "data.T contains 'bc'c",
        "data.T in ('abc'c, 'cmd.exe'c)", "data.T startswith 'a'", "exists(data.N)", "data.H has 1",
        "data.H == 0xffffffffffffffff", "data.W in (-2 - -1, 2)", "data.W < 0", "data.W > -1",
        "data.N_name == 'x'", "data.T == 'a,b'c", "event.level_name == 'Verbose'",
        "event.channel != 0", "not event.level_name == 'Error'", "event.opcode_name == 'Stop'",
        "provider.kind == 'manifest'", "event.class_guid startswith '0'", "event.opcode in (1, 2)",
        "event.version == 1", "event.task == 2", "etw.cpu == 0", "true", "message contains 'x'",
        "payload startswith '0'", "event.code has 1", "exists(decode_error)"};
    put(w, PICK(tests));
}

static void put_expression(struct writer *w, unsigned depth)
{
    unsigned what = chance(depth ? 14 : 9);
    if (what < 3) {
        put(w, "event.code");
        put_numbers(w, one_id);
    } else if (what == 3) {
        put(w, "event.level");
        put_numbers(w, one_level);
    } else if (what == 4) {
        put_keywords(w);
    } else if (what == 5) {
        put(w, "process.pid");
        put_numbers(w, one_pid);
    } else if (what == 6) {
        put(w, chance(2) ? "data.N" : chance(2) ? "data.W" : "data.H");
        put_numbers(w, one_small);
    } else if (what < 9) {
        put_text_test(w);
    } else if (what == 9) {
        put(w, "not (");
        put_expression(w, depth - 1);
        put(w, ")");
    } else {
        put(w, "(");
        put_expression(w, depth - 1);
        put(w, what < 12 ? " and " : " or ");
        put_expression(w, depth - 1);
        put(w, ")");
    }
}

static struct filter *make_list(struct case_ *c)
{
    static const enum filter_action actions[] = {FILTER_ACTION_KEEP, FILTER_ACTION_KEEP,
        FILTER_ACTION_DROP, FILTER_ACTION_DROP, FILTER_ACTION_SAMPLE, FILTER_ACTION_LIMIT};
    static const char *const shown[] = {"keep ", "drop ", "sample ", "limit "};
    struct filter_rule rules[MAX_RULES];
    struct filter_place place;
    struct error err;
    size_t count = 1 + chance(MAX_RULES);
    for (size_t i = 0; i < count; i++) {
        bool is_last = i > 0 && i + 1 == count && chance(3);
        rules[i] = (struct filter_rule){.action = is_last ? FILTER_ACTION_DROP : PICK(actions),
            .every = 2,
            .limit = {.events = 1, .period = 10000000, .burst = 1}};
        struct writer w = {c->text, sizeof(c->text), c->text_size};
        put(&w, shown[rules[i].action]);
        size_t start = w.used;
        if (is_last) {
            put(&w, "true");
        } else {
            put_expression(&w, 3);
        }
        rules[i].text = span_make(c->text + start, w.used - start);
        put(&w, "\n");
        c->text_size = w.used;
    }
    struct filter *filter = filter_create(rules, count, &place, &err);
    if (!filter) {
        fail_msg("%.*s: %s", SPAN_ARG(rules[place.rule].text), err.text);
    }
    struct writer w = {c->text, sizeof(c->text), c->text_size};
    put(&w, "--\n");
    c->text_size = w.used;
    return filter;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void make_spec(struct provider_spec *spec)
{
    static const uint64_t masks[] = {0, 0, 0x10, 0x31, UINT64_C(0xffffffffffffffff)};
    provider_spec_init(spec);
    spec->name = span_text("Prov-X");
    spec->guid = guid;
    spec->level = chance(2) ? PROVIDER_LEVEL_ALL : PICK(levels);
    spec->any.bits = PICK(masks);
    spec->all.bits = chance(4) ? 0 : 0x10;
    if (chance(3) == 0) {
        struct provider_events *events = chance(2) ? &spec->include : &spec->exclude;
        events->ranges[0] = (struct provider_id_range){PICK(ids), 0};
        events->ranges[0].last = (uint16_t)(events->ranges[0].first + chance(200) % 65530);
        events->ranges[0].last = events->ranges[0].last < events->ranges[0].first
                                     ? UINT16_MAX
                                     : events->ranges[0].last;
        events->range_count = 1;
    }
    while (chance(4) == 0 && spec->pid_count < 3) {
        spec->pids[spec->pid_count++] = PICK(pids);
    }
}

static void copy_payload(struct case_ *c)
{
    size_t used = 0;
    for (size_t i = 0; i < c->push.payload_count; i++) {
        const struct filter_push_payload *from = &c->push.payload[i];
        c->payload[i] = (struct etw_payload_filter){
            .event = {.id = from->event.id, .version = from->event.version},
            .match_any = from->any,
            .count = (uint16_t)from->count,
            .tests = &c->tests[used]};
        for (size_t k = 0; k < from->count; k++) {
            c->tests[used++] = (struct etw_payload_test){
                from->tests[k].field, (uint16_t)from->tests[k].op, from->tests[k].value};
        }
    }
    c->scope.payload = c->payload;
    c->scope.payload_count = c->push.payload_count;
}

static void make_case(struct case_ *c)
{
    struct error err;
    uint32_t too_much;
    memset(c, 0, sizeof(*c));
    arena_init(&c->arena, MAX_MEMORY);
    for (size_t i = 0; i < DEFINITIONS; i++) {
        make_definition(c, &c->definitions[i]);
        c->known[i] = (struct filter_push_event){.descriptor = c->definitions[i].schema.descriptor,
            .schema = chance(5) ? &c->definitions[i].schema : NULL,
            .unstated = c->definitions[i].schema.unstated};
    }
    for (size_t i = chance(2); i < MAX_LISTS; i++) {
        c->filters[i] = make_list(c);
        c->every[c->question.every_count++] = c->filters[i];
    }
    for (size_t i = chance(3); i < MAX_LISTS; i++) {
        c->filters[MAX_LISTS + i] = make_list(c);
        c->any[c->question.any_count++] = c->filters[MAX_LISTS + i];
    }
    c->question.every = c->every;
    c->question.any = c->any;
    c->question.session = span_text("s");
    c->question.provider = span_text("prov-x");
    c->question.events = c->known;
    c->question.event_count = chance(3) ? DEFINITIONS : 0;
    c->question.is_manifest = c->question.event_count && chance(4);
    if (c->question.is_manifest) {
        c->question.guid = guid;
    }
    assert_true(filter_push_make(&c->question, &c->arena, &c->push, &err));
    make_spec(&c->spec);
    c->selection = provider_selection_create_from(&c->spec, 1, true, &err);
    assert_non_null(c->selection);
    etw_plan_request(&c->spec, &c->wide, &too_much);
    c->scope = (struct provider_scope){.nothing = c->push.nothing,
        .level = c->push.level,
        .any = c->push.any,
        .all = c->push.all,
        .ids = c->push.ids,
        .pid_count = c->push.pid_count};
    memcpy(c->scope.pids, c->push.pids, sizeof(c->scope.pids));
    copy_payload(c);
    c->spec.scope = &c->scope;
    etw_plan_request(&c->spec, &c->narrow, &too_much);
}

static void end_case(struct case_ *c)
{
    for (size_t i = 0; i < COUNT_OF(c->filters); i++) {
        filter_destroy(c->filters[i]);
    }
    provider_selection_destroy(c->selection);
    arena_fini(&c->arena);
}

#endif
