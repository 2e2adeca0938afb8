#ifndef ETWSHIP_INPUT_WINDOWS_ETW_SESSION_OWN_H
#define ETWSHIP_INPUT_WINDOWS_ETW_SESSION_OWN_H

#include "etw/etw_hold.h"
#include "input/windows/etw_consume.h"
#include "input/windows/etw_kept.h"
#include "input/windows/etw_providers.h"
#include "input/windows/etw_targets.h"
#include "input/windows/session/etw_guard_actors.h"
#include "input/windows/session/etw_guard_judge.h"
#include "input/windows/session/etw_guard_policy.h"
#include "input/windows/session/etw_session.h"
#include "platform/plat_thread.h"

/* Shared by the files of a session; etw_session.c explains the threads. */
enum { ETW_SESSION_MARKS = 3 };

struct etw_session_marks {
    uint32_t count[ETW_SESSION_MARKS]; /* by enum etw_loss_mark */
    uint64_t time;
};

struct etw_session_connection {
    struct etw_consume *consume;
    struct etw_session_connection *older;
};

/* The guard's knowledge of one provider. */
struct etw_guarded_provider {
    struct guid guid;
    uint64_t serial;                 /* of the enabling that `was` belongs to */
    struct etw_provider_enabled was; /* what Windows reported then */
    uint64_t whole_at;               /* FILETIME when it was last in its wanted state */
    struct etw_guard_bound bound;
};

/* A pending report. */
struct etw_guard_news {
    const char *kind;
    enum guard_action action;
    struct guid provider; /* zero: none */
    const char *label;    /* name of the provider */
    uint32_t repairs;
    int64_t shift_ms;
    uint64_t time;
    uint64_t wait_until_ns; /* how long to wait for the actor; 0: there is none */
    enum etw_guard_change_kind change;
    uint64_t since; /* FILETIME: it was done after this time */
    struct etw_guard_actor by;
    char detail[ETW_GUARD_DETAIL];
};

/* etw_session_guard.c. Zero: no guard. */
struct etw_session_guard {
    struct etw_guard_limits limits;
    struct etw_guard_limits stop_limits; /* a session has shorter pauses */
    uint64_t look_at_ns;
    struct etw_session_state was; /* initial settings of the session */
    struct etw_groups groups;     /* initially on */
    struct etw_guard_bound settings;
    struct etw_guard_bound stop;
    uint64_t settings_whole_at; /* FILETIME when they were last in the wanted state */
    uint64_t seen_at;           /* FILETIME when the session was last seen running */
    struct etw_guarded_provider *providers;
    size_t provider_count;
    struct etw_guard_pace pace;
    struct etw_guard_clock clock;
    bool stopped; /* by another program, and not restarted yet */
    struct error last_failure;
    uint32_t refusals;               /* starts refused because another session has its name */
    struct etw_guard_actors *actors; /* NULL: actors are not recorded */
    uint64_t actors_at_ns;           /* next attempt to open `actors` */
    bool actors_told;                /* a failure to open `actors` was reported */
    struct etw_guard_news *news;     /* pending reports */
    size_t news_count;
};

struct etw_session {
    struct etw_plan *plan;
    struct input_env env;
    struct etw_session_timing timing;
    struct input_sink sink;
    struct etw_providers *providers;
    struct etw_targets *targets; /* NULL: not a session of heaps */
    struct etw_trace nothing;    /* what gaps refer to while there is no connection */

    /* The present ETW session. */
    bool is_open;
    bool owned; /* may be changed and stopped by us */
    struct etw_hold *hold;
    bool warning_told; /* a conflict about its name was reported */
    struct etw_session_state state;
    struct guid look;            /* etw_kept_look of an own session without our name */
    struct etw_consume *consume; /* NULL: it only writes a file */
    struct etw_session_connection *connections;
    struct etw_loss loss;
    /* belongs to the thread that has the turn, while there is a consumer */
    struct message_numbers numbers;
    uint64_t numbers_at_ns; /* next check of the numbers; 0: unknown */
    /* FILETIME of the newest record at the last cut and the last check */
    uint64_t numbers_newest[2];
    bool profile_set;
    uint32_t profile_old_100ns;

    bool passed_on;         /* it continues for the next input in this process */
    bool was_open;          /* was open at least once in this run */
    uint64_t missing_since; /* FILETIME since when nothing was read; 0: nothing is missing */
    const char *missing_why;
    /* FILETIME since when the running session that became this one was not read; 0: a new
     * session */
    uint64_t taken_over;
    uint64_t read_since_ns;    /* start of the consumer */
    uint64_t before_boot;      /* FILETIME since when nothing was read until the machine started */
    struct error last_failure; /* reported once */
    /* it was stopped, and its name is used by another program's session */
    bool not_ours_now;
    struct etw_session_guard guard;
    bool rights_checked;
    uint64_t pause_ns;
    bool sink_stopped;

    struct plat_mutex mutex;
    struct plat_cond changed;
    bool asked_to_stop;
    bool asked_to_pass_on;
    bool woken;
    struct etw_session_marks marks;
};

void etw_session_note(const struct etw_session *session, enum input_note level, const char *format,
    ...) ETWSHIP_PRINTF(3, 4);

/* etw_session_connect.c: open the consumer without starting it. */
bool etw_session_connect(struct etw_session *session, struct error *err);

/* etw_session_start.c: obtain the ETW session by starting it or otherwise. One that is open has
 * lost its reader: it is detached from, and no stop is noticed meanwhile. On failure nothing is
 * left behind, but such a session that still runs is open again, so that a stop ends it.
 * ERR_CONFIG: retrying is pointless. */
bool etw_session_get(struct etw_session *session, struct error *err);

/* Detach from a session until it is found again or another one is started. */
void etw_session_detach(struct etw_session *session);

/* Save a note for the next run about a session that it must recognise: one that is kept, or one
 * without our name, however this process ends. Does nothing for others. */
void etw_session_remember(const struct etw_session *session);

/* Delete the note: the session is gone or not ours any more. */
void etw_session_delete_note(const struct etw_session *session);

/* etw_session_gaps.c, in this thread's turn: report the gap since `missing_since`. */
void etw_session_tell_missing(struct etw_session *session);

/* The session ended and was read completely: report missing messages by their numbers. */
void etw_session_tell_numbers(struct etw_session *session);

/* Report losses by the counters; ${state} NULL: they are unreadable. */
void etw_session_tell_losses(struct etw_session *session, const struct etw_session_state *state);

/* Tell the agent why nothing is read now; ${why} NULL: it is read again. On the thread of run(). */
void etw_session_tell_trouble(const struct etw_session *session, const char *why);

/* Tell the agent that nothing is read because a try failed with ${err}. One note is made of
 * repeated failures. On the thread of run(). */
void etw_session_tell_failure(struct etw_session *session, const struct error *err);

/* etw_session_guard.c: detect changes by other programs, repair within limits, and report. All on
 * the session's thread. */
void etw_session_guard_init(struct etw_session *session);
void etw_session_guard_fini(struct etw_session *session);

/* Called when the session exists, before its providers are enabled. From now on the guard records
 * which process changes providers. It reads their state right after enabling; nothing slow may
 * happen in between, because a change before that first reading would be taken for Windows' own
 * state. */
void etw_session_guard_prepare(struct etw_session *session);

/* The session runs with its providers. Reports wait for the next turn. */
void etw_session_guard_entered(struct etw_session *session);

/* Perform a check. It may take as long as a provider's answer, so it does not hold the turn.
 * ${state} NULL: the settings are unreadable now. */
void etw_session_guard_look(struct etw_session *session, const struct etw_session_state *state);

/* Deliver pending reports to the sink, in this thread's turn. */
void etw_session_guard_tell(struct etw_session *session);

/* Deliver all pending reports, including those that wait for their actor. */
void etw_session_guard_tell_all(struct etw_session *session);

/* The session was ended by another program. */
void etw_session_guard_stopped(struct etw_session *session);

/* etw_session_guard_allows: true if it may be restarted now. etw_session_guard_failed: restarting
 * failed. */
bool etw_session_guard_allows(struct etw_session *session);
void etw_session_guard_failed(struct etw_session *session, const struct error *err);

/* etw_session_takeover.c: true if the running session with the state ${state} was handed over by
 * the previous input in this process. Then ${ret_kept} has its losses so far, and its enabled
 * providers are known. */
bool etw_session_take_over(
    struct etw_session *session, const struct etw_session_state *state, struct etw_kept *ret_kept);

/* Before stopping: true if the session continues for the next input. Otherwise a handed-over
 * session that was never taken over is ended, as in etw_session_end_unclaimed, which is called when
 * there is no further attempt. */
bool etw_session_begin_end(struct etw_session *session);
void etw_session_end_unclaimed(struct etw_session *session);

/* Configure extras of an own session; failures do not prevent it from running. */
void etw_session_add_extras(struct etw_session *session);

/* Replace a plain refusal by Windows in ${err} with an explanation. Always false. */
bool etw_session_explain(const struct etw_session *session, struct error *err);

#endif
