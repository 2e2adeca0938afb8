#include "pipeline/work/gate.h"

#include <stdlib.h>

bool gate_view_init(struct gate_view *view, const struct gate *gate, struct error *err)
{
    *view = (struct gate_view){.gate = gate};
    if (gate->hits) {
        size_t count = filter_rule_count(gate->filter) + 1;
        view->hits = calloc(2 * count, sizeof(*view->hits));
        if (!view->hits) {
            return error_set(err, ERR_MEMORY, "out of memory for filters");
        }
        view->dropped = view->hits + count;
    }
    return true;
}

void gate_view_fini(struct gate_view *view)
{
    free(view->hits);
    view->hits = NULL;
}

enum filter_verdict gate_ask(struct gate_view *view, struct filter_scratch *scratch,
    const struct event *event, const struct schema_choice *choice, bool decoded)
{
    static const struct event_schema *const nothing = NULL;
    const struct filter *filter = view->gate->filter;
    size_t rule = 0;
    if (view->verdict != FILTER_UNDECIDED) {
        return view->verdict;
    }
    if (decoded) {
        view->verdict = filter_event(filter, scratch, event, &rule);
    } else if (choice) {
        view->verdict = filter_candidates(filter, scratch, event,
            choice->count ? choice->list : &nothing, choice->count ? choice->count : 1, &rule);
    } else {
        view->verdict = filter_header(filter, scratch, event->record, &rule);
    }
    view->rule = rule;
    if (view->verdict != FILTER_UNDECIDED && view->hits) {
        view->hits[rule]++;
        view->dropped[rule] += view->verdict == FILTER_DROP;
    }
    if (view->verdict == FILTER_KEEP && (view->gate->limiter || view->gate->rolls_up) &&
        rule < filter_rule_count(filter)) {
        enum filter_action action = filter_rule_action(filter, rule);
        view->limited = action == FILTER_ACTION_LIMIT;
        view->rolled = action == FILTER_ACTION_ROLLUP;
        view->key = scratch->key;
    }
    return view->verdict;
}

bool gate_charge(struct gate_view *view, size_t session, const struct event_record *record)
{
    if (view->limited) {
        view->limited = false;
        if (!limiter_take(view->gate->limiter, session, view->rule, view->key, record->time)) {
            view->verdict = FILTER_DROP;
            if (view->hits) {
                view->dropped[view->rule]++;
            }
        }
    }
    return view->verdict != FILTER_DROP;
}

enum filter_verdict gate_ask_all(struct gate_view *views, size_t count,
    struct filter_scratch *scratch, const struct event *event, const struct schema_choice *choice,
    bool decoded)
{
    enum filter_verdict all = FILTER_KEEP;
    for (size_t i = 0; i < count; i++) {
        enum filter_verdict verdict = gate_ask(&views[i], scratch, event, choice, decoded);
        if (verdict == FILTER_DROP) {
            return verdict;
        }
        all = verdict == FILTER_UNDECIDED ? verdict : all;
    }
    return all;
}

bool gate_rolls(const struct gate_view *session, size_t count, const struct gate_view *stream,
    uint64_t time, struct roll_key *ret_key)
{
    size_t gate = 0;
    while (gate < count && !session[gate].rolled) {
        gate++;
    }
    const struct gate_view *view = gate < count ? &session[gate] : stream;
    if (!view->rolled) {
        return false;
    }
    uint64_t length = filter_rule_window(view->gate->filter, view->rule);
    *ret_key = (struct roll_key){.values = view->key,
        .begin = roll_window_begin(time, length),
        .length = length,
        .gate = (uint32_t)gate,
        .rule = (uint32_t)view->rule};
    return true;
}

void gate_edit(struct gate_view *view, struct filter_scratch *scratch, const struct event *event,
    struct event_editor *editor)
{
    const struct filter *filter = view->gate->filter;
    size_t cursor = 0;
    size_t rule;
    while (filter_edit_next(filter, scratch, event, view->rule, &cursor, &rule)) {
        if (view->hits) {
            view->hits[rule]++;
        }
        filter_edit_apply(filter, rule, editor, scratch);
    }
}

uint16_t gate_fields(const struct gate_view *views, size_t count, struct filter_scratch *scratch,
    const struct event *event)
{
    uint16_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (views[i].gate && views[i].verdict == FILTER_UNDECIDED) {
            uint16_t fields = filter_fields(views[i].gate->filter, scratch, event);
            most = fields > most ? fields : most;
        }
    }
    return most;
}

static void add(atomic_uint_fast64_t *all, uint64_t *own)
{
    atomic_fetch_add_explicit(all, *own, memory_order_relaxed);
    *own = 0;
}

void gate_flush(struct gate_view *view)
{
    size_t count = view->hits ? filter_rule_count(view->gate->filter) + 1 : 0;
    for (size_t i = 0; i < count; i++) {
        if (view->hits[i]) {
            add(&view->gate->hits[i], &view->hits[i]);
            add(&view->gate->dropped[i], &view->dropped[i]);
        }
    }
}
