#ifndef ETWSHIP_EVENT_VALUE_PUT_H
#define ETWSHIP_EVENT_VALUE_PUT_H

#include "base/bytes.h"
#include "base/put.h"
#include "event/value/value_json.h"

/*
 * Single values as JSON text, into memory of value_put_room() bytes that the caller reserved.
 * docs/reference/events.md ("Values") has the format of each form.
 */

/* Room for ${size} payload bytes as one value, or as several values each followed by a comma. */
static inline size_t value_put_room(size_t size)
{
    enum { FIXED_ROOM = 256 };
    return FIXED_ROOM + size * 8;
}

/* Write the value; returns the end. ${bytes} has the size of the field's type. */
uint8_t *value_put(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes);

/* For people: strings without quotes, socket addresses as `192.0.2.7:80`; still JSON-escaped. */
uint8_t *value_put_text(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes);

/* `"0x…"`. */
static inline uint8_t *value_put_hex(uint8_t *p, uint64_t value)
{
    *p++ = '"';
    p = put_hex(p, value);
    *p++ = '"';
    return p;
}

/* An unsigned number of a type that has 64 bits, also where the record's pointers have 32. */
uint8_t *value_put_uint64(const struct value_context *context, uint8_t *p, uint64_t value);

/* UTF-16 without quotes. Only strings of a given length can contain a NUL. */
static inline uint8_t *value_put_utf16(
    uint8_t *p, const struct schema_field *schema, struct span bytes)
{
    if (schema->may_hold_nul) {
        bytes.size = utf16_until_nul(bytes);
    }
    return p + utf16_to_json(bytes, p);
}

/* value_put with the frequent forms inlined, for the place that writes most values. */
static inline uint8_t *value_put_fast(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes)
{
    const uint8_t *data = bytes.data;
    uint64_t value;
    switch (schema->form) {
    case FORM_UTF16:
        *p++ = '"';
        p = value_put_utf16(p, schema, bytes);
        *p++ = '"';
        return p;
    case FORM_UINT8:
        value = data[0];
        break;
    case FORM_UINT16:
        value = load_le16(data);
        break;
    case FORM_UINT32:
        value = load_le32(data);
        break;
    case FORM_UINT64:
        value = load_le64(data);
        if (context->uint64_strings) {
            return value_put_uint64(context, p, value);
        }
        break;
    case FORM_PORT:
        value = load_be16(data);
        break;
    case FORM_INT32:
        return put_i64(p, (int32_t)load_le32(data));
    case FORM_BOOL8:
    case FORM_BOOL32:
        return load_le(data, bytes.size) ? put_literal(p, "true") : put_literal(p, "false");
    case FORM_IPV4:
        *p++ = '"';
        p = put_ipv4(p, data);
        *p++ = '"';
        return p;
    case FORM_HEX32:
    case FORM_HEX64:
    case FORM_POINTER:
        return value_put_hex(p, load_le(data, bytes.size));
    default:
        return value_put(context, p, schema, bytes);
    }
    return put_u64(p, value);
}

#endif
