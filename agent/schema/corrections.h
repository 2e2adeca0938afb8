#ifndef ETWSHIP_SCHEMA_CORRECTIONS_H
#define ETWSHIP_SCHEMA_CORRECTIONS_H

#include "schema/schema_source.h"

/*
 * What is known to be missing or wrong in public definitions of events, and what is right. Manifests
 * that tools wrote from a running Windows lack out types (so a port comes in the wrong byte order), the
 * lengths of addresses, and counts of arrays; some lack whole fields. A table in the program
 * (corrections.tsv) says what the definitions of Microsoft say; files of the user
 * (NAME.corrections.tsv) have the same columns, and go first.
 *
 * A row corrects one field. It changes only what the definition leaves open or is known to say
 * wrong (`was`): one that says something else stays as it is. So it does not matter where a
 * definition came from, or how often it is corrected. agent/schema/README.md, "Corrections", has the
 * columns.
 */
struct corrections;

/* How the names of the user's files end (schema_files_is_one). */
extern const char *const corrections_endings[];

/* Those of the files that ${settings} names, then those of the program. NULL with ${err} set on
 * failure; a file that cannot be used is a warning. */
struct corrections *corrections_create(
    const struct schema_source_settings *settings, struct error *err);
void corrections_destroy(struct corrections *corrections); /* NULL is fine */

/* Add the rows of ${text}, a table with its header, behind those that are there. Nothing of it is
 * added, and ${err} says `FILE:LINE: what`, at the first error. ${file} is only for that line. */
bool corrections_add(
    struct corrections *corrections, struct span text, const char *file, struct error *err);

/* Does some row name the provider and the event of ${schema}? */
bool corrections_concern(const struct corrections *corrections, const struct event_schema *schema);

/*
 * Correct ${schema}, which is finished (schema_finish) and a copy of the caller's: its fields are made
 * anew in ${arena} where one changes, and have FIELD_CORRECTED; nothing that it pointed to is
 * touched. False: ${arena} is full; ${schema} is as it was.
 */
bool corrections_apply(
    const struct corrections *corrections, struct event_schema *schema, struct arena *arena);

#endif
