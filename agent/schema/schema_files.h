#ifndef ETWSHIP_SCHEMA_SCHEMA_FILES_H
#define ETWSHIP_SCHEMA_SCHEMA_FILES_H

#include "schema/schema_source.h"

/*
 * Call ${each} for the files that ${settings} name, or that stand in the folders it names, whose names
 * end in one of ${endings} (with their dot, without regard to case; NULL behind the last): in the order
 * of the settings, within a folder in that of the paths. What is missing or cannot be searched is for
 * the source `manifest` to tell.
 */
void schema_files_each(const struct schema_source_settings *settings, const char *const *endings,
    void (*each)(void *self, const char *path), void *self);

/* Does ${path} end in one of them? */
bool schema_files_is_one(const char *path, const char *const *endings);

/* Tell ${settings} "PATH: why". */
void schema_files_warn(
    const struct schema_source_settings *settings, const char *path, const char *why);

#endif
