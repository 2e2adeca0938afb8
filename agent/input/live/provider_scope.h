#ifndef ETWSHIP_INPUT_PROVIDER_SCOPE_H
#define ETWSHIP_INPUT_PROVIDER_SCOPE_H

#include "input/live/provider_spec.h"

struct etw_payload_filter; /* etw/enable/etw_enable.h */
struct filter_push_left;

/*
 * Which events of a provider the rules can keep, as far as ETW can distinguish them. Events outside
 * the scope are not needed. Inside it the rules decide.
 */
struct provider_scope {
    bool nothing;  /* no rule keeps any event */
    uint8_t level; /* highest level; PROVIDER_LEVEL_ALL: every level */
    uint64_t any;  /* 0: every keyword */
    uint64_t all;
    const uint8_t *ids; /* bitmap by id; NULL: all ids */
    uint32_t pids[PROVIDER_MAX_PIDS];
    size_t pid_count; /* 0: every process */
    const struct etw_payload_filter *payload;
    size_t payload_count;

    /* For reports; see filter/filter_push.h. */
    unsigned notes;
    const struct filter_push_left *left;
    size_t left_count;
    size_t id_count; /* ids in the scope */
};

static inline bool provider_scope_has(const struct provider_scope *scope, uint32_t id)
{
    return !scope->ids || scope->ids[id / 8] >> id % 8 & 1;
}

#endif
