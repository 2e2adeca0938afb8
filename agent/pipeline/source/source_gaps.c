#include "pipeline/slab/guard_slab.h"
#include "pipeline/source/source_own.h"
#include "platform/plat_clock.h"

enum { MAX_REPORTS = 32 /* of a guard, under way at once */ };

/* Ship an open gap, with room in the queue or without: its slab is there. */
static void close_gap(struct source *source, size_t index, bool force)
{
    struct slab *slab = gap_list_take(&source->gaps, index, force);
    if (!slab) {
        return;
    }
    slab->now = slab->gap.to ? slab->gap.to : source->newest;
    slab->last_sequence = ++source->counts.sequence;
    source->slab_counts.gaps++;
    source->slab_counts.gaps_agent += strcmp(slab->gap.stage, "agent") == 0;
    source->slab_counts.gaps_eventlog += strcmp(slab->gap.stage, "eventlog") == 0;
    if (strcmp(slab->gap.stage, "etw") == 0) {
        bool are_events = strcmp(slab->gap.unit, "events") == 0;
        source->slab_counts.etw_events_lost += are_events ? slab->gap.count : 0;
        source->slab_counts.etw_buffers_lost += are_events ? 0 : slab->gap.count;
    }
    source_complete(source, slab);
    bool comes_again = !source->counts.complete && source->settings.hooks.is_done;
    if (!source->counts.complete) {
        slab->last_sequence = 0; /* its number would take the session across what was abandoned */
    }
    if (comes_again || slab_queue_push_now(source->settings.queue, slab) != SLAB_PUSHED) {
        source_abandon(source, slab);
    }
}

void source_gaps_close(struct source *source, bool force)
{
    for (size_t i = 0; i < GAP_LIST_MAX; i++) {
        close_gap(source, i, force);
    }
}

void source_gaps_add_loss(
    struct source *source, const char *reason, const struct event_record *record)
{
    struct gap gap = {.stage = "queue",
        .reason = reason,
        .unit = "events",
        .count = 1,
        .exact = true,
        .from = record->time,
        .to = record->time,
        .trace = record->trace};
    gap_list_add(&source->gaps, &gap);
}

/* The full slab is queued first, beyond the limit of the queue, so that the gaps follow it; no
 * other slab is filled until there is room. */
void source_gaps_close_old(struct source *source)
{
    uint64_t now = plat_monotonic_ns();
    for (size_t i = 0; i < GAP_LIST_MAX; i++) {
        if (!gap_list_is_old(&source->gaps, i, now, source->settings.gap_age_ns) ||
            !gap_list_may_take(&source->gaps)) {
            continue;
        }
        struct slab *slab = source->slab;
        source->slab = NULL;
        if (slab) {
            source_complete(source, slab);
            if (slab_queue_push_now(source->settings.queue, slab) != SLAB_PUSHED) {
                source_abandon(source, slab);
            }
        }
        close_gap(source, i, false);
    }
}

/* The report goes beyond the queue's bound, as a gap does: reports are few, and there is a limit to
 * how many are under way. One that finds no place is counted all the same. */
void source_gaps_report(void *self, const struct guard_report *report)
{
    struct source *source = self;
    struct session_counts counts = {.received = 0};
    struct slab *slab = NULL;
    counts.guard[report->action] = 1;
    if (source->state != SOURCE_STOPPED && atomic_load(&source->reports_in_flight) < MAX_REPORTS) {
        slab = guard_slab_create(source->settings.session, report);
    }
    if (!slab) {
        ledger_add_session(source->settings.ledger, source->settings.session, &counts);
        return;
    }
    slab->counts = counts;
    slab->completed = true;
    slab->in_flight = &source->reports_in_flight;
    atomic_fetch_add(&source->reports_in_flight, 1);
    if (slab_queue_push_now(source->settings.queue, slab) != SLAB_PUSHED) {
        ledger_add_session(source->settings.ledger, source->settings.session, &counts);
        slab_destroy(slab);
    }
}
