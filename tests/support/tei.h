#ifndef ETWSHIP_TESTS_SUPPORT_TEI_H
#define ETWSHIP_TESTS_SUPPORT_TEI_H

#include "base/buf.h"
#include "event/schema.h"

/*
 * A schema as TDH says it: TRACE_EVENT_INFO and EVENT_MAP_INFO (tdh.h), what merged traces embed
 * and what TdhGetEventInformation returns. Texts are put as the schema spells them; offsets count
 * from the start of the structure, 0 stands for what is absent. The same schema gives the same
 * bytes. Failure stays in buf.failed.
 */
struct tei_options {
    const struct event_descriptor *descriptor; /* of the event at hand; NULL: the schema's */
    uint8_t pointer_size;                      /* of that event; 0: 8 */
    bool spaces; /* a space behind the message, as compiled message tables leave it */
};

/*
 * Append a TRACE_EVENT_INFO. What differs from the schema, because TDH says it so: hex numbers of
 * MOF classes are plain ones with a hex out type, their fixed texts are arrays of characters, what
 * newer systems append to them is left out, an array that takes the rest of its payload is 32
 * properties `Name1` to `Name32` (StackWalk), and an array that counts itself (TraceLogging) is two,
 * `Name.Count` and `Name`.
 */
void tei_put_event(
    struct buf *out, const struct event_schema *schema, const struct tei_options *options);

/* Append an EVENT_MAP_INFO. */
void tei_put_map(struct buf *out, const struct schema_map *map, struct span name);

/* What the map of ${field} is called: by its source, else like the field. */
struct span tei_map_name(const struct schema_field *field);

#endif
