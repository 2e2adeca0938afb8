#ifndef ETWSHIP_APP_APP_BUDGETS_H
#define ETWSHIP_APP_APP_BUDGETS_H

#include "app/config/app_config.h"
#include "base/arena.h"
#include "pipeline/work/provider_budget.h"

/* The budgets of the providers of a live session. */

/* Build the budgets of the session's entries, whose known GUIDs are in ${specs}, and of its other
 * providers. Arrays are allocated from ${memory}, which must outlive them, like the configuration.
 * False: out of memory. */
bool app_budgets_plan(const struct app_config *config, const struct app_session *session,
    const struct provider_spec *specs, struct arena *memory,
    struct provider_budget_settings *ret_settings);

/* Was ${budget} given, be it as one without limits? */
bool app_budgets_is_given(const struct app_config *config, const struct app_budget *budget);

/* Why budgets have no effect, as "what. what to do"; NULL: they have one. ${provider} NULL: that of
 * the session. */
const char *app_budgets_problem(
    const struct app_session *session, const struct app_provider *provider);

/* "5000 events/s, 4MB/s", appended. */
void app_budgets_write(uint64_t events, uint64_t bytes, struct buf *out);

/* Say how a provider keeps to its budget now: one sentence without its end, appended. */
void app_budgets_write_change(const struct provider_change *change, struct buf *out);

/* In which order events are left out, one sentence. */
extern const char app_budgets_order[];

#endif
