#ifndef ETWSHIP_APP_APP_SCOPE_H
#define ETWSHIP_APP_APP_SCOPE_H

#include "app/config/app_config.h"
#include "input/live/evt_scope.h"
#include "input/live/provider_scope.h"
#include "schema/cache/schema_cache.h"

/*
 * Set the scope of each provider entry of a live session: ETW need not write events that no rule
 * and no output keeps (filter/push/filter_push.h).
 */
struct app_scope_settings {
    const struct app_session *session;
    const struct filter *const
        *lists; /* of all sessions and of this one: each must keep an event */
    size_t list_count;
    const struct filter *const *entries; /* by entry: its own list; NULL: it has none */
    const struct filter *const *outputs; /* of those that take the session: one must keep it */
    size_t output_count;                 /* 0: one has no rules, or there is none */
    struct schema_cache *definitions;    /* NULL: none are at hand but this machine's own */
    struct arena *memory;                /* of the scopes */
};

/* Fill in the scope of ${specs}, of the session's entries, whose keywords are bits.
 * False: out of memory. */
bool app_scope_find(const struct app_scope_settings *settings, struct provider_spec *specs,
    size_t count, struct error *err);

/* Find which records of event logs may be kept; ${ret_scope} NULL: any. It is allocated from the
 * memory of ${settings}. False: out of memory. */
bool app_scope_of_logs(const struct app_scope_settings *settings,
    const struct evt_scope **ret_scope, struct error *err);

/* Why ETW is not asked to keep anything of the entry away, whatever the rules;
 * NULL: it is asked. "as …". */
const char *app_scope_hindrance(
    const struct app_session *session, const struct provider_spec *spec);

#endif
