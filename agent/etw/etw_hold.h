#ifndef ETWSHIP_ETW_ETW_HOLD_H
#define ETWSHIP_ETW_ETW_HOLD_H

#include "base/error.h"
#include "base/span.h"

/*
 * Locks that tell which sessions of etwship have a running process. A session has no owner in ETW
 * and outlives the process that started it, so that process holds a named object, which Windows
 * closes when the process ends in any way. A session of etwship without this lock is an orphan.
 *
 * Any account can create an object with that name first. So the object counts only if its owner is
 * LocalSystem, Administrators, the service etwship, the account of this process (sid_is_trusted),
 * or a member of a group that may control sessions: Administrators or Performance Log Users. An
 * object of another owner squats the name; the session runs anyway.
 *
 * On other systems the names are known in this process only.
 */
#define ETW_OUR_PREFIX "etwship-"

/* True if the name of the session begins with ETW_OUR_PREFIX (without regard to case). */
static inline bool etw_hold_is_ours(const char *session)
{
    struct span name = span_text(session);
    struct span prefix = span_text(ETW_OUR_PREFIX);
    return name.size > prefix.size && span_equal_nocase(span_first(name, prefix.size), prefix);
}

/* The process id in the name of a command's session: `etwship-watch-4711`. 0: none. */
uint32_t etw_hold_name_pid(const char *session);

struct etw_hold;

/* Take the lock of ${session}. NULL: ERR_STOPPED if another process has it, ERR_IO, ERR_MEMORY. */
struct etw_hold *etw_hold_take(const char *session, struct error *err);

/* If the name is squatted, a warning with the owner: "why. what to do"; else NULL. Valid until
 * etw_hold_drop. Another agent with this session then cannot see the lock. */
const char *etw_hold_warning(const struct etw_hold *hold);

/* Release the lock. NULL is fine. Any thread. */
void etw_hold_drop(struct etw_hold *hold);

enum etw_hold_state {
    ETW_HOLD_FREE,     /* no agent holds the session, though its name may be squatted */
    ETW_HOLD_HELD,     /* an agent holds it. Also if Windows denies the information */
    ETW_HOLD_DOUBTFUL, /* the name is taken, and Windows does not tell whether its owner may run
                          sessions */
};

enum { ETW_HOLD_OWNER_BYTES = 256 };

/*
 * State of the lock of ${session}. ${ret_owner} (may be NULL) is the owner of the object if the
 * state is doubtful, else empty. If the owner is not trusted and the session's name has a process
 * id, that process decides: the session is held if it runs with the right to control sessions.
 */
enum etw_hold_state etw_hold_look(const char *session, char ret_owner[ETW_HOLD_OWNER_BYTES]);

/* True if it is certainly held. For automatic clean-up, which an account without rights must not be
 * able to prevent. */
static inline bool etw_hold_is_held(const char *session)
{
    return etw_hold_look(session, NULL) == ETW_HOLD_HELD;
}

#endif
