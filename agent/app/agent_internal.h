#ifndef ETWSHIP_APP_AGENT_INTERNAL_H
#define ETWSHIP_APP_AGENT_INTERNAL_H

#include "app/agent_identity.h"
#include "app/agent_notify.h"
#include "app/agent_plan.h"
#include "app/agent_run.h"
#include "app/agent_status.h"
#include "app/log.h"
#include "app/positions.h"
#include "platform/plat_thread.h"
#include "schema/schema_shared.h"

/* What the files of the running agent (agent_*.c) share; not for users of agent_run.h. */

/* One session: an input on a thread. */
struct agent_session {
    struct agent *agent;
    size_t index; /* of the plan */
    void *input;
    struct plat_thread *thread;
    uint64_t damaged; /* places in the source; the session's thread */
    enum input_end end;
    struct error error; /* INPUT_FAILED */
};

/* A file that was given whole, and that not all outputs may have taken yet. */
struct agent_file {
    size_t session;
    uint8_t id[16];
    uint64_t last_sequence;
};

struct agent {
    const struct agent_run_settings *settings;
    struct log *log;
    bool logs_to_file;
    struct agent_identity identity;
    struct buf tail;
    struct agent_plan plan;
    struct schema_shared *schema_shared; /* of all sessions and workers */
    struct dead_letters *dead_letters;   /* NULL: what outputs refuse is lost */
    struct pipeline *pipeline;
    struct agent_session *sessions;
    size_t sessions_started;
    struct summary **summaries; /* by worker */
    struct agent_status status; /* of the control thread, then of the end */
    struct agent_notify notify; /* of the control thread */
    uint64_t started_ns;

    /* Control: guarded by the mutex. */
    struct plat_mutex mutex;
    struct plat_cond changed;
    struct plat_thread *control;
    bool running; /* sessions and outputs have started */
    bool stopping;
    bool signalled;       /* stopping was a signal's wish */
    uint64_t deadline_ns; /* of the outputs, while stopping */
    bool gave_up;
    bool over;
    bool *ended; /* by output */

    const char *data_dir; /* NULL: nothing is remembered */

    /* A spool that keeps: agent_spool.c. NULL: batches wait in memory. */
    struct agent_spool *spool;

    /* Positions: agent_store.c. The mutex guards all of it; it is held while the disk is written. */
    struct positions *positions; /* NULL: the spool knows, or nothing is remembered */
    struct plat_mutex store_mutex;
    struct agent_live *live;  /* by session: agent_live.c */
    uint64_t *resume;         /* [session * output_count + output] */
    bool restarted;           /* an earlier run has left positions */
    uint64_t *stored;         /* [output * (session_count + 1) + session] */
    uint64_t *stored_changes; /* by output */
    struct agent_file *files;
    size_t file_count;
    size_t file_capacity;
};

/* Ask every input to stop; outputs get the time that the configuration gives them. Any thread. */
void agent_stop(struct agent *agent, bool signalled);

/* agent_session.c */
bool agent_sessions_create(struct agent *agent, struct error *err);
bool agent_sessions_start(struct agent *agent, struct error *err);
void agent_sessions_join(struct agent *agent);
void agent_sessions_destroy(struct agent *agent);
void agent_session_step(void *self, uint32_t index, const struct provider_change *change);
void agent_session_damage(
    void *self, uint32_t index, const struct trace_info *trace, uint64_t offset, const char *what);

/* agent_live.c: positions of live sessions, under the store's mutex but for open and close. */
bool agent_live_open(struct agent *agent, struct error *err);
void agent_live_close(struct agent *agent);
/* FILETIME up to which outputs had all of the session in an earlier run; 0: unknown. */
uint64_t agent_live_last_time(const struct agent *agent, size_t session);
/* After the outputs' states were taken; with a spool that keeps, while staging. */
bool agent_live_save(struct agent *agent, struct error *err);

/* agent_control.c: the thread that keeps time. */
bool agent_control_start(struct agent *agent, struct error *err);
/* Everything runs: tell whoever waits for that. */
void agent_control_ready(struct agent *agent);
void agent_control_end(struct agent *agent);

/* agent_store.c */
bool agent_store_open(struct agent *agent, struct error *err);
/* The inputs are there: hand them what they need, and watch them. */
bool agent_store_restore(struct agent *agent, struct error *err);
void agent_store_unwatch(struct agent *agent);
/* Take what the outputs have acked, and write it. Any thread. */
bool agent_store_save(struct agent *agent, struct error *err);
void agent_store_file_end(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t last_sequence);
bool agent_store_is_done(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence);
/* Is anything remembered? */
bool agent_store_keeps(const struct agent *agent);
struct span agent_store_checkpoint(const struct agent *agent, size_t output);
void agent_store_close(struct agent *agent);

#endif
