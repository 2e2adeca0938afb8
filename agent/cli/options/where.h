#ifndef ETWSHIP_CLI_WHERE_H
#define ETWSHIP_CLI_WHERE_H

#include "filter/filter.h"
#include "schema/cache/schema_cache.h"

/*
 * `--where EXPR`: events for which the expression is true; `--sample 1/N[:FIELD]`: one in N of
 * them. Errors are printed with line, column and a mark.
 */
struct where {
    struct filter *filter; /* NULL: neither option is given, all events pass */
};

/* ${text} or ${sample} NULL: not given. False: *ret_exit is the exit code, errors are printed. fini
 * is allowed in any case. */
bool where_init(struct where *where, const char *text, const char *sample, int *ret_exit);
void where_fini(struct where *where);

/* After no event passed: print fields of the expression that no known event has, if there is one
 * with a similar name. */
void where_warn_fields(const struct where *where, struct schema_cache *cache);

#endif
