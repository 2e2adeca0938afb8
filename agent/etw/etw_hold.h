#ifndef ETWSHIP_ETW_ETW_HOLD_H
#define ETWSHIP_ETW_ETW_HOLD_H

#include "base/error.h"
#include "base/span.h"

/*
 * Which process looks after a session of ours. A session has no owner in ETW and outlives whoever
 * started it; so whoever runs one holds a named object that Windows takes back when the process
 * ends, however it ends. A session of ours that nobody holds is an orphan.
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

struct etw_hold;

/* Hold ${session}. NULL: ERR_STOPPED if somebody does already, ERR_IO, ERR_MEMORY. */
struct etw_hold *etw_hold_take(const char *session, struct error *err);

/* Let go of it. NULL is fine. Any thread. */
void etw_hold_drop(struct etw_hold *hold);

/* Does somebody hold it? True also if that cannot be found out. */
bool etw_hold_is_held(const char *session);

#endif
