#ifndef ETWSHIP_INPUT_EVT_SCOPE_H
#define ETWSHIP_INPUT_EVT_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ids and levels that rules and outputs may keep of a session of event logs
 * (filter/push/filter_push.h). All events that they keep are in the scope. */
enum { EVT_SCOPE_IDS = 65536, EVT_SCOPE_EVERY_LEVEL = 0xff };

struct evt_scope {
    const uint8_t *ids; /* bitmap of EVT_SCOPE_IDS bits; NULL: all */
    uint8_t level;      /* the highest one */
};

static inline bool evt_scope_has_id(const struct evt_scope *scope, uint32_t id)
{
    return !scope->ids || (scope->ids[id / 8] >> id % 8 & 1);
}

#endif
