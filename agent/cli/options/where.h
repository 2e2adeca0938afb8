#ifndef ETWSHIP_CLI_WHERE_H
#define ETWSHIP_CLI_WHERE_H

#include "pipeline/record/flow.h"

/*
 * `--where EXPR`: events for which the expression is true; `--sample 1/N[:FIELD]`: one in so many of
 * them. What is wrong with them is said here, with line, column and a mark.
 */
struct where {
    struct filter *filter; /* NULL: there is none of the options, all events pass */
    struct filter_scratch scratch;
    bool has_scratch;
};

/* ${text} or ${sample} NULL: no such option. False: *ret_exit is the exit code, everything is said.
 * fini is allowed in any case. */
bool where_init(struct where *where, const char *text, const char *sample, int *ret_exit);
void where_fini(struct where *where);

/* What session_run takes, NULL where all events pass: ${ansi} as the events' writer has it. */
bool where_flow_filter(struct where *where, const struct codepage *ansi,
    struct flow_filter *storage, const struct flow_filter **ret_filter, struct error *err);

/* Say which fields of the expression no known event has, where one with nearly that name is known:
 * for when nothing passed. */
void where_warn_fields(const struct where *where, struct schema_cache *cache);

#endif
