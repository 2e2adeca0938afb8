#ifndef ETWSHIP_APP_APP_DEAD_LETTERS_H
#define ETWSHIP_APP_APP_DEAD_LETTERS_H

#include "app/config/app_config.h"
#include "pipeline/deliver/dead_letters.h"

/*
 * The dead letters of the agent that ${config} is for, in its data_dir. ${evicted} and ${self}: as
 * in dead_letters.h. NULL with ${err} set: there is no memory, or (ERR_CONFIG) no data_dir, so that
 * nothing is kept.
 */
struct dead_letters *app_dead_letters_open(const struct app_config *config,
    void (*evicted)(void *self, const struct eviction *eviction), void *self, struct error *err);

#endif
