#include <stdio.h>

#include "app/plan/app_scope.h"
#include "decode/decode.h"
#include "filter/filter.h"
#include "input/live/evt_rule.h"
#include "support/evt_sim.h"
#include "support/test.h"

/*
 * The agent's rules as a part of the query for Windows. For random lists, the query selects every
 * event that they keep. The simulated Event Log evaluates the query, and accepts at most 22 terms.
 */
enum { MAX_LIST = 3, MAX_MEMORY = 1 << 20, TEXT = 512, QUERY = 16384 };

static unsigned random_state = 7;

static unsigned roll(unsigned sides)
{
    random_state = random_state * 1103515245 + 12345;
    return (random_state >> 16) % sides;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void add_test(char *text, int depth);

static void add(char *text, const char *more)
{
    size_t size = strlen(text);
    snprintf(text + size, TEXT - size, "%s", more);
}

static void add_leaf(char *text)
{
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
    static const char *const others[] = {"data.a == 'x'", "provider.name == 'P'",
        "event.level_name == 'Error'", "process.pid == 4", "event.code in (3, 7-9, 40)",
        "event.code in (1, 2)", "event.level in (1-3)"};
    char leaf[64];
    unsigned kind = roll(4);
    if (kind == 0) {
        add(text, others[roll(sizeof(others) / sizeof(others[0]))]);
        return;
    }
    snprintf(leaf, sizeof(leaf), "%s %s %u", kind == 1 ? "event.level" : "event.code",
        signs[roll(6)], roll(kind == 1 ? 7 : 45));
    add(text, leaf);
}

static void add_test(char *text, int depth)
{
    unsigned kind = depth ? roll(4) : 0;
    if (kind == 0) {
        add_leaf(text);
        return;
    }
    add(text, kind == 1 ? "not (" : "(");
    add_test(text, depth - 1);
    if (kind > 1) {
        add(text, kind == 2 ? ") and (" : ") or (");
        add_test(text, depth - 1);
    }
    add(text, ")");
}

/* A list of up to three rules; ${text} gets their source. */
static struct filter *make_list(char texts[MAX_LIST][TEXT])
{
    struct filter_rule rules[MAX_LIST];
    struct filter_place place;
    struct error err;
    size_t count = roll(MAX_LIST) + 1;
    for (size_t i = 0; i < count; i++) {
        *texts[i] = 0;
        add_test(texts[i], 2);
        rules[i] = (struct filter_rule){.action = roll(3) ? FILTER_ACTION_KEEP : FILTER_ACTION_DROP,
            .text = span_text(texts[i])};
    }
    if (roll(2)) { /* like a list that keeps only some events */
        rules[count - 1] = (struct filter_rule){
            .action = FILTER_ACTION_DROP, .text = span_text("event.code >= 0")};
    }
    struct filter *filter = filter_create(rules, count, &place, &err);
    if (!filter) {
        fail_msg("%s: %s", texts[place.rule], err.text);
    }
    return filter;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool keeps(
    const struct filter *filter, struct filter_scratch *scratch, const struct evt_sim_event *from)
{
    static struct event_schema schema = {.kind = SCHEMA_EVENTLOG, .source = "test"};
    schema.provider_name = span_text(from->provider);
    const struct event_record record = {.kind = RECORD_EVENT,
        .present = RECORD_OF_LOG | RECORD_HAS_PROCESS,
        .process_id = roll(2) * 4,
        .descriptor = {.id = from->id, .level = from->level}};
    const struct event event = {.record = &record, .schema = &schema, .status = DECODE_RAW};
    size_t rule;
    return filter_event(filter, scratch, &event, &rule) == FILTER_KEEP;
}

struct question {
    struct filter *filters[2];
    struct arena arena;
    const struct evt_scope *scope;
};

/* Rules of a session, of an output, or both. */
static void ask(struct question *q, char texts[2][MAX_LIST][TEXT])
{
    static const struct app_session session = {.name = "logs"};
    unsigned which = roll(3) + 1;
    arena_init(&q->arena, MAX_MEMORY);
    q->filters[0] = which & 1 ? make_list(texts[0]) : NULL;
    q->filters[1] = which & 2 ? make_list(texts[1]) : NULL;
    const struct filter *lists[2] = {q->filters[0], q->filters[1]};
    const struct app_scope_settings settings = {.session = &session,
        .lists = lists,
        .list_count = which & 1,
        .outputs = lists + 1,
        .output_count = which >> 1,
        .memory = &q->arena};
    struct error err;
    if (!app_scope_of_logs(&settings, &q->scope, &err)) {
        fail_msg("%s", err.text);
    }
}

static void end(struct question *q)
{
    filter_destroy(q->filters[0]);
    filter_destroy(q->filters[1]);
    arena_fini(&q->arena);
}

static void write_query(const struct evt_rule *rule, char *text)
{
    struct buf out;
    buf_init(&out, QUERY - 1);
    evt_rule_write_query(rule, &out);
    memcpy(text, out.data, out.size);
    text[out.size] = 0;
    buf_fini(&out);
}

static void what_rules_keep_the_query_selects(void **state)
{
    (void)state;
    enum { ROUNDS = 1500, EVENTS = 40 };
    static char texts[2][MAX_LIST][TEXT];
    static char query[QUERY];
    size_t kept = 0;
    size_t spared = 0;
    struct filter_scratch scratch;
    assert_true(filter_scratch_init(&scratch, NULL, NULL));
    scratch.paths.session = span_text("logs");
    for (int round = 0; round < ROUNDS; round++) {
        const char *ids[] = {"2-30", "41"};
        const char *levels[] = {"1", "2", "3", "4"};
        const struct evt_channel_settings channel = {.name = "X",
            .ids = {ids, roll(2) ? 0 : roll(3)},
            .levels = {levels, roll(2) ? 0 : roll(5)}};
        struct question q;
        struct evt_rule rule;
        const void *member;
        struct error err;
        assert_true(evt_rule_read(&channel, &rule, &member, &err));
        ask(&q, texts);
        rule.scope = q.scope;
        write_query(&rule, query);
        for (int i = 0; i < EVENTS; i++) {
            bool valid;
            const struct evt_sim_event event = {.provider = roll(2) ? "P" : "Q",
                .id = (uint16_t)(roll(8) ? roll(46) : roll(65536)),
                .level = (uint8_t)(roll(8) ? roll(7) : roll(256))};
            const struct event_record record = {
                .descriptor = {.id = event.id, .level = event.level}};
            bool is_kept = evt_rule_keeps(&rule, &record, span_text(event.provider), 0);
            is_kept = is_kept && (!q.filters[0] || keeps(q.filters[0], &scratch, &event));
            is_kept = is_kept && (!q.filters[1] || keeps(q.filters[1], &scratch, &event));
            bool selects = evt_sim_selects(query, &event, &valid);
            if (!valid || (is_kept && !selects)) {
                fail_msg("id %u level %u: %s with %s; %s; %s | %s; %s; %s", event.id, event.level,
                    query, texts[0][0], texts[0][1], texts[0][2], texts[1][0], texts[1][1],
                    texts[1][2]);
            }
            kept += is_kept;
            spared += !selects;
        }
        end(&q);
    }
    filter_scratch_fini(&scratch);
    assert_true(kept > ROUNDS);
    assert_true(spared > 5 * ROUNDS);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static const struct {
    const char *keep; /* all other events are dropped */
    const char *ids;  /* of the channel */
    const char *query;
} by_hand[] = {
    {"event.code in (4624, 4625) or event.code == 1102", NULL,
        "*[System[(EventID=1102 or (EventID>=4624 and EventID<=4625))]]"},
    {"event.code != 5156", NULL, "*[System[EventID!=5156]]"},
    {"event.code < 100 or event.code > 200", NULL, "*[System[(EventID<100 or EventID>200)]]"},
    {"event.level <= 3", NULL, "*[System[Level<=3]]"},
    {"event.code == 7 and data.x == 'y'", NULL, "*[System[(EventID=7)]]"},
    {"data.x == 'y'", NULL, "*"},
    {"event.code in (1-9) and event.code != 5", "5-6",
        "*[System[((EventID>=5 and EventID<=6)) and (EventID=6)]]"},
};

static void a_rule_is_said_in_xpath(void **state)
{
    (void)state;
    static char query[QUERY];
    static const struct app_session session = {.name = "logs"};
    for (size_t i = 0; i < sizeof(by_hand) / sizeof(by_hand[0]); i++) {
        char text[TEXT];
        snprintf(text, sizeof(text), "not (%s)", by_hand[i].keep);
        const struct filter_rule rules[] = {
            {.action = FILTER_ACTION_DROP, .text = span_text(text)}};
        struct filter_place place;
        struct error err;
        struct filter *filter = filter_create(rules, 1, &place, &err);
        assert_non_null(filter);
        const struct filter *const lists[] = {filter};
        struct arena arena;
        arena_init(&arena, MAX_MEMORY);
        const struct app_scope_settings settings = {
            .session = &session, .lists = lists, .list_count = 1, .memory = &arena};
        const struct evt_channel_settings channel = {
            .name = "X", .ids = {(const char **)&by_hand[i].ids, by_hand[i].ids != NULL}};
        struct evt_rule rule;
        const void *member;
        assert_true(evt_rule_read(&channel, &rule, &member, &err));
        assert_true(app_scope_of_logs(&settings, &rule.scope, &err));
        write_query(&rule, query);
        assert_string_equal(query, by_hand[i].query);
        arena_fini(&arena);
        filter_destroy(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_said_in_xpath),
        cmocka_unit_test(what_rules_keep_the_query_selects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
