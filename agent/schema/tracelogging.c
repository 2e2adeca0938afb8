#include <stdlib.h>

#include "base/reader.h"
#include "schema/layout.h"
#include "schema/schema_source.h"

/*
 * Self-describing events: TraceLogging, and EventSources in that format. Every event carries its
 * fields' names and types in an extended item, in the encoding that TraceLoggingProvider.h
 * documents; the provider's name stands in the traits item. Level, opcode and keyword are no part
 * of that blob and may differ between events that share it: their names are not set here.
 *
 * The cache asks once per blob; each answer costs memory until the maximum is reached, after which
 * further event types are shipped undecoded.
 */
enum {
    MAX_BYTES = 64 * 1024 * 1024,
    IN_TYPE_MASK = 0x1f,
    COUNT_MASK = 0x60,
    COUNT_FIXED = 0x20,
    COUNT_VARIABLE = 0x40,
    COUNT_CUSTOM = 0x60,
    CHAIN = 0x80,
    OUT_TYPE_MASK = 0x7f,
    MAX_TAG_BYTES = 4, /* 28 bits, 7 each */
    FIRST_TDH_OUT_TYPE = 32,
};

/* TlgOut, where it differs from TDH_OUT_TYPE. */
enum tlg_out {
    TLG_OUT_NULL,
    TLG_OUT_NO_PRINT,
    TLG_OUT_STRING,
    TLG_OUT_BOOLEAN,
    TLG_OUT_HEX,
    TLG_OUT_PID,
    TLG_OUT_TID,
    TLG_OUT_PORT,
    TLG_OUT_IPV4,
    TLG_OUT_IPV6,
    TLG_OUT_SOCKET_ADDRESS,
    TLG_OUT_XML,
    TLG_OUT_JSON,
    TLG_OUT_WIN32_ERROR,
    TLG_OUT_NTSTATUS,
    TLG_OUT_HRESULT,
    TLG_OUT_FILETIME,
    TLG_OUT_SIGNED,
    TLG_OUT_UNSIGNED,
    TLG_OUT_COUNT,
};

static uint16_t hex_of(uint16_t in_type)
{
    switch (in_type) {
    case IN_INT8:
    case IN_UINT8:
        return OUT_HEX_INT8;
    case IN_INT16:
    case IN_UINT16:
        return OUT_HEX_INT16;
    case IN_INT64:
    case IN_UINT64:
    case IN_HEX_INT64:
    case IN_POINTER:
        return OUT_HEX_INT64;
    case IN_BINARY:
    case IN_MANIFEST_COUNTED_BINARY:
        return OUT_HEX_BINARY;
    default:
        return OUT_HEX_INT32;
    }
}

static uint16_t integer_of(uint16_t in_type, bool is_signed)
{
    switch (in_type) {
    case IN_INT8:
    case IN_UINT8:
        return is_signed ? OUT_BYTE : OUT_UNSIGNED_BYTE;
    case IN_INT16:
    case IN_UINT16:
        return is_signed ? OUT_SHORT : OUT_UNSIGNED_SHORT;
    case IN_INT64:
    case IN_UINT64:
    case IN_HEX_INT64:
    case IN_POINTER:
        return is_signed ? OUT_LONG : OUT_UNSIGNED_LONG;
    default:
        return is_signed ? OUT_INT : OUT_UNSIGNED_INT;
    }
}

static uint16_t out_type_of(uint8_t tlg_out, uint16_t in_type)
{
    static const uint16_t plain[TLG_OUT_COUNT] = {
        [TLG_OUT_NO_PRINT] = OUT_NO_PRINT,
        [TLG_OUT_STRING] = OUT_STRING,
        [TLG_OUT_BOOLEAN] = OUT_BOOLEAN,
        [TLG_OUT_PID] = OUT_PID,
        [TLG_OUT_TID] = OUT_TID,
        [TLG_OUT_PORT] = OUT_PORT,
        [TLG_OUT_IPV4] = OUT_IPV4,
        [TLG_OUT_IPV6] = OUT_IPV6,
        [TLG_OUT_SOCKET_ADDRESS] = OUT_SOCKET_ADDRESS,
        [TLG_OUT_XML] = OUT_XML,
        [TLG_OUT_JSON] = OUT_JSON,
        [TLG_OUT_WIN32_ERROR] = OUT_WIN32_ERROR,
        [TLG_OUT_NTSTATUS] = OUT_NTSTATUS,
        [TLG_OUT_HRESULT] = OUT_HRESULT,
        [TLG_OUT_FILETIME] = OUT_DATETIME,
    };
    switch (tlg_out) {
    case TLG_OUT_HEX:
        return hex_of(in_type);
    case TLG_OUT_SIGNED:
        return integer_of(in_type, true);
    case TLG_OUT_UNSIGNED:
        return integer_of(in_type, false);
    default:
        if (tlg_out >= FIRST_TDH_OUT_TYPE) {
            return tlg_out;
        }
        return tlg_out < TLG_OUT_COUNT ? plain[tlg_out] : (uint16_t)OUT_NULL;
    }
}

/* 28 bits in groups of 7, the last with its high bit clear; nothing of ours depends on them. */
static void skip_tags(struct reader *r)
{
    for (size_t i = 0; i < MAX_TAG_BYTES; i++) {
        if (!(reader_u8(r) & 0x80)) {
            return;
        }
    }
    r->failed = true;
}

/* ---- fields ---------------------------------------------------------------------------------- */

struct tlg_field {
    struct span name;
    uint8_t in; /* with its flags */
    uint8_t out;
    uint16_t count;
};

static struct tlg_field read_field(struct reader *r)
{
    struct tlg_field field = {.name = reader_text(r)};
    field.in = reader_u8(r);
    if (field.in & CHAIN) {
        uint8_t out = reader_u8(r);
        field.out = out & OUT_TYPE_MASK;
        if (out & 0x80) {
            skip_tags(r);
        }
    }
    if ((field.in & COUNT_MASK) == COUNT_FIXED) {
        field.count = reader_u16(r);
    } else if ((field.in & COUNT_MASK) == COUNT_CUSTOM) {
        reader_skip(r, reader_u16(r)); /* type information of a serialiser we do not know */
    }
    return field;
}

static bool fill_node(struct layout_node *node, const struct tlg_field *tlg, struct arena *arena)
{
    struct schema_field *field = &node->field;
    if (!arena_copy(arena, tlg->name, &field->name)) {
        return false;
    }
    field->count = 1;
    switch (tlg->in & COUNT_MASK) {
    case COUNT_FIXED:
        field->flags |= FIELD_FIXED_COUNT;
        field->count = tlg->count;
        break;
    case COUNT_VARIABLE:
        field->flags |= FIELD_COUNTED;
        break;
    default:
        break;
    }
    uint16_t in_type = tlg->in & IN_TYPE_MASK;
    if (in_type != IN_RESERVED24) {
        /* TraceLogging binaries have a byte count in front; those of manifests do not. */
        field->in_type = in_type == IN_BINARY ? (uint16_t)IN_MANIFEST_COUNTED_BINARY : in_type;
        field->out_type = out_type_of(tlg->out, in_type);
    }
    return true;
}

/* ${left} counts, per open struct, the members still to come; a struct that ends may end those
 * around it. */
static void close_structs(struct layout *layout, const uint8_t *left)
{
    while (layout->depth && left[layout->depth - 1] == 0) {
        layout_close(layout);
    }
}

static bool read_fields(
    struct reader *r, struct layout *layout, struct arena *arena, struct error *err)
{
    uint8_t left[SCHEMA_MAX_DEPTH] = {0};
    while (reader_left(r)) {
        struct tlg_field tlg = read_field(r);
        if (r->failed) {
            return error_set(err, ERR_FORMAT, "a field is cut short");
        }
        struct layout_node *node = layout_add(layout, err);
        if (!node || !fill_node(node, &tlg, arena)) {
            return false;
        }
        if (layout->depth) {
            left[layout->depth - 1]--;
        }
        if ((tlg.in & IN_TYPE_MASK) == IN_RESERVED24) {
            if (!layout_open(layout, err)) {
                return false;
            }
            left[layout->depth - 1] = tlg.out;
        }
        close_structs(layout, left);
    }
    if (layout->depth) {
        return error_set(err, ERR_FORMAT, "a struct has fewer members than it says");
    }
    return true;
}

/* ---- the source ------------------------------------------------------------------------------ */

static struct span provider_name(const struct event_record *record)
{
    const struct extended_item *item = record_extended(record, EXTENDED_PROV_TRAITS);
    struct reader r = reader_make(item ? item->data : span_make(NULL, 0));
    uint16_t size = reader_u16(&r);
    struct span traits = span_first(reader_rest(&r), size >= 2 ? size - 2u : 0);
    struct reader name = reader_make(traits);
    struct span text = reader_text(&name);
    return name.failed ? span_make(NULL, 0) : text;
}

static bool make_layout(struct reader *r, struct event_schema *schema, struct arena *arena)
{
    struct arena scratch;
    struct layout layout;
    struct error err = {0};
    arena_init(&scratch, MAX_BYTES);
    layout_init(&layout, &scratch);
    bool ok = read_fields(r, &layout, arena, &err) && layout_write(&layout, schema, arena, &err) &&
              schema_finish(schema, arena, &err);
    arena_fini(&scratch);
    return ok;
}

/* A blob whose fields make no sense still names its event. */
static struct event_schema *make_schema(
    const struct event_record *record, struct span blob, struct arena *arena)
{
    struct reader head = reader_make(blob);
    uint16_t size = reader_u16(&head);
    struct reader r = reader_make(span_first(reader_rest(&head), size >= 2 ? size - 2u : 0));
    skip_tags(&r);
    struct span name = reader_text(&r);
    struct event_schema *schema = arena_alloc(arena, sizeof(*schema));
    if (head.failed || r.failed || !schema) {
        return NULL;
    }
    r.failed = size > blob.size;
    if (r.failed || !make_layout(&r, schema, arena)) {
        *schema = (struct event_schema){0};
    } else {
        schema->has_layout = true;
    }
    schema->kind = SCHEMA_TRACELOGGING;
    schema->source = "tracelogging";
    schema->provider = record->provider;
    schema->descriptor = record->descriptor;
    if (!arena_copy(arena, name, &schema->event_name) ||
        !arena_copy(arena, provider_name(record), &schema->provider_name)) {
        return NULL;
    }
    return schema;
}

static void tracelogging_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    const struct extended_item *item = record->kind == RECORD_EVENT
                                           ? record_extended(record, EXTENDED_SCHEMA_TL)
                                           : NULL;
    if (item) {
        schema_candidates_add(found, make_schema(record, item->data, self));
    }
}

static void *tracelogging_create(const struct schema_source_settings *settings, struct error *err)
{
    (void)settings;
    struct arena *arena = malloc(sizeof(*arena));
    if (!arena) {
        error_set(err, ERR_MEMORY, "no memory for TraceLogging schemas");
        return NULL;
    }
    arena_init(arena, MAX_BYTES);
    return arena;
}

static void tracelogging_destroy(void *self)
{
    if (self) {
        arena_fini(self);
        free(self);
    }
}

const struct schema_source_ops schema_source_tracelogging = {
    .name = "tracelogging",
    .create = tracelogging_create,
    .find = tracelogging_find,
    .destroy = tracelogging_destroy,
};
