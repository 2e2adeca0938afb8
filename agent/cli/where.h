#ifndef ETWSHIP_CLI_WHERE_H
#define ETWSHIP_CLI_WHERE_H

#include "pipeline/flow.h"

/*
 * `--where EXPR`: events for which the expression is true. What is wrong with it is said here, with
 * line, column and a mark.
 */
struct where {
    struct filter *filter; /* NULL: there is no such option, all events pass */
    struct filter_scratch scratch;
    bool has_scratch;
};

/* ${text} NULL: no option. False: *ret_exit is the exit code, everything is said. fini is allowed
 * in any case. */
bool where_init(struct where *where, const char *text, int *ret_exit);
void where_fini(struct where *where);

/* What session_run takes, NULL where all events pass: ${ansi} as the events' writer has it. */
bool where_flow_filter(struct where *where, const struct codepage *ansi,
    struct flow_filter *storage, const struct flow_filter **ret_filter, struct error *err);

/* Say which fields of the expression no known event has, where one with nearly that name is known:
 * for when nothing passed. */
void where_warn_fields(const struct where *where, struct schema_cache *cache);

#endif
