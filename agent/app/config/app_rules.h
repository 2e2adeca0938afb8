#ifndef ETWSHIP_APP_APP_RULES_H
#define ETWSHIP_APP_APP_RULES_H

#include "app/config/app_config.h"
#include "filter/filter.h"

/* Complete a list of struct app_rule: each says one thing, its place is known, its expression can be
 * compiled. What is wrong is added to ${report}. */
void app_rules_check(
    const struct config *memory, const struct config_list *list, struct config_report *report);

/* Say that there are no limits and rollups in this list, if there are any. */
void app_rules_refuse_shared(
    const struct config *memory, const struct config_list *list, struct config_report *report);

enum filter_action app_rules_action(const struct app_rule *rule);

/* `keep`. Static. */
const char *app_rules_word(enum filter_action action);

/* Where the expression lies. */
const char *const *app_rules_text(const struct app_rule *rule);

/* Do two rules that were checked do the same to the same events? */
bool app_rules_are_same(const struct app_rule *a, const struct app_rule *b);

/* A rule that was checked as the filter takes it; it borrows from ${rule}. */
struct filter_rule app_rules_filter_rule(const struct app_rule *rule);

/* Add a line at ${place} of the rule: its expression, or a field beside it, is shown below. */
void app_rules_complain(const struct config *memory, const struct app_rule *rule,
    const struct filter_place *place, const char *what, struct config_report *report);

/* Is a rule of the configuration a rollup? */
bool app_rules_roll_up(const struct app_config *config);

/* How many tables of buckets the limits need that go by fields: a list has one for each session that it
 * is for. */
size_t app_rules_bucket_tables(const struct app_config *config);

/* All lists of rules that a configuration has: where they stand ("session security"), and what is
 * in them. */
typedef void app_rules_fn(void *self, const char *where, const struct config_list *list);
void app_rules_each(const struct app_config *config, app_rules_fn *each, void *self);

#endif
