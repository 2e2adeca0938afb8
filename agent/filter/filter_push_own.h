#ifndef ETWSHIP_FILTER_FILTER_PUSH_OWN_H
#define ETWSHIP_FILTER_FILTER_PUSH_OWN_H

#include "filter/filter_part.h"

/*
 * A plan in the making, for the parts of filter_push.c. Every answer is found the same way: take the set of
 * events that ETW would keep away, and prove that the lists keep none of it. Not for users of filter_push.h.
 */
enum { FILTER_PUSH_PARTS = 4 };

struct filter_push_maker {
    const struct filter_push_question *question;
    struct arena *arena;
    struct filter_push *push;
    struct filter_asker asker;
    struct filter_part_list *every;
    struct filter_part_list *any;
    struct event_schema named;                   /* that has the provider's name alone */
    struct filter_part parts[FILTER_PUSH_PARTS]; /* what an event of the provider may be … */
    size_t event_parts;                          /* … these first, then classic ones */
    size_t part_count;
    bool keeps_classic;                    /* one of the latter may be kept */
    const struct filter_push_event **kept; /* definitions of events that may be kept */
    size_t kept_count;
    bool knows_all; /* no other events are kept */
};

/* ManifestData of an EventSource (record.h), which its other events are told by: keywords but the highest
 * eight bits, no level. */
static const uint64_t filter_manifest_keyword = UINT64_C(0x00ffffffffffffff);

/* May the lists keep an event of the part? */
bool filter_push_keeps(const struct filter_push_maker *maker, const struct filter_part *part);

/* An event as a definition has it. */
struct filter_part filter_push_defined(
    const struct filter_push_maker *maker, const struct filter_push_event *event);

/* Call ${each} for every test that may matter. */
void filter_push_each_op(const struct filter_push_maker *maker,
    void (*each)(void *self, const struct filter_op *op), void *self);

/* Fill in ids, level and processes, and what else is known of what may be kept. False without memory. */
bool filter_push_values_find(struct filter_push_maker *maker);

/* Once level and keywords are there: of a list of ids that do not come take those out that these keep away. */
void filter_push_values_spare(struct filter_push_maker *maker);

/* Fill in any and all. */
void filter_push_keywords(struct filter_push_maker *maker);

/* Fill in what is left to the agent. */
void filter_push_left(struct filter_push_maker *maker);

/* Fill in the payload. Without memory there is less of it. */
void filter_push_payload(struct filter_push_maker *maker);

#endif
