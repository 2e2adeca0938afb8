#ifndef ETWSHIP_SCHEMA_SCHEMA_FILES_H
#define ETWSHIP_SCHEMA_SCHEMA_FILES_H

#include "schema/schema_source.h"

/*
 * The schema files of the user, read once for any number of caches: the sources with
 * schema_source_ops.from_files. Nothing of it changes once it is made, so caches on any threads may
 * look things up at the same time.
 */
struct schema_files;

/* NULL with ${err} set on failure; single bad files are warnings. */
struct schema_files *schema_files_create(
    const struct schema_source_settings *settings, struct error *err);
void schema_files_destroy(struct schema_files *files); /* no cache uses it; NULL is fine */

/* The object of a source; NULL: it is none of files. */
void *schema_files_source(const struct schema_files *files, const struct schema_source_ops *source);

#endif
