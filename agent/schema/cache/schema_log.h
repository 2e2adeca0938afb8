#ifndef ETWSHIP_SCHEMA_SCHEMA_LOG_H
#define ETWSHIP_SCHEMA_SCHEMA_LOG_H

#include "base/map.h"
#include "schema/source/schema_source.h"

/*
 * Joins the record of an event log, which describes itself (event/model/record.h), with its
 * provider's definition: the message, the names of level, task, opcode and keywords, and the
 * display of values.
 *
 * The record determines the layout. Fields are found in the definition by their names. They keep
 * the record's types; the definition's out type and map apply if they fit.
 *
 * An insert of the message refers to a property of the definition. The record may lack it, or have
 * it inside elements. So the message is rewritten: its inserts number the record's values. A record
 * that has none of the definition's values, as when Windows failed to render it
 * (ProcessingErrorData), gets no message.
 */

/* The record of a log in the form in which sources of definitions know the event: without its own
 * description. */
struct event_record schema_log_question(const struct event_record *record);

/* The first definition with a message, otherwise the first one; NULL: there is none. */
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

/* Add ${provider}. False: it is known already, or there are too many. */
bool schema_log_silent_add(struct schema_log_silent *silent, struct span provider);

/* The next provider that was not returned before; valid as long as ${silent}. False: there is
 * none. */
bool schema_log_silent_next(struct schema_log_silent *silent, struct span *ret_provider);

/*
 * Copy ${own} to ${arena} and join it with the others. ${definition} and ${parameters} may be NULL,
 * and outlive the copy. NULL: they add nothing, or memory is short.
 */
struct event_schema *schema_log_join(const struct event_schema *own,
    const struct event_schema *definition, const struct schema_parameters *parameters,
    struct arena *arena);

#endif
