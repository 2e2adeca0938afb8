#include "app/plan/session_selection.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "filter/filter_edit.h"

static bool passes_gate(
    const struct provider_gate *gate, struct filter_scratch *scratch, const struct event *event)
{
    size_t rule = 0;
    if (!provider_selection_passes(gate->selection, event)) {
        return true;
    }
    bool keep = filter_event(gate->gate.filter, scratch, event, &rule) == FILTER_KEEP;
    atomic_fetch_add_explicit(&gate->gate.hits[rule], 1, memory_order_relaxed);
    if (!keep) {
        atomic_fetch_add_explicit(&gate->gate.dropped[rule], 1, memory_order_relaxed);
    }
    return keep;
}

bool session_selection_wants(const void *self, const struct event *event)
{
    const struct session_selection *selection = self;
    return provider_selection_passes(selection->selection, event) ||
           (selection->is_live && !provider_selection_knows(selection->selection, event));
}

bool session_selection_selects(
    const void *self, struct filter_scratch *scratch, const struct event *event)
{
    const struct session_selection *selection = self;
    for (size_t i = 0; i < selection->gate_count; i++) {
        if (!passes_gate(&selection->gates[i], scratch, event)) {
            return false;
        }
    }
    return true;
}

/* For each entry, find the rule that decided again. */
void session_selection_edit(const void *self, struct filter_scratch *scratch,
    const struct event *event, struct event_editor *editor)
{
    const struct session_selection *selection = self;
    for (size_t i = 0; i < selection->gate_count; i++) {
        const struct provider_gate *gate = &selection->gates[i];
        const struct filter *filter = gate->gate.filter;
        if (!filter_has_edits(filter) || !provider_selection_passes(gate->selection, event)) {
            continue;
        }
        size_t decided = 0;
        size_t cursor = 0;
        size_t rule;
        scratch->asks_again = true;
        filter_event(filter, scratch, event, &decided);
        scratch->asks_again = false;
        while (filter_edit_next(filter, scratch, event, decided, &cursor, &rule)) {
            atomic_fetch_add_explicit(&gate->gate.hits[rule], 1, memory_order_relaxed);
            filter_edit_apply(filter, rule, editor, scratch);
        }
    }
}

void session_selection_fini(struct session_selection *selection)
{
    for (size_t i = 0; i < selection->gate_count; i++) {
        provider_selection_destroy(selection->gates[i].selection);
    }
    free(selection->gates);
    provider_selection_destroy(selection->selection);
}
