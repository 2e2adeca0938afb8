#ifndef ETWSHIP_SCHEMA_SCHEMA_FILES_H
#define ETWSHIP_SCHEMA_SCHEMA_FILES_H

#include "schema/source/schema_source.h"

/*
 * Iterates over files and folders that the user names (schema_source_settings.paths). Each source
 * picks its files by ending and ignores others. The source `manifest` reports missing and
 * unreadable paths.
 */

/*
 * Call ${each} with ${path} if it is a file, else with every file in that folder and below, in byte
 * order of their paths; ${each} returns false to stop, which is no error. False with ${err} set if
 * the path does not exist, a folder cannot be read, or there is no file in it.
 */
bool schema_files_walk(
    const char *path, bool (*each)(void *self, const char *path), void *self, struct error *err);

/*
 * Call ${each} for all files with one of ${endings} that ${settings} names or that are in folders
 * it names. Endings include their dot, ignore case, and end with NULL. The order is that of the
 * settings, within a folder by path.
 */
void schema_files_each(const struct schema_source_settings *settings, const char *const *endings,
    void (*each)(void *self, const char *path), void *self);

/* True if ${path} has one of ${endings}. */
bool schema_files_is_one(const char *path, const char *const *endings);

/*
 * Load a file like plat_file_load, charging the budget of ${settings} until schema_files_unload.
 * False with ${err} set if it cannot be read or is larger than ${max_bytes} or the remaining
 * budget.
 */
bool schema_files_load(const struct schema_source_settings *settings, const char *path,
    size_t max_bytes, char **ret_data, size_t *ret_size, struct error *err);
void schema_files_unload(const struct schema_source_settings *settings, char *data, size_t size);

/* Warn with "PATH: why", or with ${why} alone if it begins with the path. */
void schema_files_warn(
    const struct schema_source_settings *settings, const char *path, const char *why);

#endif
