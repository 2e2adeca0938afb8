#ifndef ETWSHIP_SCHEMA_MOF_BUILD_H
#define ETWSHIP_SCHEMA_MOF_BUILD_H

#include "event/model/schema.h"
#include "schema/mof/mof_model.h"

/*
 * Builds schemas from MOF classes. Three classes, each derived from the previous one, describe an
 * event ("Publishing Your Event Schema" on learn.microsoft.com): the provider class with its Guid;
 * the event class with the Guid of event headers and an EventVersion; the event type class with
 * EventType and properties in the order of WmiDataId. One class may play two of these roles.
 *
 * A class with an ambiguous layout is left out with a warning. A layout ends before a property of
 * unknown size, with a warning; the rest of the payload stays bytes.
 */
struct mof_schemas {
    struct event_schema **list; /* by class GUID, type, version (newest first), file order */
    size_t count;
};

/* Build schemas for a linked ${model}. Schemas live in its arena, their list until
 * mof_schemas_fini. False with ${err} set if memory ran out; the list is then incomplete. */
bool mof_build(struct mof_model *model, struct mof_schemas *ret_schemas, struct error *err);
void mof_schemas_fini(struct mof_schemas *schemas);

/* Find the schemas of ${version}, else of the next lower version. Returns their number. */
size_t mof_schemas_find(const struct mof_schemas *schemas, const struct guid *class_guid,
    uint8_t type, uint8_t version, struct event_schema *const **ret_first);

#endif
