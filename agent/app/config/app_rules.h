#ifndef ETWSHIP_APP_APP_RULES_H
#define ETWSHIP_APP_APP_RULES_H

#include "app/config/app_config.h"
#include "filter/filter.h"

/* Complete a list of struct app_rule: each has one action, its place is known, its expression
 * compiles. Errors are added to ${report}. */
void app_rules_check(
    const struct config *memory, const struct config_list *list, struct config_report *report);

/* Report limits and rollups in this list, which must have none. */
void app_rules_refuse_shared(
    const struct config *memory, const struct config_list *list, struct config_report *report);

enum filter_action app_rules_action(const struct app_rule *rule);

/* `keep`. Static. */
const char *app_rules_word(enum filter_action action);

/* Place of the expression. */
const char *const *app_rules_text(const struct app_rule *rule);

/* Do two rules say the same in each key of their table, but for the name? False: no memory, too. */
bool app_rules_are_same(const struct app_rule *a, const struct app_rule *b);

/* A checked rule in the form of the filter, which borrows from ${rule}. */
struct filter_rule app_rules_filter_rule(const struct app_rule *rule);

/* Add a line at ${place} of the rule: its expression, or another field of it, is shown below. */
void app_rules_complain(const struct config *memory, const struct app_rule *rule,
    const struct filter_place *place, const char *what, struct config_report *report);

/* Is a rule of the configuration a rollup? */
bool app_rules_roll_up(const struct app_config *config);

/* Number of tables of buckets that limits by fields need:
 * a list has one for each session that it is for. */
size_t app_rules_bucket_tables(const struct app_config *config);

/* All lists of rules of a configuration: their places ("session security") and their content. */
typedef void app_rules_fn(void *self, const char *where, const struct config_list *list);
void app_rules_each(const struct app_config *config, app_rules_fn *each, void *self);

#endif
