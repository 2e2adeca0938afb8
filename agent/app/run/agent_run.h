#ifndef ETWSHIP_APP_AGENT_RUN_H
#define ETWSHIP_APP_AGENT_RUN_H

#include "app/config/app_config.h"
#include "app/log/log.h"
#include "app/watch/summary.h"

/*
 * `etwship run`: every enabled session of a configuration at the same time, each to its outputs,
 * until all finite sources are delivered or a stop is asked for. The configuration may be reloaded
 * meanwhile. A process may call it a second time after it has returned, unless it was stuck or a
 * stop was asked for.
 */

/* A service manager, for an agent without a terminal. It stops the agent with agent_run_stop;
 * the agent does not wait for signals. */
struct agent_keeper {
    void (*started)(void *self); /* everything runs; called on the thread of agent_run */
    void (*reloaded)(
        void *self, const char *text); /* what came of a reload that is none of the warnings
                                                     * and errors; the same thread */
    /* Lines of the log; any thread. */
    void (*hear)(void *self, enum log_level level, enum log_cause cause, const char *text);
    const char *log_path; /* where the log is if the configuration names no file; NULL: nowhere */
    void *self;
};

/* Text for `reloaded` when the configuration has not changed. */
#define AGENT_RELOAD_SAME "nothing has changed"

/* Reads the configuration for a reload. */
struct agent_config_reader {
    /* Read and check it as for the start: everything that is wrong goes to ${tell}, a line each.
     * False: it cannot be used. ${ret_config} is to be freed with app_config_fini. On the thread of
     * agent_run. */
    bool (*read)(void *self, struct app_config *ret_config,
        void (*tell)(void *tell_self, enum log_level level, const char *line), void *tell_self);
    void *self;
};

struct agent_run_settings {
    const struct app_config *config;                 /* of the start; outlives the run */
    const struct agent_config_reader *config_reader; /* NULL: it cannot be reloaded */
    struct span schema_pack; /* text of a schema pack beside those of files; empty: none */
    struct span schema_tmf;  /* the same of trace message formats; outlives the run */
    uint64_t max_events;     /* per session; 0: no limit */
    uint64_t duration_ns;    /* 0: no limit */
    bool colors;             /* pretty output to a terminal */
    const struct agent_keeper *keeper; /* NULL: the agent is stopped by signals */
    bool once; /* a session that cannot start, or is stopped by others, has failed */
};

struct agent_run_result {
    struct summary *summary; /* caller destroys */
    uint64_t damaged;
    uint64_t raw;
    uint64_t partial;
    uint64_t undelivered;
    uint64_t rejected; /* by outputs: lost, or kept as dead letters */
    uint64_t failed_sessions;
    uint64_t unmatched; /* of recorded traces: providers and lists of rules that no event passed */
    bool stopped;       /* by a signal */
    bool idle;          /* the last configuration had no session that is enabled */
    bool stuck;         /* inside an output, which still uses the configuration: end the process */
};

/* False with ${err} set if it could not start; of ${ret_result} `stuck` is set then, too. */
bool agent_run(const struct agent_run_settings *settings, struct agent_run_result *ret_result,
    struct error *err);

/* Ask the running agent, or the next one that starts, to stop in good order, as the first signal
 * does. After agent_keeper.started; any thread. */
void agent_run_stop(void);

/* Request a reload of the configuration, as SIGHUP does. Requests before the reload begins count as
 * one. After agent_keeper.started; any thread. */
void agent_run_reload(void);

#endif
