#ifndef ETWSHIP_OUTPUTS_ES_WATCH_H
#define ETWSHIP_OUTPUTS_ES_WATCH_H

#include "outputs/elasticsearch/es_setup.h"

/*
 * Tells people, once, that the index template is missing or another one, while the output delivers.
 * One thread.
 */
struct es_watch;

/* All of it is copied. ${env}: its functions are called until the end. NULL with ${err} set. */
struct es_watch *es_watch_create(
    const struct es_setup *setup, const struct output_env *env, struct error *err);
void es_watch_destroy(struct es_watch *watch); /* NULL is fine */

/* To be called before each delivery. Asks the server, for a few seconds at most, until it has said
 * how the template is, or that it never will (403, 405); from then on it does nothing. */
void es_watch_look(struct es_watch *watch);

#endif
