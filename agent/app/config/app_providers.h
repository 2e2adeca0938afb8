#ifndef ETWSHIP_APP_APP_PROVIDERS_H
#define ETWSHIP_APP_APP_PROVIDERS_H

#include "app/config/app_config.h"
#include "app/config/provider_names.h"

/* Complete and check the providers of a session. Errors are added to ${report}; false if there is
 * no memory. */
bool app_providers_check(
    struct config *memory, struct app_session *session, struct config_report *report);

/* A cache of the definitions that `schema` of the configuration names; the caller destroys it.
 * NULL with ${err} set. */
struct schema_cache *app_providers_schemas(const struct app_config *config,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err);

/* Also with the definitions that are part of the program,
 * which do not have all events of a provider. */
struct schema_cache *app_providers_all_schemas(const struct app_config *config,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err);

/*
 * Replace keyword names in ${specs}, copies of those of the session's providers, by bits.
 * Definitions are only read if there is such a name. For live sessions this machine is asked first,
 * for GUIDs too: its registrations have precedence over names in definitions. False with ${err}
 * set: the provider does not have a keyword, there is no definition of it, or no memory.
 */
bool app_providers_resolve(const struct app_config *config, const struct app_session *session,
    struct provider_spec *specs, struct error *err);

#endif
