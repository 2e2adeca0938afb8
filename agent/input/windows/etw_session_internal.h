#ifndef ETWSHIP_INPUT_WINDOWS_ETW_SESSION_INTERNAL_H
#define ETWSHIP_INPUT_WINDOWS_ETW_SESSION_INTERNAL_H

#include "etw/etw_hold.h"
#include "input/windows/etw_consume.h"
#include "input/windows/etw_guard_judge.h"
#include "input/windows/etw_guard_policy.h"
#include "input/windows/etw_guard_who.h"
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

/* One provider as the guard knows it. */
struct etw_guarded_provider {
    struct guid guid;
    uint64_t serial;            /* of the enabling that `was` belongs to */
    struct etw_who_enabled was; /* what Windows said then */
    uint64_t whole_at;          /* FILETIME: when it was as it shall be, the last time */
    struct etw_guard_bound bound;
};

/* A report that is to be told. */
struct etw_guard_news {
    const char *kind;
    enum guard_action action;
    struct guid provider; /* zero: none */
    const char *label;    /* of it */
    uint32_t repairs;
    int64_t shift_ms;
    uint64_t time;
    uint64_t wait_until_ns; /* for who did it; 0: nobody did */
    enum etw_guard_deed deed;
    uint64_t since; /* FILETIME: it was not done before */
    struct etw_guard_culprit by;
    char detail[ETW_GUARD_DETAIL];
};

/* etw_session_guard.c. Zero: no guard. */
struct etw_session_guard {
    struct etw_guard_limits limits;
    struct etw_guard_limits stop_limits; /* a session's pauses are shorter */
    uint64_t look_at_ns;
    struct etw_session_state was; /* the session's settings as it began */
    struct etw_groups groups;     /* that were on then */
    struct etw_guard_bound settings;
    struct etw_guard_bound stop;
    uint64_t settings_whole_at; /* FILETIME, as of a provider */
    uint64_t seen_at;           /* FILETIME: when the session ran, the last time */
    struct etw_guarded_provider *providers;
    size_t provider_count;
    struct etw_guard_pace pace;
    struct etw_guard_clock clock;
    bool stopped; /* somebody has, and it is not back yet */
    struct error last_failure;
    uint32_t refusals;           /* because somebody else has one of its name */
    struct etw_guard_who *who;   /* NULL: nobody tells */
    uint64_t who_at_ns;          /* the next try to have it */
    bool who_told;               /* that it cannot be had */
    struct etw_guard_news *news; /* to be told */
    size_t news_count;
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
    bool doubt_told; /* that its name is squatted */
    struct etw_session_state state;
    struct guid look;            /* etw_kept_look, of one that is ours and does not bear our name */
    struct etw_consume *consume; /* NULL: it writes a file alone */
    struct etw_session_connection *connections;
    struct etw_loss loss;
    struct message_numbers numbers; /* of who has the turn, while there is a consumer */
    uint64_t numbers_at_ns;         /* the next look at them; 0: not yet known */
    uint64_t numbers_newest[2];     /* newest record, FILETIME: at the last cut, the last look */
    bool profile_set;
    uint32_t profile_old_100ns;

    bool passed_on;         /* it runs on for the next input in this process */
    bool was_open;          /* once in this run */
    uint64_t missing_since; /* FILETIME: nothing was read from then on; 0: nothing is missing */
    const char *missing_why;
    uint64_t taken_over;    /* FILETIME: nobody read a session that was running, which became this
                               one, from then on; 0: it is a new one */
    uint64_t read_since_ns; /* when the consumer was begun */
    uint64_t before_boot;   /* FILETIME: nothing was read from then on until the machine's start */
    struct error last_failure; /* the same is told once */
    bool not_ours_now;         /* it was stopped: what bears its name now is somebody else's */
    struct etw_session_guard guard;
    bool rights_checked;
    uint64_t pause_ns;
    bool enough; /* the sink wants no more */

    struct plat_mutex mutex;
    struct plat_cond changed;
    bool asked_to_stop;
    bool asked_to_pass_on;
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

/* etw_session_gaps.c, in this thread's turn. Nobody knows what happened since `missing_since`. */
void etw_session_tell_missing(struct etw_session *session);

/* It has ended and all of it was read: which of its messages are missing, by their numbers. */
void etw_session_tell_numbers(struct etw_session *session);

/* What the counters say; ${state} NULL: they cannot be read. */
void etw_session_tell_losses(struct etw_session *session, const struct etw_session_state *state);

/* etw_session_guard.c: notice what others do to the session, bring it back within bounds, tell.
 * All on the session's thread. */
void etw_session_guard_init(struct etw_session *session);
void etw_session_guard_fini(struct etw_session *session);

/* The session exists, and its providers are enabled next. From now on the guard records which process changes
 * one. It reads right after that how they are enabled; nothing in between may take long, since a change
 * before that first look is taken for how Windows lists them. */
void etw_session_guard_prepare(struct etw_session *session);

/* The session is there, with its providers. What is to be told waits for the next turn. */
void etw_session_guard_entered(struct etw_session *session);

/* A look at it, which may take as long as a provider's answer: nobody has to wait for the sink
 * meanwhile. ${state} NULL: its settings cannot be read now. */
void etw_session_guard_look(struct etw_session *session, const struct etw_session_state *state);

/* Hand what is to be told to the sink, in this thread's turn. */
void etw_session_guard_tell(struct etw_session *session);

/* The same of what waits to hear who did it, too. */
void etw_session_guard_tell_all(struct etw_session *session);

/* It has ended without us. */
void etw_session_guard_stopped(struct etw_session *session);

/* May it be started again now? And it could not be. */
bool etw_session_guard_allows(struct etw_session *session);
void etw_session_guard_failed(struct etw_session *session, const struct error *err);

/* etw_session_legacy.c: is what runs under the session's name as ${state} what the input before in this process
 * has left to this one? Then ${ret_kept} says what it had lost, and its providers are known. */
bool etw_session_inherit(
    struct etw_session *session, const struct etw_session_state *state, struct etw_kept *ret_kept);

/* Before it is left: is it to go on without us, for the next input? If not, what was left to us and never came
 * to us ends here, as it does when there is no next try. */
bool etw_session_begin_end(struct etw_session *session);
void etw_session_refuse_legacy(struct etw_session *session);

/* What is added to one of our own, and does not keep it from running. */
void etw_session_add_extras(struct etw_session *session);

/* ${err} in plain words, where Windows only says no. Always false. */
bool etw_session_explain(const struct etw_session *session, struct error *err);

#endif
