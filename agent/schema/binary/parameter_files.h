#ifndef ETWSHIP_SCHEMA_PARAMETER_FILES_H
#define ETWSHIP_SCHEMA_PARAMETER_FILES_H

#include "base/guid.h"
#include "event/model/schema_parameters.h"
#include "schema/binary/message_table.h"

/*
 * Texts that values refer to by number (schema_parameters.h), by provider. For some providers the
 * program file with the texts is known (parameter_files.def). For the others it is the file that
 * defines their events.
 */
struct parameter_files;

/* NULL: out of memory. ${budget} may be NULL, and outlives it. */
struct parameter_files *parameter_files_create(struct arena_budget *budget);
void parameter_files_destroy(struct parameter_files *files); /* NULL is fine */

/* True if the file at ${path} has, by its name, the texts of a known provider. A .mui file has none
 * of its own. */
bool parameter_files_is_one(struct span path);

/* Keep the texts of the file at ${path}; for each number, that of the first of ${tables} which has
 * it. Of files with equal names the first counts. False: not enough memory is left. */
bool parameter_files_add(struct parameter_files *files, struct span path, uint16_t language,
    const struct message_table *tables, size_t count);

/* Keep the texts of the file that defines ${provider}, if their numbers have the 16 bits of
 * parameters. */
bool parameter_files_add_own(struct parameter_files *files, const struct guid *provider,
    uint16_t language, const struct message_table *tables, size_t count);

/* The texts of a provider, by its name or GUID; NULL: none are known. Any thread, after all files
 * were added. */
const struct schema_parameters *parameter_files_find(
    const struct parameter_files *files, const struct guid *provider, struct span name);

#endif
