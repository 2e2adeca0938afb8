#include "outputs/elasticsearch/es_hold.h"

#include <stdlib.h>
#include <string.h>

static bool judge(struct es_hold_count *count, size_t taken, size_t refused, size_t all)
{
    if (taken) {
        count->deliveries = 0;
        count->records = 0;
        count->holds = false;
        return false;
    }
    if (refused == 0 || (refused < all && !count->holds)) {
        return false;
    }
    count->deliveries += count->deliveries < ES_HOLD_DELIVERIES;
    count->records += count->records < ES_HOLD_RECORDS ? refused : 0;
    count->holds = count->deliveries >= ES_HOLD_DELIVERIES && count->records >= ES_HOLD_RECORDS;
    return count->holds;
}

/* ---- routes ---------------------------------------------------------------------------------- */

static struct es_hold_count *find(struct es_hold *hold, struct span name)
{
    for (size_t i = 0; i < hold->route_count; i++) {
        struct es_hold_count *count = &hold->routes[i];
        if (span_equal(span_make(count->name, count->name_size), name)) {
            return count;
        }
    }
    return NULL;
}

/* Something was accepted: reset the counters. */
static void remove_count(struct es_hold *hold, struct span name)
{
    struct es_hold_count *count = find(hold, name);
    if (count) {
        free(count->name);
        *count = hold->routes[--hold->route_count];
    }
}

/* A slot for another route: a new one, or that of the route probed longest ago. */
static struct es_hold_count *make_room(struct es_hold *hold)
{
    if (hold->route_count < ES_HOLD_MAX_ROUTES) {
        return &hold->routes[hold->route_count++];
    }
    struct es_hold_count *oldest = &hold->routes[0];
    for (size_t i = 1; i < hold->route_count; i++) {
        oldest = hold->routes[i].used < oldest->used ? &hold->routes[i] : oldest;
    }
    free(oldest->name);
    return oldest;
}

/* NULL: out of memory. */
static struct es_hold_count *add(struct es_hold *hold, struct span name)
{
    char *copy = span_copy(name);
    if (!copy) {
        return NULL;
    }
    struct es_hold_count *count = make_room(hold);
    *count = (struct es_hold_count){.name = copy, .name_size = name.size};
    return count;
}

/* NULL: out of memory. */
static struct es_hold_count *find_or_add(struct es_hold *hold, struct span name)
{
    struct es_hold_count *count = find(hold, name);
    count = count ? count : add(hold, name);
    if (count) {
        count->used = ++hold->clock;
    }
    return count;
}

/* ---- for senders ----------------------------------------------------------------------------- */

bool es_hold_judge(struct es_hold *hold, size_t taken, size_t refused, size_t all)
{
    return judge(&hold->whole, taken, refused, all);
}

bool es_hold_judge_route(
    struct es_hold *hold, struct span route, size_t taken, size_t refused, size_t all)
{
    if (taken) {
        remove_count(hold, route);
    }
    if (taken || !refused) {
        return false;
    }
    struct es_hold_count *count = find_or_add(hold, route);
    return count && judge(count, taken, refused, all);
}

size_t es_hold_probe(struct es_hold *hold, size_t count)
{
    return hold->whole.probes++ % count;
}

void es_hold_clear_route(struct es_hold *hold, struct span route)
{
    judge(&hold->whole, 1, 0, 1);
    remove_count(hold, route);
}

void es_hold_fini(struct es_hold *hold)
{
    for (size_t i = 0; i < hold->route_count; i++) {
        free(hold->routes[i].name);
    }
    hold->route_count = 0;
}
