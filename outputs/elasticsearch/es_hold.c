#include "outputs/elasticsearch/es_hold.h"

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

/* ---- routes ---------------------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t hash_of(struct span name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < name.size; i++) {
        hash = (hash ^ name.data[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static struct es_hold_count *find(struct es_hold *hold, uint64_t route)
{
    for (size_t i = 0; i < hold->route_count; i++) {
        if (hold->routes[i].route == route) {
            return &hold->routes[i];
        }
    }
    return NULL;
}

/* Room for one more: behind the others, or in place of the one that was asked for longest ago. */
static struct es_hold_count *make_room(struct es_hold *hold)
{
    if (hold->route_count < ES_HOLD_MAX_ROUTES) {
        return &hold->routes[hold->route_count++];
    }
    struct es_hold_count *oldest = &hold->routes[0];
    for (size_t i = 1; i < hold->route_count; i++) {
        oldest = hold->routes[i].used < oldest->used ? &hold->routes[i] : oldest;
    }
    return oldest;
}

static struct es_hold_count *find_or_add(struct es_hold *hold, struct span name)
{
    uint64_t route = hash_of(name);
    struct es_hold_count *count = find(hold, route);
    if (!count) {
        count = make_room(hold);
        *count = (struct es_hold_count){.route = route};
    }
    count->used = ++hold->clock;
    return count;
}

/* ---- for senders ----------------------------------------------------------------------------------- */

bool es_hold_judge(struct es_hold *hold, size_t taken, size_t refused, size_t all)
{
    return judge(&hold->whole, taken, refused, all);
}

bool es_hold_judge_route(
    struct es_hold *hold, struct span route, size_t taken, size_t refused, size_t all)
{
    if (taken) {
        struct es_hold_count *count = find(hold, hash_of(route));
        if (count) {
            *count = hold->routes[--hold->route_count];
        }
        return false;
    }
    return refused && judge(find_or_add(hold, route), taken, refused, all);
}

size_t es_hold_probe(struct es_hold *hold, const struct span *route, size_t count)
{
    struct es_hold_count *of = route ? find_or_add(hold, *route) : &hold->whole;
    return of->probes++ % count;
}
