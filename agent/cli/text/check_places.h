#ifndef ETWSHIP_CLI_CHECK_PLACES_H
#define ETWSHIP_CLI_CHECK_PLACES_H

#include "app/config/app_config.h"
#include "base/buf.h"

/*
 * Append which part applies each filter of a provider's entry, a line each, after ${indent}: the
 * provider, ETW or the agent; or none. Nothing for an entry without filters.
 */
void check_places_write(const struct app_session *session, const struct app_provider *provider,
    const char *indent, struct buf *out);

/* Append which part applies the settings of the session itself: groups of kernel events, and
 * continuing an autologger. Nothing if it has neither. */
void check_places_write_session(
    const struct app_session *session, const char *indent, struct buf *out);

/* True if ETW receives and applies the entry's filters of EnableTraceEx2. */
bool check_places_asks_etw(const struct app_session *session, const struct provider_spec *spec);

/* True if its process ids are applied. */
bool check_places_keeps_pids(const struct app_session *session, const struct provider_spec *spec);

#endif
