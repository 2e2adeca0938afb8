#ifndef ETWSHIP_APP_AGENT_SESSIONS_H
#define ETWSHIP_APP_AGENT_SESSIONS_H

#include "app/log/log.h"
#include "app/positions/positions.h"
#include "app/run/agent_setup.h"
#include "app/run/agent_takeover.h"
#include "app/watch/agent_health.h"

/*
 * The sessions of an agent: an input each, on a thread of its own. Inputs live until everything is
 * delivered, as records refer to what they own. Sessions and outputs have the numbers of the plan.
 */
struct agent_sessions;

/* Everything is borrowed. */
struct agent_sessions_settings {
    const struct agent_setup *setup;
    struct log *log;
    struct positions *positions;           /* of which inputs continue */
    const struct agent_takeover *takeover; /* what the agent before has left running */
    bool once;                             /* input_env.once */
};

/* Make the inputs. NULL with ${err} set. */
struct agent_sessions *agent_sessions_create(
    const struct agent_sessions_settings *settings, struct error *err);
/* They are joined, or have not been started. NULL is fine. */
void agent_sessions_destroy(struct agent_sessions *all);

/* False with ${err} set: stop and join those that run. */
bool agent_sessions_start(struct agent_sessions *all, struct pipeline *pipeline, struct error *err);

/* Any thread. */
void agent_sessions_stop(struct agent_sessions *all);

/* An output has ended: stop the sessions that no output needs any more. False: no output is left.
 * Any thread. */
bool agent_sessions_end_output(struct agent_sessions *all, size_t output);

/* How sessions and outputs are, by number. Any thread. */
void agent_sessions_look(
    struct agent_sessions *all, struct agent_session_state *ret_sessions, bool *ret_ended_outputs);

/* Tell sessions that ${next} continues to leave running what they run; before they are stopped. */
void agent_sessions_leave_running(struct agent_sessions *all, const struct agent_setup *next);

void agent_sessions_join(struct agent_sessions *all);

/* They are joined. Add what they have left running. */
void agent_sessions_note_running(const struct agent_sessions *all, struct agent_takeover *takeover);
enum input_end agent_sessions_end(const struct agent_sessions *all, size_t session);
uint64_t agent_sessions_damaged(const struct agent_sessions *all, size_t session);

/* pipeline_settings: on the session's thread. */
void agent_sessions_damage(struct agent_sessions *all, uint32_t index,
    const struct trace_info *trace, uint64_t offset, const char *what);

#endif
