#ifndef ETWSHIP_SCHEMA_SCHEMA_SHARED_H
#define ETWSHIP_SCHEMA_SCHEMA_SHARED_H

#include "schema/source/corrections.h"
#include "schema/source/schema_source.h"

/*
 * The sources with schema_source_ops.shared, for any number of caches on any threads. The user's
 * schema files are read once, and the system is queried once.
 */
struct schema_shared;

/* NULL with ${err} set on failure. An unusable file, or one that exceeds max_definition_bytes, only
 * causes a warning and is left out. */
struct schema_shared *schema_shared_create(
    const struct schema_source_settings *settings, struct error *err);
/* The caller ensures that no cache uses it any more; NULL is fine. */
void schema_shared_destroy(struct schema_shared *shared);

/* Memory that definitions from files use now. Thread-safe. */
size_t schema_shared_bytes(const struct schema_shared *shared);

/* Corrections of the user and of the program (schema/source/corrections.h). */
const struct corrections *schema_shared_corrections(const struct schema_shared *shared);

/* The shared instance of ${source}; NULL if the source is not shared. */
void *schema_shared_source(
    const struct schema_shared *shared, const struct schema_source_ops *source);

#endif
