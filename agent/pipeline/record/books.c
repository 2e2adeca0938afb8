#include "pipeline/record/books.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_system.h"
#include "platform/plat_thread.h"

struct books {
    struct plat_mutex mutex;
    struct plat_cond settled; /* an output has nothing pending, or the deadline has changed */
    uint64_t deadline_ns;     /* UINT64_MAX: none */
    struct session_counts *sessions;
    struct output_counts *outputs;
    bool *left; /* by output: books_wait_settled does not wait for it */
    size_t session_count;
    size_t output_count;
};

const char *books_session_drop_stage(enum session_drop reason)
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

const char *books_session_drop_reason(enum session_drop reason)
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

const char *books_output_drop_stage(enum output_drop reason)
{
    bool in_spool = reason >= OUTPUT_DROP_SPOOL_FULL && reason <= OUTPUT_DROP_SPOOL_DAMAGED;
    return in_spool ? "spool" : "output";
}

const char *books_output_drop_name(enum output_drop reason)
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
        return books_output_drop_reason(reason);
    }
}

const char *books_output_drop_reason(enum output_drop reason)
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

struct books *books_create(size_t session_count, size_t output_count, struct error *err)
{
    struct books *books = calloc(1, sizeof(*books));
    if (books) {
        plat_mutex_init(&books->mutex);
        plat_cond_init(&books->settled);
        books->deadline_ns = UINT64_MAX;
        books->session_count = session_count;
        books->output_count = output_count;
        books->sessions = calloc(session_count + 1, sizeof(*books->sessions));
        books->outputs = calloc(output_count + 1, sizeof(*books->outputs));
        books->left = calloc(output_count + 1, sizeof(*books->left));
    }
    if (!books || !books->sessions || !books->outputs || !books->left) {
        books_destroy(books);
        error_set(err, ERR_MEMORY, "out of memory for counters");
        return NULL;
    }
    return books;
}

void books_destroy(struct books *books)
{
    if (books) {
        plat_cond_fini(&books->settled);
        plat_mutex_fini(&books->mutex);
        free(books->sessions);
        free(books->outputs);
        free(books->left);
        free(books);
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

void books_add_session(struct books *books, size_t session, const struct session_counts *counts)
{
    plat_mutex_lock(&books->mutex);
    struct session_counts *to = &books->sessions[session];
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
    plat_mutex_unlock(&books->mutex);
}

void books_offer(struct books *books, size_t output, uint64_t events, uint64_t filtered, bool own)
{
    plat_mutex_lock(&books->mutex);
    struct output_counts *to = &books->outputs[output];
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
    plat_mutex_unlock(&books->mutex);
}

void books_roll_up(struct books *books, size_t output, uint64_t events)
{
    plat_mutex_lock(&books->mutex);
    books->outputs[output].rolled_up += events;
    books->outputs[output].pending -= events;
    plat_mutex_unlock(&books->mutex);
}

void books_settle(
    struct books *books, size_t output, const struct books_settlement *settlement, bool own)
{
    uint64_t dropped = 0;
    for (size_t i = 0; i < OUTPUT_DROP_COUNT; i++) {
        dropped += settlement->dropped[i];
    }
    uint64_t settled = settlement->acked + settlement->dead_lettered + dropped;
    plat_mutex_lock(&books->mutex);
    struct output_counts *to = &books->outputs[output];
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
            plat_cond_broadcast(&books->settled);
        }
    }
    plat_mutex_unlock(&books->mutex);
}

void books_retry(struct books *books, size_t output)
{
    plat_mutex_lock(&books->mutex);
    books->outputs[output].retries++;
    plat_mutex_unlock(&books->mutex);
}

void books_set_parked(
    struct books *books, size_t output, uint64_t events, uint64_t routes, const char *first)
{
    plat_mutex_lock(&books->mutex);
    struct output_counts *to = &books->outputs[output];
    to->parked = events;
    to->parked_routes = routes;
    snprintf(to->parked_first, sizeof(to->parked_first), "%s", first);
    plat_mutex_unlock(&books->mutex);
}

void books_set_guarantee(struct books *books, size_t output, const char *guarantee)
{
    plat_mutex_lock(&books->mutex);
    books->outputs[output].guarantee = guarantee;
    plat_mutex_unlock(&books->mutex);
}

void books_set_degraded(struct books *books, size_t output, bool degraded)
{
    plat_mutex_lock(&books->mutex);
    books->outputs[output].degraded = degraded;
    plat_mutex_unlock(&books->mutex);
}

void books_set_trouble(struct books *books, size_t output, const char *why)
{
    plat_mutex_lock(&books->mutex);
    struct output_counts *to = &books->outputs[output];
    snprintf(to->trouble, sizeof(to->trouble), "%s", why);
    plat_mutex_unlock(&books->mutex);
}

void books_add_latency(struct books *books, size_t output, uint64_t ms, uint64_t events)
{
    plat_mutex_lock(&books->mutex);
    histogram_add(&books->outputs[output].latency, ms, events);
    plat_mutex_unlock(&books->mutex);
}

static bool is_settled(const struct books *books)
{
    for (size_t i = 0; i < books->output_count; i++) {
        if (books->outputs[i].pending && !books->left[i]) {
            return false;
        }
    }
    return true;
}

void books_wait_settled(struct books *books)
{
    plat_mutex_lock(&books->mutex);
    bool in_time = true;
    while (in_time && !is_settled(books)) {
        if (books->deadline_ns == UINT64_MAX) {
            plat_cond_wait(&books->settled, &books->mutex);
        } else {
            in_time = plat_cond_wait_until(&books->settled, &books->mutex, books->deadline_ns);
        }
    }
    plat_mutex_unlock(&books->mutex);
}

void books_set_deadline(struct books *books, uint64_t deadline_ns)
{
    plat_mutex_lock(&books->mutex);
    books->deadline_ns = deadline_ns;
    plat_cond_broadcast(&books->settled);
    plat_mutex_unlock(&books->mutex);
}

void books_end_output(struct books *books, size_t output)
{
    plat_mutex_lock(&books->mutex);
    books->left[output] = true;
    plat_cond_broadcast(&books->settled);
    plat_mutex_unlock(&books->mutex);
}

void books_look(
    struct books *books, struct session_counts *ret_sessions, struct output_counts *ret_outputs)
{
    plat_mutex_lock(&books->mutex);
    if (ret_sessions && books->session_count) {
        memcpy(ret_sessions, books->sessions, books->session_count * sizeof(*ret_sessions));
    }
    if (ret_outputs && books->output_count) {
        memcpy(ret_outputs, books->outputs, books->output_count * sizeof(*ret_outputs));
    }
    plat_mutex_unlock(&books->mutex);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

uint64_t books_session_error(const struct session_counts *counts)
{
    uint64_t sum = counts->metadata + counts->joined + counts->filtered + counts->accepted;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        sum += counts->dropped[i];
    }
    return distance(counts->received, sum);
}

uint64_t books_output_error(const struct output_counts *counts)
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

bool books_session_balances(const struct session_counts *counts)
{
    return books_session_error(counts) == 0;
}

bool books_output_balances(const struct output_counts *counts)
{
    return books_output_error(counts) == 0;
}
