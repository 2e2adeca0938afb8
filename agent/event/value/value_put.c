#include "event/value/value_put.h"

#include <math.h>

#include "base/bytes.h"
#include "base/put.h"

uint8_t *value_put_uint64(const struct value_context *context, uint8_t *p, uint64_t value)
{
    if (!context->uint64_strings) {
        return put_u64(p, value);
    }
    *p++ = '"';
    p = put_u64(p, value);
    *p++ = '"';
    return p;
}

static uint8_t *put_quoted_bytes(uint8_t *p, struct span bytes)
{
    *p++ = '"';
    p = put_hex_bytes(p, bytes);
    *p++ = '"';
    return p;
}

static uint8_t *put_bool(uint8_t *p, bool value)
{
    return value ? put_literal(p, "true") : put_literal(p, "false");
}

static uint8_t *put_time(const struct value_context *context, uint8_t *p, uint64_t filetime)
{
    uint8_t *q = p + 1;
    if (!(context->times ? put_clock_filetime(context->times, &q, filetime)
                         : put_filetime(&q, filetime))) {
        return value_put_hex(p, filetime);
    }
    *p = '"';
    *q++ = '"';
    return q;
}

static uint8_t *put_system_time(uint8_t *p, struct span bytes, bool utc)
{
    uint8_t *q = p + 1;
    if (!put_systemtime(&q, bytes.data)) {
        return put_quoted_bytes(p, bytes);
    }
    *p = '"';
    if (utc) {
        *q++ = 'Z';
    }
    *q++ = '"';
    return q;
}

static uint8_t *put_real(uint8_t *p, uint8_t form, const uint8_t *data)
{
    if (form == FORM_FLOAT) {
        float value;
        uint32_t bits = load_le32(data);
        memcpy(&value, &bits, sizeof(value));
        return isfinite(value) ? put_float(p, value) : put_literal(p, "null");
    }
    double value;
    uint64_t bits = load_le64(data);
    memcpy(&value, &bits, sizeof(value));
    return isfinite(value) ? put_double(p, value) : put_literal(p, "null");
}

/* SOCKADDR_IN and SOCKADDR_IN6 (ws2def.h, ws2ipdef.h): ports and addresses in network order. */
static uint8_t *put_socket_address(uint8_t *p, struct span bytes)
{
    if (bytes.size == 0) {
        return put_literal(p, "{}");
    }
    unsigned family = bytes.size >= 2 ? load_le16(bytes.data) : bytes.data[0];
    if (family == 2 && bytes.size >= 8) {
        p = put_literal(p, "{\"address\":\"");
        p = put_ipv4(p, bytes.data + 4);
    } else if (family == 23 && bytes.size >= 24) {
        p = put_literal(p, "{\"address\":\"");
        p = put_ipv6(p, bytes.data + 8);
    } else {
        p = put_literal(p, "{\"family\":");
        p = put_u64(p, family);
        p = put_literal(p, ",\"raw\":");
        p = put_quoted_bytes(p, bytes);
        *p++ = '}';
        return p;
    }
    p = put_literal(p, "\",\"port\":");
    p = put_u64(p, load_be16(bytes.data + 2));
    p = put_literal(p, ",\"family\":");
    p = put_u64(p, family);
    uint32_t scope_id = family == 23 && bytes.size >= 28 ? load_le32(bytes.data + 24) : 0;
    if (scope_id) {
        p = put_literal(p, ",\"scope_id\":");
        p = put_u64(p, scope_id);
    }
    *p++ = '}';
    return p;
}

/* The text of a string value. */
static uint8_t *put_text(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes)
{
    if (schema->form == FORM_UTF16 || schema->form == FORM_CHAR16) {
        return value_put_utf16(p, schema, bytes);
    }
    if (schema->may_hold_nul) {
        bytes = span_until_nul(bytes);
    }
    return p + (schema->form == FORM_UTF8 ? utf8_to_json(bytes, p)
                                          : codepage_to_json(context->ansi, bytes, p));
}

uint8_t *value_put(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes)
{
    const uint8_t *data = bytes.data;
    uint8_t form = schema->form;
    switch (form) {
    case FORM_UINT8:
        return put_u64(p, data[0]);
    case FORM_UINT16:
        return put_u64(p, load_le16(data));
    case FORM_UINT32:
    case FORM_NTSTATUS:
    case FORM_WIN32_ERROR:
        return put_u64(p, load_le32(data));
    case FORM_UINT64:
        return value_put_uint64(context, p, load_le64(data));
    case FORM_INT32:
        return put_i64(p, (int32_t)load_le32(data));
    case FORM_INT8:
        return put_i64(p, (int8_t)data[0]);
    case FORM_INT16:
        return put_i64(p, (int16_t)load_le16(data));
    case FORM_INT64:
        return put_i64(p, (int64_t)load_le64(data));
    case FORM_HRESULT:
        return schema->in_type == IN_INT32 ? put_i64(p, (int32_t)load_le32(data))
                                           : put_u64(p, load_le32(data));
    case FORM_PORT:
        return put_u64(p, load_be16(data));
    case FORM_POINTER_INT:
        return value_put_uint64(context, p, load_le(data, bytes.size));
    case FORM_POINTER_SINT:
        return bytes.size == 4 ? put_i64(p, (int32_t)load_le32(data))
                               : put_i64(p, (int64_t)load_le64(data));
    case FORM_HEX8:
    case FORM_HEX16:
    case FORM_HEX32:
    case FORM_HEX64:
    case FORM_POINTER:
        return value_put_hex(p, load_le(data, bytes.size));
    case FORM_FLOAT:
    case FORM_DOUBLE:
        return put_real(p, form, data);
    case FORM_BOOL8:
    case FORM_BOOL16:
    case FORM_BOOL32:
        return put_bool(p, load_le(data, bytes.size) != 0);
    case FORM_GUID:
        *p++ = '"';
        p = put_guid(p, data);
        *p++ = '"';
        return p;
    case FORM_FILETIME:
        return put_time(context, p, load_le64(data));
    case FORM_WMI_TIME: {
        int64_t raw = (int64_t)load_le64(data);
        return context->clock ? put_time(context, p, trace_clock_filetime(context->clock, raw))
                              : value_put_uint64(context, p, (uint64_t)raw);
    }
    case FORM_SYSTEMTIME:
    case FORM_SYSTEMTIME_UTC:
        return put_system_time(p, bytes, form == FORM_SYSTEMTIME_UTC);
    case FORM_SID: {
        uint8_t *q = p + 1;
        if (!put_sid(&q, bytes)) {
            return put_quoted_bytes(p, span_first(bytes, 100));
        }
        *p = '"';
        *q++ = '"';
        return q;
    }
    case FORM_IPV4:
        *p++ = '"';
        p = put_ipv4(p, data);
        *p++ = '"';
        return p;
    case FORM_IPV6:
        if (bytes.size != 16) {
            return put_quoted_bytes(p, bytes);
        }
        *p++ = '"';
        p = put_ipv6(p, data);
        *p++ = '"';
        return p;
    case FORM_SOCKET_ADDRESS:
        return put_socket_address(p, bytes);
    case FORM_UTF16:
    case FORM_CHAR16:
    case FORM_UTF8:
    case FORM_ANSI:
    case FORM_CHAR8:
        *p++ = '"';
        p = put_text(context, p, schema, bytes);
        *p++ = '"';
        return p;
    default:
        return put_quoted_bytes(p, bytes);
    }
}

/* `192.0.2.7:80`, `[2001:db8::1]:80`; nothing for other families. */
static uint8_t *put_endpoint(uint8_t *p, struct span bytes)
{
    unsigned family = bytes.size >= 2 ? load_le16(bytes.data) : 0;
    if (family == 2 && bytes.size >= 8) {
        p = put_ipv4(p, bytes.data + 4);
    } else if (family == 23 && bytes.size >= 24) {
        *p++ = '[';
        p = put_ipv6(p, bytes.data + 8);
        *p++ = ']';
    } else {
        return p;
    }
    *p++ = ':';
    return put_u64(p, load_be16(bytes.data + 2));
}

/* An object inside a string: only its quotes need escapes. */
static uint8_t *escape_quotes(uint8_t *p, const uint8_t *end)
{
    size_t size = (size_t)(end - p);
    size_t quotes = 0;
    for (size_t i = 0; i < size; i++) {
        quotes += p[i] == '"';
    }
    uint8_t *to = p + size + quotes;
    for (size_t from = size; from-- > 0;) {
        *--to = p[from];
        if (p[from] == '"') {
            *--to = '\\';
        }
    }
    return p + size + quotes;
}

uint8_t *value_put_text(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes)
{
    if (schema_form_is_string(schema->form)) {
        return put_text(context, p, schema, bytes);
    }
    uint8_t *end = p;
    if (schema->form == FORM_SOCKET_ADDRESS && (end = put_endpoint(p, bytes)) != p) {
        return end;
    }
    end = value_put(context, p, schema, bytes);
    if (schema->form == FORM_SOCKET_ADDRESS) {
        return escape_quotes(p, end);
    }
    if (end - p < 2 || *p != '"') {
        return end;
    }
    memmove(p, p + 1, (size_t)(end - p) - 2);
    return end - 2;
}
