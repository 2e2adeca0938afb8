#ifndef ETWSHIP_CLI_POLICY_WORDS_H
#define ETWSHIP_CLI_POLICY_WORDS_H

#include "app/plan/app_policy.h"

/* Append the settings of ${policy} for people; nothing if there are none. */
void policy_words_write(const struct app_policy *policy, struct buf *out);

/* Append the settings of ${policy} as a member of a JSON object that already has a member. */
void policy_words_write_json(const struct app_policy *policy, struct buf *out);

#endif
