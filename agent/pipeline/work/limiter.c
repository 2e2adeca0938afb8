#include "pipeline/work/limiter.h"

#include <stdlib.h>

#include "base/filetime.h"
#include "platform/plat_thread.h"

/*
 * A bucket counts in parts of a token, so that no rate is rounded: each 100 ns bring `events`
 * parts, an event costs `period` of them. FILTER_MAX_BURST days of them fit into 64 bits.
 *
 * Buckets stand in sets. One that is full is as good as none, so it makes room, and so does one
 * that was asked last before the clock was set back; a set without such a bucket takes no further
 * key. Untouched sets cost address space alone.
 */
enum { STRIPES = 16, SETS = 256, WAYS = 16 };

/* Further back, the clock was set, and time continues from there. */
static const uint64_t back_ticks = 10 * FILETIME_PER_S;

struct bucket {
    uint64_t key;
    uint64_t last; /* FILETIME; 0: unused, and full */
    uint64_t parts;
    size_t rule;
};

_Static_assert(SETS *WAYS * sizeof(struct bucket) <= LIMITER_BYTES, "as limiter.h says");

struct table {
    struct plat_mutex locks[STRIPES]; /* of the sets, and of `own` by rule */
    struct bucket *own;               /* by rule */
    struct bucket *sets;              /* NULL: no limit has fields */
    struct plat_mutex held_lock;
    uint64_t held;
    struct time_range times;
};

struct limiter {
    const struct filter *filter;
    size_t session_count;
    struct table tables[];
};

/* ---- life ------------------------------------------------------------------------------------ */

static bool has_fields(const struct filter *filter)
{
    bool any = false;
    for (size_t i = 0; i < filter_rule_count(filter) && !any; i++) {
        filter_rule_limit(filter, i, &any);
        any = any && filter_rule_action(filter, i) == FILTER_ACTION_LIMIT;
    }
    return any;
}

static bool init_table(struct table *table, const struct filter *filter)
{
    for (size_t i = 0; i < STRIPES; i++) {
        plat_mutex_init(&table->locks[i]);
    }
    plat_mutex_init(&table->held_lock);
    table->own = calloc(filter_rule_count(filter), sizeof(*table->own));
    table->sets = has_fields(filter) ? calloc(SETS * WAYS, sizeof(*table->sets)) : NULL;
    return table->own && (table->sets || !has_fields(filter));
}

struct limiter *limiter_create(const struct filter *filter, size_t session_count, struct error *err)
{
    struct limiter *limiter = calloc(1, sizeof(*limiter) + session_count * sizeof(struct table));
    bool ok = limiter != NULL;
    if (limiter) {
        limiter->filter = filter;
    }
    for (size_t i = 0; ok && i < session_count; i++) {
        limiter->session_count++;
        ok = init_table(&limiter->tables[i], filter);
    }
    if (!ok) {
        limiter_destroy(limiter);
        error_set(err, ERR_MEMORY, "out of memory for limits");
        return NULL;
    }
    return limiter;
}

void limiter_destroy(struct limiter *limiter)
{
    for (size_t i = 0; limiter && i < limiter->session_count; i++) {
        struct table *table = &limiter->tables[i];
        for (size_t k = 0; k < STRIPES; k++) {
            plat_mutex_fini(&table->locks[k]);
        }
        plat_mutex_fini(&table->held_lock);
        free(table->own);
        free(table->sets);
    }
    free(limiter);
}

/* ---- buckets --------------------------------------------------------------------------------- */

/* Tokens of the bucket at ${time}, which is not before its own time. */
static uint64_t parts_at(
    const struct bucket *bucket, const struct filter_limit *limit, uint64_t time)
{
    uint64_t full = limit->burst * limit->period;
    if (bucket->last == 0 || time - bucket->last > (full - bucket->parts) / limit->events) {
        return full;
    }
    return bucket->parts + (time - bucket->last) * limit->events;
}

static bool take(struct bucket *bucket, const struct filter_limit *limit, uint64_t time)
{
    if (bucket->last <= time) {
        bucket->parts = parts_at(bucket, limit, time);
        bucket->last = time;
    } else if (bucket->last - time > back_ticks) {
        bucket->last = time;
    }
    bool there = bucket->parts >= limit->period;
    bucket->parts -= there ? limit->period : 0;
    return there;
}

/* Full, or of a time that is over: it is not known when that was. */
static bool is_idle(const struct filter *filter, const struct bucket *bucket, uint64_t time)
{
    bool any;
    const struct filter_limit *limit = filter_rule_limit(filter, bucket->rule, &any);
    if (bucket->last > time) {
        return bucket->last - time > back_ticks;
    }
    return bucket->last == 0 || parts_at(bucket, limit, time) == limit->burst * limit->period;
}

/* The key's bucket among those of its set, or one that makes room for it; NULL: none does. */
static struct bucket *find(
    const struct filter *filter, struct bucket *set, size_t rule, uint64_t key, uint64_t time)
{
    struct bucket *room = NULL;
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].last && set[i].key == key && set[i].rule == rule) {
            return &set[i];
        }
        room = !room && is_idle(filter, &set[i], time) ? &set[i] : room;
    }
    if (room) {
        *room = (struct bucket){.key = key, .rule = rule};
    }
    return room;
}

static bool ask(
    const struct limiter *limiter, struct table *table, size_t rule, uint64_t key, uint64_t time)
{
    bool fields;
    const struct filter_limit *limit = filter_rule_limit(limiter->filter, rule, &fields);
    bool there = false;
    if (fields) {
        struct plat_mutex *lock = &table->locks[key % STRIPES];
        plat_mutex_lock(lock);
        struct bucket *set = &table->sets[key % SETS * WAYS];
        struct bucket *bucket = find(limiter->filter, set, rule, key, time);
        there = bucket && take(bucket, limit, time);
        plat_mutex_unlock(lock);
        if (bucket) {
            return there;
        }
    }
    struct plat_mutex *lock = &table->locks[rule % STRIPES];
    plat_mutex_lock(lock);
    there = take(&table->own[rule], limit, time);
    plat_mutex_unlock(lock);
    return there;
}

bool limiter_take(struct limiter *limiter, size_t session, size_t rule, uint64_t key, uint64_t time)
{
    struct table *table = &limiter->tables[session];
    time = time ? time : 1; /* 0 is a bucket's without an owner */
    if (ask(limiter, table, rule, key, time)) {
        return true;
    }
    plat_mutex_lock(&table->held_lock);
    table->held++;
    time_range_add(&table->times, (struct time_range){.from = time, .to = time});
    plat_mutex_unlock(&table->held_lock);
    return false;
}

uint64_t limiter_held(struct limiter *limiter, size_t session, struct time_range *ret_times)
{
    struct table *table = &limiter->tables[session];
    plat_mutex_lock(&table->held_lock);
    uint64_t held = table->held;
    *ret_times = table->times;
    table->held = 0;
    table->times = (struct time_range){.from = 0};
    plat_mutex_unlock(&table->held_lock);
    return held;
}
