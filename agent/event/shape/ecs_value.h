#ifndef ETWSHIP_EVENT_ECS_VALUE_H
#define ETWSHIP_EVENT_ECS_VALUE_H

#include "base/put.h"
#include "event/value/value_put.h"

/*
 * Single values in the spelling of Filebeat's etw input, which is that of TdhFormatProperty
 * (tdh.h): every value is a JSON string. docs/reference/events.md has the format of each type.
 */

/* Room that the functions below need for a value of ${size} payload bytes, with a comma. */
static inline size_t ecs_value_room(size_t size)
{
    enum { FIXED_ROOM = 384 }; /* the largest double has 309 digits before the point */
    return FIXED_ROOM + size * 8;
}

/* Write the value, in quotes; returns the end. ${bytes} has the size of the field's type. */
uint8_t *ecs_value_put(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes);

/* True if value_json_text(), which messages are made of, shows the value as it is here. */
bool ecs_value_is_alike(const struct schema_field *schema);

/* True if the value is a number that may have a name. */
static inline bool ecs_value_is_code(const struct schema_field *schema)
{
    return schema->map || schema->form == FORM_NTSTATUS || schema->form == FORM_HRESULT ||
           schema->form == FORM_WIN32_ERROR;
}

/* Append the value for people: the name in a map or of a status code, else the value itself. */
void ecs_value_add(const struct value_context *context, const struct schema_field *schema,
    struct span bytes, struct buf *out);

/* `"0x1F"`, `"0x00FF"` (nothing but quotes for no bytes), `"{1C95126E-…}"`, `"12"`; into PUT_MAX
 * bytes, and twice the size of ${bytes}. */
uint8_t *ecs_value_put_hex(uint8_t *p, uint64_t value);
uint8_t *ecs_value_put_bytes(uint8_t *p, struct span bytes);
uint8_t *ecs_value_put_guid(uint8_t *p, const uint8_t bytes[16]);

static inline uint8_t *ecs_value_put_number(uint8_t *p, uint64_t value)
{
    *p++ = '"';
    p = put_u64(p, value);
    *p++ = '"';
    return p;
}

/* ecs_value_put with the frequent forms inlined, for the place that writes most values. */
static inline uint8_t *ecs_value_put_fast(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes)
{
    switch (schema->form) {
    case FORM_UTF16:
        *p++ = '"';
        p = value_put_utf16(p, schema, bytes);
        *p++ = '"';
        return p;
    case FORM_UINT8:
        return ecs_value_put_number(p, bytes.data[0]);
    case FORM_UINT16:
        return ecs_value_put_number(p, load_le16(bytes.data));
    case FORM_UINT32:
        return ecs_value_put_number(p, load_le32(bytes.data));
    case FORM_UINT64:
        return ecs_value_put_number(p, load_le64(bytes.data));
    case FORM_HEX32:
    case FORM_HEX64:
    case FORM_POINTER:
        return ecs_value_put_hex(p, load_le(bytes.data, bytes.size));
    default:
        return ecs_value_put(context, p, schema, bytes);
    }
}

#endif
