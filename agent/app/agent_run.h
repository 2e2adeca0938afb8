#ifndef ETWSHIP_APP_AGENT_RUN_H
#define ETWSHIP_APP_AGENT_RUN_H

#include "app/app_config.h"
#include "app/session_run.h"
#include "app/summary.h"

/*
 * `etwship run`: every enabled session of a configuration through its outputs, one session after
 * the other. Sessions share the outputs and the schema cache; outputs of a session that want the
 * same format share the bytes.
 */
struct agent_run_settings {
    const struct app_config *config;
    uint64_t max_events; /* per session; 0: no limit */
    bool colors;         /* pretty output to a terminal */

    /* Told what a person should know while it runs. */
    void (*warn)(void *self, const char *text);
    void *warn_self;
};

struct agent_run_result {
    struct summary *summary; /* caller destroys */
    uint64_t damaged;
    uint64_t raw;
    uint64_t partial;
    uint64_t undelivered;
    uint64_t rejected;
    uint64_t failed_sessions;
    bool stopped; /* by a signal */
};

/* False with ${err} set if it could not start. */
bool agent_run(const struct agent_run_settings *settings, struct agent_run_result *ret_result,
    struct error *err);

#endif
