#include <xxhash.h>

#include "base/bytes.h"
#include "filter/filter_program.h"

/*
 * Tests run one after another, each naming the next. With only a part of an event known, the
 * program runs twice: once with every unknown test answered so that the whole becomes false if it
 * can (a test below an odd number of `not`s is answered true for that), once the other way round.
 * If both runs agree, no knowledge can change the answer.
 */

enum truth { FALSE_, TRUE_, UNKNOWN };

struct run {
    struct filter_scratch *scratch;
    const struct event *event;
    uint8_t known; /* enum event_path_need */
    const struct filter_op *op;
};

/* event_path_each_fn: false ends the walk, since the answer is known. */
static bool test_value(void *self, const struct event_value *value)
{
    const struct run *run = self;
    return !filter_value_test(run->scratch, run->op, value);
}

static bool test_element(void *self, const struct event_value *value)
{
    const struct run *run = self;
    return !filter_value_in(run->scratch, run->op, value);
}

/* For HAS: a number whose bits are set ends the walk, a list and numbers without are noted. */
struct holders {
    struct run *run;
    bool any_list;
    bool any_number;
};

static bool test_holder(void *self, const struct event_value *value)
{
    struct holders *holders = self;
    holders->any_list |= value->type == EVENT_VALUE_LIST;
    holders->any_number |= value->type == EVENT_VALUE_INT || value->type == EVENT_VALUE_UINT ||
                           value->type == EVENT_VALUE_HEX;
    return !filter_value_has_bits(holders->run->op, value);
}

static bool has(struct run *run)
{
    const struct filter_op *op = run->op;
    struct event_path_context *paths = &run->scratch->paths;
    struct holders holders = {.run = run};
    if (event_path_each(&op->path, run->event, paths, test_holder, &holders)) {
        return true;
    }
    if (holders.any_list) {
        struct event_path elements = op->path;
        elements.each = true;
        return event_path_each(&elements, run->event, paths, test_element, run);
    }
    return holders.any_number && op->has_names &&
           event_path_each(&op->names, run->event, paths, test_element, run);
}

static bool test(struct run *run)
{
    const struct filter_op *op = run->op;
    struct event_path_context *paths = &run->scratch->paths;
    run->scratch->placed |= op->scope == EVENT_PATH_OF_PLACE;
    switch (op->test) {
    case TEST_EXISTS:
        return event_path_get(&op->path, run->event, paths).type != EVENT_VALUE_NONE;
    case TEST_HAS:
        return has(run);
    default:
        return event_path_each(&op->path, run->event, paths, test_value, run);
    }
}

bool filter_op_holds(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event *event)
{
    struct run run = {.scratch = scratch, .event = event, .known = EVENT_PATH_EVENT, .op = op};
    return test(&run);
}

/* What the schema alone says of a test for which the payload is missing: it is false, if there is no
 * such field. */
static bool is_hopeless(const struct run *run)
{
    return run->known == EVENT_PATH_SCHEMA &&
           !event_path_possible(&run->op->path, run->event->schema);
}

static bool answer(struct run *run, bool hope)
{
    if (run->op->need <= run->known) {
        return test(run);
    }
    return hope != run->op->inverted && !is_hopeless(run);
}

/* The value of one rule, with unknown tests answered in favour of ${hope}. */
static bool run_rule(struct run *run, const struct filter_code *code, bool hope)
{
    uint32_t at = code->start;
    while (at < FILTER_TRUE) {
        run->op = &code->ops[at];
        at = answer(run, hope) ? run->op->on_true : run->op->on_false;
    }
    return at == FILTER_TRUE;
}

static enum truth truth_of(struct run *run, const struct filter_code *code)
{
    if (run->known == EVENT_PATH_RECORD && code->least_need > EVENT_PATH_RECORD) {
        return UNKNOWN;
    }
    if (run_rule(run, code, false)) {
        return TRUE_;
    }
    return code->need > run->known && run_rule(run, code, true) ? UNKNOWN : FALSE_;
}

bool filter_rule_fits(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, size_t rule)
{
    struct run run = {.scratch = scratch, .event = event, .known = EVENT_PATH_EVENT};
    return run_rule(&run, &filter->rules[rule], false);
}

/* An event without the values that it would be chosen by is chosen for itself. */
static uint64_t key_of_event(const struct event_record *record)
{
    uint8_t bytes[16];
    store_le64(bytes, record->time);
    store_le64(bytes + 8, record->sequence);
    return XXH64(bytes, sizeof(bytes), 0);
}

/* What a rule does with an event that it fits. */
static enum filter_verdict act(const struct run *run, const struct filter_code *code)
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
    if (code->key.need > run->known) {
        return FILTER_UNDECIDED;
    }
    bool any = filter_key_of(&code->key, run->scratch, run->event, &key);
    if (code->action == FILTER_ACTION_LIMIT) {
        run->scratch->key = key;
        return FILTER_KEEP;
    }
    if (!any) {
        run->scratch->placed = true;
        key = key_of_event(run->event->record);
    }
    return key <= code->most ? FILTER_KEEP : FILTER_DROP;
}

/* The verdict on ${event}, of which ${known} says what may be looked at: with EVENT_PATH_RECORD its
 * record alone, with EVENT_PATH_SCHEMA schema and stack, too, with EVENT_PATH_EVENT everything. */
static enum filter_verdict run_rules(const struct filter *filter, struct filter_scratch *scratch,
    const struct event *event, enum event_path_need known, size_t *ret_rule)
{
    struct run run = {.scratch = scratch, .event = event, .known = (uint8_t)known};
    scratch->key = 0;
    scratch->placed = false;
    for (size_t i = 0; i < filter->rule_count; i++) {
        const struct filter_code *code = &filter->rules[i];
        if (!filter_action_decides(code->action)) {
            continue;
        }
        enum truth truth = truth_of(&run, code);
        if (truth != FALSE_) {
            enum filter_verdict verdict = truth == TRUE_ ? act(&run, code) : FILTER_UNDECIDED;
            *ret_rule = verdict == FILTER_UNDECIDED ? *ret_rule : i;
            return verdict;
        }
    }
    *ret_rule = filter->rule_count;
    return FILTER_KEEP;
}

enum filter_verdict filter_header(const struct filter *filter, struct filter_scratch *scratch,
    const struct event_record *record, size_t *ret_rule)
{
    struct event event = {.record = record, .status = DECODE_RAW};
    return run_rules(filter, scratch, &event, EVENT_PATH_RECORD, ret_rule);
}

bool filter_drops_early(const struct filter *filter)
{
    return filter->drops_early;
}

enum filter_verdict filter_early(const struct filter *filter, struct filter_scratch *scratch,
    const struct event_record *record, size_t *ret_rule)
{
    size_t rule = 0;
    enum filter_verdict verdict = filter_header(filter, scratch, record, &rule);
    if (verdict == FILTER_UNDECIDED || scratch->placed) {
        return FILTER_UNDECIDED;
    }
    *ret_rule = rule;
    return verdict;
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
    for (size_t i = 0; i < count; i++) {
        size_t other_rule = 0;
        known.schema = schemas[i];
        enum filter_verdict other = run_rules(
            filter, scratch, &known, EVENT_PATH_SCHEMA, &other_rule);
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
