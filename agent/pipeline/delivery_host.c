#include "pipeline/delivery_host.h"

#include <stdlib.h>

#include "platform/plat_system.h"

/*
 * The verdict table is settle(); all else serves it. Waits between tries follow "full jitter": a
 * random time up to a bound that doubles with each try, so that many agents that lost one
 * destination do not come back at once (Brooker, "Exponential Backoff And Jitter", 2015).
 */
enum { FIRST_WAIT_MS = 100, LONGEST_WAIT_MS = 5000, WAIT_SLICE_MS = 50 };

struct delivery_host {
    struct delivery_host_settings settings;
    void *output;
    bool connected;
    bool ended;
    bool closed;
    bool warned;
    uint64_t bound_ms; /* of the next wait */
    uint64_t random;   /* state of the jitter; never 0 */
    uint64_t begun_ns; /* of the batch that is being delivered */
    struct delivery_counts counts;

    /* What is left of a partly accepted batch, rebuilt for the next try. */
    uint8_t *rest;
    uint32_t *rest_ends;
    uint32_t *rest_routes;
    uint32_t *rest_records; /* which ones of the batch they are */
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
    if (!plat_random(&host->random, sizeof(host->random), NULL)) {
        host->random = plat_monotonic_ns();
    }
    host->random |= 1;
    host->settings.env = NULL;
    host->output = settings->ops->create(settings->settings, &env, err);
    if (!host->output) {
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
    free(host->rest);
    free(host->rest_ends);
    free(host->rest_routes);
    free(host->rest_records);
    free(host->statuses);
    free(host);
}

static bool grow(struct delivery_host *host, const struct delivery *delivery)
{
    if (delivery->bytes.size > host->capacity_bytes) {
        uint8_t *rest = realloc(host->rest, delivery->bytes.size);
        if (!rest) {
            return false;
        }
        host->rest = rest;
        host->capacity_bytes = delivery->bytes.size;
    }
    if (delivery->record_count > host->capacity_records) {
        uint32_t *ends = realloc(host->rest_ends, delivery->record_count * sizeof(*ends));
        host->rest_ends = ends ? ends : host->rest_ends;
        uint32_t *routes = realloc(host->rest_routes, delivery->record_count * sizeof(*routes));
        host->rest_routes = routes ? routes : host->rest_routes;
        uint32_t *records = realloc(host->rest_records, delivery->record_count * sizeof(*records));
        host->rest_records = records ? records : host->rest_records;
        enum record_status *statuses = realloc(
            host->statuses, delivery->record_count * sizeof(*statuses));
        host->statuses = statuses ? statuses : host->statuses;
        if (!ends || !routes || !records || !statuses) {
            return false;
        }
        host->capacity_records = delivery->record_count;
    }
    return true;
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

/* Records of what is left, from ${first} on, are given up on. */
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

/* Keep only the records that are to be sent again. */
static void keep_retries(struct delivery_host *host, struct delivery *left)
{
    size_t kept = 0;
    uint32_t size = 0;
    uint32_t start = 0;
    for (size_t i = 0; i < left->record_count; i++) {
        uint32_t end = left->record_ends[i];
        if (host->statuses[i] == RECORD_DELIVERED) {
            host->counts.delivered++;
            host->counts.bytes += end - start;
        } else if (host->statuses[i] == RECORD_REJECTED) {
            lose(host, i, 1, DELIVERY_REJECTED);
        } else {
            memmove(host->rest + size, left->bytes.data + start, end - start);
            size += end - start;
            host->rest_routes[kept] = left->routes ? left->routes[i] : 0;
            host->rest_records[kept] = record_of(host, i);
            host->rest_ends[kept++] = size;
        }
        start = end;
    }
    left->bytes = span_make(host->rest, size);
    left->record_ends = host->rest_ends;
    left->record_count = kept;
    left->routes = left->routes ? host->rest_routes : NULL;
    host->is_rest = true;
}

/* Apply a verdict to what is left. True if the batch is settled. */
static bool settle(struct delivery_host *host, enum output_verdict verdict,
    const struct output_report *report, struct delivery *left)
{
    switch (verdict) {
    case OUTPUT_DELIVERED:
        host->counts.delivered += left->record_count;
        host->counts.bytes += left->bytes.size;
        return true;
    case OUTPUT_REJECTED:
        lose(host, 0, left->record_count, DELIVERY_REJECTED);
        return true;
    case OUTPUT_MIXED:
        keep_retries(host, left);
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

static void warn_once(struct delivery_host *host, const char *text)
{
    if (!host->warned && host->settings.warn) {
        host->settings.warn(host->settings.self, host->settings.name, text);
    }
    host->warned = true;
}

/* xorshift64 (Marsaglia 2003): spreading waits asks for no more. */
static uint64_t next_random(struct delivery_host *host)
{
    host->random ^= host->random << 13;
    host->random ^= host->random >> 7;
    host->random ^= host->random << 17;
    return host->random;
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

/* Wait before the next try. False if the agent is stopping. */
static bool back_off(struct delivery_host *host)
{
    const struct delivery_retry *retry = &host->settings.retry;
    uint64_t longest = retry->max_ms ? retry->max_ms : LONGEST_WAIT_MS;
    uint64_t first = retry->min_ms ? retry->min_ms : FIRST_WAIT_MS;
    host->counts.retries++;
    host->bound_ms = host->bound_ms ? host->bound_ms * 2 : first;
    host->bound_ms = host->bound_ms > longest ? longest : host->bound_ms;
    unsigned ms = (unsigned)(1 + next_random(host) % host->bound_ms);
    if (host->settings.wait) {
        return host->settings.wait(host->settings.self, ms);
    }
    return sleep_in_slices(host, ms);
}

static bool is_too_old(const struct delivery_host *host)
{
    uint64_t max = host->settings.retry.max_age_ns;
    return max && plat_monotonic_ns() - host->begun_ns > max;
}

static enum output_verdict try_once(
    struct delivery_host *host, const struct delivery *left, struct output_report *report)
{
    const struct output_ops *ops = host->settings.ops;
    *report = (struct output_report){.records = host->statuses};
    for (size_t i = 0; i < left->record_count; i++) {
        host->statuses[i] = RECORD_RETRY; /* for records that the output says nothing of */
    }
    if (!host->connected) {
        if (ops->connect && !ops->connect(host->output, &report->error)) {
            return OUTPUT_RETRY;
        }
        host->connected = true;
    }
    return ops->send(host->output, left, report);
}

bool delivery_host_deliver(struct delivery_host *host, const struct delivery *delivery)
{
    struct delivery left = *delivery;
    host->is_rest = false;
    if (host->ended || left.record_count == 0) {
        lose(host, 0, left.record_count, DELIVERY_UNDELIVERED);
        return !host->ended;
    }
    host->bound_ms = 0;
    host->begun_ns = host->settings.retry.max_age_ns ? plat_monotonic_ns() : 0;
    while (!grow(host, &left)) {
        warn_once(host, "out of memory");
        if (!back_off(host)) {
            lose(host, 0, left.record_count, DELIVERY_UNDELIVERED);
            return true;
        }
    }
    for (;;) {
        struct output_report report;
        enum output_verdict verdict = try_once(host, &left, &report);
        if (verdict != OUTPUT_DELIVERED &&
            !(verdict == OUTPUT_FATAL && report.error.code == ERR_STOPPED)) {
            warn_once(host, report.error.text);
        }
        if (settle(host, verdict, &report, &left)) {
            host->warned = host->warned && verdict != OUTPUT_DELIVERED;
            return !host->ended;
        }
        if (is_too_old(host)) {
            lose(host, 0, left.record_count, DELIVERY_TOO_OLD);
            return true;
        }
        host->ended = host->settings.give_up;
        if (host->ended || !back_off(host)) {
            lose(host, 0, left.record_count, DELIVERY_UNDELIVERED);
            return !host->ended;
        }
    }
}

void delivery_host_idle(struct delivery_host *host)
{
    if (host->connected && !host->ended && host->settings.ops->idle) {
        host->settings.ops->idle(host->output);
    }
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
