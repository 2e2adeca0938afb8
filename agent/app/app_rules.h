#ifndef ETWSHIP_APP_APP_RULES_H
#define ETWSHIP_APP_APP_RULES_H

#include "app/app_config.h"
#include "filter/filter.h"

/* Complete a list of struct app_rule: each says one thing, its place is known, its expression can be
 * compiled. What is wrong is added to ${report}. */
void app_rules_check(
    const struct config *memory, const struct config_list *list, struct config_report *report);

/* A rule as the filter takes it. */
struct filter_rule app_rules_filter_rule(const struct app_rule *rule);

/* Add a line at byte ${offset} of the rule's expression, which is shown below it. */
void app_rules_complain(
    const struct app_rule *rule, size_t offset, const char *what, struct config_report *report);

/* All lists of rules that a configuration has: where they stand ("session security"), and what is
 * in them. */
typedef void app_rules_fn(void *self, const char *where, const struct config_list *list);
void app_rules_each(const struct app_config *config, app_rules_fn *each, void *self);

#endif
