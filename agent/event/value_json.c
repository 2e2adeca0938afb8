#include "event/value_json.h"

#include <math.h>

#include "base/bytes.h"
#include "base/put.h"
#include "event/status_names.h"

/*
 * Every member is written as `,"Name":value`; the first comma becomes the opening brace. Room is
 * reserved once per value, then bytes are put without further checks: value_room says how much.
 */

/* ---- single values ---------------------------------------------------------------------------- */

static size_t value_room(uint8_t form, size_t size)
{
    switch (form) {
    case FORM_UTF16:
    case FORM_CHAR16:
        return utf16_json_bound(size) + 2;
    case FORM_ANSI:
    case FORM_UTF8:
    case FORM_CHAR8:
        return utf8_json_bound(size) + 2;
    case FORM_BINARY:
    case FORM_IPV6:
    case FORM_SOCKET_ADDRESS:
        return size * 2 + 2 * PUT_MAX + 64;
    case FORM_SID:
        return 256;
    default:
        return PUT_MAX + 8;
    }
}

static uint64_t load_uint(const uint8_t *data, size_t size)
{
    switch (size) {
    case 1:
        return data[0];
    case 2:
        return load_le16(data);
    case 4:
        return load_le32(data);
    default:
        return load_le64(data);
    }
}

static uint8_t *put_quoted_hex(uint8_t *p, uint64_t value)
{
    *p++ = '"';
    p = put_hex(p, value);
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

static uint8_t *put_time(uint8_t *p, uint64_t filetime)
{
    uint8_t *q = p + 1;
    if (!put_filetime(&q, filetime)) {
        return put_quoted_hex(p, filetime);
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

static struct span until_nul(struct span text)
{
    const uint8_t *nul = text.size ? memchr(text.data, 0, text.size) : NULL;
    return nul ? span_make(text.data, (size_t)(nul - text.data)) : text;
}

static uint8_t *put_string(
    const struct value_context *context, uint8_t *p, uint8_t form, struct span bytes)
{
    *p++ = '"';
    if (form == FORM_UTF16 || form == FORM_CHAR16) {
        p += utf16_to_json(span_first(bytes, utf16_until_nul(bytes)), p);
    } else if (form == FORM_UTF8) {
        p += utf8_to_json(until_nul(bytes), p);
    } else {
        p += codepage_to_json(context->ansi, until_nul(bytes), p);
    }
    *p++ = '"';
    return p;
}

/* One value whose form is not a plain number. */
static uint8_t *put_other(
    const struct value_context *context, uint8_t *p, uint8_t form, struct span bytes)
{
    const uint8_t *data = bytes.data;
    switch (form) {
    case FORM_FLOAT:
    case FORM_DOUBLE:
        return put_real(p, form, data);
    case FORM_BOOL8:
    case FORM_BOOL16:
    case FORM_BOOL32:
        return put_bool(p, load_uint(data, bytes.size) != 0);
    case FORM_GUID:
        *p++ = '"';
        p = put_guid(p, data);
        *p++ = '"';
        return p;
    case FORM_FILETIME:
        return put_time(p, load_le64(data));
    case FORM_WMI_TIME: {
        int64_t raw = (int64_t)load_le64(data);
        return context->clock ? put_time(p, trace_clock_filetime(context->clock, raw))
                              : put_u64(p, (uint64_t)raw);
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
        return put_string(context, p, form, bytes);
    default:
        return put_quoted_bytes(p, bytes);
    }
}

/* One value; value_room(form, size) is reserved at ${p}. */
static uint8_t *put_value(const struct value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes)
{
    const uint8_t *data = bytes.data;
    switch (schema->form) {
    case FORM_UINT8:
        return put_u64(p, data[0]);
    case FORM_UINT16:
        return put_u64(p, load_le16(data));
    case FORM_UINT32:
    case FORM_NTSTATUS:
    case FORM_WIN32_ERROR:
        return put_u64(p, load_le32(data));
    case FORM_UINT64:
        return put_u64(p, load_le64(data));
    case FORM_INT8:
        return put_i64(p, (int8_t)data[0]);
    case FORM_INT16:
        return put_i64(p, (int16_t)load_le16(data));
    case FORM_HRESULT:
        if (schema->in_type != IN_INT32) {
            return put_u64(p, load_le32(data));
        }
        return put_i64(p, (int32_t)load_le32(data));
    case FORM_INT32:
        return put_i64(p, (int32_t)load_le32(data));
    case FORM_INT64:
        return put_i64(p, (int64_t)load_le64(data));
    case FORM_PORT:
        return put_u64(p, load_be16(data));
    case FORM_POINTER_INT:
        return put_u64(p, load_uint(data, bytes.size));
    case FORM_POINTER_SINT:
        return bytes.size == 4 ? put_i64(p, (int32_t)load_le32(data))
                               : put_i64(p, (int64_t)load_le64(data));
    case FORM_HEX8:
    case FORM_HEX16:
    case FORM_HEX32:
    case FORM_HEX64:
    case FORM_POINTER:
        return put_quoted_hex(p, load_uint(data, bytes.size));
    default:
        return put_other(context, p, schema->form, bytes);
    }
}

static void add_value(const struct value_context *context, const struct schema_field *schema,
    struct span bytes, struct buf *out)
{
    if (buf_reserve(out, value_room(schema->form, bytes.size))) {
        uint8_t *p = out->data + out->size;
        out->size += (size_t)(put_value(context, p, schema, bytes) - p);
    }
}

/* ---- arrays -------------------------------------------------------------------------------------- */

static bool is_text(const struct schema_field *schema)
{
    return schema->form == FORM_CHAR8 || schema->form == FORM_CHAR16;
}

/* Characters side by side are one text. */
static void add_packed(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    if (is_text(field->schema)) {
        add_value(context, field->schema, span_make(field->data, field->size), out);
        return;
    }
    const uint8_t *data = field->data;
    buf_add_byte(out, '[');
    for (uint32_t i = 0; i < field->count && !out->failed; i++) {
        if (i) {
            buf_add_byte(out, ',');
        }
        add_value(context, field->schema, span_make(data, field->value_bytes), out);
        data += field->value_bytes;
    }
    buf_add_byte(out, ']');
}

static void add_elements(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *array = &event->fields[index];
    buf_add_byte(out, '[');
    for (uint32_t i = index + 1; i < array->end && !out->failed; i = event->fields[i].end) {
        if (i > index + 1) {
            buf_add_byte(out, ',');
        }
        value_json_one(context, event, i, out);
    }
    buf_add_byte(out, ']');
}

void value_json_one(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    switch (field->shape) {
    case FIELD_VALUE:
        add_value(context, field->schema, span_make(field->data, field->size), out);
        break;
    case FIELD_PACKED:
        add_packed(context, field, out);
        break;
    case FIELD_ARRAY:
        add_elements(context, event, index, out);
        break;
    default:
        value_json_object(context, event, index + 1, field->end, out);
        break;
    }
}

/* ---- names of values -------------------------------------------------------------------------- */

void value_json_string(struct span utf8, struct buf *out)
{
    if (buf_reserve(out, utf8_json_bound(utf8.size) + 2)) {
        uint8_t *start = out->data + out->size;
        uint8_t *p = start;
        *p++ = '"';
        p += utf8_to_json(utf8, p);
        *p++ = '"';
        out->size += (size_t)(p - start);
    }
}

/* Names of the bits that are set, in the order of the map; what no entry explains in hex. */
static void add_bit_names(const struct schema_map *map, uint64_t value, struct buf *out)
{
    uint64_t left = value;
    const char *separator = "";
    buf_add_byte(out, '[');
    for (size_t i = 0; i < map->entry_count && !out->failed; i++) {
        uint64_t mask = map->entries[i].value;
        if (mask ? (value & mask) == mask : value == 0) {
            buf_add_text(out, separator);
            value_json_string(map->entries[i].text, out);
            separator = ",";
            left &= ~mask;
        }
    }
    if (left && buf_reserve(out, PUT_MAX)) {
        buf_add_text(out, separator);
        uint8_t text[PUT_MAX];
        uint8_t *end = put_quoted_hex(text, left);
        buf_add(out, text, (size_t)(end - text));
    }
    buf_add_byte(out, ']');
}

/* Name of a status code, of NaN and the infinities, or NULL. */
static const char *code_name(const struct schema_field *schema, const uint8_t *data)
{
    switch (schema->form) {
    case FORM_NTSTATUS:
        return status_names_ntstatus(load_le32(data));
    case FORM_HRESULT:
        return status_names_hresult(load_le32(data));
    case FORM_WIN32_ERROR:
        return status_names_win32(load_le32(data));
    case FORM_FLOAT: {
        uint32_t bits = load_le32(data);
        if ((bits & 0x7f800000) != 0x7f800000) {
            return NULL;
        }
        return bits & 0x007fffff ? "NaN" : bits >> 31 ? "-Infinity" : "Infinity";
    }
    case FORM_DOUBLE: {
        uint64_t bits = load_le64(data);
        if ((bits >> 52 & 0x7ff) != 0x7ff) {
            return NULL;
        }
        return bits & 0xfffffffffffff ? "NaN" : bits >> 63 ? "-Infinity" : "Infinity";
    }
    default:
        return NULL;
    }
}

/* The text for one value, or a NULL span. */
static struct span value_name(const struct schema_field *schema, struct span bytes)
{
    if (schema->map && schema->map->kind == MAP_VALUE && bytes.size <= 8) {
        struct span text = schema_map_find(schema->map, load_uint(bytes.data, bytes.size));
        if (text.data) {
            return text;
        }
    }
    return span_text(code_name(schema, bytes.data));
}

/* A list of names as long as the array of values; a value without name stands as it is. */
static void add_name_list(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    buf_add_byte(out, '[');
    for (uint32_t i = 0; i < field->count && !out->failed; i++) {
        struct span bytes = span_make(
            field->data + (size_t)i * field->value_bytes, field->value_bytes);
        if (i) {
            buf_add_byte(out, ',');
        }
        struct span name = value_name(field->schema, bytes);
        uint8_t text[2 * PUT_MAX + UTF_SLACK]; /* characters need more than numbers */
        if (!name.data) {
            uint8_t *end = put_value(context, text, field->schema, bytes);
            name = span_make(text, (size_t)(end - text));
            if (name.size > 1 && text[0] == '"') {
                name = span_make(text + 1, name.size - 2);
            }
        }
        value_json_string(name, out);
    }
    buf_add_byte(out, ']');
}

static bool any_named(const struct field *field)
{
    for (uint32_t i = 0; i < field->count; i++) {
        const uint8_t *data = field->data + (size_t)i * field->value_bytes;
        if (value_name(field->schema, span_make(data, field->value_bytes)).data) {
            return true;
        }
    }
    return false;
}

/* `,"<field>_name":…` where something is known. */
static void add_name(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    struct span bytes = span_make(field->data, field->size);
    if (field->shape == FIELD_PACKED) {
        if (!(schema->map && schema->map->kind == MAP_BITS) && !is_text(schema) &&
            any_named(field)) {
            buf_add_byte(out, ',');
            buf_add_span(out, schema->name_key);
            add_name_list(context, field, out);
        }
        return;
    }
    if (field->shape != FIELD_VALUE) {
        return;
    }
    if (schema->map && schema->map->kind == MAP_BITS && bytes.size <= 8) {
        buf_add_byte(out, ',');
        buf_add_span(out, schema->name_key);
        add_bit_names(schema->map, load_uint(bytes.data, bytes.size), out);
        return;
    }
    struct span name = value_name(schema, bytes);
    if (name.data) {
        buf_add_byte(out, ',');
        buf_add_span(out, schema->name_key);
        value_json_string(name, out);
    }
}

/* ---- members -------------------------------------------------------------------------------------- */

bool value_json_present(const struct field *field)
{
    return field->size || field->schema->form != FORM_SID || field->shape != FIELD_VALUE;
}

/* `,"Name":` and the value of a FIELD_VALUE in one go: the path nearly every field takes. Keys
 * have 32 readable bytes behind them (schema_finish), which makes the common copy two moves. */
static void add_scalar_member(
    const struct value_context *context, const struct field *field, struct buf *out)
{
    const struct schema_field *schema = field->schema;
    struct span key = schema->json_key;
    if (!buf_reserve(out, key.size + 33 + value_room(schema->form, field->size))) {
        return;
    }
    uint8_t *start = out->data + out->size;
    uint8_t *p = start;
    *p++ = ',';
    memcpy(p, key.data, 32);
    if (key.size > 32) {
        memcpy(p + 32, key.data + 32, key.size - 32);
    }
    p += key.size;
    p = put_value(context, p, schema, span_make(field->data, field->size));
    out->size += (size_t)(p - start);
}

void value_json_object(const struct value_context *context, const struct event *event,
    uint32_t first, uint32_t end, struct buf *out)
{
    size_t start = out->size;
    for (uint32_t i = first; i < end; i = event->fields[i].end) {
        const struct field *field = &event->fields[i];
        if (field->shape == FIELD_VALUE) {
            if (!value_json_present(field)) {
                continue;
            }
            add_scalar_member(context, field, out);
        } else {
            buf_add_byte(out, ',');
            buf_add_span(out, field->schema->json_key);
            value_json_one(context, event, i, out);
        }
        if (field->schema->name_key.size) {
            add_name(context, field, out);
        }
        if (out->failed) {
            return;
        }
    }
    if (out->size == start) {
        buf_add_text(out, "{}");
        return;
    }
    out->data[start] = '{';
    buf_add_byte(out, '}');
}

/* ---- text ---------------------------------------------------------------------------------------- */

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

void value_json_text(
    const struct value_context *context, const struct event *event, uint32_t index, struct buf *out)
{
    const struct field *field = &event->fields[index];
    if (field->shape == FIELD_VALUE) {
        if (!value_json_present(field)) {
            return;
        }
        struct span name = value_name(field->schema, span_make(field->data, field->size));
        if (name.data) {
            if (buf_reserve(out, utf8_json_bound(name.size))) {
                out->size += utf8_to_json(name, out->data + out->size);
            }
            return;
        }
        if (field->schema->form == FORM_SOCKET_ADDRESS && buf_reserve(out, 2 * PUT_MAX)) {
            uint8_t *p = out->data + out->size;
            uint8_t *end = put_endpoint(p, span_make(field->data, field->size));
            if (end != p) {
                out->size += (size_t)(end - p);
                return;
            }
        }
    }
    size_t start = out->size;
    value_json_one(context, event, index, out);
    if (out->failed) {
        return;
    }
    uint8_t *text = out->data + start;
    size_t size = out->size - start;
    if (size >= 2 && text[0] == '"') {
        memmove(text, text + 1, size - 2);
        out->size -= 2;
    } else if (text[0] == '{' || text[0] == '[') {
        /* Structure inside a string: its quotes need escapes of their own. */
        struct buf copy;
        buf_init(&copy, size);
        buf_add(&copy, text, size);
        out->size = start;
        if (!copy.failed && buf_reserve(out, utf8_json_bound(size))) {
            out->size += utf8_to_json(buf_span(&copy), out->data + out->size);
        }
        buf_fini(&copy);
    }
}
