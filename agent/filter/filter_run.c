#include <xxhash.h>

#include "base/bytes.h"
#include "filter/filter_index.h"
#include "filter/filter_plan.h"
#include "filter/filter_truth.h"

bool filter_rule_fits(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t rule)
{
    struct filter_look look = {.scratch = scratch, .event = event, .known = EVENT_PATH_EVENT};
    enum filter_action action = filter->rules[rule].action;
    enum filter_truth truth = filter_truth_of(&look, &filter->rules[rule]);
    if (truth != FILTER_IS_UNKNOWN) {
        return truth == FILTER_IS_TRUE;
    }
    filter_note_unsure(filter, scratch, rule, true);
    return action == FILTER_ACTION_REMOVE || action == FILTER_ACTION_HASH ||
           action == FILTER_ACTION_TRUNCATE;
}

void filter_note_unsure(
    const struct filter *filter, struct filter_scratch *scratch, size_t rule, bool marks)
{
    const struct filter_code *code = &filter->rules[rule];
    if (!scratch->asks_again) {
        atomic_fetch_add_explicit(code->unsure, 1, memory_order_relaxed);
    }
    scratch->unsure = marks ? code->name : scratch->unsure;
}

/* Key of an event without the selected values: it counts by itself. */
static uint64_t key_of_event(const struct event_record *record)
{
    uint8_t bytes[16];
    store_le64(bytes, record->time);
    store_le64(bytes + 8, record->sequence);
    return XXH64(bytes, sizeof(bytes), 0);
}

/* Apply the action of a matching rule. */
static enum filter_verdict act(const struct filter_look *look, const struct filter_code *code)
{
    uint64_t key = 0;
    switch (code->action) {
    case FILTER_ACTION_KEEP:
        return FILTER_KEEP;
    case FILTER_ACTION_DROP:
        return FILTER_DROP;
    default:
        break;
    }
    if (code->key.need > look->known) {
        return FILTER_UNDECIDED;
    }
    filter_look_note(look, code->key.scope);
    bool any = filter_key_of(&code->key, look->scratch, look->event, &key);
    if (code->action == FILTER_ACTION_LIMIT || code->action == FILTER_ACTION_ROLLUP) {
        look->scratch->key = key;
        return FILTER_KEEP;
    }
    if (!any) {
        look->scratch->placed = true;
        key = key_of_event(look->event->record);
    }
    return key <= code->most ? FILTER_KEEP : FILTER_DROP;
}

/* Result of rule ${rule} if the truth of its expression is unknown although the event is complete.
 * A rule that would keep the event keeps it. A rule that would drop it is skipped: if another rule
 * drops the event, it is dropped; else it is kept as unsure. */
static enum filter_verdict ask_unsure(
    const struct filter *filter, struct filter_look *look, size_t rule, bool *ret_next)
{
    const struct filter_code *code = &filter->rules[rule];
    bool keeps = !code->drops_unsure;
    if (keeps) {
        keeps = code->action != FILTER_ACTION_DROP &&
                (code->action != FILTER_ACTION_SAMPLE || act(look, code) == FILTER_KEEP);
        *ret_next = !keeps;
    }
    filter_note_unsure(filter, look->scratch, rule, !code->drops_unsure);
    look->scratch->key = 0;
    return keeps ? FILTER_KEEP : *ret_next ? FILTER_UNDECIDED : FILTER_DROP;
}

/* Result of rule ${rule}. UNDECIDED with *ret_rule unchanged: evaluate the next rule if the
 * expression is false (*ret_next). */
static enum filter_verdict ask(const struct filter *filter, struct filter_look *look, size_t rule,
    size_t *ret_rule, bool *ret_next)
{
    const struct filter_code *code = &filter->rules[rule];
    enum filter_truth truth = filter_truth_of(look, code);
    *ret_next = truth == FILTER_IS_FALSE;
    if (truth == FILTER_IS_UNKNOWN && look->known == EVENT_PATH_EVENT) {
        enum filter_verdict verdict = ask_unsure(filter, look, rule, ret_next);
        *ret_rule = verdict == FILTER_KEEP ? filter->rule_count : rule;
        return verdict;
    }
    if (truth != FILTER_IS_TRUE) {
        return FILTER_UNDECIDED;
    }
    enum filter_verdict verdict = act(look, code);
    *ret_rule = verdict == FILTER_UNDECIDED ? *ret_rule : rule;
    return verdict;
}

static enum filter_verdict run_plan(const struct filter *filter, struct filter_look *look,
    const struct filter_plan *plan, size_t *ret_rule)
{
    uint64_t found[FILTER_MAX_RULES / 64];
    bool next;
    if (plan->groups) {
        memset(found, 0, filter->word_count * sizeof(*found));
        filter_index_find(filter, look, plan->groups, found);
    }
    for (size_t word = 0; word < filter->word_count; word++) {
        uint64_t left_out = plan->groups ? plan->anchored[word] & ~found[word] : 0;
        for (uint64_t open = plan->open[word] & ~left_out; open; open &= open - 1) {
            size_t rule = word * 64 + (size_t)__builtin_ctzll(open);
            enum filter_verdict verdict = ask(filter, look, rule, ret_rule, &next);
            if (!next) {
                return verdict;
            }
        }
    }
    if (plan->is_unknown) {
        return FILTER_UNDECIDED;
    }
    enum filter_verdict verdict = FILTER_KEEP;
    if (plan->end < filter->rule_count) {
        verdict = act(look, &filter->rules[plan->end]);
    }
    *ret_rule = verdict == FILTER_UNDECIDED ? *ret_rule : plan->end;
    return verdict;
}

static enum filter_verdict run_all(
    const struct filter *filter, struct filter_look *look, size_t *ret_rule)
{
    bool next;
    for (size_t i = 0; i < filter->rule_count; i++) {
        if (filter_action_decides(filter->rules[i].action)) {
            enum filter_verdict verdict = ask(filter, look, i, ret_rule, &next);
            if (!next) {
                return verdict;
            }
        }
    }
    *ret_rule = filter->rule_count;
    return FILTER_KEEP;
}

static void begin(struct filter_scratch *scratch)
{
    scratch->key = 0;
    scratch->placed = false;
    scratch->given_up_before = scratch->given_up;
}

/* Verdict on ${event}, of which ${known} may be examined: with EVENT_PATH_RECORD only its record,
 * with EVENT_PATH_SCHEMA also schema and stack, with EVENT_PATH_EVENT everything. */
static enum filter_verdict run_rules(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, enum event_path_need known, size_t *ret_rule)
{
    struct filter_look look = {.scratch = scratch, .event = event, .known = (uint8_t)known};
    begin(scratch);
    const struct filter_plan *plan = filter->plans_help[known] ? filter_plan_get(filter, &look)
                                                               : NULL;
    return plan ? run_plan(filter, &look, plan, ret_rule) : run_all(filter, &look, ret_rule);
}

/* Verdict of a plain filter, whose rules read numbers of the header alone: they need no event. */
static enum filter_verdict run_plain(const struct filter *filter, struct filter_scratch *scratch,
    const struct event_record *record, size_t *ret_rule)
{
    bool may_change = record_process_may_change(record);
    begin(scratch);
    for (size_t i = 0; i < filter->rule_count; i++) {
        const struct filter_code *code = &filter->rules[i];
        uint32_t at = code->start;
        while (at < FILTER_TRUE) {
            const struct filter_op *op = &code->ops[at];
            scratch->placed |= op->scope == EVENT_PATH_OF_PROCESS && may_change;
            at = filter_ranges_hold(op, record) ? op->on_true : op->on_false;
        }
        if (at == FILTER_TRUE) {
            *ret_rule = i;
            return code->action == FILTER_ACTION_KEEP ? FILTER_KEEP : FILTER_DROP;
        }
    }
    *ret_rule = filter->rule_count;
    return FILTER_KEEP;
}

enum filter_verdict filter_header(const struct filter *filter, struct filter_scratch *scratch,
    const struct event_record *record, size_t *ret_rule)
{
    if (filter->is_plain && !filter->plans_help[EVENT_PATH_RECORD]) {
        return run_plain(filter, scratch, record, ret_rule);
    }
    struct event event = {.record = record, .status = DECODE_RAW};
    return run_rules(filter, scratch, &event, EVENT_PATH_RECORD, ret_rule);
}

bool filter_drops_early(const struct filter *filter)
{
    return filter->drops_early;
}

enum filter_verdict filter_event(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t *ret_rule)
{
    return run_rules(filter, scratch, event, EVENT_PATH_EVENT, ret_rule);
}

enum filter_verdict filter_candidates(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, const struct event_schema *const *schemas, size_t count,
    size_t *ret_rule)
{
    struct event known = *event;
    enum filter_verdict verdict = FILTER_UNDECIDED;
    size_t rule = 0;
    uint64_t key = 0;
    bool placed = false;
    for (size_t i = 0; i < count; i++) {
        size_t other_rule = 0;
        known.schema = schemas[i];
        enum filter_verdict other = run_rules(
            filter, scratch, &known, EVENT_PATH_SCHEMA, &other_rule);
        placed |= scratch->placed;
        scratch->placed = placed;
        if (other == FILTER_UNDECIDED ||
            (i && (other != verdict || other_rule != rule || scratch->key != key))) {
            return FILTER_UNDECIDED;
        }
        verdict = other;
        rule = other_rule;
        key = scratch->key;
    }
    if (verdict != FILTER_UNDECIDED) {
        *ret_rule = rule;
    }
    return verdict;
}

uint16_t filter_fields(
    const struct filter *filter, struct filter_scratch *scratch, const struct event *event)
{
    struct filter_look look = {.scratch = scratch, .event = event, .known = EVENT_PATH_EVENT};
    const struct filter_plan *plan = filter_plan_get(filter, &look);
    return plan ? plan->fields : EVENT_PATH_ALL_FIELDS;
}
