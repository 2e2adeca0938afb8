#ifndef ETWSHIP_CLI_SESSION_TEXT_H
#define ETWSHIP_CLI_SESSION_TEXT_H

#include "base/buf.h"
#include "etw/etw_control.h"

/* ETW's sessions as `etwship sessions` shows them. */

/* Who looks after a session, as far as that can be known. */
enum session_owner {
    SESSION_OWNER_UNKNOWN, /* not ours */
    SESSION_OWNER_AGENT,   /* ours, and a process of ours runs it */
    SESSION_OWNER_NOBODY,  /* ours, but left behind */
    SESSION_OWNER_DOUBTFUL, /* ours, but Windows does not say whether the owner of its lock may run it */
};

enum session_owner session_text_owner(const struct etw_session_state *session);

/* A table with a line per session, sorted as they are. */
void session_text_table(const struct etw_session_list *list, struct buf *out);

/* One session with everything known, a line per property. */
void session_text_details(const struct etw_session_state *session, struct buf *out);

/* A line that says that it has ended, and what it lost. */
void session_text_stopped(const struct etw_session_state *session, struct buf *out);

/* Everything known as a JSON object on one line. ${stopped}: it has been stopped just now. */
void session_text_json(const struct etw_session_state *session, bool stopped, struct buf *out);

#endif
