#ifndef ETWSHIP_OUTPUTS_ES_LIFECYCLE_H
#define ETWSHIP_OUTPUTS_ES_LIFECYCLE_H

#include "base/buf.h"
#include "config/config_check.h"

/*
 * How long indices are kept: ILM on Elasticsearch ("Index lifecycle management APIs"), ISM on
 * OpenSearch ("Index State Management API"). Only where asked for: a server without the plug-in
 * refuses a template that names a policy.
 */
struct es_lifecycle {
    const char *policy;       /* its name; NULL: no lifecycle */
    uint64_t delete_after_ns; /* the policy is ours, and deletes; 0: somebody else's */
};

/* Rows of a settings struct's `struct es_lifecycle`, at `lifecycle`. */
extern const struct config_field es_lifecycle_fields[];

void es_lifecycle_check(struct config_check *check, const struct es_lifecycle *lifecycle);

/* Append the body of a policy of ours. ${pattern}: of the indices, ${data_stream}: are they of data
 * streams? */
void es_lifecycle_write(const struct es_lifecycle *lifecycle, bool opensearch, const char *pattern,
    bool data_stream, struct buf *out);

#endif
