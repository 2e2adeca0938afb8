#ifndef ETWSHIP_APP_SESSION_SELECTION_H
#define ETWSHIP_APP_SESSION_SELECTION_H

#include "app/app_config.h"
#include "filter/filter.h"
#include "schema/schema_cache.h"

/*
 * Which events of a session its `providers` select, where ETW has not done it: those that some entry
 * wants (provider_selection.h), is of a process it names, and that entry's own rules keep. What only
 * ETW can look into (`payload`, `processes` by name) does not count. Read-only once made, so that
 * any number of threads may ask.
 */
struct session_selection;

/*
 * Names of keywords are looked up among what ${cache} knows. ${ret_selection} gets NULL if the
 * session names no providers: everything is wanted. False with ${err} set: a keyword that the
 * provider does not have, no memory.
 */
bool session_selection_create(const struct app_session *session, struct schema_cache *cache,
    struct session_selection **ret_selection, struct error *err);
void session_selection_destroy(struct session_selection *selection); /* NULL is fine */

/* ${self}: a struct session_selection; ${event} is decoded. */
bool session_selection_passes(
    const void *self, struct filter_scratch *scratch, const struct event *event);

#endif
