#include "etw/etw_hold.h"

#include <stdlib.h>

#include "support/etw_sim/sim_link.h"
#include "support/etw_sim/sim_remote.h"

/*
 * etw_hold.h for etwship-sim, in place of the agent's: the machine that programs share knows which
 * process holds a session, as Windows does. A program alone on its machine may hold every session.
 */
struct etw_hold {
    struct sim_link *link; /* NULL: alone */
};

struct etw_hold *etw_hold_take(const char *session, struct error *err)
{
    struct etw_sim *sim = sim_remote_world();
    struct guid id = guid_from_name(span_text(session));
    struct etw_hold *hold = calloc(1, sizeof(*hold));
    uint32_t code = 0;
    if (!hold) {
        error_set(err, ERR_MEMORY, "out of memory for session %.100s", session);
        return NULL;
    }
    if (sim) {
        hold->link = sim_remote_hold(sim, &id, &code);
    }
    if (code) {
        free(hold);
        error_set(
            err, ERR_STOPPED, "session %.100s belongs to a running agent (%u)", session, code);
        return NULL;
    }
    return hold;
}

const char *etw_hold_warning(const struct etw_hold *hold)
{
    (void)hold;
    return NULL;
}

void etw_hold_drop(struct etw_hold *hold)
{
    if (hold) {
        sim_link_close(hold->link);
        free(hold);
    }
}

enum etw_hold_state etw_hold_look(const char *session, char ret_owner[ETW_HOLD_OWNER_BYTES])
{
    struct etw_sim *sim = sim_remote_world();
    struct guid id = guid_from_name(span_text(session));
    if (ret_owner) {
        ret_owner[0] = 0;
    }
    return sim && sim_remote_is_held(sim, &id) ? ETW_HOLD_HELD : ETW_HOLD_FREE;
}
