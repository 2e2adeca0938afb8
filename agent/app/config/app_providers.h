#ifndef ETWSHIP_APP_APP_PROVIDERS_H
#define ETWSHIP_APP_APP_PROVIDERS_H

#include "app/config/app_config.h"
#include "app/config/provider_names.h"

/* Complete and check the providers of a session. What is wrong is added to ${report}; false if there
 * is no memory. */
bool app_providers_check(
    struct config *memory, struct app_session *session, struct config_report *report);

/* What `schema` of the configuration names; the caller destroys it. NULL with ${err} set. */
struct schema_cache *app_providers_schemas(const struct app_config *config,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err);

/* The same, and what the program itself knows, which is not all of a provider's events. */
struct schema_cache *app_providers_all_schemas(const struct app_config *config,
    void (*warn)(void *self, const char *text), void *warn_self, struct error *err);

/*
 * Put bits in the place of keyword names in ${specs}, copies of those of the session's providers.
 * Definitions are only read if there is such a name. For live sessions this machine is asked first,
 * for GUIDs too: what is registered here counts, then what definitions call so. False with ${err} set: a keyword that the
 * provider does not have, no definition of it, no memory.
 */
bool app_providers_resolve(const struct app_config *config, const struct app_session *session,
    struct provider_spec *specs, struct error *err);

#endif
