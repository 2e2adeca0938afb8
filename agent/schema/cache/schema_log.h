#ifndef ETWSHIP_SCHEMA_SCHEMA_LOG_H
#define ETWSHIP_SCHEMA_SCHEMA_LOG_H

#include "base/map.h"
#include "schema/source/schema_source.h"

/*
 * What a provider's definition adds to the record of an event log, which describes itself
 * (event/model/record.h): the message, the names of level, task, opcode and keywords, and how values are shown.
 *
 * The record has the layout. Its fields are found in the definition by their names. They keep the types that the record
 * gives them; the definition's out type and map apply where these fit.
 *
 * An insert of the message means a property of the definition. The record may lack it, or have it inside of elements. So
 * the message is rewritten: its inserts count the record's values. A record with other values than the definition's, as
 * where Windows failed to render it (ProcessingErrorData), has no message.
 */

/* The record of a log as a source of definitions expects an event: without its description of itself. */
struct event_record schema_log_question(const struct event_record *record);

/* The definition with a message, else the first one; NULL: there is none. */
const struct event_schema *schema_log_best(const struct schema_candidates *found);

/* Providers whose records have no message: neither the record nor a definition has one. */
struct schema_log_silent {
    struct arena arena;
    struct map names; /* name -> struct schema_log_name */
    struct schema_log_name *first;
    struct schema_log_name *last;
    struct schema_log_name *told; /* the last one that schema_log_silent_next returned */
};

void schema_log_silent_init(struct schema_log_silent *silent);
void schema_log_silent_fini(struct schema_log_silent *silent);

/* Add ${provider}. False: it is there already, or there are too many. */
bool schema_log_silent_add(struct schema_log_silent *silent, struct span provider);

/* The next one that was not returned before; valid as long as ${silent}. False: there is none. */
bool schema_log_silent_next(struct schema_log_silent *silent, struct span *ret_provider);

/*
 * A copy of ${own} in ${arena} with what the others add. ${definition} and ${parameters} may be NULL, and outlive it. NULL:
 * they add nothing, or there is no memory.
 */
struct event_schema *schema_log_join(const struct event_schema *own,
    const struct event_schema *definition, const struct schema_parameters *parameters,
    struct arena *arena);

#endif
