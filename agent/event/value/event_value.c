#include "event/value/event_value.h"

#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/filetime.h"
#include "base/put.h"
#include "event/value/value_put.h"

/* Text of any one record fits without another allocation. */
enum { TEXT_ROOM = 256 * 1024 };

static const struct schema_field sid_field = {.form = FORM_SID};
static const struct codepage utf8_page = {.id = CODEPAGE_UTF8};

bool event_value_context_init(
    struct event_value_context *context, const struct codepage *ansi, struct error *err)
{
    *context = (struct event_value_context){.ansi = ansi ? ansi : &codepage_1252};
    buf_init(&context->text, EVENT_VALUE_MAX_TEXT);
    buf_init(&context->names, EVENT_VALUE_MAX_NAME);
    return buf_reserve(&context->text, TEXT_ROOM) || error_set(err, ERR_MEMORY, "out of memory");
}

void event_value_context_fini(struct event_value_context *context)
{
    buf_fini(&context->text);
    buf_fini(&context->names);
}

/* ---- values ---------------------------------------------------------------------------------- */

static struct event_value of_int(int64_t number)
{
    return (struct event_value){.type = EVENT_VALUE_INT, .number = number};
}

static struct event_value of_bytes(
    enum event_value_type type, const struct schema_field *schema, struct span bytes)
{
    return (struct event_value){.type = type, .schema = schema, .bytes = bytes};
}

struct event_value event_value_filetime(uint64_t filetime)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = text;
    enum { DAYS_TO_10000 = 3067671 };
    if (filetime / (86400 * FILETIME_PER_S) >= DAYS_TO_10000 || !put_filetime(&end, filetime)) {
        return event_value_hex(filetime);
    }
    return (struct event_value){.type = EVENT_VALUE_TIME, .time = (int64_t)filetime};
}

struct event_value event_value_sid(struct span bytes)
{
    uint8_t text[256];
    uint8_t *end = text;
    return put_sid(&end, bytes) ? of_bytes(EVENT_VALUE_TEXT, &sid_field, bytes)
                                : event_value_bytes(EVENT_VALUE_BYTES, bytes);
}

/* Days since 1601-01-01; the inverse of put_civil. */
static int64_t days_of(int64_t year, unsigned month, unsigned day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * ((int64_t)month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           584694;
}

static struct event_value of_system_time(const struct schema_field *schema, struct span bytes)
{
    uint8_t text[PUT_MAX];
    uint8_t *end = text;
    if (!put_systemtime(&end, bytes.data)) {
        return event_value_bytes(EVENT_VALUE_BYTES, bytes);
    }
    const uint8_t *p = bytes.data;
    int64_t days = days_of(load_le16(p), load_le16(p + 2), load_le16(p + 6));
    int64_t seconds = days * 86400 + load_le16(p + 8) * 3600 + load_le16(p + 10) * 60 +
                      load_le16(p + 12);
    struct event_value value = of_bytes(EVENT_VALUE_TIME, schema, bytes);
    value.time = (seconds * 1000 + load_le16(p + 14)) * (int64_t)FILETIME_PER_MS;
    return value;
}

/* A float is written with the shortest digits that a reader parses to the same value. */
static struct event_value of_real(const struct schema_field *schema, struct span bytes)
{
    struct event_value value = of_bytes(EVENT_VALUE_REAL, schema, bytes);
    if (schema->form == FORM_FLOAT) {
        float number;
        uint32_t bits = load_le32(bytes.data);
        memcpy(&number, &bits, sizeof(number));
        if (!isfinite(number)) {
            return event_value_plain(EVENT_VALUE_NULL);
        }
        char text[PUT_MAX];
        *put_float((uint8_t *)text, number) = '\0';
        value.real = strtod(text, NULL);
        return value;
    }
    uint64_t bits = load_le64(bytes.data);
    memcpy(&value.real, &bits, sizeof(value.real));
    return isfinite(value.real) ? value : event_value_plain(EVENT_VALUE_NULL);
}

/* Forms other than integers and hex numbers. */
static struct event_value of_other(
    const struct event_value_context *context, const struct schema_field *schema, struct span bytes)
{
    switch (schema->form) {
    case FORM_FLOAT:
    case FORM_DOUBLE:
        return of_real(schema, bytes);
    case FORM_GUID:
        return event_value_bytes(EVENT_VALUE_GUID, span_first(bytes, 16));
    case FORM_FILETIME:
        return event_value_filetime(load_le64(bytes.data));
    case FORM_WMI_TIME: {
        uint64_t raw = load_le64(bytes.data);
        return context->clock
                   ? event_value_filetime(trace_clock_filetime(context->clock, (int64_t)raw))
                   : event_value_uint(raw);
    }
    case FORM_SYSTEMTIME:
    case FORM_SYSTEMTIME_UTC:
        return of_system_time(schema, bytes);
    case FORM_IPV4:
        return event_value_bytes(EVENT_VALUE_ADDRESS, span_first(bytes, 4));
    case FORM_IPV6:
        return event_value_bytes(bytes.size == 16 ? EVENT_VALUE_ADDRESS : EVENT_VALUE_BYTES, bytes);
    case FORM_SOCKET_ADDRESS:
        return of_bytes(EVENT_VALUE_OBJECT, schema, bytes);
    case FORM_SID:
    case FORM_UTF16:
    case FORM_CHAR16:
    case FORM_UTF8:
    case FORM_ANSI:
    case FORM_CHAR8:
        return of_bytes(EVENT_VALUE_TEXT, schema, bytes);
    default:
        return event_value_bytes(EVENT_VALUE_BYTES, bytes);
    }
}

struct event_value event_value_of(
    const struct event_value_context *context, const struct schema_field *schema, struct span bytes)
{
    const uint8_t *data = bytes.data;
    switch (schema->form) {
    case FORM_UINT8:
        return event_value_uint(data[0]);
    case FORM_UINT16:
        return event_value_uint(load_le16(data));
    case FORM_UINT32:
    case FORM_NTSTATUS:
    case FORM_WIN32_ERROR:
        return event_value_uint(load_le32(data));
    case FORM_UINT64:
        return event_value_uint(load_le64(data));
    case FORM_PORT:
        return event_value_uint(load_be16(data));
    case FORM_POINTER_INT:
        return event_value_uint(load_le(data, bytes.size));
    case FORM_INT8:
        return of_int((int8_t)data[0]);
    case FORM_INT16:
        return of_int((int16_t)load_le16(data));
    case FORM_INT32:
        return of_int((int32_t)load_le32(data));
    case FORM_INT64:
        return of_int((int64_t)load_le64(data));
    case FORM_HRESULT:
        return schema->in_type == IN_INT32 ? of_int((int32_t)load_le32(data))
                                           : event_value_uint(load_le32(data));
    case FORM_POINTER_SINT:
        return of_int(bytes.size == 4 ? (int32_t)load_le32(data) : (int64_t)load_le64(data));
    case FORM_HEX8:
    case FORM_HEX16:
    case FORM_HEX32:
    case FORM_HEX64:
    case FORM_POINTER:
        return event_value_hex(load_le(data, bytes.size));
    case FORM_BOOL8:
    case FORM_BOOL16:
    case FORM_BOOL32:
        return (struct event_value){
            .type = EVENT_VALUE_BOOL, .truth = load_le(data, bytes.size) != 0};
    default:
        return of_other(context, schema, bytes);
    }
}

/* Members of SOCKADDR_IN and SOCKADDR_IN6, as value_put.c shows them. */
struct event_value event_value_socket_member(struct span bytes, struct span name)
{
    if (bytes.size == 0) {
        return event_value_plain(EVENT_VALUE_NONE);
    }
    unsigned family = bytes.size >= 2 ? load_le16(bytes.data) : bytes.data[0];
    bool v4 = family == 2 && bytes.size >= 8;
    bool v6 = family == 23 && bytes.size >= 24;
    if (span_is(name, "family")) {
        return event_value_uint(family);
    }
    if (!v4 && !v6) {
        return span_is(name, "raw") ? event_value_bytes(EVENT_VALUE_BYTES, bytes)
                                    : event_value_plain(EVENT_VALUE_NONE);
    }
    if (span_is(name, "address")) {
        struct span address = v4 ? span_make(bytes.data + 4, 4) : span_make(bytes.data + 8, 16);
        return event_value_bytes(EVENT_VALUE_ADDRESS, address);
    }
    if (span_is(name, "port")) {
        return event_value_uint(load_be16(bytes.data + 2));
    }
    uint32_t scope_id = v6 && bytes.size >= 28 ? load_le32(bytes.data + 24) : 0;
    return span_is(name, "scope_id") && scope_id ? event_value_uint(scope_id)
                                                 : event_value_plain(EVENT_VALUE_NONE);
}

/* ---- text ------------------------------------------------------------------------------------ */

static size_t put_string(const struct event_value_context *context, uint8_t *p,
    const struct schema_field *schema, struct span bytes)
{
    if (schema->form == FORM_UTF16 || schema->form == FORM_CHAR16) {
        bytes.size = schema->may_hold_nul ? utf16_until_nul(bytes) : bytes.size;
        return utf16_to_utf8(bytes, p);
    }
    bytes = schema->may_hold_nul ? span_until_nul(bytes) : bytes;
    return codepage_to_utf8(schema->form == FORM_UTF8 ? &utf8_page : context->ansi, bytes, p);
}

static uint8_t *put_plain(uint8_t *p, const struct event_value *value)
{
    switch (value->type) {
    case EVENT_VALUE_NULL:
        return put_literal(p, "null");
    case EVENT_VALUE_BOOL:
        return value->truth ? put_literal(p, "true") : put_literal(p, "false");
    case EVENT_VALUE_INT:
        return put_i64(p, value->number);
    case EVENT_VALUE_UINT:
        return put_u64(p, value->unsigned_number);
    case EVENT_VALUE_HEX:
        return put_hex(p, value->unsigned_number);
    case EVENT_VALUE_TEXT: /* of a trace, so it may be broken */
        return p + codepage_to_utf8(&utf8_page, value->bytes, p);
    case EVENT_VALUE_TIME:
        put_filetime(&p, (uint64_t)value->time);
        return p;
    case EVENT_VALUE_GUID:
        return put_guid(p, value->bytes.data);
    case EVENT_VALUE_ADDRESS:
        return value->bytes.size == 4 ? put_ipv4(p, value->bytes.data)
                                      : put_ipv6(p, value->bytes.data);
    case EVENT_VALUE_BYTES:
        return put_hex_bytes(p, value->bytes);
    default:
        return p;
    }
}

static bool is_ascii(struct span text)
{
    uint8_t any = 0;
    for (size_t i = 0; i < text.size; i++) {
        any |= text.data[i];
    }
    return any < 0x80;
}

struct span event_value_text(struct event_value_context *context, const struct event_value *value)
{
    const struct schema_field *schema = value->schema;
    if (value->type == EVENT_VALUE_LIST || value->type == EVENT_VALUE_OBJECT ||
        value->type == EVENT_VALUE_NONE) {
        return span_make(NULL, 0);
    }
    struct buf *text = &context->text;
    if (value->type == EVENT_VALUE_TEXT && !schema &&
        (value->bytes.data == text->data || is_ascii(value->bytes))) {
        return value->bytes;
    }
    buf_reset(text);
    if (!buf_reserve(text, value_put_room(value->bytes.size))) {
        return span_make(NULL, 0);
    }
    if (schema && schema_form_is_string(schema->form)) {
        text->size = put_string(context, text->data, schema, value->bytes);
    } else if (schema) {
        struct value_context values = {.ansi = context->ansi, .clock = context->clock};
        text->size = (size_t)(value_put_text(&values, text->data, schema, value->bytes) -
                              text->data);
    } else {
        text->size = (size_t)(put_plain(text->data, value) - text->data);
    }
    return buf_span(text);
}
