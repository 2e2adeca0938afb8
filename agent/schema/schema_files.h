#ifndef ETWSHIP_SCHEMA_SCHEMA_FILES_H
#define ETWSHIP_SCHEMA_SCHEMA_FILES_H

#include "schema/schema_source.h"

/*
 * Files and folders that the user named (schema_source_settings.paths), as the sources that read them
 * go through them. Each source takes what is its own by the file's ending and says nothing of others;
 * what is missing or cannot be searched is for the source `manifest` to tell.
 */

/*
 * Call ${each} with ${path} if it is a file, else with every file in that folder and below, in byte
 * order of their paths; false to stop, which is no failure. False with ${err} set if there is no
 * such file or folder, if a folder cannot be read, or if there is no file in it.
 */
bool schema_files_walk(
    const char *path, bool (*each)(void *self, const char *path), void *self, struct error *err);

/*
 * Call ${each} for all files that ${settings} name, or that stand in the folders it names, whose names
 * end in one of ${endings} (with their dot, without regard to case; NULL behind the last): in the order
 * of the settings, within a folder in that of the paths.
 */
void schema_files_each(const struct schema_source_settings *settings, const char *const *endings,
    void (*each)(void *self, const char *path), void *self);

/* Does ${path} end in one of them? */
bool schema_files_is_one(const char *path, const char *const *endings);

/* Does some source read files that are called like ${path}? */
bool schema_files_is_any(const char *path);

/*
 * The file's bytes, as plat_file_load has them, charged to the budget of ${settings} until
 * schema_files_unload. False with ${err} set if it cannot be read, or is larger than ${max_bytes} or than
 * what is left of the budget.
 */
bool schema_files_load(const struct schema_source_settings *settings, const char *path,
    size_t max_bytes, char **ret_data, size_t *ret_size, struct error *err);
void schema_files_unload(const struct schema_source_settings *settings, char *data, size_t size);

/* Tell ${settings} "PATH: why"; ${why} alone if it begins with the path, for a place in the file. */
void schema_files_warn(
    const struct schema_source_settings *settings, const char *path, const char *why);

#endif
