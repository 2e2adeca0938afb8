#ifndef ETWSHIP_INPUT_WINDOWS_ETW_SESSION_INTERNAL_H
#define ETWSHIP_INPUT_WINDOWS_ETW_SESSION_INTERNAL_H

#include "etw/etw_hold.h"
#include "input/windows/etw_consume.h"
#include "input/windows/etw_kept.h"
#include "input/windows/etw_providers.h"
#include "input/windows/etw_session.h"
#include "input/windows/etw_targets.h"
#include "platform/plat_thread.h"

/* What the files of a session share (etw_session.c says which threads there are). */
enum { ETW_SESSION_MARKS = 3 };

struct etw_session_marks {
    uint32_t count[ETW_SESSION_MARKS]; /* by enum etw_loss_mark */
    uint64_t time;
};

struct etw_session_connection {
    struct etw_consume *consume;
    struct etw_session_connection *older;
};

struct etw_session {
    struct etw_plan *plan;
    struct input_env env;
    struct etw_session_timing timing;
    struct input_sink sink;
    struct etw_providers *providers;
    struct etw_targets *targets; /* NULL: not of heaps */
    struct etw_trace nothing;    /* what gaps refer to before there is a connection */

    /* The session as it is now. */
    bool is_open;
    bool owned; /* ours to change and to stop */
    struct etw_hold *hold;
    struct etw_session_state state;
    struct guid look;            /* etw_kept_look, of one that is ours and does not bear our name */
    struct etw_consume *consume; /* NULL: it writes a file alone */
    struct etw_session_connection *connections;
    struct etw_loss loss;
    bool profile_set;
    uint32_t profile_old_100ns;

    bool was_open;          /* once in this run */
    uint64_t missing_since; /* FILETIME: nothing was read from then on; 0: nothing is missing */
    const char *missing_why;
    uint64_t
        taken_over; /* FILETIME: when a session that was running became this one; 0: it did not */
    uint64_t before_boot; /* FILETIME: nothing was read from then on until the machine's start */
    struct error last_failure; /* the same is told once */
    bool rights_checked;
    uint64_t pause_ns;
    bool enough; /* the sink wants no more */

    struct plat_mutex mutex;
    struct plat_cond changed;
    bool asked_to_stop;
    bool woken;
    struct etw_session_marks marks;
};

void etw_session_note(const struct etw_session *session, enum input_note level, const char *format,
    ...) ETWSHIP_PRINTF(3, 4);

/* etw_session_connect.c: open its consumer, which does not run yet. */
bool etw_session_connect(struct etw_session *session, struct error *err);

/* etw_session_start.c: get the ETW session, by starting it or otherwise. On failure nothing of it is
 * left. ERR_CONFIG: trying again is of no use. */
bool etw_session_get(struct etw_session *session, struct error *err);

/* Note for the next run what it may have to know again: a session that is kept, or one whose name
 * does not say whose it is, however this process ends. Others, and those that are not ours: nothing. */
void etw_session_remember(const struct etw_session *session);

/* It is gone, or not ours any more. */
void etw_session_forget(const struct etw_session *session);

/* What is added to one of our own, and does not keep it from running. */
void etw_session_add_extras(struct etw_session *session);

/* ${err} in plain words, where Windows only says no. Always false. */
bool etw_session_explain(const struct etw_session *session, struct error *err);

#endif
