#include "filter/filter_index.h"

#include <stdlib.h>

#include "filter/filter_index_own.h"

/*
 * First the field of each rule's anchor is chosen, then tables are made for each field that is
 * worth it.
 *
 * A set of tests is an anchor if the rule cannot be true when all of them are false: no path
 * through the jumps that avoids their on_true ends in FILTER_TRUE.
 */
enum {
    MAX_TESTS = 256,  /* limit of tests in an examined rule */
    MAX_PATHS = 4,    /* limit of fields tried per rule */
    LEAST_RULES = 4,  /* fewer rules are tested one by one */
    LEAST_TEXTS = 24, /* unless they have this many values */
    MAX_TRIE_BYTES = 8 * 1024 * 1024,
};

/* ---- anchors --------------------------------------------------------------------------------- */

static bool is_same_path(const struct event_path *a, const struct event_path *b)
{
    if (a->field != b->field || a->item != b->item || a->each != b->each || a->names != b->names ||
        a->step_count != b->step_count) {
        return false;
    }
    for (unsigned i = 0; i < a->step_count; i++) {
        if (!span_equal(a->steps[i].name, b->steps[i].name) ||
            a->steps[i].each != b->steps[i].each) {
            return false;
        }
    }
    return true;
}

/* The longest literal part of a LIKE pattern. */
struct span filter_index_like_part(struct span pattern)
{
    struct span best = span_make(NULL, 0);
    for (size_t at = 0; at < pattern.size;) {
        size_t end = at;
        while (end < pattern.size && pattern.data[end] != '*' && pattern.data[end] != '?') {
            end++;
        }
        best = end - at > best.size ? span_make(pattern.data + at, end - at) : best;
        at = end + 1;
    }
    return best;
}

/* True if the value can be indexed. Exact texts are found by their folded form, which has equal
 * length for ASCII. */
static bool has_entry(enum filter_test test, const struct filter_literal *literal)
{
    if (literal->type == LITERAL_NUMBER) {
        return true;
    }
    return literal->type == LITERAL_TEXT && (!literal->exact || span_is_ascii(literal->text)) &&
           (test != TEST_LIKE || filter_index_like_part(literal->text).size > 0);
}

static bool has_entries(const struct filter_op *op)
{
    switch (op->test) {
    case TEST_EQUAL:
    case TEST_IN:
    case TEST_CONTAINS:
    case TEST_STARTS:
    case TEST_ENDS:
    case TEST_LIKE:
        break;
    default:
        return false;
    }
    for (uint32_t i = 0; i < op->literal_count; i++) {
        if (!has_entry((enum filter_test)op->test, &op->literals[i])) {
            return false;
        }
    }
    return op->scope != EVENT_PATH_OF_TYPE; /* tests of the type are evaluated once */
}

/* True if ${op} is part of the anchor on ${path}. */
static bool is_anchored(const struct filter_op *op, const struct event_path *path)
{
    return is_same_path(&op->path, path) && has_entries(op);
}

/* Jumps lead forward, so the tests are evaluated from the last to the first. */
static bool is_anchor(const struct filter_code *code, const struct event_path *path)
{
    bool can[MAX_TESTS];
    for (uint32_t i = code->op_count; i-- > 0;) {
        const struct filter_op *op = &code->ops[i];
        bool on_true = op->on_true == FILTER_TRUE ||
                       (op->on_true < FILTER_TRUE && can[op->on_true]);
        bool on_false = op->on_false == FILTER_TRUE ||
                        (op->on_false < FILTER_TRUE && can[op->on_false]);
        can[i] = on_false || (on_true && !is_anchored(op, path));
    }
    return code->start < FILTER_TRUE && !can[code->start];
}

/* Tests that match more rarely are better: contained texts are rare, equal texts rarer. */
static bool is_better(const struct filter_op *a, const struct filter_op *b)
{
    bool a_equal = a->test == TEST_EQUAL || a->test == TEST_IN;
    bool b_equal = b->test == TEST_EQUAL || b->test == TEST_IN;
    return a_equal && !b_equal;
}

static const struct filter_op *find_anchor(const struct filter_code *code)
{
    const struct filter_op *tried[MAX_PATHS];
    const struct filter_op *best = NULL;
    size_t count = 0;
    if (code->op_count > MAX_TESTS || !filter_action_decides(code->action)) {
        return NULL;
    }
    for (uint32_t i = 0; i < code->op_count && count < MAX_PATHS; i++) {
        const struct filter_op *op = &code->ops[i];
        bool is_new = has_entries(op);
        for (size_t k = 0; k < count; k++) {
            is_new = is_new && !is_same_path(&op->path, &tried[k]->path);
        }
        if (is_new) {
            tried[count++] = op;
            best = is_anchor(code, &op->path) && (!best || is_better(op, best)) ? op : best;
        }
    }
    return best;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The values of one field while they are collected. */
struct draft {
    const struct event_path *path;
    uint32_t rules;
    uint32_t values;
};

struct drafts {
    struct draft list[FILTER_MAX_GROUPS];
    unsigned count;
    const struct filter_op **anchors; /* by rule; NULL: none */
};

static unsigned draft_of(struct drafts *drafts, const struct event_path *path)
{
    unsigned i = 0;
    while (i < drafts->count && !is_same_path(drafts->list[i].path, path)) {
        i++;
    }
    if (i == drafts->count && i < FILTER_MAX_GROUPS) {
        drafts->list[drafts->count++] = (struct draft){.path = path};
    }
    return i;
}

static void gather(const struct filter *filter, struct drafts *drafts)
{
    for (size_t rule = 0; rule < filter->rule_count; rule++) {
        const struct filter_code *code = &filter->rules[rule];
        drafts->anchors[rule] = find_anchor(code);
        if (!drafts->anchors[rule]) {
            continue;
        }
        const struct event_path *path = &drafts->anchors[rule]->path;
        unsigned draft = draft_of(drafts, path);
        if (draft == FILTER_MAX_GROUPS) {
            drafts->anchors[rule] = NULL;
            continue;
        }
        drafts->list[draft].rules++;
        for (uint32_t i = 0; i < code->op_count; i++) {
            if (is_anchored(&code->ops[i], path)) {
                drafts->list[draft].values += code->ops[i].literal_count;
            }
        }
    }
}

static bool add_rule(
    struct filter_group *group, const struct filter_code *code, uint16_t rule, struct arena *arena)
{
    group->members[rule / 64] |= UINT64_C(1) << rule % 64;
    for (uint32_t i = 0; i < code->op_count; i++) {
        const struct filter_op *op = &code->ops[i];
        if (!is_anchored(op, &group->path)) {
            continue;
        }
        for (uint32_t k = 0; k < op->literal_count; k++) {
            if (!filter_group_add(
                    group, (enum filter_test)op->test, &op->literals[k], rule, arena)) {
                return false;
            }
        }
    }
    return true;
}

static bool make_group(struct filter *filter, const struct drafts *drafts, unsigned draft)
{
    const struct draft *from = &drafts->list[draft];
    struct filter_group *group = &filter->index->groups[filter->index->count];
    *group = (struct filter_group){.path = *from->path, .need = from->path->need};
    group->members = arena_alloc_array(&filter->arena, filter->word_count, sizeof(uint64_t));
    if (!group->members || !filter_group_init(group, from->values, &filter->arena)) {
        return false;
    }
    for (size_t rule = 0; rule < filter->rule_count; rule++) {
        const struct filter_op *anchor = drafts->anchors[rule];
        if (anchor && is_same_path(&anchor->path, from->path) &&
            !add_rule(group, &filter->rules[rule], (uint16_t)rule, &filter->arena)) {
            return false;
        }
    }
    if (!filter_group_complete(group, MAX_TRIE_BYTES, &filter->arena)) {
        return false;
    }
    for (size_t rule = 0; rule < filter->rule_count; rule++) {
        if (group->members[rule / 64] >> rule % 64 & 1) {
            filter->index->group_of[rule] = (uint8_t)filter->index->count;
        }
    }
    filter->index->count++;
    return true;
}

void filter_index_make(struct filter *filter)
{
    struct drafts drafts = {.count = 0};
    drafts.anchors = calloc(filter->rule_count + 1, sizeof(struct filter_op *));
    struct filter_index *index = arena_alloc(&filter->arena, sizeof(*index));
    uint8_t *group_of = arena_alloc(&filter->arena, filter->rule_count);
    if (drafts.anchors && index && group_of) {
        memset(group_of, FILTER_MAX_GROUPS, filter->rule_count);
        index->group_of = group_of;
        filter->index = index;
        gather(filter, &drafts);
        for (unsigned i = 0; i < drafts.count; i++) {
            if (drafts.list[i].rules >= LEAST_RULES || drafts.list[i].values >= LEAST_TEXTS) {
                make_group(filter, &drafts, i);
            }
        }
    }
    free(drafts.anchors);
}

unsigned filter_index_group(const struct filter *filter, size_t rule)
{
    return filter->index ? filter->index->group_of[rule] : FILTER_MAX_GROUPS;
}

enum event_path_need filter_index_need(const struct filter *filter, unsigned group)
{
    return (enum event_path_need)filter->index->groups[group].need;
}

void filter_index_find(
    const struct filter *filter, const struct filter_look *look, uint64_t groups, uint64_t *found)
{
    for (; groups; groups &= groups - 1) {
        const struct filter_group *group = &filter->index->groups[(size_t)__builtin_ctzll(groups)];
        filter_look_note(look, event_path_scope(&group->path));
        filter_group_find(group, look, found, filter->word_count);
    }
}
