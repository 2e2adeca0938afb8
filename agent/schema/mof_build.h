#ifndef ETWSHIP_SCHEMA_MOF_BUILD_H
#define ETWSHIP_SCHEMA_MOF_BUILD_H

#include "event/schema.h"
#include "schema/mof_model.h"

/*
 * From MOF classes to schemas. Three classes, one derived from the other, describe an event ("Publishing
 * Your Event Schema" on learn.microsoft.com): that of the provider with its Guid, the event class with
 * the Guid of event headers and an EventVersion, the event type class with EventType and properties in
 * the order of WmiDataId. One class may be two of these.
 *
 * A class whose layout would be a guess is told and left out. Where the size of a property is not
 * known, the layout ends before it, which is told, too: what follows comes as bytes.
 */
struct mof_schemas {
    struct event_schema **list; /* by class GUID, type, newest version first, place in the files */
    size_t count;
};

/* ${model} is linked. Schemas live in its arena, their list until mof_schemas_fini. False with ${err}
 * set if memory ran out: then only some of them are there. */
bool mof_build(struct mof_model *model, struct mof_schemas *ret_schemas, struct error *err);
void mof_schemas_fini(struct mof_schemas *schemas);

/* Those of exactly ${version}, else of the highest lower one; how many. */
size_t mof_schemas_find(const struct mof_schemas *schemas, const struct guid *class_guid,
    uint8_t type, uint8_t version, struct event_schema *const **ret_first);

#endif
