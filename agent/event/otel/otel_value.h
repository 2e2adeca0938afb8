#ifndef ETWSHIP_EVENT_OTEL_VALUE_H
#define ETWSHIP_EVENT_OTEL_VALUE_H

#include "event/otel/otel_codec.h"
#include "event/value/value_json.h"

/*
 * Payload fields as attributes of a log record, by their own names: numbers as int, real numbers as
 * double (NaN and the infinities, too), binary as bytes, structs and arrays as such. GUIDs, SIDs,
 * addresses, times and `0x…` are text as in the native event. The name of a value is in
 * `<field>_name`.
 */

/* The attributes of the top-level fields of ${event}. */
void otel_value_add_fields(const struct otel_codec *codec, const struct value_context *context,
    const struct event *event, struct buf *out);

#endif
