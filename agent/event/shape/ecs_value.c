#include "event/shape/ecs_value.h"

#include <math.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/put.h"
#include "event/value/status_names.h"
#include "event/value/value_put.h"

/* ---- hex ------------------------------------------------------------------------------------- */

/* Hex digits are written in lower case everywhere else. Raises them in blocks that compilers do in
 * one register: bytes after ${end} in the last block change, too. */
static void raise_digits(uint8_t *p, const uint8_t *end)
{
    enum { BLOCK = 16, LETTER = 0x40 };
    for (; p < end; p += BLOCK) {
        for (size_t i = 0; i < BLOCK; i++) {
            p[i] = (uint8_t)(p[i] & ~((p[i] & LETTER) >> 1));
        }
    }
}

uint8_t *ecs_value_put_hex(uint8_t *p, uint64_t value)
{
    enum { DIGITS_AT = 3 }; /* after `"0x` */
    uint8_t *end = value_put_hex(p, value);
    raise_digits(p + DIGITS_AT, end - 1);
    return end;
}

uint8_t *ecs_value_put_bytes(uint8_t *p, struct span bytes)
{
    if (bytes.size == 0) {
        return put_literal(p, "\"\"");
    }
    p = put_literal(p, "\"0x");
    uint8_t *end = put_hex_bytes(p, bytes);
    raise_digits(p, end);
    *end++ = '"';
    return end;
}

uint8_t *ecs_value_put_guid(uint8_t *p, const uint8_t bytes[16])
{
    p = put_literal(p, "\"{");
    uint8_t *end = put_guid(p, bytes);
    raise_digits(p, end);
    return put_literal(end, "}\"");
}

/* ---- types ----------------------------------------------------------------------------------- */

/* `5.250000`, rounded half to even as printf rounds. False, and nothing written, for values whose
 * fraction has more than 50 bits: these are doubles below 4, mostly. */
static bool put_six_decimals(uint8_t **p, double value)
{
    static const double unit = 1125899906842624.0; /* 2^50 */
    double magnitude = fabs(value);
    if (magnitude >= unit) {
        return false;
    }
    uint64_t whole = (uint64_t)magnitude;
    double scaled = (magnitude - (double)whole) * unit;
    uint64_t fraction = (uint64_t)scaled;
    if ((double)fraction != scaled) {
        return false;
    }
    /* Millionths are fraction * 10^6 / 2^50, and 10^6 is 15625 * 2^6. */
    enum { SHIFT = 50 - 6, MILLION = 1000000 };
    const uint64_t half = UINT64_C(1) << (SHIFT - 1);
    uint64_t product = fraction * 15625;
    uint32_t millionths = (uint32_t)(product >> SHIFT);
    uint64_t rest = product & (2 * half - 1);
    millionths += rest > half || (rest == half && (millionths & 1));
    uint8_t *q = *p;
    if (signbit(value)) {
        *q++ = '-';
    }
    q = put_u64(q, whole + millionths / MILLION);
    *q++ = '.';
    put_eight(q, millionths % MILLION * 100);
    *p = q + 6;
    return true;
}

static uint8_t *put_real(uint8_t *p, uint8_t form, const uint8_t *data)
{
    enum { LONGEST = 336 };
    double value;
    if (form == FORM_FLOAT) {
        float single;
        uint32_t bits = load_le32(data);
        memcpy(&single, &bits, sizeof(single));
        value = (double)single;
    } else {
        uint64_t bits = load_le64(data);
        memcpy(&value, &bits, sizeof(value));
    }
    if (!isfinite(value)) {
        return value != value ? put_literal(p, "\"nan\"")
               : value < 0    ? put_literal(p, "\"-inf\"")
                              : put_literal(p, "\"inf\"");
    }
    *p++ = '"';
    if (!put_six_decimals(&p, value)) {
        p += snprintf((char *)p, LONGEST, "%f", value);
    }
    *p++ = '"';
    return p;
}

/* Nine digits of a second, of which FILETIME has seven. */
static uint8_t *put_time(const struct value_context *context, uint8_t *p, uint64_t filetime)
{
    uint8_t *q = p + 1;
    if (!(context->times ? put_clock_filetime(context->times, &q, filetime)
                         : put_filetime(&q, filetime))) {
        return ecs_value_put_hex(p, filetime);
    }
    *p = '"';
    return put_literal(q - 1, "00Z\"");
}

static uint8_t *put_system_time(uint8_t *p, struct span bytes)
{
    uint8_t *q = p + 1;
    if (!put_systemtime(&q, bytes.data)) {
        return ecs_value_put_bytes(p, bytes);
    }
    *p = '"';
    return put_literal(q, "Z\"");
}

static uint8_t *put_sid_text(uint8_t *p, struct span bytes)
{
    enum { LONGEST_SID = 68 }; /* 8 and 15 subauthorities */
    uint8_t *q = p + 1;
    if (!put_sid(&q, bytes)) {
        return ecs_value_put_bytes(p, span_first(bytes, LONGEST_SID));
    }
    *p = '"';
    *q++ = '"';
    return q;
}

/* `192.0.2.7:80`, `[fe80::1%3]:80` (SOCKADDR_IN and SOCKADDR_IN6, ws2def.h, ws2ipdef.h). */
static uint8_t *put_endpoint(uint8_t *p, struct span bytes)
{
    enum { INET = 2, INET6 = 23 };
    unsigned family = bytes.size >= 2 ? load_le16(bytes.data) : 0;
    if (family == INET && bytes.size >= 8) {
        p = put_literal(p, "\"");
        p = put_ipv4(p, bytes.data + 4);
    } else if (family == INET6 && bytes.size >= 24) {
        p = put_literal(p, "\"[");
        p = put_ipv6(p, bytes.data + 8);
        uint32_t scope_id = bytes.size >= 28 ? load_le32(bytes.data + 24) : 0;
        if (scope_id) {
            *p++ = '%';
            p = put_u64(p, scope_id);
        }
        *p++ = ']';
    } else {
        return ecs_value_put_bytes(p, bytes);
    }
    *p++ = ':';
    p = put_u64(p, load_be16(bytes.data + 2));
    *p++ = '"';
    return p;
}

uint8_t *ecs_value_put(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes)
{
    const uint8_t *data = bytes.data;
    switch (schema->form) {
    case FORM_UTF16:
    case FORM_CHAR16:
    case FORM_UTF8:
    case FORM_ANSI:
    case FORM_CHAR8:
    case FORM_IPV4:
        return value_put(context, p, schema, bytes);
    case FORM_HEX8:
    case FORM_HEX16:
    case FORM_HEX32:
    case FORM_HEX64:
    case FORM_POINTER:
        return ecs_value_put_hex(p, load_le(data, bytes.size));
    case FORM_FLOAT:
    case FORM_DOUBLE:
        return put_real(p, schema->form, data);
    case FORM_GUID:
        p = put_literal(p, "\"{");
        p = put_guid(p, data);
        return put_literal(p, "}\"");
    case FORM_FILETIME:
        return put_time(context, p, load_le64(data));
    case FORM_WMI_TIME:
        return context->clock ? put_time(context, p,
                                    trace_clock_filetime(context->clock, (int64_t)load_le64(data)))
                              : ecs_value_put_number(p, load_le64(data));
    case FORM_SYSTEMTIME:
    case FORM_SYSTEMTIME_UTC:
        return put_system_time(p, bytes);
    case FORM_SID:
        return put_sid_text(p, bytes);
    case FORM_IPV6:
        return bytes.size == 16 ? value_put(context, p, schema, bytes)
                                : ecs_value_put_bytes(p, bytes);
    case FORM_SOCKET_ADDRESS:
        return put_endpoint(p, bytes);
    case FORM_NONE:
    case FORM_BINARY:
        return ecs_value_put_bytes(p, bytes);
    default: /* numbers and booleans */
        *p++ = '"';
        p = value_put(context, p, schema, bytes);
        *p++ = '"';
        return p;
    }
}

bool ecs_value_is_alike(const struct schema_field *schema)
{
    if (schema->parameters || ecs_value_is_code(schema)) {
        return false;
    }
    switch (schema->form) {
    case FORM_INT8:
    case FORM_UINT8:
    case FORM_INT16:
    case FORM_UINT16:
    case FORM_INT32:
    case FORM_UINT32:
    case FORM_INT64:
    case FORM_UINT64:
    case FORM_BOOL8:
    case FORM_BOOL16:
    case FORM_BOOL32:
    case FORM_POINTER_INT:
    case FORM_POINTER_SINT:
    case FORM_PORT:
    case FORM_IPV4:
        return true;
    default:
        return schema_form_is_string(schema->form);
    }
}

/* ---- texts for numbers ----------------------------------------------------------------------- */

/* The names of the bits that are set as `A, B, 0x40`. False, and nothing written, if no set bit has
 * a name. */
static bool add_bits(const struct schema_map *map, uint64_t value, struct buf *out)
{
    uint64_t left = value;
    const char *separator = "\"";
    const size_t separator_bytes = 2;
    size_t start = out->size;
    for (size_t i = 0; i < map->entry_count && !out->failed; i++) {
        const struct schema_map_entry *entry = &map->entries[i];
        bool applies = entry->value ? (value & entry->value) == entry->value : value == 0;
        if (applies && buf_reserve(out, separator_bytes + utf8_json_bound(entry->text.size))) {
            buf_add_text(out, separator);
            out->size += utf8_to_json(entry->text, out->data + out->size);
            separator = ", ";
            left &= ~entry->value;
        }
    }
    if (out->size == start) {
        return false;
    }
    if (left && buf_reserve(out, PUT_MAX)) {
        buf_add_text(out, separator);
        uint8_t *digits = out->data + out->size;
        uint8_t *end = put_hex(digits, left);
        raise_digits(digits + 2, end);
        out->size += (size_t)(end - digits);
    }
    buf_add_byte(out, '"');
    return true;
}

static bool add_map_text(const struct schema_map *map, uint64_t value, struct buf *out)
{
    if (map->kind == MAP_BITS) {
        return add_bits(map, value, out);
    }
    struct span text = schema_map_find(map, value);
    if (text.data) {
        value_json_string(text, out);
    }
    return text.data != NULL;
}

/* Name of a status code, or TDH's text for unknown ones ("outType" of the event manifest). */
static bool add_status(uint8_t form, uint32_t code, struct buf *out)
{
    const char *name;
    const char *kind;
    switch (form) {
    case FORM_NTSTATUS:
        name = status_names_ntstatus(code);
        kind = "NTSTATUS";
        break;
    case FORM_HRESULT:
        name = status_names_hresult(code);
        kind = "HResult";
        break;
    case FORM_WIN32_ERROR:
        name = status_names_win32(code);
        kind = "Win32";
        break;
    default:
        return false;
    }
    if (name) {
        buf_add_byte(out, '"');
        buf_add_text(out, name);
    } else {
        buf_add_text(out, "\"Unknown ");
        buf_add_text(out, kind);
        buf_add_text(out, " Error code: ");
        buf_add_hex(out, code);
    }
    buf_add_byte(out, '"');
    return true;
}

void ecs_value_add(const struct value_context *context, const struct schema_field *schema,
    struct span bytes, struct buf *out)
{
    if (schema->map && bytes.size <= 8 &&
        add_map_text(schema->map, load_le(bytes.data, bytes.size), out)) {
        return;
    }
    if (ecs_value_is_code(schema) && bytes.size == 4 &&
        add_status(schema->form, load_le32(bytes.data), out)) {
        return;
    }
    if (buf_reserve(out, ecs_value_room(bytes.size))) {
        uint8_t *p = out->data + out->size;
        out->size += (size_t)(ecs_value_put(context, p, schema, bytes) - p);
    }
}
