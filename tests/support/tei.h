#ifndef ETWSHIP_TESTS_SUPPORT_TEI_H
#define ETWSHIP_TESTS_SUPPORT_TEI_H

#include "base/buf.h"
#include "event/model/schema.h"

/*
 * A schema as TDH says it: TRACE_EVENT_INFO and EVENT_MAP_INFO (tdh.h), what merged traces embed
 * and what TdhGetEventInformation returns. Texts are put as the schema spells them; offsets count
 * from the start of the structure, 0 stands for what is absent. The same schema gives the same
 * bytes. Failure stays in buf.failed.
 */
/*
 * Texts of message tables end with a space, and TDH leaves it there: behind messages, the texts of
 * maps, and names that a manifest gives a message. So tracerpt shows the opcodes `Info ` and `Start
 * ` of winmeta.xml, but tasks without a message as they are. A schema does not say which of its
 * names are messages: levels and opcodes are taken for such, and what holds a blank can be nothing
 * else.
 */
enum tei_spaces { TEI_SPACES_NONE, TEI_SPACES_WINDOWS, TEI_SPACES_ALL };

struct tei_options {
    const struct event_descriptor *descriptor; /* of the event at hand; NULL: the schema's */
    uint8_t pointer_size;                      /* of that event; 0: 8 */
    enum tei_spaces spaces;                    /* after the message and the names */
};

/*
 * Append a TRACE_EVENT_INFO. What differs from the schema, because TDH says it so: hex numbers of
 * MOF classes are plain ones with a hex out type, their fixed texts are arrays of characters, what
 * newer systems append to them is left out, an array that takes the rest of its payload is 192
 * properties `Name1` to `Name192` (StackWalk), and an array that counts itself (TraceLogging) is
 * two, `Name.Count` and `Name`.
 */
void tei_put_event(
    struct buf *out, const struct event_schema *schema, const struct tei_options *options);

/* Append an EVENT_MAP_INFO. */
void tei_put_map(struct buf *out, const struct schema_map *map, struct span name);

/* What the map of ${field} is called: by its source, else like the field. */
struct span tei_map_name(const struct schema_field *field);

#endif
