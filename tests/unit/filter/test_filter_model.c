#include "unit/filter/model_events.h"

/*
 * A million random pairs of expression and event: the compiled program against filter_model.h, which
 * reads the JSON that the event's writer makes of it. What header or schema decide must be what the
 * whole event says.
 */
enum { EVENTS = 400, EXPRESSIONS = 20000, EVENTS_PER_EXPRESSION = 50 };

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
