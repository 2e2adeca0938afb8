#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/utf.h"
#include "decode/decode_own.h"

/*
 * One walk over the properties of a schema, with a bounded reader over the payload.
 *
 * Adjacent properties of constant size share one bounds check, and plain strings have a fast path.
 * The rest goes through decode_value_take, which handles every TDH_IN_TYPE. Every step either
 * appends a field (at most DECODE_MAX_FIELDS) or ends the walk, so hostile counts cannot prolong
 * it. Sources: TDH_IN_TYPE in tdh.h; "Using TdhFormatProperty to consume event data" on
 * learn.microsoft.com.
 */
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

/* Make room for ${count} more fields. False: there would be too many. */
static bool reserve(struct decoder *d, size_t count)
{
    bool ok = true;
    while (ok && d->field_capacity - d->field_count < count) {
        ok = d->field_capacity < DECODE_MAX_FIELDS &&
             grow_to(&d->fields, d->field_capacity * 2, &d->field_capacity, sizeof(*d->fields));
    }
    return ok;
}

/* Append a field; returns its index, or NO_FIELD if there are too many. */
static uint32_t add_field(struct decoder *d, const struct schema_field *schema,
    enum field_shape shape, struct span bytes, uint32_t count)
{
    if (!reserve(d, 1)) {
        decode_value_fail(d, schema, "too many values");
        return NO_FIELD;
    }
    uint32_t index = d->field_count++;
    d->fields[index] = (struct field){.schema = schema,
        .data = bytes.data,
        .size = (uint32_t)bytes.size,
        .count = count,
        .end = index + 1,
        .shape = (uint8_t)shape,
        .value_bytes = schema->pointer_sized ? d->pointer_size : schema->fixed_size};
    return index;
}

/* ---- lengths and counts of later properties -------------------------------------------------- */

static bool reset_numbers(struct decoder *d, const struct event_schema *schema)
{
    if (!schema->has_numbers) {
        return true;
    }
    if (!grow_to(&d->numbers, schema->field_count, &d->number_capacity, sizeof(*d->numbers))) {
        return false;
    }
    if (schema->field_count) {
        memset(d->numbers, 0, schema->field_count * sizeof(*d->numbers));
    }
    return true;
}

/* ---- arrays and structs ---------------------------------------------------------------------- */

static bool walk_fields(struct decoder *d, size_t first, size_t count);

static bool walk_group(struct decoder *d, const struct schema_field *field)
{
    uint32_t index = add_field(
        d, field, FIELD_GROUP, span_make(d->reader.at, 0), field->struct_members);
    if (index == NO_FIELD) {
        return false;
    }
    bool ok = walk_fields(d, field->struct_start, field->struct_members);
    struct field *group = &d->fields[index];
    group->end = d->field_count;
    group->size = (uint32_t)(d->reader.at - group->data);
    return ok;
}

/* Number of elements of an array, determined before the first one; meaningless for
 * FIELD_REST_COUNT. */
static bool element_count(struct decoder *d, const struct schema_field *field, uint32_t *ret_count)
{
    if (field->flags & FIELD_REST_COUNT) {
        *ret_count = 0;
    } else if (field->flags & FIELD_PARAM_COUNT) {
        *ret_count = d->numbers[field->count];
    } else if (field->flags & FIELD_COUNTED) {
        if (reader_left(&d->reader) < 2) {
            return decode_value_fail(d, field, "the payload ends");
        }
        *ret_count = reader_u16(&d->reader);
    } else {
        *ret_count = field->count;
    }
    return true;
}

static bool walk_packed(struct decoder *d, const struct schema_field *field, uint32_t count)
{
    size_t size = field->pointer_sized ? d->pointer_size : field->fixed_size;
    if (field->flags & FIELD_REST_COUNT) {
        count = (uint32_t)(reader_left(&d->reader) / size);
    }
    struct span bytes;
    if (!decode_value_take_counted(d, field, count, size, &bytes)) {
        return false;
    }
    if (count) {
        decode_remember_number(d, field, span_first(bytes, size));
    }
    return add_field(d, field, FIELD_PACKED, bytes, count) != NO_FIELD;
}

static bool walk_elements(struct decoder *d, const struct schema_field *field, uint32_t count)
{
    uint32_t index = add_field(d, field, FIELD_ARRAY, span_make(d->reader.at, 0), 0);
    if (index == NO_FIELD) {
        return false;
    }
    bool to_the_end = field->flags & FIELD_REST_COUNT;
    bool ok = true;
    uint32_t done = 0;
    while (ok && (to_the_end ? reader_left(&d->reader) > 0 : done < count)) {
        if (field->flags & FIELD_STRUCT) {
            ok = walk_group(d, field);
        } else {
            struct span bytes;
            ok = decode_value_take(d, field, &bytes) &&
                 add_field(d, field, FIELD_VALUE, bytes, 1) != NO_FIELD;
        }
        /* an incomplete group is kept as far as it was decoded */
        done += ok || (field->flags & FIELD_STRUCT);
    }
    struct field *array = &d->fields[index];
    array->count = done;
    array->end = d->field_count;
    array->size = (uint32_t)(d->reader.at - array->data);
    return ok;
}

static bool walk_array(struct decoder *d, const struct schema_field *field)
{
    struct reader before = d->reader;
    uint32_t count = 0;
    if (!element_count(d, field, &count)) {
        return false;
    }
    if ((field->flags & FIELD_STRUCT) || !(field->fixed_size || field->pointer_sized)) {
        return walk_elements(d, field, count);
    }
    if (!walk_packed(d, field, count)) {
        d->reader = before;
        return false;
    }
    return true;
}

static bool walk_field(struct decoder *d, const struct schema_field *field)
{
    if ((field->flags & FIELD_OPTIONAL) && reader_left(&d->reader) == 0) {
        return true;
    }
    if (field->is_array) {
        return walk_array(d, field);
    }
    if (field->flags & FIELD_STRUCT) {
        return walk_group(d, field);
    }
    struct span bytes;
    return decode_value_take(d, field, &bytes) &&
           add_field(d, field, FIELD_VALUE, bytes, 1) != NO_FIELD;
}

/* Fields at constant offsets: one bounds check for all. */
static inline void take_run(struct decoder *d, const struct schema_run *run, const uint8_t *at)
{
    uint32_t index = d->field_count;
    struct field *to = d->fields + index;
    d->field_count = index + run->count;
    for (size_t i = 0; i < run->count; i++) {
        to[i] = run->fields[i];
        to[i].data = at + (uintptr_t)to[i].data;
        to[i].end += index;
    }
    for (size_t i = 0; run->has_numbers && i < run->count; i++) {
        decode_remember_number(d, to[i].schema, span_make(to[i].data, to[i].size));
    }
}

/* Size of the plain value at ${*at}, which is moved to its first byte; ${ret_skip}: bytes after it
 * that belong to it (a terminator). SIZE_MAX: the property is not plain, or the payload is too
 * short. */
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
        size = span_until_nul(span_make(*at, left)).size;
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

/* Take the plain value at ${*at}, or the run of such, which is moved past it. Returns the property
 * after it, or NULL if walk_field must decode ${field}. There is room for ${stop} - ${field}. */
static inline const struct schema_field *take_plain(struct decoder *d,
    const struct schema_field *field, const struct schema_field *stop, const uint8_t **at,
    const uint8_t *end)
{
    const struct schema_run *run = field->runs;
    if (run) {
        run += d->pointer_size == 8;
        const struct schema_field *next = field + run->count;
        if (next <= stop && run->bytes <= end - *at) {
            take_run(d, run, *at);
            *at += run->bytes;
            return next;
        }
    }
    size_t skip;
    size_t size = plain_size(field, d->pointer_size, at, end, &skip);
    if (size == SIZE_MAX) {
        return NULL;
    }
    uint32_t index = d->field_count++;
    d->fields[index] = (struct field){.schema = field,
        .data = *at,
        .size = (uint32_t)size,
        .count = 1,
        .end = index + 1,
        .shape = FIELD_VALUE,
        .value_bytes = (uint8_t)size};
    *at += size + skip;
    return field + 1;
}

static bool walk_fields(struct decoder *d, size_t first, size_t count)
{
    const struct schema_field *field = d->schema->fields + first;
    const struct schema_field *stop = field + count;
    const uint8_t *at = d->reader.at;
    const uint8_t *end = d->reader.end;
    bool room = reserve(d, count);
    while (field < stop) {
        const struct schema_field *next = room ? take_plain(d, field, stop, &at, end) : NULL;
        if (!next) {
            d->reader.at = at;
            if (!walk_field(d, field)) {
                return false;
            }
            at = d->reader.at;
            next = field + 1;
            room = reserve(d, (size_t)(stop - next));
        }
        field = next;
    }
    d->reader.at = at;
    return true;
}

/* Decode the top-level fields up to ${end}. The event is PARTIAL if the payload is too short, or if
 * there are too many fields. */
static void walk_to(struct decoder *d, struct event *event, uint16_t end)
{
    if (end != d->done && !walk_fields(d, d->done, end - d->done)) {
        event->status = DECODE_PARTIAL;
        event->error = d->error;
    }
    d->done = end;
    event->fields = d->fields;
    event->field_count = d->field_count;
    event->rest = reader_rest(&d->reader);
}

/* Prepare for an event; without a layout, it is done. */
static void start(struct decoder *d, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, struct event *ret_event)
{
    d->field_count = 0;
    d->error[0] = '\0';
    d->schema = schema;
    d->reader = reader_make(record->payload);
    d->payload_size = record->payload.size;
    d->pointer_size = pointer_size;
    d->done = 0;
    bool has_layout = schema && schema->has_layout;
    *ret_event = (struct event){.record = record,
        .schema = schema,
        .fields = d->fields,
        .status = has_layout ? DECODE_COMPLETE : DECODE_RAW,
        .pointer_size = pointer_size,
        .rest = record->payload};
    if (has_layout && !reset_numbers(d, schema)) {
        snprintf(d->error, sizeof(d->error), "out of memory");
        ret_event->status = DECODE_PARTIAL;
        ret_event->error = d->error;
    }
}

void decoder_begin(struct decoder *decoder, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, uint16_t field_count,
    struct event *ret_event)
{
    start(decoder, record, schema, pointer_size, ret_event);
    if (ret_event->status == DECODE_COMPLETE) {
        walk_to(
            decoder, ret_event, field_count < schema->top_count ? field_count : schema->top_count);
    }
}

void decoder_finish(struct decoder *decoder, struct event *event)
{
    if (event->status != DECODE_COMPLETE) {
        return;
    }
    walk_to(decoder, event, event->schema->top_count);
    if (event->status != DECODE_COMPLETE) {
        return;
    }
    if (event->schema->open_end) {
        event->status = DECODE_PARTIAL;
        event->error = event->schema->open_end;
    } else if (event->record->log_problem) {
        event->status = DECODE_PARTIAL;
        event->error = event->record->log_problem;
    } else if (event->rest.size) {
        event->status = DECODE_RESIDUE;
    }
}

void decoder_run(struct decoder *decoder, const struct event_record *record,
    const struct event_schema *schema, uint8_t pointer_size, struct event *ret_event)
{
    start(decoder, record, schema, pointer_size, ret_event);
    decoder_finish(decoder, ret_event);
}
