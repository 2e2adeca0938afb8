#ifndef ETWSHIP_OUTPUTS_ES_LIFECYCLE_H
#define ETWSHIP_OUTPUTS_ES_LIFECYCLE_H

#include "base/buf.h"
#include "config/config_check.h"

/*
 * Retention of indices: ILM on Elasticsearch ("Index lifecycle management APIs"), ISM on OpenSearch
 * ("Index State Management API"). Only on request: a server without the plug-in refuses a template
 * with a policy.
 */
struct es_lifecycle {
    const char *policy;       /* its name; NULL: no lifecycle */
    uint64_t delete_after_ns; /* `setup` writes a policy that deletes; 0: the policy exists already
                                 */
};

/* Rows of a settings struct's `struct es_lifecycle`, at `lifecycle`. */
extern const struct config_field es_lifecycle_fields[];

void es_lifecycle_check(struct config_check *check, const struct es_lifecycle *lifecycle);

/* Append the body of the policy. ${pattern}: of the indices; ${data_stream}: they belong to data
 * streams. */
void es_lifecycle_write(const struct es_lifecycle *lifecycle, bool opensearch, const char *pattern,
    bool data_stream, struct buf *out);

#endif
