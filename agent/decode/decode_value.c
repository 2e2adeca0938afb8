#include <stdio.h>

#include "base/utf.h"
#include "decode/decode_own.h"

/* Finds the end of single values by TDH_IN_TYPE. Sources: as in decode.c. */

bool decode_value_fail(struct walk *w, const struct schema_field *field, const char *what)
{
    struct decoder *d = w->decoder;
    if (d->error[0] == '\0') {
        struct span name = span_first(field->name, 64);
        snprintf(d->error, sizeof(d->error), "%.*s: %s at byte %zu of %zu", SPAN_ARG(name), what,
            (size_t)(w->reader.at - w->payload.data), w->payload.size);
    }
    return false;
}

bool decode_value_take_counted(struct walk *w, const struct schema_field *field, uint64_t count,
    size_t unit, struct span *ret_bytes)
{
    uint64_t size = count * unit;
    if (size > reader_left(&w->reader)) {
        return decode_value_fail(w, field, "its length exceeds the payload");
    }
    *ret_bytes = reader_take(&w->reader, (size_t)size);
    return true;
}

static bool has_length(const struct schema_field *field)
{
    return (field->flags & (FIELD_PARAM_LENGTH | FIELD_FIXED_LENGTH)) || field->length;
}

static uint32_t length_of(const struct walk *w, const struct schema_field *field)
{
    return field->flags & FIELD_PARAM_LENGTH ? w->decoder->numbers[field->length] : field->length;
}

/* Take text up to a NUL, which is consumed; without NUL, the rest of the payload. Writers omit the
 * terminator of a last string; further properties would then find no data. */
static bool take_utf16(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return decode_value_take_counted(w, field, length_of(w, field), 2, ret_bytes);
    }
    struct span rest = reader_rest(&w->reader);
    size_t size = utf16_until_nul(rest);
    *ret_bytes = reader_take(&w->reader, size);
    if (reader_left(&w->reader) >= 2) {
        reader_skip(&w->reader, 2);
    }
    return true;
}

static bool take_ansi(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return decode_value_take_counted(w, field, length_of(w, field), 1, ret_bytes);
    }
    struct span rest = reader_rest(&w->reader);
    *ret_bytes = reader_take(&w->reader, span_until_nul(rest).size);
    if (reader_left(&w->reader) >= 1) {
        reader_skip(&w->reader, 1);
    }
    return true;
}

/* A binary without length: an IPv6 address has 16 bytes, a socket address contains its family, the
 * last property takes the rest. */
static bool take_binary(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return decode_value_take_counted(w, field, length_of(w, field), 1, ret_bytes);
    }
    struct span rest = reader_rest(&w->reader);
    if (field->out_type == OUT_IPV6) {
        return decode_value_take_counted(w, field, 16, 1, ret_bytes);
    }
    if (field->out_type == OUT_SOCKET_ADDRESS && rest.size >= 2) {
        uint16_t family = load_le16(rest.data);
        if (family == 2 || family == 23) {
            return decode_value_take_counted(w, field, family == 2 ? 16 : 28, 1, ret_bytes);
        }
    }
    if (field != &w->schema->fields[w->schema->top_count - 1]) {
        return decode_value_fail(w, field, "its length is unknown");
    }
    *ret_bytes = reader_take(&w->reader, rest.size);
    return true;
}

/* Revision, count of sub-authorities, 6 bytes of authority, 4 bytes each ([MS-DTYP] 2.4.2.2). */
static bool take_sid(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    struct span rest = reader_rest(&w->reader);
    if (rest.size < 8) {
        return decode_value_fail(w, field, "the payload ends");
    }
    if (rest.data[1] > 15) {
        return decode_value_fail(w, field, "not a SID");
    }
    return decode_value_take_counted(w, field, 8 + 4 * (uint64_t)rest.data[1], 1, ret_bytes);
}

/* TOKEN_USER (a pointer and attributes, two pointers wide, in some records all zero) followed by a
 * SID. Without SID there are only 32 zero bits. */
static bool take_wbem_sid(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    enum { SID_REVISION = 1, SID_MAX_PARTS = 15, SID_HEAD = 8 };
    struct span rest = reader_rest(&w->reader);
    size_t token_user = 2u * w->pointer_size;
    struct span sid = span_from(rest, token_user);
    if (sid.size >= SID_HEAD && sid.data[0] == SID_REVISION && sid.data[1] <= SID_MAX_PARTS &&
        sid.size >= SID_HEAD + 4u * sid.data[1]) {
        reader_skip(&w->reader, token_user);
        return take_sid(w, field, ret_bytes);
    }
    if (rest.size < 4) {
        return decode_value_fail(w, field, "the payload ends");
    }
    if (load_le32(rest.data) != 0) {
        return decode_value_fail(w, field, "not a SID");
    }
    reader_skip(&w->reader, 4);
    *ret_bytes = span_make(rest.data, 0);
    return true;
}

/* WPP macros write a text in place of a NULL pointer or invalid SID. The revision of a SID is not a
 * letter. */
static bool take_wpp_sid(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    static const char none[] = "NULL";
    struct span rest = reader_rest(&w->reader);
    if (rest.size < sizeof(none) || memcmp(rest.data, none, sizeof(none)) != 0) {
        return take_sid(w, field, ret_bytes);
    }
    reader_skip(&w->reader, sizeof(none));
    *ret_bytes = span_make(rest.data, 0);
    return true;
}

static bool take_prefixed(struct walk *w, const struct schema_field *field, size_t prefix_bytes,
    bool big_endian, struct span *ret_bytes)
{
    struct reader before = w->reader;
    struct span prefix = reader_take(&w->reader, prefix_bytes);
    if (prefix.size == 0) {
        w->reader = before;
        return decode_value_fail(w, field, "the payload ends");
    }
    uint32_t count = big_endian ? load_be16(prefix.data) : decode_number_of(prefix);
    if (!decode_value_take_counted(w, field, count, 1, ret_bytes)) {
        w->reader = before;
        return false;
    }
    return true;
}

bool decode_value_take(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    size_t fixed = field->pointer_sized ? w->pointer_size : field->fixed_size;
    if (fixed) {
        if (reader_left(&w->reader) < fixed) {
            return decode_value_fail(w, field, "the payload ends");
        }
        *ret_bytes = reader_take(&w->reader, fixed);
        decode_remember_number(w, field, *ret_bytes);
        return true;
    }
    switch (field->in_type) {
    case IN_UNICODE_STRING:
        return take_utf16(w, field, ret_bytes);
    case IN_ANSI_STRING:
        return take_ansi(w, field, ret_bytes);
    case IN_BINARY:
        return take_binary(w, field, ret_bytes);
    case IN_SID:
        return take_sid(w, field, ret_bytes);
    case IN_WBEM_SID:
        return take_wbem_sid(w, field, ret_bytes);
    case IN_WPP_SID:
        return take_wpp_sid(w, field, ret_bytes);
    case IN_MANIFEST_COUNTED_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_MANIFEST_COUNTED_BINARY:
    case IN_COUNTED_STRING:
    case IN_COUNTED_ANSI_STRING:
        return take_prefixed(w, field, 2, false, ret_bytes);
    case IN_REVERSED_COUNTED_STRING:
    case IN_REVERSED_COUNTED_ANSI_STRING:
        return take_prefixed(w, field, 2, true, ret_bytes);
    case IN_HEX_DUMP:
        return take_prefixed(w, field, 4, false, ret_bytes);
    case IN_NON_NUL_TERMINATED_STRING:
    case IN_NON_NUL_TERMINATED_ANSI_STRING:
        *ret_bytes = reader_take(&w->reader, reader_left(&w->reader));
        return true;
    default:
        return decode_value_fail(w, field, "unknown type");
    }
}
