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

/* The part of ${rule} for ${action}, given or not; NULL: the action edits nothing. */
const struct app_edit *app_edits_of(const struct app_rule *rule, enum filter_action action);

/* The first editing action that is given; KEEP: there is none. ${ret_count}: number of actions that
 * are given. */
enum filter_action app_edits_action(const struct app_rule *rule, int *ret_count);

/* Append in words what an editing rule does: `data.User, data.Id: `, `labels.team = dns: `.
 * Values from the environment are shown as the file has them. */
void app_edits_words(const struct app_rule *rule, const struct config *memory, struct buf *out);

/* Add the action of the rule to ${ret_rule}, which borrows it. */
void app_edits_fill(const struct app_rule *rule, struct filter_rule *ret_rule);

/* Check the keys of an editing rule other than its fields. Errors are added to ${report}. */
bool app_edits_check(
    const struct config *memory, const struct app_rule *rule, struct config_report *report);

/* Append the rule as a text that differs if it edits differently, for hashes. No secret can be read
 * from it. */
void app_edits_describe(const struct app_rule *rule, struct buf *out);

#endif
