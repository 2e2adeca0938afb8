#include "pipeline/deliver/delivery_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "outputs/delivery_id.h"
#include "pipeline/batch/back_off.h"
#include "pipeline/deliver/delivery_part.h"
#include "pipeline/deliver/refusals.h"
#include "pipeline/deliver/too_old.h"
#include "platform/plat_clock.h"
#include "platform/plat_system.h"

/*
 * The verdict table is settle(); all else serves it.
 *
 * A rejected record is stored before it counts as settled. Reasons are collected while the output
 * sends (refusals.h), because only the verdict says whether a record is rejected.
 */
enum { WAIT_SLICE_MS = 50, KEPT_AT_ONCE = DELIVERY_KEPT_AT_ONCE };

struct delivery_host {
    struct delivery_host_settings settings;
    void *output;
    bool connected;
    bool ended;
    bool closed;
    bool degraded;
    bool yields;   /* what is in hand was parked, and may be again */
    unsigned told; /* a bit per enum delivery_news, since a batch arrived whole */
    struct back_off back_off;
    struct refusals refusals;
    uint64_t begun_ns;      /* since then the records in hand are tried */
    struct buf words;       /* why records are too old, of those that are kept at once */
    const char *last_words; /* what the destination said of all of them; NULL: none is too old */
    struct delivery_counts counts;

    /* The unsettled records of a partly accepted batch, rebuilt for the next try. */
    uint8_t *rest;
    uint32_t *rest_ends;
    uint32_t *rest_routes;
    uint32_t *rest_records; /* which ones of the delivery they are */
    uint32_t *rest_places;  /* delivery.places */
    bool is_rest;           /* what is being delivered is that */
    enum record_status *statuses;
    size_t capacity_bytes;
    size_t capacity_records;
};

struct delivery_host *delivery_host_create(
    const struct delivery_host_settings *settings, struct error *err)
{
    struct delivery_host *host = calloc(1, sizeof(*host));
    if (!host) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    host->settings = *settings;
    struct output_env env = settings->env ? *settings->env : (struct output_env){0};
    env.name = settings->name;
    uint64_t seed;
    if (!plat_random(&seed, sizeof(seed), NULL)) {
        seed = plat_monotonic_ns();
    }
    back_off_init(&host->back_off, settings->retry.min_ms, settings->retry.max_ms, seed);
    refusals_init(&host->refusals);
    buf_init(&host->words, (size_t)KEPT_AT_ONCE * TOO_OLD_MAX_BYTES);
    host->settings.env = NULL;
    host->output = settings->ops->create(settings->settings, &env, err);
    if (!host->output) {
        refusals_fini(&host->refusals);
        buf_fini(&host->words);
        free(host);
        return NULL;
    }
    return host;
}

void delivery_host_destroy(struct delivery_host *host)
{
    if (!host) {
        return;
    }
    const struct output_ops *ops = host->settings.ops;
    if (host->connected && ops->disconnect) {
        ops->disconnect(host->output);
    }
    ops->destroy(host->output);
    refusals_fini(&host->refusals);
    buf_fini(&host->words);
    free(host->rest);
    free(host->rest_ends);
    free(host->rest_routes);
    free(host->rest_records);
    free(host->rest_places);
    free(host->statuses);
    free(host);
}

static bool grow(struct delivery_host *host, const struct delivery *delivery)
{
    size_t count = delivery->record_count;
    if (!grow_to(&host->rest, delivery->bytes.size, &host->capacity_bytes, 1)) {
        return false;
    }
    if (count > host->capacity_records) {
        if (!grow_array(&host->statuses, count, sizeof(*host->statuses)) ||
            !grow_array(&host->rest_ends, count, sizeof(*host->rest_ends)) ||
            !grow_array(&host->rest_routes, count, sizeof(*host->rest_routes)) ||
            !grow_array(&host->rest_records, count, sizeof(*host->rest_records)) ||
            !grow_array(&host->rest_places, count, sizeof(*host->rest_places))) {
            return false;
        }
        host->capacity_records = count;
    }
    return true;
}

static void tell(struct delivery_host *host, enum delivery_news news, const char *text)
{
    unsigned bit = 1U << news;
    if (!(host->told & bit) && host->settings.tell) {
        host->settings.tell(host->settings.self, news, text);
    }
    host->told |= bit;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Give up the unsettled records from ${first} on. */
static void lose(struct delivery_host *host, size_t first, size_t count, enum delivery_loss why)
{
    uint64_t *const counters[] = {[DELIVERY_REJECTED] = &host->counts.rejected,
        [DELIVERY_TOO_OLD] = &host->counts.too_old,
        [DELIVERY_UNDELIVERED] = &host->counts.undelivered};
    *counters[why] += count;
    if (!host->settings.lost || count == 0) {
        return;
    }
    if (!host->is_rest) {
        host->settings.lost(host->settings.self, first, count, why);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        host->settings.lost(host->settings.self, host->rest_records[first + i], 1, why);
    }
}

static uint32_t record_of(const struct delivery_host *host, size_t index)
{
    return host->is_rest ? host->rest_records[index] : (uint32_t)index;
}

static struct delivery_refusal refusal_of(
    struct delivery_host *host, const struct delivery *left, size_t index, char id[DELIVERY_ID_MAX])
{
    uint32_t start = index ? left->record_ends[index - 1] : 0;
    uint32_t end = left->record_ends[index];
    struct output_rejection why = refusals_why(&host->refusals, index);
    return (struct delivery_refusal){.record = record_of(host, index),
        .place = left->first_place + (left->places ? left->places[index] : (uint32_t)index),
        .document = span_make(left->bytes.data + start, end - start),
        .route = left->routes ? left->route_names[left->routes[index]] : span_make(NULL, 0),
        .id = span_make(id, left->ids ? delivery_id_write(left, index, id) : 0),
        .why = host->last_words ? too_old_say(&host->words, host->last_words, why) : why};
}

/* Have refused records kept, a few at a time; those that cannot be kept are to be sent again. */
static void keep_refused(
    struct delivery_host *host, const struct delivery *left, struct output_report *report)
{
    struct delivery_refusal refusals[KEPT_AT_ONCE];
    char ids[KEPT_AT_ONCE][DELIVERY_ID_MAX];
    struct error err;
    size_t count = 0;
    size_t first = 0; /* record of the delivery that those in `refusals` begin at */
    bool ok = true;
    for (size_t i = 0; i < left->record_count && ok; i++) {
        if (host->statuses[i] == RECORD_REJECTED) {
            refusals[count] = refusal_of(host, left, i, ids[count]);
            count++;
        }
        if (count == KEPT_AT_ONCE || (count && i + 1 == left->record_count)) {
            ok = host->settings.keep(host->settings.self, refusals, count, &err);
            host->counts.dead_lettered += ok ? count : 0;
            first = ok ? i + 1 : first;
            count = 0;
            buf_reset(&host->words);
        }
    }
    for (size_t i = first; i < left->record_count && !ok; i++) {
        bool rejected = host->statuses[i] == RECORD_REJECTED;
        host->statuses[i] = rejected ? RECORD_RETRY : host->statuses[i];
    }
    if (!ok && err.code == ERR_LIMIT) {
        report->degraded = true;
        report->error = err;
    } else if (!ok) {
        tell(host, DELIVERY_FAILS, err.text);
    }
}

/* The ${refused} records before ${end} are refused: if no dead letter keeps them, they are lost. */
static void lose_refused(struct delivery_host *host, size_t end, size_t *refused)
{
    if (!host->settings.keep) {
        lose(host, end - *refused, *refused, DELIVERY_REJECTED);
    }
    *refused = 0;
}

static bool is_blocked(enum record_status status)
{
    return status == RECORD_BLOCKED || status == RECORD_HELD;
}

/* A blocked record leaves the delivery: the agent holds it until its destination opens. */
static void park(struct delivery_host *host, size_t index, const struct output_report *report)
{
    struct output_rejection why = refusals_why(&host->refusals, index);
    why.set_up = host->statuses[index] == RECORD_HELD ? report->set_up : NULL;
    host->settings.park(host->settings.self, record_of(host, index), &why);
}

/* Keep only the records that are to be sent again. */
static void keep_retries(
    struct delivery_host *host, const struct output_report *report, struct delivery *left)
{
    size_t kept = 0;
    size_t refused = 0; /* records just before i that are refused, and not yet lost */
    uint32_t size = 0;
    uint32_t start = 0;
    for (size_t i = 0; i < left->record_count; i++) {
        if (host->statuses[i] == RECORD_REJECTED) {
            refused++;
            start = left->record_ends[i];
            continue;
        }
        lose_refused(host, i, &refused);
        uint32_t end = left->record_ends[i];
        if (host->statuses[i] == RECORD_DELIVERED) {
            host->counts.delivered++;
            host->counts.bytes += end - start;
            left->suspect = false;
        } else if (is_blocked(host->statuses[i])) {
            park(host, i, report);
        } else {
            memmove(host->rest + size, left->bytes.data + start, end - start);
            size += end - start;
            host->rest_routes[kept] = left->routes ? left->routes[i] : 0;
            host->rest_places[kept] = left->places ? left->places[i] : (uint32_t)i;
            host->rest_records[kept] = record_of(host, i);
            refusals_move(&host->refusals, i, kept);
            host->rest_ends[kept++] = size;
        }
        start = end;
    }
    lose_refused(host, left->record_count, &refused);
    left->bytes = span_make(host->rest, size);
    left->record_ends = host->rest_ends;
    left->record_count = kept;
    left->routes = left->routes ? host->rest_routes : NULL;
    left->places = host->rest_places;
    host->is_rest = true;
}

/* Apply a verdict to the unsettled records. True if the batch is settled. */
static bool settle(struct delivery_host *host, enum output_verdict verdict,
    const struct output_report *report, struct delivery *left)
{
    switch (verdict) {
    case OUTPUT_DELIVERED:
        host->counts.delivered += left->record_count;
        host->counts.bytes += left->bytes.size;
        return true;
    case OUTPUT_MIXED:
        keep_retries(host, report, left);
        return left->record_count == 0;
    case OUTPUT_FATAL:
        host->ended = true;
        host->closed = report->error.code == ERR_STOPPED;
        lose(host, 0, left->record_count, DELIVERY_UNDELIVERED);
        return true;
    case OUTPUT_RECONNECT:
        if (host->connected && host->settings.ops->disconnect) {
            host->settings.ops->disconnect(host->output);
        }
        host->connected = false;
        return false;
    default:
        return false;
    }
}

static bool sleep_in_slices(struct delivery_host *host, unsigned ms)
{
    for (unsigned waited = 0; waited < ms; waited += WAIT_SLICE_MS) {
        if (host->settings.stopping && host->settings.stopping(host->settings.self)) {
            return false;
        }
        plat_sleep_ms(ms - waited < WAIT_SLICE_MS ? ms - waited : WAIT_SLICE_MS);
    }
    return !host->settings.stopping || !host->settings.stopping(host->settings.self);
}

static void keep_quiet(struct delivery_host *host, uint32_t ms)
{
    if (ms && host->settings.keep_quiet) {
        host->settings.keep_quiet(
            host->settings.self, ms < BACK_OFF_ASKED_MAX_MS ? ms : BACK_OFF_ASKED_MAX_MS);
    }
}

/* Wait before the next try. False if the agent is stopping. */
static bool back_off(struct delivery_host *host, const struct output_report *report)
{
    host->counts.retries++;
    keep_quiet(host, report->wait_ms);
    unsigned ms = report->degraded ? back_off_next_slow(&host->back_off, report->wait_ms)
                                   : back_off_next(&host->back_off, report->wait_ms);
    return host->settings.wait ? host->settings.wait(host->settings.self, ms)
                               : sleep_in_slices(host, ms);
}

static bool is_too_old(const struct delivery_host *host)
{
    uint64_t max = host->settings.retry.max_age_ns;
    return max && plat_monotonic_ns() - host->begun_ns > max;
}

static void on_reject(void *self, size_t record, const struct output_rejection *why)
{
    refusals_add(&((struct delivery_host *)self)->refusals, record, why);
}

static enum output_verdict try_once(
    struct delivery_host *host, struct delivery *left, struct output_report *report)
{
    const struct output_ops *ops = host->settings.ops;
    *report = (struct output_report){.records = host->statuses, .reject = on_reject, .host = host};
    refusals_begin(&host->refusals, left->record_count);
    for (size_t i = 0; i < left->record_count; i++) {
        host->statuses[i] = RECORD_RETRY; /* for records that the output says nothing of */
    }
    if (!host->connected) {
        if (ops->connect && !ops->connect(host->output, &report->error)) {
            return OUTPUT_RETRY;
        }
        host->connected = true;
    }
    enum output_verdict verdict = ops->send(host->output, left, report);
    left->repeated = true;
    left->cleared = false;
    if (verdict == OUTPUT_REJECTED) {
        for (size_t i = 0; i < left->record_count; i++) {
            host->statuses[i] = RECORD_REJECTED;
        }
        verdict = OUTPUT_MIXED;
    }
    return verdict;
}

/* Blocked records that cannot be parked, or are too old for that, are like others that fail. */
static void take_blocked(
    struct delivery_host *host, const struct delivery *left, struct output_report *report)
{
    bool parks = host->settings.park && left->routes && !is_too_old(host);
    for (size_t i = 0; !parks && i < left->record_count; i++) {
        if (is_blocked(host->statuses[i])) {
            host->statuses[i] = RECORD_RETRY;
            report->degraded = true;
        }
    }
}

/* People hear of it, and what is refused is kept. */
static void take_note(struct delivery_host *host, enum output_verdict verdict,
    struct output_report *report, const struct delivery *left)
{
    size_t refused = verdict == OUTPUT_MIXED
                         ? delivery_part_rejected(host->statuses, left->record_count)
                         : 0;
    if (refused) {
        tell(host, DELIVERY_REFUSED, report->error.text);
    }
    if (refused && host->settings.keep) {
        uint64_t before = host->counts.dead_lettered;
        keep_refused(host, left, report);
        delivery_part_count(report, refused, before, &host->counts);
    } else if (refused) {
        delivery_part_take(report, host->statuses, left->record_count);
    }
    host->counts.maybe_duplicates += report->maybe_duplicates;
    host->counts.maybe_lost += report->maybe_lost;
    if (report->unexpected_duplicates) {
        host->counts.unexpected_duplicates += report->unexpected_duplicates;
        tell(host, DELIVERY_DUPLICATES, "");
    }
}

/* Report the state of the output after a try that left something to send. */
static void tell_failure(
    struct delivery_host *host, enum output_verdict verdict, const struct output_report *report)
{
    bool closed = verdict == OUTPUT_FATAL && report->error.code == ERR_STOPPED;
    if (report->degraded && verdict != OUTPUT_FATAL && !host->yields) {
        host->degraded = true;
        tell(host, DELIVERY_DEGRADED, report->error.text);
    } else if (!closed) {
        tell(host, DELIVERY_FAILS, report->error.text);
    }
}

/* Something arrived, or was answered for. */
static void note_progress(struct delivery_host *host, bool whole, bool degraded)
{
    back_off_reset(&host->back_off);
    if (host->degraded && !degraded) {
        host->degraded = false;
        host->told &= ~(1U << DELIVERY_MENDED);
        tell(host, DELIVERY_MENDED, "");
        host->told &= ~(1U << DELIVERY_DEGRADED);
    }
    host->told = whole ? 0 : host->told;
}

/* False: give up on what is left. */
static bool wait_for_room(struct delivery_host *host, const struct delivery *left)
{
    static const struct output_report nothing = {.wait_ms = 0};
    while (!grow(host, left)) {
        tell(host, DELIVERY_FAILS, "out of memory");
        if (!back_off(host, &nothing)) {
            return false;
        }
    }
    return true;
}

static bool may_ask(const struct delivery_host *host)
{
    return !host->settings.clear || host->settings.clear(host->settings.self);
}

/* One try, and what follows from it. True if the batch is settled, else ${report} says how long the
 * destination is to be left alone. */
static bool step(struct delivery_host *host, struct delivery *left, struct output_report *report)
{
    size_t before = left->record_count;
    enum output_verdict verdict = try_once(host, left, report);
    if (verdict == OUTPUT_MIXED) {
        take_blocked(host, left, report);
    }
    take_note(host, verdict, report, left);
    bool settled = settle(host, verdict, report, left);
    bool answered = verdict == OUTPUT_DELIVERED || left->record_count < before;
    if (!settled && answered && host->settings.left) {
        host->settings.left(host->settings.self, host->rest_records, left->record_count);
    }
    if (answered) {
        note_progress(host, verdict == OUTPUT_DELIVERED, !settled && report->degraded);
    }
    bool last = verdict == OUTPUT_FATAL;
    if (last || (!settled && !is_too_old(host))) { /* too old events are reported separately */
        tell_failure(host, verdict, report);
    }
    return settled;
}

/* The unsettled records were tried for too long: keep them as dead letters, or lose them if none
 * are kept. False: records that could not be kept remain, and are tried again. */
static bool expire(struct delivery_host *host, struct delivery *left, struct output_report *report)
{
    size_t count = left->record_count;
    uint64_t kept = host->counts.dead_lettered;
    struct output_report full = {.degraded = false};
    if (host->settings.keep) {
        for (size_t i = 0; i < count; i++) {
            host->statuses[i] = RECORD_REJECTED;
        }
        host->last_words = report->error.text;
        buf_reset(&host->words);
        if (!buf_reserve(&host->words, (size_t)KEPT_AT_ONCE * TOO_OLD_MAX_BYTES)) {
            host->words.failed = false; /* then the type says it alone */
        }
        keep_refused(host, left, &full);
        host->last_words = NULL;
        kept = host->counts.dead_lettered - kept;
        host->counts.kept_too_old += kept;
        keep_retries(host, report, left);
        count -= left->record_count;
        if (kept && left->record_count && host->settings.left) {
            host->settings.left(host->settings.self, host->rest_records, left->record_count);
        }
    } else {
        lose(host, 0, count, DELIVERY_TOO_OLD);
        left->record_count = 0;
    }
    if (count && host->settings.tell) {
        char text[TOO_OLD_MAX_BYTES];
        snprintf(text, sizeof(text), "%zu events are given up after retry.max_age: %s", count,
            report->error.text);
        host->settings.tell(host->settings.self, DELIVERY_AGED, text);
    }
    if (full.degraded) { /* dead letters have no room: it is tried again slowly */
        *report = full;
        tell_failure(host, OUTPUT_RETRY, report);
    }
    return left->record_count == 0;
}

/* The unsettled records were parked before, and the reason may concern their route only (a wrong
 * mapping, full dead letters): they must not block the lane for other routes. */
static bool yield(
    struct delivery_host *host, const struct delivery *left, const struct output_report *report)
{
    if (!host->yields || !(report->degraded || is_too_old(host))) {
        return false;
    }
    const struct output_rejection why = {.reason = span_text(report->error.text)};
    keep_quiet(host, report->wait_ms);
    for (size_t i = 0; i < left->record_count; i++) {
        host->settings.park(host->settings.self, record_of(host, i), &why);
    }
    return true;
}

bool delivery_host_deliver(struct delivery_host *host, const struct delivery *delivery)
{
    return delivery_host_deliver_since(host, delivery, plat_monotonic_ns(), false);
}

bool delivery_host_deliver_since(
    struct delivery_host *host, const struct delivery *delivery, uint64_t since_ns, bool parked)
{
    struct delivery left = *delivery;
    host->yields = parked && host->settings.park && delivery->routes;
    host->is_rest = false;
    if (host->ended || left.record_count == 0) {
        lose(host, 0, left.record_count, DELIVERY_UNDELIVERED);
        return !host->ended;
    }
    host->begun_ns = since_ns;
    bool go_on = wait_for_room(host, &left);
    while (go_on && may_ask(host)) {
        struct output_report report;
        if (step(host, &left, &report)) {
            return !host->ended;
        }
        if (is_too_old(host) && expire(host, &left, &report)) {
            return !host->ended;
        }
        if (yield(host, &left, &report)) {
            return !host->ended;
        }
        host->ended = host->settings.ends_on_failure;
        go_on = !host->ended && back_off(host, &report);
    }
    lose(host, 0, left.record_count, DELIVERY_UNDELIVERED);
    return !host->ended;
}

uint64_t delivery_host_idle(struct delivery_host *host)
{
    bool does = host->connected && !host->ended && host->settings.ops->idle;
    return does ? host->settings.ops->idle(host->output) : UINT64_MAX;
}

bool delivery_host_checkpoint(struct delivery_host *host, struct buf *out, struct error *err)
{
    const struct output_ops *ops = host->settings.ops;
    return ops->checkpoint && ops->checkpoint(host->output, out, err);
}

struct delivery_counts delivery_host_counts(const struct delivery_host *host)
{
    return host->counts;
}

bool delivery_host_ended(const struct delivery_host *host)
{
    return host->ended;
}

bool delivery_host_closed(const struct delivery_host *host)
{
    return host->closed;
}
