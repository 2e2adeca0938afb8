#ifndef ETWSHIP_CLI_SESSION_TEXT_H
#define ETWSHIP_CLI_SESSION_TEXT_H

#include "base/buf.h"
#include "etw/session/etw_control.h"

/* Text of ETW's sessions for `etwship sessions`. */

/* The program that controls a session, as far as known. */
enum session_owner {
    SESSION_OWNER_UNKNOWN,  /* another program */
    SESSION_OWNER_AGENT,    /* a running etwship */
    SESSION_OWNER_ENDED,    /* an etwship that has ended */
    SESSION_OWNER_DOUBTFUL, /* unknown: Windows does not tell whether the owner of its lock may run
                               it */
};

enum session_owner session_text_owner(const struct etw_session_state *session);

/* A table with a line per session, sorted as they are. */
void session_text_table(const struct etw_session_list *list, struct buf *out);

/* One session in full, a line per property. */
void session_text_details(const struct etw_session_state *session, struct buf *out);

/* A line for a stopped session, with its losses. */
void session_text_stopped(const struct etw_session_state *session, struct buf *out);

/* A session in full as a JSON object on one line. ${stopped}: it was just stopped. */
void session_text_json(const struct etw_session_state *session, bool stopped, struct buf *out);

#endif
