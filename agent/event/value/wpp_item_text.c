#include "event/value/wpp_item_text.h"

#include "base/bytes.h"
#include "base/put.h"
#include "event/value/status_names.h"
#include "event/value/value_put.h"

/* ---- numbers --------------------------------------------------------------------------------- */

static uint8_t *put_code(uint8_t *p, uint32_t code)
{
    uint8_t bytes[4] = {
        (uint8_t)(code >> 24), (uint8_t)(code >> 16), (uint8_t)(code >> 8), (uint8_t)code};
    return put_hex_bytes(put_literal(p, "0x"), span_make(bytes, sizeof(bytes)));
}

static uint8_t *put_in_parentheses(uint8_t *p, const char *name)
{
    if (!name) {
        return p;
    }
    *p++ = '(';
    p = put_span(p, span_text(name));
    *p++ = ')';
    return p;
}

static uint8_t *put_day_and_time(uint8_t *p, uint64_t seconds)
{
    unsigned minute = (unsigned)(seconds / 60 % 60);
    unsigned second = (unsigned)(seconds % 60);
    p = put_u64(p, seconds / 86400);
    *p++ = '~';
    p = put_u64(p, seconds / 3600 % 24);
    *p++ = ':';
    *p++ = (uint8_t)('0' + minute / 10);
    *p++ = (uint8_t)('0' + minute % 10);
    *p++ = ':';
    *p++ = (uint8_t)('0' + second / 10);
    *p++ = (uint8_t)('0' + second % 10);
    return p;
}

/* ${delta}: units of 100 ns. */
static uint8_t *put_delta(uint8_t *p, int64_t delta)
{
    enum { UNITS_PER_MS = 10000, MS_PER_SECOND = 1000, MS_PER_MINUTE = 60000 };
    uint64_t ms = (delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta) / UNITS_PER_MS;
    if (delta < 0 && ms) {
        *p++ = '-';
    }
    if (ms < MS_PER_SECOND) {
        return put_literal(put_u64(p, ms), "ms");
    }
    if (ms >= MS_PER_MINUTE) {
        return put_day_and_time(p, ms / MS_PER_SECOND);
    }
    unsigned rest = (unsigned)(ms % MS_PER_SECOND);
    p = put_u64(p, ms / MS_PER_SECOND);
    *p++ = '.';
    *p++ = (uint8_t)('0' + rest / 100);
    *p++ = (uint8_t)('0' + rest / 10 % 10);
    *p++ = (uint8_t)('0' + rest % 10);
    return put_literal(p, "s");
}

static uint8_t *put_due(uint8_t *p, int64_t due)
{
    uint8_t *end = p;
    if (due < 0) {
        return put_delta(p, due);
    }
    return put_filetime(&end, (uint64_t)due) ? end : put_u64(p, (uint64_t)due);
}

static uint8_t *put_separated(uint8_t *p, struct span bytes, uint8_t separator)
{
    for (size_t i = 0; i < bytes.size; i++) {
        if (i) {
            *p++ = separator;
        }
        p = put_hex_bytes(p, span_make(bytes.data + i, 1));
    }
    return p;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Names come from a file, so only the length of a line limits them. */
static uint8_t *put_name(struct buf *out, uint8_t *p, struct span name)
{
    out->size = (size_t)(p - out->data);
    if (!buf_reserve(out, utf8_json_bound(name.size) + WPP_MAX_WIDTH + PUT_MAX)) {
        return out->data + out->size;
    }
    p = out->data + out->size;
    return p + utf8_to_json(name, p);
}

static uint8_t *put_listed(
    struct buf *out, uint8_t *p, const struct schema_field *schema, uint64_t value)
{
    struct span name = schema->map ? schema_map_find(schema->map, value) : span_make(NULL, 0);
    p = put_code(p, (uint32_t)value);
    if (!name.data) {
        return p;
    }
    *p++ = '(';
    p = put_name(out, p, name);
    *p++ = ')';
    return p;
}

static uint8_t *put_enum(struct buf *out, uint8_t *p, const struct field *field, uint64_t value)
{
    const struct schema_map *map = field->schema->map;
    struct span name = map ? schema_map_find(map, value) : span_make(NULL, 0);
    return name.data ? put_name(out, p, name) : put_i64(p, (int32_t)value);
}

static uint8_t *put_flags(
    struct buf *out, uint8_t *p, const struct schema_field *schema, uint64_t value)
{
    bool any = false;
    for (size_t i = 0; schema->map && i < schema->map->entry_count; i++) {
        const struct schema_map_entry *entry = &schema->map->entries[i];
        if (entry->value == 0 || (value & entry->value) != entry->value) {
            continue;
        }
        p = any ? put_literal(p, " | ") : p;
        p = put_name(out, p, entry->text);
        any = true;
    }
    if (!any) {
        return put_hex(p, value);
    }
    *p++ = '(';
    p = put_hex(p, value);
    *p++ = ')';
    return p;
}

static uint8_t *put_set(
    struct buf *out, uint8_t *p, const struct schema_field *schema, uint64_t value)
{
    uint64_t left = value;
    bool any = false;
    *p++ = '[';
    for (size_t i = 0; schema->map && i < schema->map->entry_count; i++) {
        const struct schema_map_entry *entry = &schema->map->entries[i];
        if (!(value & entry->value)) {
            continue;
        }
        if (any) {
            *p++ = ',';
        }
        p = put_name(out, p, entry->text);
        left &= ~entry->value;
        any = true;
    }
    if (left) {
        if (any) {
            *p++ = ',';
        }
        p = put_hex(p, left);
    }
    *p++ = ']';
    return p;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* tracefmt shows a wrapped Win32 error by the name of that error. */
static const char *name_of_status(const struct schema_field *schema, uint32_t code)
{
    enum { FACILITY_WIN32 = 0x8007 };
    if (schema->form != FORM_HRESULT) {
        return status_names_ntstatus(code);
    }
    const char *name = code >> 16 == FACILITY_WIN32 ? status_names_win32(code & 0xffff) : NULL;
    return name ? name : status_names_hresult(code);
}

uint8_t *wpp_item_text_put(const struct value_context *values, const struct field *field,
    enum wpp_style style, struct buf *out, uint8_t *p)
{
    const struct schema_field *schema = field->schema;
    struct span bytes = span_make(field->data, field->size);
    switch (style) {
    case WPP_STYLE_STATUS: {
        uint32_t code = load_le32(field->data);
        return put_in_parentheses(put_code(p, code), name_of_status(schema, code));
    }
    case WPP_STYLE_WIN32: {
        uint32_t code = load_le32(field->data);
        return put_in_parentheses(put_u64(p, code), status_names_win32(code));
    }
    case WPP_STYLE_CODE:
        return put_code(p, load_le32(field->data));
    case WPP_STYLE_LIST:
        return put_listed(out, p, schema, load_le(field->data, field->size));
    case WPP_STYLE_SET:
        return put_set(out, p, schema, load_le(field->data, field->size));
    case WPP_STYLE_MAC:
        return put_separated(p, bytes, ':');
    case WPP_STYLE_DUMP:
        return put_separated(p, bytes, ' ');
    case WPP_STYLE_ENUM:
        return put_enum(out, p, field, load_le(field->data, field->size));
    case WPP_STYLE_FLAGS:
        return put_flags(out, p, schema, load_le(field->data, field->size));
    case WPP_STYLE_DELTA:
        return put_delta(p, (int64_t)load_le64(field->data));
    case WPP_STYLE_DUE:
        return put_due(p, (int64_t)load_le64(field->data));
    default:
        return value_put_text(values, p, schema, bytes);
    }
}
