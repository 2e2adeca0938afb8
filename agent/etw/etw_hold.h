#ifndef ETWSHIP_ETW_ETW_HOLD_H
#define ETWSHIP_ETW_ETW_HOLD_H

#include "base/error.h"
#include "base/span.h"

/*
 * Which process looks after a session of ours. A session has no owner in ETW and outlives whoever
 * started it; so whoever runs one holds a named object that Windows takes back when the process
 * ends, however it ends. A session of ours that nobody holds is an orphan.
 *
 * Every account may make an object of that name first. So the object counts only if its owner is LocalSystem,
 * Administrators, the service etwship, the account of this process (sid_is_trusted), or a member of a group that
 * may control sessions: Administrators or Performance Log Users. An object of any other owner squats the name,
 * and the session is run all the same.
 *
 * Elsewhere the names are known in this process only.
 */
#define ETW_OUR_PREFIX "etwship-"

/* Does the name of that session begin with ETW_OUR_PREFIX (without regard to case)? */
static inline bool etw_hold_is_ours(const char *session)
{
    struct span name = span_text(session);
    struct span prefix = span_text(ETW_OUR_PREFIX);
    return name.size > prefix.size && span_equal_nocase(span_first(name, prefix.size), prefix);
}

/* The number of the process that runs the session, where its name says it: `etwship-watch-4711` of a
 * command. 0: it does not. */
uint32_t etw_hold_name_pid(const char *session);

struct etw_hold;

/* Hold ${session}. NULL: ERR_STOPPED if somebody does already, ERR_IO, ERR_MEMORY. */
struct etw_hold *etw_hold_take(const char *session, struct error *err);

/* NULL; or, where the name is squatted, who does it: "why. what to do". Valid until it is dropped. Another
 * agent with this session then cannot see that it is looked after. */
const char *etw_hold_warning(const struct etw_hold *hold);

/* Let go of it. NULL is fine. Any thread. */
void etw_hold_drop(struct etw_hold *hold);

enum etw_hold_state {
    ETW_HOLD_FREE, /* no agent looks after the session, though its name may be squatted */
    ETW_HOLD_HELD, /* an agent does. Also if Windows does not let this process find out */
    ETW_HOLD_DOUBTFUL, /* the name is taken, and Windows does not say whether its owner may run sessions */
};

enum { ETW_HOLD_OWNER_BYTES = 256 };

/*
 * Does an agent hold ${session}? ${ret_owner} (may be NULL) is the owner of the object if that is doubtful, else
 * empty. If the owner is not trusted and the session's name says which process runs it, that process decides: the
 * session is held if it runs with the right to control sessions.
 */
enum etw_hold_state etw_hold_look(const char *session, char ret_owner[ETW_HOLD_OWNER_BYTES]);

/* Is it held without doubt? For an automatic clean-up, which an account without rights must not be able to
 * prevent. */
static inline bool etw_hold_is_held(const char *session)
{
    return etw_hold_look(session, NULL) == ETW_HOLD_HELD;
}

#endif
