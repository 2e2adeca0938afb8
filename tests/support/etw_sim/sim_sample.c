#include "support/etw_sim/sim_sample.h"

#include <stdio.h>

#include "event/model/schema_forms.h"
#include "support/etl_put.h"

/*
 * Fields are put in the order of the payload. A field that is another one's length or count is
 * always two.
 */
enum { LENGTH = 2, TEXT_MAX = 48 };

struct sampler {
    struct buf *out;
    const struct event_schema *schema;
    const struct sim_sample *sample;
    uint64_t random;
};

static uint64_t next(struct sampler *s)
{
    s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return s->random >> 33;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static size_t make_text(struct sampler *s, char text[TEXT_MAX])
{
    static const char *const words[] = {"C:\\Windows\\System32\\svchost.exe", "explorer.exe",
        "\\Device\\HarddiskVolume3\\Users\\Public\\file", "host.example", "value", "\\REGISTRY\\A"};
    int size = snprintf(text, TEXT_MAX, "%s%u", words[next(s) % 6], (unsigned)(next(s) % 1000));
    return (size_t)size;
}

/* Exactly ${units} of a text, filled with blanks. */
static void put_fixed_text(struct sampler *s, size_t units, bool wide)
{
    char text[TEXT_MAX];
    size_t size = make_text(s, text);
    for (size_t i = 0; i < units; i++) {
        etl_put_u8(s->out, (uint8_t)(i < size ? text[i] : ' '));
        if (wide) {
            etl_put_u8(s->out, 0);
        }
    }
}

static void put_text(struct sampler *s, bool wide, bool ended)
{
    char text[TEXT_MAX];
    size_t size = make_text(s, text);
    if (wide) {
        etl_put_utf16(s->out, text);
    } else {
        buf_add(s->out, text, size);
    }
    if (ended) {
        etl_put_zeros(s->out, wide ? 2 : 1);
    }
}

static void put_counted(struct sampler *s, bool wide, bool reversed)
{
    char text[TEXT_MAX];
    size_t size = make_text(s, text);
    uint16_t bytes = (uint16_t)(size * (wide ? 2 : 1));
    etl_put_u16(s->out, reversed ? (uint16_t)(bytes << 8 | bytes >> 8) : bytes);
    if (wide) {
        etl_put_utf16(s->out, text);
    } else {
        buf_add(s->out, text, size);
    }
}

static void put_bytes(struct sampler *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        etl_put_u8(s->out, (uint8_t)next(s));
    }
}

/* S-1-5-21-1-2-3-1001. */
static void put_sid(struct sampler *s)
{
    static const uint8_t sid[] = {
        1, 5, 0, 0, 0, 0, 0, 5, 21, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0xe9, 3, 0, 0};
    buf_add(s->out, sid, sizeof(sid));
}

/* ---- values ---------------------------------------------------------------------------------- */

static uint64_t number_of(struct sampler *s, const struct schema_field *field)
{
    if (field->flags & FIELD_IS_NUMBER) {
        return LENGTH;
    }
    if (field->out_type == OUT_PID) {
        return s->sample->process_id;
    }
    if (field->out_type == OUT_TID) {
        return s->sample->thread_id;
    }
    if (field->map && field->map->entry_count) {
        return field->map->entries[next(s) % field->map->entry_count].value;
    }
    return field->in_type == IN_BOOLEAN ? next(s) % 2 : next(s) % 1000;
}

static void put_fixed(struct sampler *s, const struct schema_field *field, size_t size)
{
    switch (field->in_type) {
    case IN_FLOAT:
        etl_put_u32(s->out, 0x3fc00000); /* 1.5 */
        break;
    case IN_DOUBLE:
        etl_put_double(s->out, 1.5);
        break;
    case IN_FILETIME:
        etl_put_u64(s->out, UINT64_C(134397270000000000) + next(s));
        break;
    case IN_SYSTEMTIME: {
        static const uint16_t parts[] = {2026, 11, 6, 21, 9, 30, 15, 123};
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            etl_put_u16(s->out, parts[i]);
        }
        break;
    }
    case IN_GUID:
        put_bytes(s, size);
        break;
    default: {
        uint8_t bytes[8];
        store_le64(bytes, number_of(s, field));
        buf_add(s->out, bytes, size);
        break;
    }
    }
}

static size_t length_of(const struct schema_field *field)
{
    return field->flags & FIELD_PARAM_LENGTH ? (size_t)LENGTH : field->length;
}

static bool has_length(const struct schema_field *field)
{
    return field->length || (field->flags & (FIELD_PARAM_LENGTH | FIELD_FIXED_LENGTH));
}

static void put_variable(struct sampler *s, const struct schema_field *field)
{
    enum { IPV6_BYTES = 16 };
    bool wide = schema_forms_of(field->in_type, field->out_type) == FORM_UTF16;
    switch (field->in_type) {
    case IN_UNICODE_STRING:
    case IN_ANSI_STRING:
        if (has_length(field)) {
            put_fixed_text(s, length_of(field), wide);
        } else {
            put_text(s, wide, true);
        }
        break;
    case IN_NON_NUL_TERMINATED_STRING:
    case IN_NON_NUL_TERMINATED_ANSI_STRING:
        put_text(s, wide, false);
        break;
    case IN_MANIFEST_COUNTED_STRING:
    case IN_MANIFEST_COUNTED_ANSI_STRING:
    case IN_COUNTED_STRING:
    case IN_COUNTED_ANSI_STRING:
        put_counted(s, wide, false);
        break;
    case IN_REVERSED_COUNTED_STRING:
    case IN_REVERSED_COUNTED_ANSI_STRING:
        put_counted(s, wide, true);
        break;
    case IN_MANIFEST_COUNTED_BINARY:
        etl_put_u16(s->out, LENGTH);
        put_bytes(s, LENGTH);
        break;
    case IN_HEX_DUMP:
        etl_put_u32(s->out, LENGTH);
        put_bytes(s, LENGTH);
        break;
    case IN_BINARY:
        put_bytes(s, has_length(field)             ? length_of(field)
                     : field->out_type == OUT_IPV6 ? IPV6_BYTES
                                                   : 0);
        break;
    case IN_WBEM_SID:
        etl_put_pointer(s->out, s->sample->pointer_size, UINT64_C(0xffffd00012345678));
        etl_put_pointer(s->out, s->sample->pointer_size, 0);
        put_sid(s);
        break;
    default: /* IN_SID */
        put_sid(s);
        break;
    }
}

static void put_field(struct sampler *s, size_t index);

static void put_element(struct sampler *s, const struct schema_field *field)
{
    if (field->flags & FIELD_STRUCT) {
        for (size_t i = 0; i < field->struct_members; i++) {
            put_field(s, field->struct_start + i);
        }
    } else if (field->pointer_sized) {
        bool is_number = (field->flags & FIELD_IS_NUMBER) || field->out_type == OUT_PID;
        uint64_t address = is_number ? number_of(s, field) : 0xffff0000u + next(s) % 0xffff;
        etl_put_pointer(s->out, s->sample->pointer_size, address);
    } else if (field->fixed_size) {
        put_fixed(s, field, field->fixed_size);
    } else {
        put_variable(s, field);
    }
}

static void put_field(struct sampler *s, size_t index)
{
    const struct schema_field *field = &s->schema->fields[index];
    size_t count = field->count;
    if (field->flags & (FIELD_PARAM_COUNT | FIELD_COUNTED | FIELD_REST_COUNT)) {
        count = LENGTH;
    }
    if (field->flags & FIELD_COUNTED) {
        etl_put_u16(s->out, LENGTH);
    }
    for (size_t i = 0; i < count && !s->out->failed; i++) {
        put_element(s, field);
    }
}

bool sim_sample_payload(
    struct buf *out, const struct event_schema *schema, const struct sim_sample *sample)
{
    struct sampler s = {
        .out = out, .schema = schema, .sample = sample, .random = sample->seed * 2 + 1};
    for (size_t i = 0; schema->has_layout && i < schema->top_count; i++) {
        put_field(&s, i);
    }
    return schema->has_layout && !out->failed;
}
