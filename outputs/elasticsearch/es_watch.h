#ifndef ETWSHIP_OUTPUTS_ES_WATCH_H
#define ETWSHIP_OUTPUTS_ES_WATCH_H

#include "outputs/elasticsearch/es_setup.h"

/*
 * Warns once if the index template is missing or differs, while the output delivers. One thread.
 */
struct es_watch;

/* All of it is copied. ${env}: its functions are called until the end. NULL with ${err} set. */
struct es_watch *es_watch_create(
    const struct es_setup *setup, const struct output_env *env, struct error *err);
void es_watch_destroy(struct es_watch *watch); /* NULL is fine */

/* Call before each delivery. Queries the server, for a few seconds at most, until the state of the
 * template is known or never will be (403, 405); from then on it does nothing. */
void es_watch_look(struct es_watch *watch);

#endif
