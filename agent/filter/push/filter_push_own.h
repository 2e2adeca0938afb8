#ifndef ETWSHIP_FILTER_FILTER_PUSH_OWN_H
#define ETWSHIP_FILTER_FILTER_PUSH_OWN_H

#include "filter/push/filter_part.h"

/*
 * Internals of filter_push. Every decision is made in one way: take the set of events that ETW
 * would drop, and prove that the lists keep none of it.
 */
enum { FILTER_PUSH_PARTS = 4 };

struct filter_push_maker {
    const struct filter_push_question *question;
    struct arena *arena;
    struct filter_push *push;
    struct filter_asker asker;
    struct filter_part_list *every;
    struct filter_part_list *any;
    struct event_schema named;                   /* has only the provider's name */
    struct filter_part parts[FILTER_PUSH_PARTS]; /* what an event of the provider may be */
    /* the first parts are for these, the others for classic events */
    size_t event_parts;
    size_t part_count;
    bool keeps_classic;                    /* a classic event may be kept */
    const struct filter_push_event **kept; /* definitions of events that may be kept */
    size_t kept_count;
    bool knows_all; /* no other events are kept */
};

/* ManifestData of an EventSource (record.h), needed for its other events: all keywords except the
 * highest eight bits, no level. */
static const uint64_t filter_manifest_keyword = UINT64_C(0x00ffffffffffffff);

/* True if the lists may keep an event of the part. */
bool filter_push_keeps(const struct filter_push_maker *maker, const struct filter_part *part);

/* A part for an event with a definition. */
struct filter_part filter_push_defined(
    const struct filter_push_maker *maker, const struct filter_push_event *event);

/* Call ${each} for every relevant test. */
void filter_push_each_op(const struct filter_push_maker *maker,
    void (*each)(void *self, const struct filter_op *op), void *self);

/* Fill in ids, level and processes, and what is known of kept events. False: no memory. */
bool filter_push_values_find(struct filter_push_maker *maker);

/* Call once level and keywords are known: remove ids that these already drop from a list of
 * excluded ids. */
void filter_push_values_spare(struct filter_push_maker *maker);

/* Fill in `any` and `all`. */
void filter_push_keywords(struct filter_push_maker *maker);

/* Fill in what is left to the agent. */
void filter_push_left(struct filter_push_maker *maker);

/* Fill in the payload filters; fewer if memory is short. */
void filter_push_payload(struct filter_push_maker *maker);

#endif
