#include "filter/filter_truth.h"

/*
 * Tests run in sequence; each selects the next. If only a part of an event is known, the program
 * runs twice: once with unknown tests answered so that the result becomes false if possible (true
 * below an odd number of `not`s), once the opposite way. If both results agree, further knowledge
 * cannot change them. A regular expression that exceeds its limits leaves its test unknown in the
 * same way, so it has no effect if other tests decide, also below `not`.
 */

/* event_path_each_fn: false ends the walk because the result is known. */
static bool test_value(void *self, const struct event_value *value)
{
    const struct filter_look *look = self;
    return !filter_value_test(look->scratch, look->op, value);
}

static bool test_element(void *self, const struct event_value *value)
{
    const struct filter_look *look = self;
    return !filter_value_in(look->scratch, look->op, value);
}

/* For HAS: a number with the bits set ends the walk; a list, and numbers without the bits, are
 * noted. */
struct holders {
    struct filter_look *look;
    bool any_list;
    bool any_number;
};

static bool test_holder(void *self, const struct event_value *value)
{
    struct holders *holders = self;
    holders->any_list |= value->type == EVENT_VALUE_LIST;
    holders->any_number |= value->type == EVENT_VALUE_INT || value->type == EVENT_VALUE_UINT ||
                           value->type == EVENT_VALUE_HEX;
    return !filter_value_has_bits(holders->look->op, value);
}

static bool has(struct filter_look *look)
{
    const struct filter_op *op = look->op;
    struct event_path_context *paths = &look->scratch->paths;
    struct holders holders = {.look = look};
    if (event_path_each(&op->path, look->event, paths, test_holder, &holders)) {
        return true;
    }
    if (holders.any_list) {
        struct event_path elements = op->path;
        elements.each = true;
        return event_path_each(&elements, look->event, paths, test_element, look);
    }
    return holders.any_number && op->has_names &&
           event_path_each(&op->names, look->event, paths, test_element, look);
}

static bool test(struct filter_look *look)
{
    const struct filter_op *op = look->op;
    struct event_path_context *paths = &look->scratch->paths;
    filter_look_note(look, (enum event_path_scope)op->scope);
    if (op->has_ranges) {
        return filter_ranges_hold(op, look->event->record);
    }
    switch (op->test) {
    case TEST_EXISTS:
        return event_path_get(&op->path, look->event, paths).type != EVENT_VALUE_NONE;
    case TEST_HAS:
        return has(look);
    default:
        return event_path_each(&op->path, look->event, paths, test_value, look);
    }
}

bool filter_op_holds(
    struct filter_scratch *scratch, const struct filter_op *op, const struct event *event)
{
    struct filter_look look = {
        .scratch = scratch, .event = event, .known = EVENT_PATH_EVENT, .op = op};
    return test(&look);
}

/* Result of a search that may be unknown. */
static bool answer_search(struct filter_look *look, bool unknown_is)
{
    const struct filter_op *op = look->op;
    uint64_t before = look->scratch->given_up;
    if (look->gave_up != op) { /* it would exceed the limits again */
        if (test(look)) {
            return true;
        }
        if (look->scratch->given_up == before) {
            return false;
        }
    }
    look->gave_up = op;
    look->met_more = true; /* other events of the type may be cheaper */
    return unknown_is != op->inverted;
}

static bool answer(struct filter_look *look, bool unknown_is)
{
    const struct filter_op *op = look->op;
    bool may_look = op->need <= look->known;
    if (may_look && (!look->of_type || op->scope == EVENT_PATH_OF_TYPE)) {
        return op->test == TEST_MATCHES ? answer_search(look, unknown_is) : test(look);
    }
    /* according to the schema there is no such field */
    if (look->known >= EVENT_PATH_SCHEMA && !event_path_possible(&op->path, look->event->schema)) {
        return false;
    }
    look->met_more |= may_look;
    return unknown_is != op->inverted;
}

/* Evaluate one rule with unknown tests answered in favour of ${unknown_is}. */
static bool run_rule(struct filter_look *look, const struct filter_code *code, bool unknown_is)
{
    uint32_t at = code->start;
    while (at < FILTER_TRUE) {
        look->op = &code->ops[at];
        at = answer(look, unknown_is) ? look->op->on_true : look->op->on_false;
    }
    return at == FILTER_TRUE;
}

enum filter_truth filter_truth_of(struct filter_look *look, const struct filter_code *code)
{
    if (look->known == EVENT_PATH_RECORD && code->least_need > EVENT_PATH_RECORD) {
        return FILTER_IS_UNKNOWN;
    }
    look->gave_up = NULL;
    if (run_rule(look, code, false)) {
        return FILTER_IS_TRUE;
    }
    bool all_known = code->need <= look->known && !look->of_type && !look->gave_up;
    return !all_known && run_rule(look, code, true) ? FILTER_IS_UNKNOWN : FILTER_IS_FALSE;
}
