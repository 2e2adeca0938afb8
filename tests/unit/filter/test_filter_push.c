#include "filter/push/filter_push.h"

#include <stdio.h>

#include "base/buf.h"
#include "support/test.h"

/* Plans for lists of rules, written by hand. */

enum { MAX_RULES = 4, MAX_MEMORY = 1 << 20, MAX_TEXT = 4096 };

static const struct guid guid = {{0x6e, 0x12, 0x95, 0x1c, 0xea, 0x7e, 0xa9, 0x49, 0xa3, 0xfe, 0xa3,
    0x78, 0xb0, 0x3d, 0xdb, 0x4d}};

static const struct schema_keyword keywords[] = {
    {0x10, {(const uint8_t *)"Process", 7}}, {0x20, {(const uint8_t *)"Thread", 6}}};

#define DEFINED(number, of_level, of_keyword, text)                                             \
    {                                                                                           \
        .kind = SCHEMA_MANIFEST, .source = "test", .provider_name = {(const uint8_t *)"My", 2}, \
        .descriptor = {.id = (number), .level = (of_level), .keyword = (of_keyword)},           \
        .event_name = {(const uint8_t *)(text), sizeof(text) - 1}, .keywords = keywords,        \
        .keyword_count = 2                                                                      \
    }

/* Bit 63 is that of a channel. */
static const struct event_schema schemas[] = {
    DEFINED(1, 4, UINT64_C(0x8000000000000010), "Start"),
    DEFINED(2, 4, UINT64_C(0x8000000000000010), "Stop"),
    DEFINED(3, 5, UINT64_C(0x8000000000000020), "Tick"),
    DEFINED(5, 2, UINT64_C(0x8000000000000030), "Fail"),
    DEFINED(9, 0, 0, "Hello"),
};

enum { SCHEMAS = sizeof(schemas) / sizeof(schemas[0]) };

/* A rule is `keep …`, `drop …`, `sample …` or `limit …`; NULL ends a list. */
struct lists {
    const char *every[2][MAX_RULES];
    const char *any[2][MAX_RULES];
};

struct rig {
    struct filter *filters[4];
    const struct filter *every[2];
    const struct filter *any[2];
    struct filter_push_event events[SCHEMAS];
    struct filter_push_question question;
    struct filter_push push;
    struct arena arena;
};

static enum filter_action action_of(const char *text)
{
    return *text == 'k'   ? FILTER_ACTION_KEEP
           : *text == 'd' ? FILTER_ACTION_DROP
           : *text == 's' ? FILTER_ACTION_SAMPLE
                          : FILTER_ACTION_LIMIT;
}

static struct filter *compile(const char *const *texts)
{
    struct filter_rule rules[MAX_RULES];
    struct filter_place place;
    struct error err;
    size_t count = 0;
    for (; count < MAX_RULES && texts[count]; count++) {
        rules[count] = (struct filter_rule){.action = action_of(texts[count]),
            .text = span_text(strchr(texts[count], ' ') + 1),
            .every = 10,
            .limit = {.events = 1, .period = 10000000, .burst = 1}};
    }
    struct filter *filter = filter_create(rules, count, &place, &err);
    if (!filter) {
        fail_msg("%s: %s", texts[place.rule], err.text);
    }
    return filter;
}

/* ${known}: the provider has a manifest, and it is available. */
static void plan(struct rig *rig, const struct lists *lists, bool known)
{
    struct error err;
    *rig = (struct rig){.question = {.session = span_text("net"),
                            .provider = span_text("my"),
                            .guid = guid,
                            .is_manifest = known,
                            .events = rig->events,
                            .event_count = known ? SCHEMAS : 0,
                            .every = rig->every,
                            .any = rig->any}};
    arena_init(&rig->arena, MAX_MEMORY);
    for (size_t i = 0; i < SCHEMAS; i++) {
        rig->events[i] = (struct filter_push_event){
            .descriptor = schemas[i].descriptor, .schema = &schemas[i]};
    }
    for (size_t i = 0; i < 2 && lists->every[i][0]; i++) {
        rig->every[i] = rig->filters[i] = compile(lists->every[i]);
        rig->question.every_count++;
    }
    for (size_t i = 0; i < 2 && lists->any[i][0]; i++) {
        rig->any[i] = rig->filters[2 + i] = compile(lists->any[i]);
        rig->question.any_count++;
    }
    if (!filter_push_make(&rig->question, &rig->arena, &rig->push, &err)) {
        fail_msg("%s", err.text);
    }
}

static void end(struct rig *rig)
{
    for (size_t i = 0; i < 4; i++) {
        filter_destroy(rig->filters[i]);
    }
    arena_fini(&rig->arena);
}

static void put_ids(const struct filter_push *push, bool kept, struct buf *out)
{
    const char *comma = "";
    for (uint32_t id = 0; id < FILTER_PUSH_IDS; id++) {
        if (filter_push_has_id(push, (uint16_t)id) == kept) {
            buf_printf(out, "%s%u", comma, (unsigned)id);
            comma = ",";
        }
    }
}

/* In one line: `level 4 any 0x10 all 0x30 ids 1,2` or `not 5`, `pid 7`; empty if all events
 * come. */
static void show(const struct filter_push *push, struct buf *out)
{
    buf_printf(out, push->nothing ? " nothing" : "");
    if (push->level != 0xff) {
        buf_printf(out, " level %u", push->level);
    }
    if (push->any) {
        buf_printf(out, " any 0x%llx", (unsigned long long)push->any);
    }
    if (push->all) {
        buf_printf(out, " all 0x%llx", (unsigned long long)push->all);
    }
    if (push->id_count <= 64) {
        buf_add_text(out, " ids ");
        put_ids(push, true, out);
    } else if (push->id_count != FILTER_PUSH_IDS) {
        buf_add_text(out, " not ");
        put_ids(push, false, out);
    }
    for (size_t i = 0; i < push->pid_count; i++) {
        buf_printf(out, " pid %u", push->pids[i]);
    }
}

static bool is_planned(const struct lists *lists, bool known, const char *wanted)
{
    struct rig rig;
    struct buf text;
    buf_init(&text, MAX_TEXT);
    plan(&rig, lists, known);
    show(&rig.push, &text);
    buf_add_byte(&text, 0);
    bool same = strcmp((const char *)text.data, wanted) == 0;
    if (!same) {
        print_error("%s%s …: '%s', not '%s'\n", known ? "known, " : "",
            lists->every[0][0] ? lists->every[0][0] : lists->any[0][0], (const char *)text.data,
            wanted);
    }
    buf_fini(&text);
    end(&rig);
    return same;
}

/* ---- requests -------------------------------------------------------------------------------- */

struct row {
    struct lists lists;
    const char *unknown; /* no definition is available, so its kind is unknown, too */
    const char *known;   /* there is a manifest with the five events above */
};

/* 65534 is what an EventSource tells its events by. */
static const struct row rows[] = {
    /* Without rules all events come. */
    {{.every = {{"keep true"}}}, "", ""},
    /* No manifest has levels above 5, but any provider without one may. */
    {{.every = {{"drop event.level == verbose"}}}, "", " level 4"},
    {{.every = {{"drop event.level >= 5"}}}, " level 4", " level 4"},
    {{.every = {{"drop not event.level in (critical, error)"}}}, " level 2", " level 2 not 9"},
    {{.every = {{"keep event.code in (1, 2)", "drop true"}}}, " ids 1,2,65534",
        " level 4 any 0x10 ids 1,2"},
    {{.every = {{"keep event.code in (1, 2) and event.level == 2", "drop true"}}},
        " level 2 ids 1,2,65534", " nothing level 1 ids "},
    /* No definition has event 4, so its level is unknown. */
    {{.every = {{"keep event.code in (1, 4)", "drop true"}}}, " ids 1,4,65534", " ids 1,4"},
    {{.every = {{"drop event.code == 3"}}}, " not 3", " not 3"},
    {{.every = {{"drop event.code in (3, 10-12)"}}}, " not 3,10,11,12", " not 3,10,11,12"},
    {{.every = {{"keep provider.name == 'MY' and event.code == 5", "drop true"}}}, " ids 5,65534",
        " level 2 any 0x30 all 0x30 ids 5"},
    {{.every = {{"keep provider.name == 'Other' and event.code == 5", "drop true"}}},
        " nothing level 1 ids 65534", " nothing level 1 ids "},
    /* An event without a definition has no name, so the rule does not drop it. */
    {{.every = {{"drop provider.name == 'My'"}}}, "", " not 1,2,3,5,9"},
    {{.every = {{"keep event.name == 'Stop'", "drop true"}}}, "", " not 1,3,5,9"},
    {{.every = {{"keep process.pid in (7, 9)", "drop true"}}}, " pid 7 pid 9", " pid 7 pid 9"},
    {{.every = {{"keep process.pid == 4", "drop true"}}}, "", ""},
    {{.every = {{"drop process.pid == 9"}}}, "", ""},
    {{.every = {{"keep event.keywords has 0x20", "drop true"}}}, " any 0x20", " any 0x20 not 9"},
    {{.every = {{"keep event.keywords has 0x30", "drop true"}}}, " any 0x30 all 0x30",
        " any 0x30 all 0x30 not 9"},
    {{.every = {{"keep event.keywords has ('Thread', 0x40)", "drop true"}}}, "", " any 0x60 not 9"},
    {{.every = {{"drop not event.keywords has 0x20"}}}, " any 0x20", " any 0x20 not 9"},
    {{.every = {{"drop event.keywords has 0x20"}}}, "", " not 3,5"},
    /* Several lists must all keep it. */
    {{.every = {{"keep event.code < 4", "drop true"}, {"drop event.code in (0, 2-3)"}}},
        " ids 1,65534", " level 4 any 0x10 ids 1"},
    /* Of the lists of outputs one is enough, and an output without rules has no list: see the
     * caller. */
    {{.any = {{"keep event.code == 1", "drop true"}, {"keep event.code == 5", "drop true"}}},
        " ids 1,5,65534", " level 4 any 0x10 ids 1,5"},
    {{.any = {{"keep event.code == 1", "drop true"}, {"keep true"}}}, "", ""},
    /* Some are kept. */
    {{.every = {{"sample event.code == 1", "limit event.code == 2", "drop true"}}},
        " ids 1,2,65534", " level 4 any 0x10 ids 1,2"},
    {{.every = {{"drop event.code == 1 and data.X == 1", "keep event.code == 1", "drop true"}}},
        " ids 1,65534", " level 4 any 0x10 ids 1"},
    {{.every = {{"keep etw.session == 'other'", "drop event.code > 2"}}}, " ids 0,1,2,65534",
        " ids 0,1,2"},
    {{.every = {{"drop etw.session == 'NET' and event.code > 2"}}}, " ids 0,1,2,65534",
        " ids 0,1,2"},
    {{.every = {{"drop event.code > 2 and event.code < 65000.5", "drop event.code >= 65001"}}},
        " ids 0,1,2,65534", " ids 0,1,2"},
    {{.every = {{"drop true"}}}, " nothing level 1 ids 65534", " nothing level 1 ids "},
    /* A classic event has no code; a code would be id 0. */
    {{.every = {{"keep event.opcode == 1", "keep event.code == 2", "drop true"}}}, "",
        " not 1,3,5,9"},
    {{.every = {{"keep not exists(event.code)", "keep event.code == 2", "drop true"}}},
        " ids 0,2,65534", " level 4 any 0x10 ids 2"},
};

static void test_plans(void **state)
{
    (void)state;
    bool good = true;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        good &= is_planned(&rows[i].lists, false, rows[i].unknown);
        good &= is_planned(&rows[i].lists, true, rows[i].known);
    }
    assert_true(good);
}

/* A consumer of events gets them, whatever the rules are. */
static void test_needs(void **state)
{
    static const struct filter_push_need needs[] = {{1, 4, 0x10}, {5, 4, UINT64_C(1) << 62}};
    const struct lists lists = {
        .every = {{"keep event.code == 3 and process.pid == 7", "drop true"}}};
    struct rig rig;
    struct buf text;
    struct error err;
    (void)state;
    plan(&rig, &lists, true);
    buf_init(&text, MAX_TEXT);
    show(&rig.push, &text);
    assert_true(span_is(buf_span(&text), " level 5 any 0x20 ids 3 pid 7"));
    rig.question.needs = needs;
    rig.question.need_count = 2;
    assert_true(filter_push_make(&rig.question, &rig.arena, &rig.push, &err));
    buf_reset(&text);
    show(&rig.push, &text);
    assert_true(span_is(buf_span(&text), " level 5 ids 1,3,5"));
    assert_int_equal(rig.push.notes, FILTER_PUSH_NEEDED);
    buf_fini(&text);
    end(&rig);
}

/* Definitions without ${unstated}: events may have any value there. */
static void what_no_definition_states_proves_nothing(void **state)
{
    (void)state;
    static const struct {
        unsigned unstated;
        const char *first; /* and all other events are dropped */
        const char *wanted;
        unsigned notes;
    } cases[] = {
        {0, "keep event.code in (1, 2)", " level 4 any 0x10 ids 1,2", 0},
        {SCHEMA_NO_LEVEL, "keep event.code in (1, 2)", " any 0x10 ids 1,2", FILTER_PUSH_NO_LEVEL},
        {SCHEMA_NO_LEVEL, "keep event.code == 1 and event.level == 2", " level 2 any 0x10 ids 1",
            0},
        {SCHEMA_NO_LEVEL, "keep event.code == 1 and event.level_name == 'Error'", " any 0x10 ids 1",
            FILTER_PUSH_NO_LEVEL},
        {SCHEMA_NO_LEVEL, "keep event.level > 5", "", FILTER_PUSH_ANY_LEVEL},
        {SCHEMA_NO_LEVEL, "keep event.level <= 2", " level 2", 0},
        {SCHEMA_NO_KEYWORDS, "keep event.code in (1, 2)", " level 4 ids 1,2",
            FILTER_PUSH_NO_KEYWORDS},
        {SCHEMA_NO_KEYWORDS, "keep event.code == 1 and event.keywords == 0x10",
            " level 4 any 0x10 ids 1", 0},
        {SCHEMA_NO_KEYWORDS, "keep event.code == 1 and event.keywords_name == 'Thread'",
            " level 4 ids 1", FILTER_PUSH_NO_KEYWORDS},
        {SCHEMA_NO_OPCODE, "keep event.code == 1 and event.opcode == 3", " level 4 any 0x10 ids 1",
            0},
        {SCHEMA_NO_OPCODE, "keep event.code == 1 and event.opcode_name == 'Stop'",
            " level 4 any 0x10 ids 1", 0},
        {SCHEMA_NO_TASK, "keep event.code == 1 and event.task == 3", " level 4 any 0x10 ids 1", 0},
        {SCHEMA_NO_CHANNEL, "keep event.code == 1 and event.channel == 16",
            " level 4 any 0x10 ids 1", 0},
        {SCHEMA_ALL_UNSTATED, "keep event.code == 1 and event.name == 'Start'", " ids 1",
            FILTER_PUSH_NO_LEVEL | FILTER_PUSH_NO_KEYWORDS},
        {0, "keep event.code == 1 and event.opcode == 3", " nothing level 1 ids ", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct lists lists = {.every = {{cases[i].first, "drop true"}}};
        struct rig rig;
        struct buf text;
        struct error err;
        plan(&rig, &lists, true);
        for (size_t k = 0; k < SCHEMAS; k++) {
            rig.events[k].unstated = (uint8_t)cases[i].unstated;
        }
        assert_true(filter_push_make(&rig.question, &rig.arena, &rig.push, &err));
        buf_init(&text, MAX_TEXT);
        show(&rig.push, &text);
        buf_add_byte(&text, 0);
        print_message("%s\n", cases[i].first);
        assert_string_equal((const char *)text.data, cases[i].wanted);
        assert_int_equal(rig.push.notes, cases[i].notes);
        buf_fini(&text);
        end(&rig);
    }
}

static unsigned notes_of(const char *first, bool known)
{
    const struct lists lists = {.every = {{first, "drop true"}}};
    struct rig rig;
    plan(&rig, &lists, known);
    unsigned notes = rig.push.notes;
    end(&rig);
    return notes;
}

static void test_notes(void **state)
{
    (void)state;
    assert_int_equal(notes_of("keep process.pid in (10-20)", true), FILTER_PUSH_MANY_PIDS);
    assert_int_equal(notes_of("keep process.pid in (1000, 4)", true), FILTER_PUSH_SYSTEM_PIDS);
    assert_int_equal(notes_of("keep not process.pid == 1000", true), 0);
    assert_int_equal(notes_of("keep event.level != 5", false), FILTER_PUSH_ANY_LEVEL);
    assert_int_equal(notes_of("keep event.level != 5", true), 0);
    assert_int_equal(notes_of("keep event.code has 1", true), FILTER_PUSH_COMPLEX);
}

/* ---- payloads -------------------------------------------------------------------------------- */

static const struct schema_field fields[] = {
    {.name = {(const uint8_t *)"Size", 4}, .in_type = IN_UINT32, .count = 1},
    {.name = {(const uint8_t *)"Name", 4}, .in_type = IN_UNICODE_STRING, .count = 1},
    {.name = {(const uint8_t *)"Off", 3}, .in_type = IN_INT16, .count = 1},
    {.name = {(const uint8_t *)"Ip", 2}, .in_type = IN_UINT32, .out_type = OUT_IPV4, .count = 1},
    {.name = {(const uint8_t *)"List", 4}, .in_type = IN_UINT16, .count = 2},
    {.name = {(const uint8_t *)"Ansi", 4}, .in_type = IN_ANSI_STRING, .count = 1},
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static void show_payload(const struct filter_push *push, struct buf *out)
{
    static const char *const ops[] = {[FILTER_PUSH_EQUAL] = "==",
        [FILTER_PUSH_AT_MOST] = "<=",
        [FILTER_PUSH_ABOVE] = ">",
        [FILTER_PUSH_BELOW] = "<",
        [FILTER_PUSH_AT_LEAST] = ">=",
        [FILTER_PUSH_BETWEEN] = "between",
        [FILTER_PUSH_CONTAINS] = "contains",
        [FILTER_PUSH_IS] = "is"};
    for (size_t i = 0; i < push->payload_count; i++) {
        const struct filter_push_payload *p = &push->payload[i];
        for (size_t k = 0; k < p->count; k++) {
            buf_printf(out, "%s%s %s %s",
                !k       ? ""
                : p->any ? " or "
                         : " and ",
                p->tests[k].field, ops[p->tests[k].op], p->tests[k].value);
        }
    }
    buf_add_byte(out, 0);
}

/* The events that are kept are of one completely defined type. */
static bool is_tested(const char *rule, const char *wanted)
{
    const struct lists lists = {.every = {{rule, "drop true"}}};
    struct rig rig;
    struct buf text;
    struct error err;
    struct schema_field copy[FIELDS];
    struct event_schema schema = schemas[0];
    memcpy(copy, fields, sizeof(fields));
    schema.has_layout = true;
    schema.fields = copy;
    schema.field_count = FIELDS;
    schema.top_count = FIELDS;
    plan(&rig, &lists, true);
    assert_true(schema_finish(&schema, &rig.arena, &err));
    rig.events[0].schema = &schema;
    rig.question.event_count = 1;
    assert_true(filter_push_make(&rig.question, &rig.arena, &rig.push, &err));
    buf_init(&text, MAX_TEXT);
    show_payload(&rig.push, &text);
    bool same = strcmp((const char *)text.data, wanted) == 0;
    if (!same) {
        print_error("%s: '%s', not '%s'\n", rule, (const char *)text.data, wanted);
    }
    buf_fini(&text);
    end(&rig);
    return same;
}

static void test_payloads(void **state)
{
    static const char *const payloads[][2] = {
        {"keep data.Size == 0x10", "Size == 16"},
        {"keep data.Size > 5 and data.Off <= -2", "Size > 5 and Off <= -2"},
        {"keep data.Size in (1, 3-5) and event.code == 1", "Size == 1 or Size between 3,5"},
        {"keep data.Size == 1 or data.Off == 2", "Size == 1 or Off == 2"},
        {"keep data.Name == 'a'c or data.Name contains 'b'c", "Name is a or Name contains b"},
        /* Tests that all rules need come before those that some need. */
        {"keep data.Size == 1 and (data.Off == 2 or data.Off == 3)", "Size == 1"},
        /* ETW compares texts case-sensitively, lacks the test, or would see another value than the
         * one that is shown. */
        {"keep data.Name == 'a'", ""},
        {"keep data.Name startswith 'a'c", ""},
        {"keep data.Ip == '10.0.0.1'", ""},
        {"keep data.List == 1", ""},
        {"keep data.List[*] == 1", ""},
        {"keep data.Size.Off == 1", ""},
        {"keep data.Size[*] == 1", ""},
        {"keep labels.Name == 'a'c", ""},
        {"keep data.Ansi == 'a'c", ""},
        {"keep data.Name == 'a,b'c", ""},
        {"keep data.Size == 1.5", ""},
        /* The largest number of the field, and one more. */
        {"keep data.Size == 4294967295", "Size == 4294967295"},
        {"keep data.Size == 4294967296", ""},
        {"keep data.Off <= 32767", "Off <= 32767"},
        {"keep data.Off == 32768", ""},
        /* A field may be missing: then these tests are true. */
        {"keep not data.Size == 1", ""},
        {"keep data.Size != 1", ""},
        {"keep data.Size == 1 or event.opcode == 2", "Size == 1"}, /* it is 0 by its definition */
        {"keep data.Size == 1 or etw.cpu == 2", ""},
        {"keep data.Size in (1, 2, 3, 4, 5, 6, 7, 8, 9)", ""},
    };
    bool good = true;
    (void)state;
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        good &= is_tested(payloads[i][0], payloads[i][1]);
    }
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_needs),
        cmocka_unit_test(what_no_definition_states_proves_nothing),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_payloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
