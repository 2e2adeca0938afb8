#ifndef ETWSHIP_DECODE_DECODE_OWN_H
#define ETWSHIP_DECODE_DECODE_OWN_H

#include "decode/decode.h"

/* Internals shared by the files of the decoder. */

/* Record the first problem of the event, with ${field}. Always false. */
bool decode_value_fail(struct decoder *d, const struct schema_field *field, const char *what);

/* Take ${count} values of ${unit} bytes; the payload itself states the count. */
bool decode_value_take_counted(struct decoder *d, const struct schema_field *field, uint64_t count,
    size_t unit, struct span *ret_bytes);

/* Take the bytes of one value; false, with nothing consumed, if the payload is too short. */
bool decode_value_take(struct decoder *d, const struct schema_field *field, struct span *ret_bytes);

/* Value of a property that is the length or count of a later one. */
static inline uint32_t decode_number_of(struct span bytes)
{
    switch (bytes.size) {
    case 1:
        return bytes.data[0];
    case 2:
        return load_le16(bytes.data);
    case 4:
        return load_le32(bytes.data);
    case 8: {
        uint64_t wide = load_le64(bytes.data);
        return wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
    }
    default:
        return 0;
    }
}

static inline void decode_remember_number(
    struct decoder *d, const struct schema_field *field, struct span bytes)
{
    if (field->flags & FIELD_IS_NUMBER) {
        d->numbers[field - d->schema->fields] = decode_number_of(bytes);
    }
}

#endif
