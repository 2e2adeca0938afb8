#include "pipeline/slab/gap_list.h"

#include <string.h>

#include "platform/plat_clock.h"

enum {
    GAP_BYTES = 0, /* a gap lies in the slab's head */
    MAX_IN_FLIGHT = 8,
};

static struct slab *make_room(const struct gap_list *list)
{
    return slab_create(SLAB_GAP, list->session, GAP_BYTES, NULL);
}

bool gap_list_init(struct gap_list *list, uint32_t session)
{
    bool ok = true;
    memset(list->gaps, 0, sizeof(list->gaps));
    list->session = session;
    atomic_init(&list->in_flight, 0);
    for (size_t i = 0; ok && i < GAP_LIST_MAX; i++) {
        list->gaps[i].room = make_room(list);
        ok = list->gaps[i].room != NULL;
    }
    return ok;
}

void gap_list_fini(struct gap_list *list)
{
    for (size_t i = 0; i < GAP_LIST_MAX; i++) {
        slab_destroy(list->gaps[i].room);
    }
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The open gap of this stage, reason and provider, or a free place for it;
 * where neither is, the last one. */
static struct open_gap *place_for(struct gap_list *list, const struct gap *gap)
{
    struct open_gap *place = &list->gaps[GAP_LIST_MAX - 1];
    for (size_t i = GAP_LIST_MAX; i-- > 0;) {
        struct open_gap *open = &list->gaps[i];
        if (!open->is_open) {
            place = open;
        } else if (strcmp(open->gap.stage, gap->stage) == 0 &&
                   strcmp(open->gap.reason, gap->reason) == 0 &&
                   is_same_text(open->gap.provider, gap->provider)) {
            return open;
        }
    }
    return place;
}

void gap_list_add(struct gap_list *list, const struct gap *more)
{
    struct open_gap *open = place_for(list, more);
    if (!open->is_open) {
        open->is_open = true;
        open->gap = *more;
        open->opened_ns = plat_monotonic_ns();
        return;
    }
    open->gap.count += more->count;
    open->gap.exact = open->gap.exact && more->exact;
    struct time_range times = {.from = open->gap.from, .to = open->gap.to};
    time_range_add(&times, (struct time_range){.from = more->from, .to = more->to});
    open->gap.from = times.from;
    open->gap.to = times.to;
}

bool gap_list_is_old(const struct gap_list *list, size_t index, uint64_t now_ns, uint64_t age_ns)
{
    const struct open_gap *open = &list->gaps[index];
    return open->is_open && now_ns - open->opened_ns >= age_ns;
}

bool gap_list_may_take(struct gap_list *list)
{
    return atomic_load(&list->in_flight) < MAX_IN_FLIGHT;
}

struct slab *gap_list_take(struct gap_list *list, size_t index, bool force)
{
    struct open_gap *open = &list->gaps[index];
    if (!open->is_open || (!force && !gap_list_may_take(list))) {
        return NULL;
    }
    struct slab *slab = open->room ? open->room : make_room(list);
    if (slab) {
        slab->gap = open->gap;
        slab->in_flight = &list->in_flight;
        atomic_fetch_add(&list->in_flight, 1);
        open->is_open = false;
        open->room = make_room(list);
    }
    return slab;
}
