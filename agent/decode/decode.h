#ifndef ETWSHIP_DECODE_DECODE_H
#define ETWSHIP_DECODE_DECODE_H

#include "event/event.h"

/*
 * Payload bytes + schema -> field array. No I/O, no clock, no lock, no cache: one decoder per
 * worker thread. The array belongs to the decoder and is valid until its next call.
 *
 * What a type's bytes look like: TDH_IN_TYPE in tdh.h. A string stops at its NUL, a last string
 * without one takes the rest. A payload that ends early or disagrees keeps the fields before;
 * nothing is ever shifted silently. At most DECODE_MAX_FIELDS fields are made of one event.
 */
enum { DECODE_MAX_FIELDS = 65536 };

struct decoder {
    struct field *fields;
    uint32_t field_count;
    uint32_t field_capacity;
    uint32_t *numbers; /* by property index: last value of properties that are lengths or counts */
    uint32_t number_capacity;
    char error[160];
    uint16_t done;     /* decoder_begin: top-level fields */
    const uint8_t *at; /* … and where in the payload they end */
};

bool decoder_init(struct decoder *decoder, struct error *err);
void decoder_fini(struct decoder *decoder);

/*
 * Decode ${record} by ${schema} (NULL: raw) with pointers of ${pointer_size} bytes (4 or 8) into
 * ${ret_event}, whose stack members are left empty. Never fails: see enum decode_status.
 */
void decoder_run(struct decoder *decoder, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, struct event *ret_event);

/*
 * The same in two steps, for who looks at the first fields to see whether the others are wanted.
 * decoder_begin decodes the first ${field_count} top-level fields, or all there are: members of
 * ${ret_event} behind the fields say nothing yet, but that it is RAW or is not. decoder_finish, of
 * that event, makes it what decoder_run would have.
 */
void decoder_begin(struct decoder *decoder, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, uint16_t field_count,
    struct event *ret_event);
void decoder_finish(struct decoder *decoder, struct event *event);

#endif
