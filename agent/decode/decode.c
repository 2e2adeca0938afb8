#include "decode/decode.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/reader.h"
#include "base/utf.h"

/*
 * One walk over the properties of a schema, with a bounded reader over the payload.
 *
 * Neighbours of constant size need one bounds check together and no thought each, common strings
 * little; the rest goes through take_value, which knows the bytes of every TDH_IN_TYPE. Every step
 * either appends a field (at most DECODE_MAX_FIELDS) or ends the walk, so hostile counts cannot
 * make it long. Sources: TDH_IN_TYPE in tdh.h; "Using TdhFormatProperty to consume event data" on
 * learn.microsoft.com.
 */
struct walk {
    struct decoder *decoder;
    const struct event_schema *schema;
    struct reader reader;
    uint8_t pointer_size;
    struct span payload;
};

enum { FIRST_CAPACITY = 256 };

static const uint32_t NO_FIELD = UINT32_MAX;

bool decoder_init(struct decoder *decoder, struct error *err)
{
    *decoder = (struct decoder){.field_capacity = FIRST_CAPACITY};
    decoder->fields = calloc(FIRST_CAPACITY, sizeof(*decoder->fields));
    return decoder->fields || error_set(err, ERR_MEMORY, "out of memory for a decoder");
}

void decoder_fini(struct decoder *decoder)
{
    free(decoder->fields);
    free(decoder->numbers);
    *decoder = (struct decoder){0};
}

static bool fail(struct walk *w, const struct schema_field *field, const char *what)
{
    struct decoder *d = w->decoder;
    if (d->error[0] == '\0') {
        struct span name = span_first(field->name, 64);
        snprintf(d->error, sizeof(d->error), "%.*s: %s at byte %zu of %zu", SPAN_ARG(name), what,
            (size_t)(w->reader.at - w->payload.data), w->payload.size);
    }
    return false;
}

static bool grow_fields(struct decoder *d)
{
    uint32_t capacity = d->field_capacity ? d->field_capacity * 2 : FIRST_CAPACITY;
    if (d->field_count >= DECODE_MAX_FIELDS) {
        return false;
    }
    struct field *fields = realloc(d->fields, capacity * sizeof(*fields));
    if (!fields) {
        return false;
    }
    d->fields = fields;
    d->field_capacity = capacity;
    return true;
}

/* Append a field; its index, or NO_FIELD when there are too many. */
static uint32_t add_field(struct walk *w, const struct schema_field *schema, enum field_shape shape,
    struct span bytes, uint32_t count)
{
    struct decoder *d = w->decoder;
    if (d->field_count == d->field_capacity && !grow_fields(d)) {
        fail(w, schema, "too many values");
        return NO_FIELD;
    }
    uint32_t index = d->field_count++;
    d->fields[index] = (struct field){.schema = schema,
        .data = bytes.data,
        .size = (uint32_t)bytes.size,
        .count = count,
        .end = index + 1,
        .shape = (uint8_t)shape,
        .value_bytes = schema->pointer_sized ? w->pointer_size : schema->fixed_size};
    return index;
}

/* ---- numbers that say the length or count of a later property -------------------------------- */

static uint32_t number_of(struct span bytes)
{
    switch (bytes.size) {
    case 1:
        return bytes.data[0];
    case 2:
        return load_le16(bytes.data);
    case 4:
        return load_le32(bytes.data);
    case 8: {
        uint64_t wide = load_le64(bytes.data);
        return wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
    }
    default:
        return 0;
    }
}

static void remember_number(struct walk *w, const struct schema_field *field, struct span bytes)
{
    if (field->flags & FIELD_IS_NUMBER) {
        w->decoder->numbers[field - w->schema->fields] = number_of(bytes);
    }
}

static bool reset_numbers(struct decoder *d, const struct event_schema *schema)
{
    if (!schema->has_numbers) {
        return true;
    }
    if (schema->field_count > d->number_capacity) {
        uint32_t *numbers = realloc(d->numbers, schema->field_count * sizeof(*numbers));
        if (!numbers) {
            return false;
        }
        d->numbers = numbers;
        d->number_capacity = schema->field_count;
    }
    if (schema->field_count) {
        memset(d->numbers, 0, schema->field_count * sizeof(*d->numbers));
    }
    return true;
}

/* ---- single values ------------------------------------------------------------------------------ */

/* Bytes that `length` promises, in units of ${unit} bytes. */
static bool take_counted(struct walk *w, const struct schema_field *field, uint64_t count,
    size_t unit, struct span *ret_bytes)
{
    uint64_t size = count * unit;
    if (size > reader_left(&w->reader)) {
        return fail(w, field, "its length goes beyond the payload");
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

/* Up to a NUL, which is consumed; the rest of the payload where none follows (writers leave the
 * terminator of a last string out; if more properties follow, they will find nothing left). */
static bool take_utf16(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return take_counted(w, field, length_of(w, field), 2, ret_bytes);
    }
    struct span rest = reader_rest(&w->reader);
    size_t size = utf16_until_nul(rest);
    *ret_bytes = reader_take(&w->reader, size);
    if (reader_left(&w->reader) >= 2) {
        reader_skip(&w->reader, 2);
    }
    return true;
}

static inline size_t until_nul(const uint8_t *text, size_t size)
{
    const uint8_t *nul = size ? memchr(text, 0, size) : NULL;
    return nul ? (size_t)(nul - text) : size;
}

static bool take_ansi(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return take_counted(w, field, length_of(w, field), 1, ret_bytes);
    }
    struct span rest = reader_rest(&w->reader);
    *ret_bytes = reader_take(&w->reader, until_nul(rest.data, rest.size));
    if (reader_left(&w->reader) >= 1) {
        reader_skip(&w->reader, 1);
    }
    return true;
}

/* A binary without any length: an IPv6 address has 16 bytes, a socket address says its family, the
 * last property takes the rest. */
static bool take_binary(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    if (has_length(field)) {
        return take_counted(w, field, length_of(w, field), 1, ret_bytes);
    }
    struct span rest = reader_rest(&w->reader);
    if (field->out_type == OUT_IPV6) {
        return take_counted(w, field, 16, 1, ret_bytes);
    }
    if (field->out_type == OUT_SOCKET_ADDRESS && rest.size >= 2) {
        uint16_t family = load_le16(rest.data);
        if (family == 2 || family == 23) {
            return take_counted(w, field, family == 2 ? 16 : 28, 1, ret_bytes);
        }
    }
    if (field != &w->schema->fields[w->schema->top_count - 1]) {
        return fail(w, field, "nothing says how long it is");
    }
    *ret_bytes = reader_take(&w->reader, rest.size);
    return true;
}

/* Revision, count of sub-authorities, 6 bytes of authority, 4 bytes each (MS-DTYP 2.4.2.2). */
static bool take_sid(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    struct span rest = reader_rest(&w->reader);
    if (rest.size < 8) {
        return fail(w, field, "the payload ends");
    }
    if (rest.data[1] > 15) {
        return fail(w, field, "not a SID");
    }
    return take_counted(w, field, 8 + 4 * (uint64_t)rest.data[1], 1, ret_bytes);
}

/* TOKEN_USER (a pointer and attributes, two pointers wide, in some records all zero) and a SID.
 * Where no SID stands behind them, 32 zero bits stand alone and mean that there is none. */
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
        return fail(w, field, "the payload ends");
    }
    if (load_le32(rest.data) != 0) {
        return fail(w, field, "not a SID");
    }
    reader_skip(&w->reader, 4);
    *ret_bytes = span_make(rest.data, 0);
    return true;
}

/* WPP's macros write a text where a pointer is NULL or no SID; the revision of one is no letter. */
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
        return fail(w, field, "the payload ends");
    }
    uint32_t count = big_endian ? load_be16(prefix.data) : number_of(prefix);
    if (!take_counted(w, field, count, 1, ret_bytes)) {
        w->reader = before;
        return false;
    }
    return true;
}

/* The bytes of one value; false, with nothing consumed, where the payload cannot hold it. */
static bool take_value(struct walk *w, const struct schema_field *field, struct span *ret_bytes)
{
    size_t fixed = field->pointer_sized ? w->pointer_size : field->fixed_size;
    if (fixed) {
        if (reader_left(&w->reader) < fixed) {
            return fail(w, field, "the payload ends");
        }
        *ret_bytes = reader_take(&w->reader, fixed);
        remember_number(w, field, *ret_bytes);
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
        return fail(w, field, "unknown type");
    }
}

/* ---- arrays and structs ----------------------------------------------------------------------- */

static bool walk_fields(struct walk *w, size_t first, size_t count);

static bool walk_group(struct walk *w, const struct schema_field *field)
{
    uint32_t index = add_field(
        w, field, FIELD_GROUP, span_make(w->reader.at, 0), field->struct_members);
    if (index == NO_FIELD) {
        return false;
    }
    bool ok = walk_fields(w, field->struct_start, field->struct_members);
    struct field *group = &w->decoder->fields[index];
    group->end = w->decoder->field_count;
    group->size = (uint32_t)(w->reader.at - group->data);
    return ok;
}

/* Elements of an array, known before the first of them; without meaning for FIELD_REST_COUNT. */
static bool element_count(struct walk *w, const struct schema_field *field, uint32_t *ret_count)
{
    if (field->flags & FIELD_REST_COUNT) {
        *ret_count = 0;
    } else if (field->flags & FIELD_PARAM_COUNT) {
        *ret_count = w->decoder->numbers[field->count];
    } else if (field->flags & FIELD_COUNTED) {
        if (reader_left(&w->reader) < 2) {
            return fail(w, field, "the payload ends");
        }
        *ret_count = reader_u16(&w->reader);
    } else {
        *ret_count = field->count;
    }
    return true;
}

static bool walk_packed(struct walk *w, const struct schema_field *field, uint32_t count)
{
    size_t size = field->pointer_sized ? w->pointer_size : field->fixed_size;
    if (field->flags & FIELD_REST_COUNT) {
        count = (uint32_t)(reader_left(&w->reader) / size);
    }
    struct span bytes;
    if (!take_counted(w, field, count, size, &bytes)) {
        return false;
    }
    if (count) {
        remember_number(w, field, span_first(bytes, size));
    }
    return add_field(w, field, FIELD_PACKED, bytes, count) != NO_FIELD;
}

static bool walk_elements(struct walk *w, const struct schema_field *field, uint32_t count)
{
    uint32_t index = add_field(w, field, FIELD_ARRAY, span_make(w->reader.at, 0), 0);
    if (index == NO_FIELD) {
        return false;
    }
    bool to_the_end = field->flags & FIELD_REST_COUNT;
    bool ok = true;
    uint32_t done = 0;
    while (ok && (to_the_end ? reader_left(&w->reader) > 0 : done < count)) {
        if (field->flags & FIELD_STRUCT) {
            ok = walk_group(w, field);
        } else {
            struct span bytes;
            ok = take_value(w, field, &bytes) &&
                 add_field(w, field, FIELD_VALUE, bytes, 1) != NO_FIELD;
        }
        /* A group that broke off stays, as far as it came. */
        done += ok || (field->flags & FIELD_STRUCT);
    }
    struct field *array = &w->decoder->fields[index];
    array->count = done;
    array->end = w->decoder->field_count;
    array->size = (uint32_t)(w->reader.at - array->data);
    return ok;
}

static bool walk_array(struct walk *w, const struct schema_field *field)
{
    struct reader before = w->reader;
    uint32_t count;
    if (!element_count(w, field, &count)) {
        return false;
    }
    if ((field->flags & FIELD_STRUCT) || !(field->fixed_size || field->pointer_sized)) {
        return walk_elements(w, field, count);
    }
    if (!walk_packed(w, field, count)) {
        w->reader = before;
        return false;
    }
    return true;
}

static bool walk_field(struct walk *w, const struct schema_field *field)
{
    if ((field->flags & FIELD_OPTIONAL) && reader_left(&w->reader) == 0) {
        return true;
    }
    if (field->is_array) {
        return walk_array(w, field);
    }
    if (field->flags & FIELD_STRUCT) {
        return walk_group(w, field);
    }
    struct span bytes;
    return take_value(w, field, &bytes) && add_field(w, field, FIELD_VALUE, bytes, 1) != NO_FIELD;
}

/* Bytes of the plain value at ${*at}, which is moved to its first; ${ret_skip}: bytes behind it that
 * belong to it, too. SIZE_MAX: the property needs thought, or the payload does not hold it. */
static inline size_t plain_size(const struct schema_field *field, size_t pointer_size,
    const uint8_t **at, const uint8_t *end, size_t *ret_skip)
{
    size_t left = (size_t)(end - *at);
    size_t size = field->fixed_size;
    *ret_skip = 0;
    switch (field->take) {
    case TAKE_POINTER:
        size = pointer_size;
        break;
    case TAKE_FIXED:
        break;
    case TAKE_TEXT16:
        size = utf16_until_nul(span_make(*at, left));
        *ret_skip = left - size >= 2 ? 2 : 0;
        return size;
    case TAKE_TEXT8:
        size = until_nul(*at, left);
        *ret_skip = left > size;
        return size;
    case TAKE_COUNTED:
        if (left < 2 || load_le16(*at) > left - 2) {
            return SIZE_MAX;
        }
        size = load_le16(*at);
        *at += 2;
        return size;
    default:
        return SIZE_MAX;
    }
    return size <= left ? size : SIZE_MAX;
}

/* Fields whose places are constant: one check of bounds for all. */
static inline void take_run(struct walk *w, const struct schema_field *first,
    const struct schema_run *run, const uint8_t *at)
{
    struct decoder *d = w->decoder;
    uint32_t index = d->field_count;
    uint32_t count = first->run;
    struct field *fields = d->fields + index;
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = run->fields[i];
        fields[i].data = at + (uintptr_t)run->fields[i].data;
        fields[i].end = index + run->fields[i].end;
    }
    d->field_count = index + count;
    for (uint32_t i = 0; w->schema->has_numbers && i < count; i++) {
        remember_number(w, &first[i], span_make(fields[i].data, fields[i].size));
    }
}

/* Most properties are plain values: those are taken here, the others by walk_field. */
static bool walk_fields(struct walk *w, size_t first, size_t count)
{
    struct decoder *d = w->decoder;
    const uint8_t *at = w->reader.at;
    const uint8_t *end = w->reader.end;
    const struct schema_field *field = w->schema->fields + first;
    const struct schema_field *stop = field + count;
    bool wide = w->pointer_size == 8;
    while (field < stop) {
        const struct schema_run *run = field->run ? &field->runs[wide] : NULL;
        if (run && field->run <= stop - field && run->bytes <= end - at &&
            field->run <= d->field_capacity - d->field_count) {
            take_run(w, field, run, at);
            at += run->bytes;
            field += field->run;
            continue;
        }
        size_t skip;
        uint32_t index = d->field_count;
        size_t size = index < d->field_capacity
                          ? plain_size(field, w->pointer_size, &at, end, &skip)
                          : SIZE_MAX;
        if (size != SIZE_MAX) {
            d->field_count = index + 1;
            d->fields[index] = (struct field){.schema = field,
                .data = at,
                .size = (uint32_t)size,
                .count = 1,
                .end = index + 1,
                .shape = FIELD_VALUE,
                .value_bytes = (uint8_t)size};
            at += size + skip;
        } else {
            w->reader.at = at;
            if (!walk_field(w, field)) {
                return false;
            }
            at = w->reader.at;
        }
        field++;
    }
    w->reader.at = at;
    return true;
}

void decoder_run(struct decoder *decoder, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, struct event *ret_event)
{
    *ret_event = (struct event){.record = record,
        .schema = schema,
        .fields = decoder->fields,
        .status = DECODE_RAW,
        .pointer_size = pointer_size,
        .rest = record->payload};
    decoder->field_count = 0;
    decoder->error[0] = '\0';
    if (!schema || !schema->has_layout) {
        return;
    }
    struct walk w = {.decoder = decoder,
        .schema = schema,
        .reader = reader_make(record->payload),
        .pointer_size = pointer_size,
        .payload = record->payload};
    w.payload.data = w.reader.at;
    bool ok = schema->top_count == 0; /* no fields: nothing to walk */
    if (!reset_numbers(decoder, schema)) {
        snprintf(decoder->error, sizeof(decoder->error), "out of memory");
    } else if (!ok) {
        ok = walk_fields(&w, 0, schema->top_count);
    }
    ret_event->fields = decoder->fields;
    ret_event->field_count = decoder->field_count;
    ret_event->rest = reader_rest(&w.reader);
    if (!ok) {
        ret_event->status = DECODE_PARTIAL;
        ret_event->error = decoder->error;
    } else if (schema->open_end) {
        ret_event->status = DECODE_PARTIAL;
        ret_event->error = schema->open_end;
    } else {
        ret_event->status = ret_event->rest.size ? DECODE_RESIDUE : DECODE_COMPLETE;
    }
}
