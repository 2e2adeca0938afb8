#include "pipeline/deliver/parking.h"

#include <stdio.h>
#include <stdlib.h>

#include "pipeline/deliver/parking_own.h"
#include "platform/plat_clock.h"
#include "platform/plat_system.h"

/* The groups of a route stand in the order of their batches' numbers, whichever thread was first to
 * park its batch. */

void parking_init(struct parking *parking, const struct delivery_retry *retry, uint64_t max_bytes,
    size_t max_probes)
{
    *parking = (struct parking){.retry = *retry, .max_bytes = max_bytes, .max_probes = max_probes};
    plat_mutex_init(&parking->mutex);
    atomic_init(&parking->any, false);
    if (!plat_random(&parking->seed, sizeof(parking->seed), NULL)) {
        parking->seed = plat_monotonic_ns();
    }
}

void parked_batch_free(struct parked_batch *batch)
{
    while (batch && batch->groups) {
        struct parked_group *group = batch->groups;
        batch->groups = group->sibling;
        free(group);
    }
    free(batch);
}

void parking_fini(struct parking *parking)
{
    while (parking->batches) {
        struct parked_batch *batch = parking->batches;
        parking->batches = batch->next;
        parked_batch_free(batch);
    }
    while (parking->routes) {
        struct parked_route *route = parking->routes;
        parking->routes = route->next;
        free(route);
    }
    plat_mutex_fini(&parking->mutex);
}

/* ---- groups; with the mutex held ------------------------------------------------------------- */

static void link_group(struct parked_group *group)
{
    struct parked_route *route = group->route;
    struct parked_group *before = route->tail;
    while (before && before->batch->number > group->batch->number) {
        before = before->previous;
    }
    struct parked_group *behind = before ? before->next : route->head;
    group->previous = before;
    group->next = behind;
    *(before ? &before->next : &route->head) = group;
    *(behind ? &behind->previous : &route->tail) = group;
    route->group_count++;
}

static void unlink_group(struct parked_group *group)
{
    struct parked_route *route = group->route;
    *(group->previous ? &group->previous->next : &route->head) = group->next;
    *(group->next ? &group->next->previous : &route->tail) = group->previous;
    route->group_count--;
}

static void count_records(struct parking *parking, const struct parked_batch *batch, int64_t change)
{
    parking->record_count += (uint64_t)change;
    parking->event_count += batch->own ? 0 : (uint64_t)change;
}

/* ---- parking --------------------------------------------------------------------------------- */

struct load {
    size_t batches;
    size_t routes;
    uint64_t records;
    uint64_t bytes;
};

/* Would it be full without ${load}? Holds the mutex. */
static bool is_full_without(const struct parking *parking, const struct load *load)
{
    return parking->batch_count - load->batches >= PARKING_MAX_BATCHES ||
           parking->record_count - load->records >= PARKING_MAX_RECORDS ||
           parking->route_count - load->routes >= PARKING_MAX_ROUTES ||
           parking->bytes - load->bytes >= parking->max_bytes;
}

bool parking_is_full(struct parking *parking)
{
    if (!parking_any(parking)) {
        return false;
    }
    plat_mutex_lock(&parking->mutex);
    bool full = is_full_without(parking, &(struct load){.batches = 0});
    plat_mutex_unlock(&parking->mutex);
    return full;
}

/* A group for ${count} records, none of which is in it. NULL: out of memory. */
static struct parked_group *make_group(
    struct parking *parking, struct parked_batch *batch, struct span name, size_t count)
{
    struct parked_group *group = calloc(1, sizeof(*group) + count * sizeof(group->records[0]));
    if (!group) {
        return NULL;
    }
    plat_mutex_lock(&parking->mutex);
    group->route = parking_route_get(parking, name);
    if (group->route) {
        group->route->pins++;
    }
    plat_mutex_unlock(&parking->mutex);
    if (!group->route) {
        free(group);
        return NULL;
    }
    group->batch = batch;
    /* Not the first event of each batch, as that may be bad in all of them. */
    group->probe = (size_t)batch->number;
    group->sibling = batch->groups;
    batch->groups = group;
    return group;
}

/* By name of ${routes}: how many of the marked records go there. NULL: out of memory. */
static uint32_t *count_marked(
    const struct routes *routes, const uint8_t *marks, size_t record_count)
{
    uint32_t *counts = calloc(routes->name_count + 1, sizeof(*counts));
    for (size_t i = 0; counts && i < record_count; i++) {
        counts[routes->indexes[i]] += marks[i] != 0;
    }
    return counts;
}

static bool make_groups(struct parking *parking, struct parked_batch *batch,
    const struct routes *routes, const uint8_t *marks)
{
    size_t record_count = batch->item.batch->piece.count;
    uint32_t *counts = count_marked(routes, marks, record_count);
    struct parked_group **groups = calloc(routes->name_count + 1, sizeof(struct parked_group *));
    bool ok = counts && groups;
    for (size_t i = 0; ok && i < routes->name_count; i++) {
        if (counts[i]) {
            groups[i] = make_group(parking, batch, routes->names[i], counts[i]);
            ok = groups[i] != NULL;
        }
    }
    for (size_t i = 0; ok && i < record_count; i++) {
        struct parked_group *group = groups[routes->indexes[i]];
        if (marks[i]) {
            group->records[group->count++] = (uint32_t)i;
        }
    }
    free(counts);
    free(groups);
    return ok;
}

/* It was made, and not put. */
static void discard(struct parking *parking, struct parked_batch *batch)
{
    plat_mutex_lock(&parking->mutex);
    for (struct parked_group *g = batch->groups; g; g = g->sibling) {
        g->route->pins--;
        parking_route_remove(parking, g->route, PARKING_EMPTY);
    }
    plat_mutex_unlock(&parking->mutex);
    parked_batch_free(batch);
}

struct parked_batch *parking_make(
    struct parking *parking, const struct spool_item *item, const uint8_t *marks, uint64_t since_ns)
{
    const struct batch *from = item->batch;
    struct parked_batch *batch = calloc(1, sizeof(*batch));
    if (!batch) {
        return NULL;
    }
    batch->item = *item;
    batch->number = from->number;
    batch->since_ns = since_ns;
    batch->own = from->own && !item->earlier;
    if (!make_groups(parking, batch, &from->piece.routes[item->route], marks)) {
        discard(parking, batch);
        return NULL;
    }
    return batch;
}

void parking_put(struct parking *parking, struct parked_batch *batch)
{
    plat_mutex_lock(&parking->mutex);
    batch->next = parking->batches;
    if (batch->next) {
        batch->next->previous = batch;
    }
    parking->batches = batch;
    parking->batch_count++;
    parking->bytes += batch->item.bytes;
    for (struct parked_group *g = batch->groups; g; g = g->sibling) {
        struct parked_route *route = g->route;
        bool fresh = !route->head && !route->busy;
        route->pins--;
        link_group(g);
        count_records(parking, batch, (int64_t)g->count);
        if (fresh) {
            parking_route_wait(route, 0);
        }
        parking_route_tell(parking, route);
    }
    plat_mutex_unlock(&parking->mutex);
}

/* ---- claims ---------------------------------------------------------------------------------- */

/* When the oldest group of the route is too old; UINT64_MAX: never. Holds the mutex. */
static uint64_t old_at(const struct parking *parking, const struct parked_route *route)
{
    uint64_t max_age = parking->retry.max_age_ns;
    return max_age ? route->head->batch->since_ns + max_age + 1 : UINT64_MAX;
}

/* When the oldest group of the route may be tried; UINT64_MAX: not now. Records that get too old
 * are tried once more then; if that fails (dead letters are full, a disk error), they wait like
 * others. Holds the mutex. */
static uint64_t due_of(
    const struct parking *parking, const struct parked_route *route, bool retry_now)
{
    if (!route->head || route->busy || route->head->batch->busy) {
        return UINT64_MAX;
    }
    if (retry_now && !route->retried_now) {
        return 0;
    }
    if (!route->open && parking->probe_count >= parking->max_probes) {
        return UINT64_MAX;
    }
    uint64_t old = old_at(parking, route);
    return old < route->due_ns && old > route->kept_ns ? old : route->due_ns;
}

static struct parked_route *first_due(
    const struct parking *parking, bool retry_now, uint64_t *ret_due)
{
    struct parked_route *first = NULL;
    *ret_due = UINT64_MAX;
    for (struct parked_route *route = parking->routes; route; route = route->next) {
        uint64_t due = due_of(parking, route, retry_now);
        if (due < *ret_due) {
            *ret_due = due;
            first = route;
        }
    }
    return first;
}

uint64_t parking_due(struct parking *parking)
{
    uint64_t due = UINT64_MAX;
    if (parking_any(parking)) {
        plat_mutex_lock(&parking->mutex);
        first_due(parking, false, &due);
        plat_mutex_unlock(&parking->mutex);
    }
    return due;
}

/* A route refuses every event for itself: which group that came later is asked for an event?
 * Every other time it is the newest, as the set-up may just have been corrected; the turns in
 * between go back from there, group by group. NULL: it is the turn of the oldest group. Holds the
 * mutex. */
static struct parked_group *later_group(
    const struct parking *parking, struct parked_route *route, uint64_t now)
{
    size_t turn = route->turns++;
    if (turn % 2 == 0 || route->group_count < 2 || old_at(parking, route) <= now) {
        return NULL;
    }
    size_t later = turn / 2;
    size_t back = later % 2 ? (later / 2 + 1) % (route->group_count - 1) : 0;
    struct parked_group *group = route->tail;
    for (; back > 0; back--) {
        group = group->previous;
    }
    while (group->batch->busy) {
        group = group->previous; /* the oldest is not busy */
    }
    return group == route->head ? NULL : group;
}

/* Holds the mutex. */
static void claim_group(struct parked_group *group, bool retry_now)
{
    struct parked_route *route = group->route;
    group->claimed = true;
    route->busy = true;
    route->open = false;
    route->retried_now = route->retried_now || retry_now;
    unlink_group(group);
}

/* ${route} is due: claim a batch of it. Holds the mutex. */
static struct parked_batch *claim(
    struct parking *parking, struct parked_route *route, bool retry_now, uint64_t now)
{
    struct parked_group *later = route->refuses && !retry_now ? later_group(parking, route, now)
                                                              : NULL;
    struct parked_group *group = later ? later : route->head;
    struct parked_batch *batch = group->batch;
    batch->claimed_ns = now;
    batch->probes = !route->open;
    batch->suspect = route->refuses;
    batch->later = later != NULL;
    batch->probe = group->probe;
    batch->cleared = route->cleared;
    group->probe += batch->suspect;
    for (struct parked_group *g = batch->groups; g; g = g->sibling) {
        bool alone = batch->suspect || batch->cleared || g->route->refuses || g->route->cleared;
        bool fits = !alone && g->route->head == g && due_of(parking, g->route, retry_now) <= now;
        if (g == group || fits) {
            claim_group(g, retry_now);
        }
    }
    batch->busy = true;
    parking->probe_count += batch->probes;
    return batch;
}

struct parked_batch *parking_claim(struct parking *parking, bool retry_now)
{
    if (!parking_any(parking)) {
        return NULL;
    }
    uint64_t due;
    uint64_t now = plat_monotonic_ns();
    struct parked_batch *batch = NULL;
    plat_mutex_lock(&parking->mutex);
    struct parked_route *first = first_due(parking, retry_now, &due);
    if (first && due <= now) {
        batch = claim(parking, first, retry_now, now);
    }
    plat_mutex_unlock(&parking->mutex);
    return batch;
}

size_t parking_mark(const struct parked_batch *batch, bool claimed, uint8_t *marks, uint8_t value)
{
    size_t count = 0;
    for (const struct parked_group *g = batch->groups; g; g = g->sibling) {
        for (size_t i = 0; g->claimed == claimed && i < g->count; i++) {
            marks[g->records[i]] = value;
            count++;
        }
    }
    return count;
}

size_t parking_count(const struct parked_batch *batch)
{
    size_t count = 0;
    for (const struct parked_group *g = batch->groups; g; g = g->sibling) {
        count += g->count;
    }
    return count;
}

/* Keep the records of the group that are marked; NULL: all. Returns how many are gone. */
static size_t keep_marked(struct parked_group *group, const uint8_t *marks)
{
    size_t kept = 0;
    size_t before = group->count;
    for (size_t i = 0; marks && i < before; i++) {
        if (marks[group->records[i]]) {
            group->records[kept++] = group->records[i];
        }
    }
    group->count = marks ? kept : before;
    return before - group->count;
}

/* A claimed group comes back. False: nothing is left of it, and it is freed. Holds the mutex. */
static bool take_back(
    struct parking *parking, struct parked_group *group, const uint8_t *marks, bool answered)
{
    struct parked_route *route = group->route;
    const struct parked_batch *batch = group->batch;
    size_t gone = keep_marked(group, marks);
    count_records(parking, batch, -(int64_t)gone);
    group->claimed = false;
    route->busy = false;
    if (!batch->later) {
        route->kept_ns = group->count ? plat_monotonic_ns() : 0;
    }
    bool took = gone && answered;
    route->cleared = took ? route->refuses : batch->cleared && !route->refuses;
    if (took) {
        back_off_reset(&route->back_off);
        route->refuses = false;
    }
    if (batch->later ? took : answered && !group->count) {
        route->open = true; /* on with the oldest that is left */
        route->due_ns = 0;
    } else {
        parking_route_wait(route, plat_monotonic_ns() - batch->claimed_ns);
    }
    if (group->count) {
        link_group(group);
        return true;
    }
    parking_route_remove(parking, route, answered ? PARKING_OPENED : PARKING_EMPTY);
    free(group);
    return false;
}

/* Holds the mutex. */
static void remove_batch(struct parking *parking, struct parked_batch *batch)
{
    *(batch->previous ? &batch->previous->next : &parking->batches) = batch->next;
    if (batch->next) {
        batch->next->previous = batch->previous;
    }
    parking->batch_count--;
    parking->bytes -= batch->item.bytes;
}

/* Holds the mutex. */
static void end_claim(struct parking *parking, struct parked_batch *batch)
{
    parking->probe_count -= batch->probes;
    batch->probes = false;
    batch->busy = false;
}

bool parking_return(
    struct parking *parking, struct parked_batch *batch, const uint8_t *marks, bool answered)
{
    plat_mutex_lock(&parking->mutex);
    struct parked_group **at = &batch->groups;
    while (*at) {
        struct parked_group *group = *at;
        struct parked_group *sibling = group->sibling;
        bool stays = !group->claimed || take_back(parking, group, marks, answered);
        *at = stays ? group : sibling;
        at = stays ? &group->sibling : at;
    }
    end_claim(parking, batch);
    bool over = batch->groups == NULL;
    if (over) {
        remove_batch(parking, batch);
    }
    plat_mutex_unlock(&parking->mutex);
    return over;
}

void parking_end(struct parking *parking, struct parked_batch *batch)
{
    plat_mutex_lock(&parking->mutex);
    for (struct parked_group *g = batch->groups; g; g = g->sibling) {
        count_records(parking, batch, -(int64_t)g->count);
        if (g->claimed) {
            g->route->busy = false;
        } else {
            unlink_group(g);
        }
        parking_route_remove(parking, g->route, PARKING_EMPTY);
    }
    end_claim(parking, batch);
    remove_batch(parking, batch);
    plat_mutex_unlock(&parking->mutex);
}

/* Holds the mutex, and lets go of it. */
static struct parked_batch *claim_to_end(struct parking *parking, struct parked_batch *batch)
{
    if (batch) {
        batch->busy = true;
    }
    plat_mutex_unlock(&parking->mutex);
    return batch;
}

struct parked_batch *parking_drop(struct parking *parking)
{
    plat_mutex_lock(&parking->mutex);
    struct parked_batch *batch = parking->batches;
    while (batch && batch->busy) {
        batch = batch->next;
    }
    return claim_to_end(parking, batch);
}

static bool may_drop(const struct parked_batch *batch)
{
    return batch->live && !batch->busy;
}

/* Routes that would end if all that may be dropped were dropped. Holds the mutex. */
static size_t count_ending(const struct parking *parking)
{
    size_t count = 0;
    for (const struct parked_route *route = parking->routes; route; route = route->next) {
        const struct parked_group *group = route->head;
        while (group && may_drop(group->batch)) {
            group = group->next;
        }
        count += route->head && !group && !route->busy && !route->pins;
    }
    return count;
}

/* Would it be full still if all that may be dropped were dropped? Holds the mutex. */
static bool stays_full(const struct parking *parking)
{
    bool many_routes = parking->route_count >= PARKING_MAX_ROUTES;
    struct load load = {.routes = many_routes ? count_ending(parking) : 0};
    for (const struct parked_batch *b = parking->batches; b; b = b->next) {
        if (may_drop(b)) {
            load.batches++;
            load.records += parking_count(b);
            load.bytes += b->item.bytes;
        }
    }
    return is_full_without(parking, &load);
}

struct parked_batch *parking_drop_oldest(struct parking *parking)
{
    struct parked_batch *oldest = NULL;
    plat_mutex_lock(&parking->mutex);
    bool helps = !stays_full(parking);
    for (struct parked_batch *batch = parking->batches; batch && helps; batch = batch->next) {
        bool older = !oldest || batch->number < oldest->number;
        oldest = may_drop(batch) && older ? batch : oldest;
    }
    return claim_to_end(parking, oldest);
}

struct parked_batch *parking_drop_number(struct parking *parking, uint64_t number)
{
    plat_mutex_lock(&parking->mutex);
    struct parked_batch *batch = parking->batches;
    while (batch && (batch->busy || batch->number != number)) {
        batch = batch->next;
    }
    return claim_to_end(parking, batch);
}

void parking_look_at(struct parking *parking, struct parking_facts *ret_facts)
{
    *ret_facts = (struct parking_facts){.events = 0};
    plat_mutex_lock(&parking->mutex);
    const struct parked_route *route = parking->routes;
    ret_facts->events = parking->event_count;
    ret_facts->routes = parking->route_count;
    if (route) {
        snprintf(ret_facts->first, sizeof(ret_facts->first), "%s: %s", route->shown, route->text);
    }
    plat_mutex_unlock(&parking->mutex);
}
