#ifndef ETWSHIP_APP_SESSION_SELECTION_H
#define ETWSHIP_APP_SESSION_SELECTION_H

#include "app/plan/provider_selection.h"
#include "pipeline/work/gate.h"

/*
 * Which events of a session its provider entries want, and what rules of these entries change of
 * them: the functions of struct worker_rules. Any thread.
 */
struct provider_gate {
    struct provider_selection *selection; /* of this entry alone; NULL: to describe only */
    struct gate gate;                     /* borrowed */
};

struct session_selection {
    struct provider_selection *selection; /* of all entries; NULL: everything */
    struct provider_gate *gates;          /* entries with rules of their own */
    size_t gate_count;
    /* only what was switched on comes: kernel events and members of groups belong, too */
    bool is_live;
};

void session_selection_fini(struct session_selection *selection);

/* By its definition. ${self} is the struct session_selection. */
bool session_selection_wants(const void *self, const struct event *event);

/* By the rules of its entry. */
bool session_selection_selects(
    const void *self, struct filter_scratch *scratch, const struct event *event);

/* Apply the rules of entries that change an event, which was selected. */
void session_selection_edit(const void *self, struct filter_scratch *scratch,
    const struct event *event, struct event_editor *editor);

#endif
