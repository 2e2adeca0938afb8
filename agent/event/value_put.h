#ifndef ETWSHIP_EVENT_VALUE_PUT_H
#define ETWSHIP_EVENT_VALUE_PUT_H

#include "event/value_json.h"

/*
 * Single values as JSON text, into memory that the caller reserved: how much, value_put_room says.
 * What each form looks like is in agent/event/README.md ("Values").
 */

/* Bytes that a value of ${size} payload bytes may need. */
size_t value_put_room(uint8_t form, size_t size);

/* The same, split: at most VALUE_PUT_FIXED_ROOM plus 6 for each payload byte. */
enum { VALUE_PUT_FIXED_ROOM = 256 };

/* Write the value; returns the end. ${bytes} has the size that the field's type says. */
uint8_t *value_put(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes);

/* For people: strings without quotes, socket addresses as `192.0.2.7:80`; still JSON-escaped. */
uint8_t *value_put_text(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes);

#endif
