#ifndef ETWSHIP_APP_OUTPUT_TRIAL_H
#define ETWSHIP_APP_OUTPUT_TRIAL_H

#include "app/config/app_config.h"

/*
 * Deliver one event through ${output}, as `run` would, but once: the agent's own event `status`,
 * with a message that says what it is. True: the destination has it. False with ${err} set: "what.
 * what to do". ${note}: output_env.note, or NULL.
 */
bool output_trial_run(const struct app_config *config, const struct app_output *output,
    void (*note)(void *host, const char *text), struct error *err);

#endif
