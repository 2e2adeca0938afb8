#ifndef ETWSHIP_SCHEMA_CORRECTIONS_H
#define ETWSHIP_SCHEMA_CORRECTIONS_H

#include "schema/source/schema_source.h"

/*
 * Corrections of public event definitions that are known to be incomplete or wrong. Manifests that
 * tools exported from a running Windows lack out types (so a port has the wrong byte order),
 * lengths of addresses and counts of arrays; some lack whole fields. A table in the program
 * (corrections.tsv) holds what Microsoft's own definitions say. The user's files
 * (NAME.corrections.tsv) have the same columns and take precedence.
 *
 * A row corrects one field. It changes only what the definition leaves open or is known to say
 * wrong (`was`); any other value stays. So corrections work for every source of definitions, and
 * applying them twice is harmless. agent/schema/README.md, "Corrections", describes the columns.
 */
struct corrections;

/* File name endings of the user's tables (schema_files_is_one). */
extern const char *const corrections_endings[];

/* Load the files that ${settings} names, then the built-in table. NULL with ${err} set on failure;
 * a file that cannot be used causes a warning only. */
struct corrections *corrections_create(
    const struct schema_source_settings *settings, struct error *err);
void corrections_destroy(struct corrections *corrections); /* NULL is fine */

/* Append the rows of ${text}, a table with its header. At the first error nothing is added and
 * ${err} is `FILE:LINE: reason`; ${file} is used for that alone. */
bool corrections_add(
    struct corrections *corrections, struct span text, const char *file, struct error *err);

/* True if a row names the provider and event of ${schema}. */
bool corrections_concern(const struct corrections *corrections, const struct event_schema *schema);

/*
 * Correct ${schema}, a finished copy (schema_finish) that the caller owns. Changed fields are
 * allocated in ${arena} and get FIELD_CORRECTED; memory that ${schema} pointed to is not modified.
 * False if ${arena} is full; ${schema} is then unchanged.
 */
bool corrections_apply(
    const struct corrections *corrections, struct event_schema *schema, struct arena *arena);

#endif
