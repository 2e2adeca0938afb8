#ifndef ETWSHIP_TESTS_UNIT_FILTER_MODEL_EXPRESSIONS_H
#define ETWSHIP_TESTS_UNIT_FILTER_MODEL_EXPRESSIONS_H

#include "unit/filter/model_events.h"

/* Random expressions about the events of model_events.h, as trees of filter_model.h. */

enum { EVENTS = 400 };

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

static inline void set_text(struct model_literal *literal, const char *text)
{
    literal->type = MODEL_TEXT;
    literal->exact = chance(5) == 0;
    snprintf(literal->text, sizeof(literal->text), "%s", text);
}

static inline void set_number(struct model_literal *literal, const char *text)
{
    literal->type = MODEL_NUMBER;
    snprintf(literal->low, sizeof(literal->low), "%s", text);
}

/* The event's value at the path, if it can be a literal. */
static inline bool take_value(
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

static inline void make_comparand(struct model_literal *literal, enum path_type type,
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

static inline bool is_text_type(enum path_type type)
{
    return type == ANY || type == TEXT || type == TEXT_LIST || type == GUID || type == TIME ||
           type == HEX;
}

/* A test that is valid for the types of the field. */
static inline void make_literal(struct model_node *node, enum path_type type,
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

static inline void make_test(struct model_node *node, const struct model_event *events)
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

static inline struct model_node *make_node(
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

#endif
