#ifndef ETWSHIP_APP_APP_EDITS_H
#define ETWSHIP_APP_APP_EDITS_H

#include "app/config/app_config.h"

/* Rules that edit (filter_edit.h) in the configuration: the keys of each action. */
extern const struct config_field app_edits_set_fields[];
extern const struct config_field app_edits_tag_fields[];
extern const struct config_field app_edits_remove_fields[];
extern const struct config_field app_edits_rename_fields[];
extern const struct config_field app_edits_hash_fields[];
extern const struct config_field app_edits_truncate_fields[];

/* The part of ${rule} for ${action}, whether it is given or not; NULL: the action edits nothing. */
const struct app_edit *app_edits_of(const struct app_rule *rule, enum filter_action action);

/* The action that edits, of those that are given the first; KEEP: there is none. ${ret_count}: how many
 * are given. */
enum filter_action app_edits_action(const struct app_rule *rule, int *ret_count);

/* Append what a rule that edits does, in words: `data.User, data.Id: `, `labels.team = dns: `. What is in
 * the environment is shown as it was written. */
void app_edits_words(const struct app_rule *rule, const struct config *memory, struct buf *out);

/* Add what the rule does to ${ret_rule}, which borrows it. */
void app_edits_fill(const struct app_rule *rule, struct filter_rule *ret_rule);

/* Is what a rule that edits says good beside its fields? What is not is added to ${report}. */
bool app_edits_check(
    const struct config *memory, const struct app_rule *rule, struct config_report *report);

/* Append all of that as text that differs where it does, for hashes. No secret can be read from it. */
void app_edits_describe(const struct app_rule *rule, struct buf *out);

#endif
