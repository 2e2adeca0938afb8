#include "event/value/wpp_format.h"

#include <math.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/put.h"
#include "event/value/value_put.h"
#include "event/value/wpp_item_text.h"

/*
 * One pass over the pieces: literal, insert, literal, insert. An insert reserves what it may need
 * and then puts bytes. Numbers are printed here instead of by snprintf, since their types are known
 * at run time only, and messages are mostly numbers.
 */

/* ---- padding --------------------------------------------------------------------------------- */

/* Characters of JSON-escaped UTF-8 from ${at} on; with ${limit} characters at most,
 * where they end. */
static size_t count_characters(struct span escaped, size_t limit, size_t *ret_end)
{
    size_t count = 0;
    size_t at = 0;
    while (at < escaped.size && count < limit) {
        if (escaped.data[at] == '\\' && escaped.size - at >= 2) {
            at += escaped.data[at + 1] == 'u' ? 6 : 2;
        } else {
            at++;
            while (at < escaped.size && (escaped.data[at] & 0xc0) == 0x80) {
                at++;
            }
        }
        count++;
    }
    *ret_end = at < escaped.size ? at : escaped.size;
    return count;
}

/* Apply precision and width to the text [${start}, ${end}); there is room for the width after
 * it. */
static uint8_t *fit_text(const struct wpp_spec *spec, uint8_t *start, uint8_t *end)
{
    if (spec->width == 0 && spec->precision < 0) {
        return end;
    }
    size_t limit = spec->precision < 0 ? SIZE_MAX : (size_t)spec->precision;
    size_t size;
    size_t count = count_characters(span_make(start, (size_t)(end - start)), limit, &size);
    size_t blanks = spec->width > count ? spec->width - count : 0;
    if (spec->flags & WPP_FLAG_LEFT) {
        memset(start + size, ' ', blanks);
    } else if (blanks) {
        memmove(start + blanks, start, size);
        memset(start, ' ', blanks);
    }
    return start + size + blanks;
}

/* ---- numbers --------------------------------------------------------------------------------- */

enum { MAX_DIGITS = 24 };

/* The digits of ${value} before ${end}; returns the first. */
static uint8_t *digits_before(uint8_t *end, uint64_t value, unsigned base, bool upper)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    do {
        *--end = (uint8_t)digits[value % base];
        value /= base;
    } while (value);
    return end;
}

static unsigned base_of(uint8_t conversion)
{
    switch (conversion) {
    case 'x':
    case 'X':
    case 'p':
        return 16;
    case 'o':
        return 8;
    default:
        return 10;
    }
}

/* Sign and prefix before the digits. */
static const char *sign_of(const struct wpp_spec *spec, bool negative, uint64_t value)
{
    bool is_signed = spec->conversion == 'd' || spec->conversion == 'i';
    if (negative) {
        return "-";
    }
    if (is_signed) {
        return spec->flags & WPP_FLAG_PLUS ? "+" : spec->flags & WPP_FLAG_SPACE ? " " : "";
    }
    if (!(spec->flags & WPP_FLAG_ALT) || value == 0) {
        return "";
    }
    return spec->conversion == 'x' ? "0x" : spec->conversion == 'X' ? "0X" : "";
}

/* True if there is no width, precision or flag, as in most messages. */
static bool is_plain(const struct wpp_spec *spec)
{
    return (spec->width | spec->flags) == 0 && spec->precision < 0;
}

static uint8_t *put_integer(
    const struct wpp_spec *spec, uint8_t *p, uint64_t value, bool negative, unsigned pointer_digits)
{
    if (base_of(spec->conversion) == 10 && is_plain(spec)) {
        *p = '-';
        return put_u64(p + negative, value);
    }
    uint8_t text[MAX_DIGITS];
    bool upper = spec->conversion == 'X' || spec->conversion == 'p';
    uint8_t *end = text + sizeof(text);
    const uint8_t *first = digits_before(end, value, base_of(spec->conversion), upper);
    size_t digits = spec->precision == 0 && value == 0 ? 0 : (size_t)(end - first);
    const char *sign = sign_of(spec, negative, value);
    size_t sign_size = strlen(sign);
    size_t least = spec->precision > 0 ? (size_t)spec->precision : 0;
    least = spec->conversion == 'p' ? pointer_digits : least;
    bool zeros = (spec->flags & WPP_FLAG_ZERO) && !(spec->flags & WPP_FLAG_LEFT) &&
                 spec->precision < 0;
    if (zeros && spec->width > sign_size && spec->width - sign_size > least) {
        least = spec->width - sign_size;
    }
    bool octal = spec->conversion == 'o' && (spec->flags & WPP_FLAG_ALT);
    if (octal && least <= digits && (value || digits == 0)) {
        least = digits + 1; /* one zero in front, unless the precision has put one there */
    }
    size_t zero_count = least > digits ? least - digits : 0;
    size_t size = sign_size + zero_count + digits;
    size_t blanks = spec->width > size ? spec->width - size : 0;
    if (!(spec->flags & WPP_FLAG_LEFT)) {
        memset(p, ' ', blanks);
        p += blanks;
    }
    memcpy(p, sign, sign_size);
    p += sign_size;
    memset(p, '0', zero_count);
    p += zero_count;
    memcpy(p, first, digits);
    p += digits;
    if (spec->flags & WPP_FLAG_LEFT) {
        memset(p, ' ', blanks);
        p += blanks;
    }
    return p;
}

static uint64_t low_bytes(uint64_t value, size_t bytes)
{
    return bytes >= 8 ? value : value & ((UINT64_C(1) << bytes * 8) - 1);
}

/* A number of ${bytes} bytes by its conversion. */
static uint8_t *put_number(const struct wpp_spec *spec, uint8_t *p, uint64_t value, size_t bytes,
    bool is_signed, uint8_t pointer_size)
{
    bool negative = false;
    if (is_signed && bytes < 8 && (value >> (bytes * 8 - 1) & 1)) {
        value |= ~UINT64_C(0) << bytes * 8;
    }
    /* Unsigned types smaller than int stay positive when passed (C11 6.3.1.1). */
    size_t own_width = !is_signed && bytes < 4 ? 4 : bytes;
    size_t width = spec->bytes ? spec->bytes : own_width;
    value = low_bytes(value, width);
    if ((spec->conversion == 'd' || spec->conversion == 'i') && (value >> (width * 8 - 1) & 1)) {
        negative = true;
        value = low_bytes(0 - value, width);
    }
    return put_integer(spec, p, value, negative, pointer_size * 2u);
}

static uint8_t *put_character(const struct wpp_spec *spec, uint8_t *p, uint64_t value, size_t bytes)
{
    uint8_t *start = p;
    uint32_t character = (uint32_t)low_bytes(value, bytes < 2 && spec->bytes != 2 ? 1 : 2);
    uint8_t text[4];
    p += utf8_to_json(span_make(text, utf8_put(character, text)), p);
    return fit_text(spec, start, p);
}

static uint8_t *put_real(const struct wpp_spec *spec, uint8_t *p, double value)
{
    char text[1024];
    int precision = spec->precision < 0 ? 6 : spec->precision;
    int size;
    switch (spec->conversion) {
    case 'e':
        size = snprintf(text, sizeof(text), "%.*e", precision, value);
        break;
    case 'E':
        size = snprintf(text, sizeof(text), "%.*E", precision, value);
        break;
    case 'g':
        size = snprintf(text, sizeof(text), "%.*g", precision, value);
        break;
    case 'G':
        size = snprintf(text, sizeof(text), "%.*G", precision, value);
        break;
    case 'a':
        size = snprintf(text, sizeof(text), "%a", value);
        break;
    case 'A':
        size = snprintf(text, sizeof(text), "%A", value);
        break;
    default:
        size = snprintf(text, sizeof(text), "%.*f", precision, value);
        break;
    }
    bool negative = size > 0 && text[0] == '-';
    const char *digits = text + negative;
    size_t digit_count = size > negative ? (size_t)(size - negative) : 0;
    const char *sign = negative                       ? "-"
                       : spec->flags & WPP_FLAG_PLUS  ? "+"
                       : spec->flags & WPP_FLAG_SPACE ? " "
                                                      : "";
    size_t sign_size = strlen(sign);
    size_t fill = spec->width > sign_size + digit_count ? spec->width - sign_size - digit_count : 0;
    bool zeros = (spec->flags & WPP_FLAG_ZERO) && !(spec->flags & WPP_FLAG_LEFT) && isfinite(value);
    bool right = !(spec->flags & WPP_FLAG_LEFT);
    if (right && !zeros) {
        memset(p, ' ', fill);
        p += fill;
    }
    memcpy(p, sign, sign_size);
    p += sign_size;
    if (zeros) {
        memset(p, '0', fill);
        p += fill;
    }
    memcpy(p, digits, digit_count);
    p += digit_count;
    if (!right) {
        memset(p, ' ', fill);
        p += fill;
    }
    return p;
}

/* ---- inserts --------------------------------------------------------------------------------- */

static bool is_signed(uint16_t in_type)
{
    return in_type == IN_INT8 || in_type == IN_INT16 || in_type == IN_INT32 || in_type == IN_INT64;
}

static bool is_integer(const struct field *field)
{
    const struct schema_field *schema = field->schema;
    return (schema->fixed_size && schema->fixed_size <= 8 && schema->form != FORM_FLOAT &&
               schema->form != FORM_DOUBLE) ||
           schema->pointer_sized;
}

/* A precision cuts strings only. */
static bool is_string(const struct schema_field *schema)
{
    return schema->form == FORM_UTF16 || schema->form == FORM_ANSI || schema->form == FORM_UTF8;
}

static bool is_real_conversion(uint8_t conversion)
{
    return memchr("aAeEfFgG", conversion, 8) != NULL;
}

static double real_of(const struct field *field)
{
    if (field->size == 4) {
        float value;
        uint32_t bits = load_le32(field->data);
        memcpy(&value, &bits, sizeof(value));
        return value;
    }
    double value;
    uint64_t bits = load_le64(field->data);
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* True if the conversion fits the type. If not, the value's own text is used. */
static bool put_converted(const struct wpp_piece *piece, const struct event *event,
    const struct field *field, uint8_t **p)
{
    const struct schema_field *schema = field->schema;
    const struct wpp_spec *spec = &piece->spec;
    bool is_text = spec->conversion == 's';
    if (is_text || is_real_conversion(spec->conversion)) {
        /* WPP calls doubles `s`: `%.2f` of the source code is `.2s`, and `%!DOUBLE!` is `s`. */
        bool real = schema->form == FORM_DOUBLE || schema->form == FORM_FLOAT;
        struct wpp_spec as = *spec;
        as.conversion = is_text && spec->precision < 0 ? 'g' : spec->conversion;
        *p = real ? put_real(&as, *p, real_of(field)) : *p;
        return real;
    }
    if (!is_integer(field)) {
        return false;
    }
    uint64_t value = schema->form == FORM_PORT ? load_be16(field->data)
                                               : load_le(field->data, field->size);
    *p = spec->conversion == 'c' ? put_character(spec, *p, value, field->size)
                                 : put_number(spec, *p, value, field->size,
                                       is_signed(schema->in_type), event->pointer_size);
    return true;
}

static uint8_t *put_argument(const struct value_context *values, const struct wpp_piece *piece,
    const struct event *event, struct buf *out, uint8_t *p)
{
    const struct field *field = &event->fields[piece->argument];
    size_t start = (size_t)(p - out->data);
    if (put_converted(piece, event, field, &p)) {
        return p;
    }
    bool edited = field->schema->flags & FIELD_EDITED;
    uint8_t *end = p;
    if (value_json_present(field)) {
        end = wpp_item_text_put(
            values, field, edited ? WPP_STYLE_VALUE : (enum wpp_style)piece->style, out, p);
    } else if (!edited) {
        end = put_literal(p, "NULL"); /* what the provider wrote for no SID */
    }
    struct wpp_spec spec = piece->spec;
    spec.precision = is_string(field->schema) ? spec.precision : -1;
    return fit_text(&spec, out->data + start, end);
}

/* The header value of an insert number below 10; false: the record does not have it. */
static bool header_value(
    enum wpp_insert insert, const struct event_record *record, uint64_t *ret_value)
{
    switch (insert) {
    case WPP_INSERT_THREAD:
        *ret_value = record->thread_id;
        return record->present & RECORD_HAS_THREAD;
    case WPP_INSERT_KERNEL_TICKS:
        *ret_value = record->kernel_ticks;
        return record->present & RECORD_HAS_CPU_TIMES;
    case WPP_INSERT_USER_TICKS:
        *ret_value = record->user_ticks;
        return record->present & RECORD_HAS_CPU_TIMES;
    case WPP_INSERT_SEQUENCE:
        *ret_value = record->message_sequence;
        return record->present & RECORD_HAS_SEQUENCE;
    case WPP_INSERT_PROCESS:
        *ret_value = record->process_id;
        return record->present & RECORD_HAS_PROCESS;
    default:
        *ret_value = record->cpu;
        return true;
    }
}

static uint8_t *put_header_value(
    const struct wpp_piece *piece, const struct event *event, uint8_t *p)
{
    const struct event_record *record = event->record;
    if (piece->insert == WPP_INSERT_TIME) {
        uint8_t *end = p;
        return put_filetime(&end, record->time) ? fit_text(&piece->spec, p, end)
                                                : put_hex(p, record->time);
    }
    uint64_t value;
    if (!header_value((enum wpp_insert)piece->insert, record, &value)) {
        return put_span(p, piece->written);
    }
    struct wpp_spec spec = piece->spec;
    if (base_of(spec.conversion) == 10) {
        spec.conversion = 'u';
    }
    return put_number(&spec, p, value, 4, false, event->pointer_size);
}

void wpp_format_render(
    const struct value_context *values, const struct event *event, struct buf *out)
{
    const struct wpp_format *format = event->schema->wpp;
    for (size_t i = 0; i < format->piece_count; i++) {
        const struct wpp_piece *piece = &format->pieces[i];
        bool is_there = piece->insert == WPP_INSERT_ARGUMENT &&
                        piece->argument < event->field_count;
        size_t bytes = is_there ? event->fields[piece->argument].size : 0;
        /* Room for numbers: sign, digits and precision; reals have some 310 digits more. */
        enum { NUMBER_ROOM = 1024 + WPP_MAX_WIDTH };
        size_t room = piece->text.size + PUT_PADDING + piece->written.size + value_put_room(bytes) +
                      NUMBER_ROOM;
        if (!buf_reserve(out, room)) {
            return;
        }
        uint8_t *p = put_padded(out->data + out->size, piece->text);
        if (is_there) {
            p = put_argument(values, piece, event, out, p);
        } else if (piece->insert == WPP_INSERT_ARGUMENT) {
            p = put_span(p, piece->written);
        } else if (piece->insert != WPP_INSERT_NONE) {
            p = put_header_value(piece, event, p);
        }
        out->size = (size_t)(p - out->data);
    }
}
