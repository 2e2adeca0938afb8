#ifndef ETWSHIP_SCHEMA_SCHEMA_SHARED_H
#define ETWSHIP_SCHEMA_SCHEMA_SHARED_H

#include "schema/corrections.h"
#include "schema/schema_source.h"

/*
 * What any number of caches, on any threads, use together: the sources with schema_source_ops.shared.
 * The schema files of the user are read once, and the system is asked once.
 */
struct schema_shared;

/* NULL with ${err} set on failure; single bad files are warnings. So is what does not fit into
 * max_definition_bytes: such files are left out. */
struct schema_shared *schema_shared_create(
    const struct schema_source_settings *settings, struct error *err);
void schema_shared_destroy(struct schema_shared *shared); /* no cache uses it; NULL is fine */

/* What the definitions of files take now. Any thread. */
size_t schema_shared_bytes(const struct schema_shared *shared);

/* Theirs and the program's own (schema/corrections.h). */
const struct corrections *schema_shared_corrections(const struct schema_shared *shared);

/* The object of a source; NULL: it is none of files. */
void *schema_shared_source(
    const struct schema_shared *shared, const struct schema_source_ops *source);

#endif
