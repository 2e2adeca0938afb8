#include <stdio.h>
#include <stdlib.h>

#include "pipeline/deliver/parking_own.h"
#include "platform/plat_clock.h"

/* Routes are a list that is looked through: there are few, and each is asked for once per batch. */
enum { REST_PER_TRY = 4 };

/* A try that took long is followed by a longer rest,
 * so that others have most of the time; up to this. */
static const uint64_t max_rest_ns = UINT64_C(300000000000);

/* FNV-1a. */
static uint64_t hash_of(struct span name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < name.size; i++) {
        hash = (hash ^ name.data[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static struct span name_of(const struct parked_route *route)
{
    return span_make(route->name, route->name_size);
}

static struct parked_route *find(const struct parking *parking, struct span name)
{
    uint64_t hash = hash_of(name);
    struct parked_route *route = parking->routes;
    while (route && (route->hash != hash || !span_equal(name_of(route), name))) {
        route = route->next;
    }
    return route;
}

static void show(struct parked_route *route, struct span name)
{
    struct span cut = span_first(name, PARKING_NAME_MAX_BYTES - 1);
    snprintf(route->shown, sizeof(route->shown), "%.*s", SPAN_ARG(cut));
}

struct parked_route *parking_route_get(struct parking *parking, struct span name)
{
    struct parked_route *route = find(parking, name);
    if (route) {
        return route;
    }
    route = calloc(1, sizeof(*route) + name.size);
    if (!route) {
        return NULL;
    }
    route->hash = hash_of(name);
    route->name_size = name.size;
    if (name.size) {
        memcpy(route->name, name.data, name.size);
    }
    back_off_init(&route->back_off, parking->retry.min_ms, parking->retry.max_ms,
        parking->seed++ ^ route->hash);
    snprintf(route->text, sizeof(route->text), "it accepts no events");
    show(route, name);
    route->next = parking->routes;
    parking->routes = route;
    parking->route_count++;
    atomic_store(&parking->any, true);
    return route;
}

void parking_route_wait(struct parked_route *route, uint64_t spent_ns)
{
    uint64_t rest = spent_ns < max_rest_ns / REST_PER_TRY ? spent_ns * REST_PER_TRY : max_rest_ns;
    route->due_ns = plat_monotonic_ns() + rest +
                    (uint64_t)back_off_next(&route->back_off, 0) * NS_PER_MS;
}

void parking_route_remove(
    struct parking *parking, struct parked_route *route, enum parking_news why)
{
    if (route->head || route->busy || route->pins) {
        return;
    }
    if (route->told && parking->tell) {
        parking->tell(parking->self, why, route->shown, route->text);
    }
    struct parked_route **at = &parking->routes;
    while (*at != route) {
        at = &(*at)->next;
    }
    *at = route->next;
    parking->route_count--;
    atomic_store(&parking->any, parking->route_count > 0);
    free(route);
}

void parking_route_tell(struct parking *parking, struct parked_route *route)
{
    if (!route->told && parking->tell) {
        parking->tell(parking->self, PARKING_PARKED, route->shown, route->text);
    }
    route->told = true;
}

bool parking_look(struct parking *parking, const struct span *names, size_t count, bool *ret_parked)
{
    bool any = false;
    plat_mutex_lock(&parking->mutex);
    for (size_t i = 0; i < count; i++) {
        ret_parked[i] = find(parking, names[i]) != NULL;
        any = any || ret_parked[i];
    }
    plat_mutex_unlock(&parking->mutex);
    return any;
}

static void say_why(struct parked_route *route, const struct output_rejection *why)
{
    struct span reason = span_first(why->reason, PARKING_TEXT_MAX_BYTES / 2);
    bool ends = reason.size && reason.data[reason.size - 1] == ';';
    const char *set_up = why->set_up ? why->set_up : "";
    reason = span_first(reason, reason.size - ends);
    if (why->status) {
        snprintf(route->text, sizeof(route->text), "status %d %.*s%s%.*s%s%s", why->status,
            SPAN_ARG(span_first(why->type, PARKING_TEXT_MAX_BYTES / 8)), reason.size ? ": " : "",
            SPAN_ARG(reason), *set_up ? ": " : "", set_up);
    } else if (reason.size) {
        snprintf(route->text, sizeof(route->text), "%.*s", SPAN_ARG(reason));
    }
}

void parking_close_route(
    struct parking *parking, struct span name, const struct output_rejection *why)
{
    plat_mutex_lock(&parking->mutex);
    struct parked_route *route = parking_route_get(parking, name);
    if (route) {
        bool news = why->set_up && !route->refuses && route->told;
        route->refuses = route->refuses || why->set_up;
        say_why(route, why);
        if (why->index.size) {
            show(route, why->index);
        }
        if (news && parking->tell) {
            parking->tell(parking->self, PARKING_REFUSES, route->shown, route->text);
        }
    }
    plat_mutex_unlock(&parking->mutex);
}

void parking_tidy(struct parking *parking)
{
    plat_mutex_lock(&parking->mutex);
    struct parked_route *route = parking->routes;
    while (route) {
        struct parked_route *behind = route->next;
        parking_route_remove(parking, route, PARKING_EMPTY);
        route = behind;
    }
    plat_mutex_unlock(&parking->mutex);
}
