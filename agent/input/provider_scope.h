#ifndef ETWSHIP_INPUT_PROVIDER_SCOPE_H
#define ETWSHIP_INPUT_PROVIDER_SCOPE_H

#include "input/provider_spec.h"

struct etw_payload_filter; /* etw/etw_enable.h */
struct filter_push_left;

/*
 * Which of a provider's events rules can keep, as far as ETW can tell them apart. What lies outside, nobody
 * gets: it need not come. Inside of it rules decide.
 */
struct provider_scope {
    bool nothing;  /* no rule keeps any event */
    uint8_t level; /* the highest; PROVIDER_LEVEL_ALL: every level */
    uint64_t any;  /* 0: every keyword */
    uint64_t all;
    const uint8_t *ids; /* bitmap by id; NULL: all ids */
    uint32_t pids[PROVIDER_MAX_PIDS];
    size_t pid_count; /* 0: every process */
    const struct etw_payload_filter *payload;
    size_t payload_count;

    /* For people; filter/filter_push.h says what they are. */
    unsigned notes;
    const struct filter_push_left *left;
    size_t left_count;
    size_t id_count; /* that come */
};

static inline bool provider_scope_has(const struct provider_scope *scope, uint32_t id)
{
    return !scope->ids || scope->ids[id / 8] >> id % 8 & 1;
}

#endif
