#include <stdio.h>

#include "base/utf.h"
#include "decode/decode_own.h"

/* Finds the end of single values by TDH_IN_TYPE. Sources: as in decode.c. */

bool decode_value_fail(struct decoder *d, const struct schema_field *field, const char *what)
{
    if (d->error[0] == '\0') {
        struct span name = span_first(field->name, 64);
        snprintf(d->error, sizeof(d->error), "%.*s: %s at byte %zu of %zu", SPAN_ARG(name), what,
            d->payload_size - reader_left(&d->reader), d->payload_size);
    }
    return false;
}

bool decode_value_take_counted(struct decoder *d, const struct schema_field *field, uint64_t count,
    size_t unit, struct span *ret_bytes)
{
    uint64_t size = count * unit;
    if (size > reader_left(&d->reader)) {
        return decode_value_fail(d, field, "its length exceeds the payload");
    }
    *ret_bytes = reader_take(&d->reader, (size_t)size);
    return true;
}

static bool has_length(const struct schema_field *field)
{
    return (field->flags & (FIELD_PARAM_LENGTH | FIELD_FIXED_LENGTH)) || field->length;
}

static uint32_t length_of(const struct decoder *d, const struct schema_field *field)
{
    return field->flags & FIELD_PARAM_LENGTH ? d->numbers[field->length] : field->length;
}

/* Take text up to a NUL, which is consumed; without NUL, the rest of the payload. Writers omit the
 * terminator of a last string; further properties would then find no data. */
static bool take_utf16(struct decoder *d, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return decode_value_take_counted(d, field, length_of(d, field), 2, ret_bytes);
    }
    struct span rest = reader_rest(&d->reader);
    size_t size = utf16_until_nul(rest);
    *ret_bytes = reader_take(&d->reader, size);
    if (reader_left(&d->reader) >= 2) {
        reader_skip(&d->reader, 2);
    }
    return true;
}

static bool take_ansi(struct decoder *d, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return decode_value_take_counted(d, field, length_of(d, field), 1, ret_bytes);
    }
    struct span rest = reader_rest(&d->reader);
    *ret_bytes = reader_take(&d->reader, span_until_nul(rest).size);
    if (reader_left(&d->reader) >= 1) {
        reader_skip(&d->reader, 1);
    }
    return true;
}

/* A binary without length: an IPv6 address has 16 bytes, a socket address contains its family, the
 * last property takes the rest. */
static bool take_binary(struct decoder *d, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return decode_value_take_counted(d, field, length_of(d, field), 1, ret_bytes);
    }
    struct span rest = reader_rest(&d->reader);
    if (field->out_type == OUT_IPV6) {
        return decode_value_take_counted(d, field, 16, 1, ret_bytes);
    }
    if (field->out_type == OUT_SOCKET_ADDRESS && rest.size >= 2) {
        uint16_t family = load_le16(rest.data);
        if (family == 2 || family == 23) {
            return decode_value_take_counted(d, field, family == 2 ? 16 : 28, 1, ret_bytes);
        }
    }
    if (field != &d->schema->fields[d->schema->top_count - 1]) {
        return decode_value_fail(d, field, "its length is unknown");
    }
    *ret_bytes = reader_take(&d->reader, rest.size);
    return true;
}

/* Revision, count of sub-authorities, 6 bytes of authority, 4 bytes each ([MS-DTYP] 2.4.2.2). */
static bool take_sid(struct decoder *d, const struct schema_field *field, struct span *ret_bytes)
{
    struct span rest = reader_rest(&d->reader);
    if (rest.size < 8) {
        return decode_value_fail(d, field, "the payload ends");
    }
    if (rest.data[1] > 15) {
        return decode_value_fail(d, field, "not a SID");
    }
    return decode_value_take_counted(d, field, 8 + 4 * (uint64_t)rest.data[1], 1, ret_bytes);
}

/* TOKEN_USER (a pointer and attributes, two pointers wide, in some records all zero) followed by a
 * SID. Without SID there are only 32 zero bits. */
static bool take_wbem_sid(
    struct decoder *d, const struct schema_field *field, struct span *ret_bytes)
{
    enum { SID_REVISION = 1, SID_MAX_PARTS = 15, SID_HEAD = 8 };
    struct span rest = reader_rest(&d->reader);
    size_t token_user = 2u * d->pointer_size;
    struct span sid = span_from(rest, token_user);
    if (sid.size >= SID_HEAD && sid.data[0] == SID_REVISION && sid.data[1] <= SID_MAX_PARTS &&
        sid.size >= SID_HEAD + 4u * sid.data[1]) {
        reader_skip(&d->reader, token_user);
        return take_sid(d, field, ret_bytes);
    }
    if (rest.size < 4) {
        return decode_value_fail(d, field, "the payload ends");
    }
    if (load_le32(rest.data) != 0) {
        return decode_value_fail(d, field, "not a SID");
    }
    reader_skip(&d->reader, 4);
    *ret_bytes = span_make(rest.data, 0);
    return true;
}

/* WPP macros write a text in place of a NULL pointer or invalid SID. The revision of a SID is not a
 * letter. */
static bool take_wpp_sid(
    struct decoder *d, const struct schema_field *field, struct span *ret_bytes)
{
    static const char none[] = "NULL";
    struct span rest = reader_rest(&d->reader);
    if (rest.size < sizeof(none) || memcmp(rest.data, none, sizeof(none)) != 0) {
        return take_sid(d, field, ret_bytes);
    }
    reader_skip(&d->reader, sizeof(none));
    *ret_bytes = span_make(rest.data, 0);
    return true;
}

static bool take_prefixed(struct decoder *d, const struct schema_field *field, size_t prefix_bytes,
    bool big_endian, struct span *ret_bytes)
{
    struct reader before = d->reader;
    struct span prefix = reader_take(&d->reader, prefix_bytes);
    if (prefix.size == 0) {
        d->reader = before;
        return decode_value_fail(d, field, "the payload ends");
    }
    uint32_t count = big_endian ? load_be16(prefix.data) : decode_number_of(prefix);
    if (!decode_value_take_counted(d, field, count, 1, ret_bytes)) {
        d->reader = before;
        return false;
    }
    return true;
}

bool decode_value_take(struct decoder *d, const struct schema_field *field, struct span *ret_bytes)
{
    size_t fixed = field->pointer_sized ? d->pointer_size : field->fixed_size;
    if (fixed) {
        if (reader_left(&d->reader) < fixed) {
            return decode_value_fail(d, field, "the payload ends");
        }
        *ret_bytes = reader_take(&d->reader, fixed);
        decode_remember_number(d, field, *ret_bytes);
        return true;
    }
    switch (field->in_type) {
    case IN_UNICODE_STRING:
        return take_utf16(d, field, ret_bytes);
    case IN_ANSI_STRING:
        return take_ansi(d, field, ret_bytes);
    case IN_BINARY:
        return take_binary(d, field, ret_bytes);
    case IN_SID:
        return take_sid(d, field, ret_bytes);
    case IN_WBEM_SID:
        return take_wbem_sid(d, field, ret_bytes);
    case IN_WPP_SID:
        return take_wpp_sid(d, field, ret_bytes);
    case IN_MANIFEST_COUNTED_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_MANIFEST_COUNTED_BINARY:
    case IN_COUNTED_STRING:
    case IN_COUNTED_ANSI_STRING:
        return take_prefixed(d, field, 2, false, ret_bytes);
    case IN_REVERSED_COUNTED_STRING:
    case IN_REVERSED_COUNTED_ANSI_STRING:
        return take_prefixed(d, field, 2, true, ret_bytes);
    case IN_HEX_DUMP:
        return take_prefixed(d, field, 4, false, ret_bytes);
    case IN_NON_NUL_TERMINATED_STRING:
    case IN_NON_NUL_TERMINATED_ANSI_STRING:
        *ret_bytes = reader_take(&d->reader, reader_left(&d->reader));
        return true;
    default:
        return decode_value_fail(d, field, "unknown type");
    }
}
