#ifndef ETWSHIP_CLI_CHECK_WORDS_H
#define ETWSHIP_CLI_CHECK_WORDS_H

#include "app/plan/app_policy.h"
#include "app/plan/app_warnings.h"
#include "app/trace/typed_fields.h"
#include "cli/text/explain.h"

/* Results of `etwship check`. */
struct check {
    const char *path;
    const struct app_config *config;
    struct app_policy policy;
    bool verbose;
    bool can_run;
    struct provider_facts *facts; /* of all providers, in order; NULL: not requested */
    size_t fact_count;
    struct typed_fields *typed; /* by output; without `fields`: it has none; NULL: no output has */
    const struct explain *explain; /* NULL: not requested */
    struct config_report warnings;
    struct config_report refusals;
};

/* Append it for people. */
void check_words_write(const struct check *check, struct buf *out);

/* Append it as one JSON object and a newline. */
void check_words_write_json(const struct check *check, struct buf *out);

#endif
