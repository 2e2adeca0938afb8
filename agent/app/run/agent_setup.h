#ifndef ETWSHIP_APP_AGENT_SETUP_H
#define ETWSHIP_APP_AGENT_SETUP_H

#include "app/plan/agent_plan.h"
#include "app/plan/app_digest.h"
#include "app/run/agent_run.h"
#include "schema/cache/schema_shared.h"

struct agent_runner;

/*
 * A configuration, and everything that is made of it without touching what runs: the plan with its
 * filters, and the definitions of events. Read-only once made. Agents borrow it, one after the
 * other, so the one before can be started again when the next does not start.
 */
struct agent_setup {
    struct app_config config;
    bool owns_config;
    struct agent_plan plan;
    struct schema_shared *schemas; /* of all sessions and workers */
    struct app_digest digest;
    uint64_t shown;  /* app_digest_shown */
    uint64_t loaded; /* FILETIME */
};

/* Of ${config}, which is the setup's from here on if it ${owns} it, also on failure; else it
 * outlives the setup. Warnings go to the log that ${runner} has when they come, which may be long
 * after this call. NULL with ${err} set. */
struct agent_setup *agent_setup_create(const struct agent_run_settings *settings,
    struct agent_runner *runner, const struct app_config *config, bool owns, struct error *err);
void agent_setup_destroy(struct agent_setup *setup); /* NULL is fine */

/* The input of session ${index} of the plan, as one that knows of nothing else, and is not to run.
 * NULL with ${err} set. */
void *agent_setup_make_input(const struct agent_setup *setup, size_t index, struct error *err);

/*
 * Make each input and each output once, as its session or output would, and let go of it again: so
 * what is wrong with settings, or with files that they name, is known before anything that runs
 * ends for it. Nothing is read, written or asked by way of the network. False with ${err} set.
 */
bool agent_setup_try(const struct agent_setup *setup, struct error *err);

#endif
