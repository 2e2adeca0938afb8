#include <stdlib.h>

#include "app/positions/positions_own.h"
#include "platform/plat_clock.h"

/*
 * Tracks the time up to which outputs have delivered everything of a live session. Its events
 * cannot be read again, and their sequence starts again in every run, so a restart can only use a
 * time: the gap between two runs begins there.
 *
 * One mark at a time: how far the session was counted, and when. Once all of its outputs have acked
 * that far, or a spool that keeps has it, they have all events up to that time, less what ETW may
 * still have held back, and a new mark is made.
 */
static const uint64_t held_back_100ns = 50000000; /* flush timers and queues: 5 s */
static const uint64_t store_every_100ns = 100000000;

struct positions_live {
    uint64_t mark_sequence;
    uint64_t mark_time; /* FILETIME; 0: no mark */
    uint64_t settled;   /* FILETIME */
    uint64_t stored;
};

bool positions_live_open(struct positions *p, struct error *err)
{
    p->live = calloc(p->plan->session_count + 1, sizeof(*p->live));
    return p->live || error_set(err, ERR_MEMORY, "out of memory");
}

/* The last sequence so far, from the ledger. */
static uint64_t numbered(const struct session_counts *counts)
{
    return counts->received - counts->metadata - counts->joined -
           counts->dropped[SESSION_DROP_STACK_WALK] + counts->gaps;
}

bool positions_live_acked(const struct positions *p, size_t session, uint64_t *ret_sequence)
{
    const struct agent_plan *plan = p->plan;
    bool taken = false;
    if (p->keeps) {
        *ret_sequence = pipeline_staged(p->pipeline, session);
        return p->plan->sessions[session].stream_count > 0;
    }
    for (size_t o = 0; o < plan->output_count; o++) {
        uint64_t sequence = p->stored[o * (plan->session_count + 1) + session];
        if (agent_plan_takes(plan, session, o)) {
            *ret_sequence = !taken || sequence < *ret_sequence ? sequence : *ret_sequence;
            taken = true;
        }
    }
    return taken;
}

static bool look_at(struct positions *p, size_t session, const struct session_counts *counts,
    bool is_end, struct error *err)
{
    struct positions_live *live = &p->live[session];
    uint64_t now = plat_now_filetime();
    uint64_t acked = 0;
    if (!positions_live_acked(p, session, &acked)) {
        return true;
    }
    if (live->mark_time && acked >= live->mark_sequence) {
        live->settled = live->mark_time;
        live->mark_time = 0;
    }
    if (is_end && acked >= numbered(counts)) {
        live->settled = now; /* nothing is under way any more */
    } else if (!live->mark_time) {
        live->mark_time = now - held_back_100ns;
        live->mark_sequence = numbered(counts);
    }
    bool is_due = live->settled > live->stored + (is_end ? 0 : store_every_100ns);
    if (is_due && !store_live(p->store, span_text(agent_plan_session_name(p->plan, session)),
                      live->settled, err)) {
        return false;
    }
    live->stored = is_due ? live->settled : live->stored;
    return true;
}

bool positions_live_save(struct positions *p, struct error *err)
{
    size_t count = p->plan->session_count;
    struct session_counts *counts = calloc(count + 1, sizeof(*counts));
    bool ok = true;
    if (!counts) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool is_end = atomic_load(&p->is_over);
    ledger_look(pipeline_ledger(p->pipeline), counts, NULL);
    for (size_t s = 0; ok && s < count; s++) {
        if (!p->plan->sessions[s].replayable) {
            ok = look_at(p, s, &counts[s], is_end, err);
        }
    }
    free(counts);
    return ok;
}
