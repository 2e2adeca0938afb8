#include "pipeline/record/ledger.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

struct ledger {
    struct plat_mutex mutex;
    struct plat_cond settled; /* an output has nothing pending, or the deadline has changed */
    uint64_t deadline_ns;     /* UINT64_MAX: none */
    struct session_counts *sessions;
    struct output_counts *outputs;
    bool *left; /* by output: ledger_wait_settled does not wait for it */
    size_t session_count;
    size_t output_count;
};

const char *ledger_session_drop_stage(enum session_drop reason)
{
    static const char *const stages[] = {[SESSION_DROP_STACK_WALK] = "filter",
        [SESSION_DROP_BUDGET_SAMPLED] = "guard",
        [SESSION_DROP_BUDGET_VERBOSE] = "guard",
        [SESSION_DROP_BUDGET_PROVIDER] = "guard",
        [SESSION_DROP_FULL] = "queue",
        [SESSION_DROP_STOPPED] = "queue",
        [SESSION_DROP_SPOOL_FULL] = "spool",
        [SESSION_DROP_SPOOL_DISK] = "spool"};
    return stages[reason];
}

const char *ledger_session_drop_reason(enum session_drop reason)
{
    static const char *const reasons[] = {[SESSION_DROP_STACK_WALK] = "stack_walk",
        [SESSION_DROP_BUDGET_SAMPLED] = "budget_sampled",
        [SESSION_DROP_BUDGET_VERBOSE] = "budget_verbose",
        [SESSION_DROP_BUDGET_PROVIDER] = "budget_provider",
        [SESSION_DROP_FULL] = "full",
        [SESSION_DROP_STOPPED] = "stopped",
        [SESSION_DROP_SPOOL_FULL] = "full",
        [SESSION_DROP_SPOOL_DISK] = "disk"};
    return reasons[reason];
}

const char *ledger_output_drop_stage(enum output_drop reason)
{
    bool in_spool = reason >= OUTPUT_DROP_SPOOL_FULL && reason <= OUTPUT_DROP_SPOOL_DAMAGED;
    return in_spool ? "spool" : "output";
}

const char *ledger_output_drop_name(enum output_drop reason)
{
    switch (reason) {
    case OUTPUT_DROP_SPOOL_FULL:
        return "spool_full";
    case OUTPUT_DROP_SPOOL_DISK:
        return "spool_disk";
    case OUTPUT_DROP_SPOOL_TOO_OLD:
        return "spool_too_old";
    case OUTPUT_DROP_SPOOL_DAMAGED:
        return "spool_damaged";
    default:
        return ledger_output_drop_reason(reason);
    }
}

const char *ledger_output_drop_reason(enum output_drop reason)
{
    static const char *const reasons[] = {[OUTPUT_DROP_REJECTED] = "rejected",
        [OUTPUT_DROP_TOO_OLD] = "too_old",
        [OUTPUT_DROP_ENDED] = "ended",
        [OUTPUT_DROP_STOPPED] = "stopped",
        [OUTPUT_DROP_SPOOL_FULL] = "full",
        [OUTPUT_DROP_SPOOL_DISK] = "disk",
        [OUTPUT_DROP_SPOOL_TOO_OLD] = "too_old",
        [OUTPUT_DROP_SPOOL_DAMAGED] = "damaged",
        [OUTPUT_LETTER_EVICTED] = "dead_letters_full"};
    return reasons[reason];
}

struct ledger *ledger_create(size_t session_count, size_t output_count, struct error *err)
{
    struct ledger *ledger = calloc(1, sizeof(*ledger));
    if (ledger) {
        plat_mutex_init(&ledger->mutex);
        plat_cond_init(&ledger->settled);
        ledger->deadline_ns = UINT64_MAX;
        ledger->session_count = session_count;
        ledger->output_count = output_count;
        ledger->sessions = calloc(session_count + 1, sizeof(*ledger->sessions));
        ledger->outputs = calloc(output_count + 1, sizeof(*ledger->outputs));
        ledger->left = calloc(output_count + 1, sizeof(*ledger->left));
    }
    if (!ledger || !ledger->sessions || !ledger->outputs || !ledger->left) {
        ledger_destroy(ledger);
        error_set(err, ERR_MEMORY, "out of memory for counters");
        return NULL;
    }
    return ledger;
}

void ledger_destroy(struct ledger *ledger)
{
    if (ledger) {
        plat_cond_fini(&ledger->settled);
        plat_mutex_fini(&ledger->mutex);
        free(ledger->sessions);
        free(ledger->outputs);
        free(ledger->left);
        free(ledger);
    }
}

/* The clock is read only where something happened that is rare. */
static void note_times(struct session_counts *to, const struct session_counts *counts)
{
    uint64_t lost = counts->etw_events_lost + counts->etw_buffers_lost + counts->gaps_eventlog;
    uint64_t guard = 0;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        lost += i == SESSION_DROP_STACK_WALK ? 0 : counts->dropped[i];
    }
    for (size_t i = 0; i < GUARD_ACTIONS; i++) {
        guard += counts->guard[i];
    }
    if (lost || guard || counts->gaps_agent) {
        uint64_t now = plat_monotonic_ns();
        to->loss_ns = lost ? now : to->loss_ns;
        to->unread_ns = counts->gaps_agent ? now : to->unread_ns;
        for (size_t i = 0; i < GUARD_ACTIONS; i++) {
            to->guard_ns[i] = counts->guard[i] ? now : to->guard_ns[i];
        }
    }
}

void ledger_add_session(struct ledger *ledger, size_t session, const struct session_counts *counts)
{
    plat_mutex_lock(&ledger->mutex);
    struct session_counts *to = &ledger->sessions[session];
    to->received += counts->received;
    to->metadata += counts->metadata;
    to->joined += counts->joined;
    to->filtered += counts->filtered;
    to->accepted += counts->accepted;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        to->dropped[i] += counts->dropped[i];
    }
    to->unlearned += counts->unlearned;
    to->definitions_evicted += counts->definitions_evicted;
    to->definitions_refused += counts->definitions_refused;
    to->definitions_conflicts += counts->definitions_conflicts;
    to->unmatched += counts->unmatched;
    to->gaps += counts->gaps;
    to->gaps_agent += counts->gaps_agent;
    to->gaps_eventlog += counts->gaps_eventlog;
    to->etw_events_lost += counts->etw_events_lost;
    to->etw_buffers_lost += counts->etw_buffers_lost;
    for (size_t i = 0; i < GUARD_ACTIONS; i++) {
        to->guard[i] += counts->guard[i];
    }
    note_times(to, counts);
    to->decode.raw += counts->decode.raw;
    to->decode.partial += counts->decode.partial;
    to->decode.cut += counts->decode.cut;
    to->decode.messages += counts->decode.messages;
    to->decode.silent += counts->decode.silent;
    to->decode.other_width += counts->decode.other_width;
    to->decode.learned_width += counts->decode.learned_width;
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_offer(
    struct ledger *ledger, size_t output, uint64_t events, uint64_t filtered, bool own)
{
    plat_mutex_lock(&ledger->mutex);
    struct output_counts *to = &ledger->outputs[output];
    if (own) {
        to->own_offered += events;
        to->own_pending += events;
    } else {
        if (!to->pending) {
            to->progress_ns = plat_monotonic_ns();
        }
        to->offered += events;
        to->filtered += filtered;
        to->pending += events - filtered;
    }
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_roll_up(struct ledger *ledger, size_t output, uint64_t events)
{
    plat_mutex_lock(&ledger->mutex);
    ledger->outputs[output].rolled_up += events;
    ledger->outputs[output].pending -= events;
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_settle(
    struct ledger *ledger, size_t output, const struct ledger_settlement *settlement, bool own)
{
    uint64_t dropped = 0;
    for (size_t i = 0; i < OUTPUT_DROP_COUNT; i++) {
        dropped += settlement->dropped[i];
    }
    uint64_t settled = settlement->acked + settlement->dead_lettered + dropped;
    plat_mutex_lock(&ledger->mutex);
    struct output_counts *to = &ledger->outputs[output];
    to->batches++;
    to->bytes += settlement->bytes;
    to->unexpected_duplicates += settlement->unexpected_duplicates;
    to->maybe_duplicates += settlement->maybe_duplicates;
    uint64_t now = plat_monotonic_ns();
    to->progress_ns = now;
    to->loss_ns = dropped && !own ? now : to->loss_ns;
    to->refused_ns = settlement->dead_lettered && !own ? now : to->refused_ns;
    if (settlement->acked) {
        to->trouble[0] = '\0';
    }
    if (own) {
        to->own_acked += settlement->acked;
        to->own_dropped += dropped + settlement->dead_lettered;
        to->own_pending -= settled;
    } else {
        to->acked += settlement->acked;
        to->dead_lettered += settlement->dead_lettered;
        to->kept_too_old += settlement->kept_too_old;
        for (size_t i = 0; i < OUTPUT_DROP_COUNT; i++) {
            to->dropped[i] += settlement->dropped[i];
        }
        to->pending -= settled;
        if (to->pending == 0) {
            plat_cond_broadcast(&ledger->settled);
        }
    }
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_retry(struct ledger *ledger, size_t output)
{
    plat_mutex_lock(&ledger->mutex);
    ledger->outputs[output].retries++;
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_set_parked(
    struct ledger *ledger, size_t output, uint64_t events, uint64_t routes, const char *first)
{
    plat_mutex_lock(&ledger->mutex);
    struct output_counts *to = &ledger->outputs[output];
    to->parked = events;
    to->parked_routes = routes;
    snprintf(to->parked_first, sizeof(to->parked_first), "%s", first);
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_set_guarantee(struct ledger *ledger, size_t output, const char *guarantee)
{
    plat_mutex_lock(&ledger->mutex);
    ledger->outputs[output].guarantee = guarantee;
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_set_degraded(struct ledger *ledger, size_t output, bool degraded)
{
    plat_mutex_lock(&ledger->mutex);
    ledger->outputs[output].degraded = degraded;
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_set_trouble(struct ledger *ledger, size_t output, const char *why)
{
    plat_mutex_lock(&ledger->mutex);
    struct output_counts *to = &ledger->outputs[output];
    snprintf(to->trouble, sizeof(to->trouble), "%s", why);
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_add_latency(struct ledger *ledger, size_t output, uint64_t ms, uint64_t events)
{
    plat_mutex_lock(&ledger->mutex);
    histogram_add(&ledger->outputs[output].latency, ms, events);
    plat_mutex_unlock(&ledger->mutex);
}

static bool is_settled(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->output_count; i++) {
        if (ledger->outputs[i].pending && !ledger->left[i]) {
            return false;
        }
    }
    return true;
}

void ledger_wait_settled(struct ledger *ledger)
{
    plat_mutex_lock(&ledger->mutex);
    bool in_time = true;
    while (in_time && !is_settled(ledger)) {
        if (ledger->deadline_ns == UINT64_MAX) {
            plat_cond_wait(&ledger->settled, &ledger->mutex);
        } else {
            in_time = plat_cond_wait_until(&ledger->settled, &ledger->mutex, ledger->deadline_ns);
        }
    }
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_set_deadline(struct ledger *ledger, uint64_t deadline_ns)
{
    plat_mutex_lock(&ledger->mutex);
    ledger->deadline_ns = deadline_ns;
    plat_cond_broadcast(&ledger->settled);
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_end_output(struct ledger *ledger, size_t output)
{
    plat_mutex_lock(&ledger->mutex);
    ledger->left[output] = true;
    plat_cond_broadcast(&ledger->settled);
    plat_mutex_unlock(&ledger->mutex);
}

void ledger_look(
    struct ledger *ledger, struct session_counts *ret_sessions, struct output_counts *ret_outputs)
{
    plat_mutex_lock(&ledger->mutex);
    if (ret_sessions && ledger->session_count) {
        memcpy(ret_sessions, ledger->sessions, ledger->session_count * sizeof(*ret_sessions));
    }
    if (ret_outputs && ledger->output_count) {
        memcpy(ret_outputs, ledger->outputs, ledger->output_count * sizeof(*ret_outputs));
    }
    plat_mutex_unlock(&ledger->mutex);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

uint64_t ledger_session_error(const struct session_counts *counts)
{
    uint64_t sum = counts->metadata + counts->joined + counts->filtered + counts->accepted;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        sum += counts->dropped[i];
    }
    return distance(counts->received, sum);
}

uint64_t ledger_output_error(const struct output_counts *counts)
{
    uint64_t sum = counts->filtered + counts->rolled_up + counts->acked + counts->dead_lettered +
                   counts->pending;
    for (size_t i = 0; i < OUTPUT_DROP_COUNT; i++) {
        sum += counts->dropped[i];
    }
    return distance(counts->offered, sum) +
           distance(
               counts->own_offered, counts->own_acked + counts->own_dropped + counts->own_pending);
}

bool ledger_session_balances(const struct session_counts *counts)
{
    return ledger_session_error(counts) == 0;
}

bool ledger_output_balances(const struct output_counts *counts)
{
    return ledger_output_error(counts) == 0;
}
