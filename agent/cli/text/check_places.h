#ifndef ETWSHIP_CLI_CHECK_PLACES_H
#define ETWSHIP_CLI_CHECK_PLACES_H

#include "app/config/app_config.h"
#include "base/buf.h"

/*
 * Where what a provider's entry asks for is decided, a line each, after ${indent}: by the provider
 * itself, by ETW, or by the agent; and what nobody looks at. Nothing where it asks for everything.
 */
void check_places_write(const struct app_session *session, const struct app_provider *provider,
    const char *indent, struct buf *out);

/* The same for what the session itself asks for: groups of kernel events, and going on with an
 * autologger's. Nothing if it asks for neither. */
void check_places_write_session(
    const struct app_session *session, const char *indent, struct buf *out);

/* Does ETW get, and apply, the filters of the entry that EnableTraceEx2 takes? */
bool check_places_asks_etw(const struct app_session *session, const struct provider_spec *spec);

/* Does anybody look at its process ids? */
bool check_places_keeps_pids(const struct app_session *session, const struct provider_spec *spec);

#endif
