#ifndef ETWSHIP_DECODE_DECODE_H
#define ETWSHIP_DECODE_DECODE_H

#include "base/reader.h"
#include "event/model/event.h"

/*
 * Decodes payload bytes by a schema into an array of fields. No I/O, clock, lock or cache: one
 * decoder per worker thread. The array belongs to the decoder and is valid until its next call.
 *
 * TDH_IN_TYPE in tdh.h defines the encoding of each type. A string ends at its NUL; a last string
 * without NUL takes the rest. If a payload is too short or invalid, the fields before that are
 * kept; nothing is shifted silently. An event has at most DECODE_MAX_FIELDS fields.
 */
enum { DECODE_MAX_FIELDS = 65536 };

struct decoder {
    struct field *fields;
    uint32_t field_count;
    size_t field_capacity;
    uint32_t *numbers; /* by property index: last value of a property that is a length or count */
    size_t number_capacity;
    char error[160];

    /* The event that is being decoded. */
    const struct event_schema *schema;
    struct reader reader; /* over its payload */
    size_t payload_size;
    uint8_t pointer_size;
    uint16_t done; /* number of top-level fields decoded */
};

bool decoder_init(struct decoder *decoder, struct error *err);
void decoder_fini(struct decoder *decoder);

/*
 * Decode ${record} by ${schema} (NULL: raw) with pointers of ${pointer_size} bytes (4 or 8) into
 * ${ret_event}, whose stack members stay empty. Never fails: see enum decode_status.
 */
void decoder_run(struct decoder *decoder, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, struct event *ret_event);

/*
 * decoder_run() in two steps, for callers that decide by the first fields whether they need the
 * others. decoder_begin decodes the first ${field_count} top-level fields, or all if there are
 * fewer; of the other members of ${ret_event} only whether it is RAW is final. decoder_finish
 * completes that event as decoder_run would.
 */
void decoder_begin(struct decoder *decoder, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, uint16_t field_count,
    struct event *ret_event);
void decoder_finish(struct decoder *decoder, struct event *event);

#endif
