#include <stdlib.h>

#include "base/map.h"
#include "base/reader.h"
#include "schema/source/schema_key.h"
#include "schema/source/schema_shelves.h"
#include "schema/source/schema_source.h"
#include "schema/text/layout.h"

/*
 * Self-describing events: TraceLogging, EventSources in that format, and records of event logs,
 * which their reader describes in this form (event/model/record.h). Every event carries names and
 * types of its fields in an extended item, encoded as TraceLoggingProvider.h documents; the traits
 * item has the provider name. Level, opcode and keyword are not part of that blob and may differ
 * between events that share it, so their names are not set here.
 *
 * A type is identified by blob, provider and traits, so that an event with a different provider
 * name does not affect others. Types lie on the shelves of their providers (schema_shelves.h). An
 * evicted type is made again when it recurs, because every event is complete. If a layout does not
 * fit on its provider's shelf, its names usually do; if they do not fit either, the cache describes
 * only that event.
 */
enum {
    MAX_BYTES = 64 * 1024 * 1024,
    SCRATCH_BYTES = 4 * 1024 * 1024, /* SCHEMA_MAX_FIELDS nodes are 1 MB */
    MAX_TYPES = 1 << 18,             /* more than fit into MAX_BYTES */
    IN_TYPE_MASK = 0x1f,
    COUNT_MASK = 0x60,
    COUNT_FIXED = 0x20,
    COUNT_VARIABLE = 0x40,
    COUNT_CUSTOM = 0x60,
    CHAIN = 0x80,
    OUT_TYPE_MASK = 0x7f,
    MAX_TAG_BYTES = 4, /* 28 bits, 7 per byte */
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

/* Skip a tag: 28 bits in groups of 7, the last with its high bit clear. Tags have no effect. */
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
    uint8_t in; /* including its flags; of a custom field not a type, but its serialiser */
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
        reader_skip(r, reader_u16(r)); /* type information of an unknown serialiser */
    }
    return field;
}

static bool is_struct(const struct tlg_field *tlg)
{
    return (tlg->in & IN_TYPE_MASK) == IN_RESERVED24 && (tlg->in & COUNT_MASK) != COUNT_CUSTOM;
}

/* The name stays a view into the blob. */
static void fill_node(struct layout_node *node, const struct tlg_field *tlg)
{
    struct schema_field *field = &node->field;
    field->name = tlg->name;
    field->count = 1;
    switch (tlg->in & COUNT_MASK) {
    case COUNT_FIXED:
        field->flags |= FIELD_FIXED_COUNT;
        field->count = tlg->count;
        break;
    case COUNT_VARIABLE:
        field->flags |= FIELD_COUNTED;
        break;
    case COUNT_CUSTOM: /* bytes of that serialiser */
        field->in_type = IN_MANIFEST_COUNTED_BINARY;
        return;
    default:
        break;
    }
    uint16_t in_type = tlg->in & IN_TYPE_MASK;
    if (!is_struct(tlg)) {
        /* TraceLogging binaries have a byte count before them; those of manifests do not */
        field->in_type = in_type == IN_BINARY ? (uint16_t)IN_MANIFEST_COUNTED_BINARY : in_type;
        field->out_type = out_type_of(tlg->out, in_type);
    }
}

/* Close complete structs. ${left} is the number of missing members per open struct; the end of a
 * struct may complete the enclosing ones. */
static void close_structs(struct layout *layout, const uint8_t *left)
{
    while (layout->depth && left[layout->depth - 1] == 0) {
        layout_close(layout);
    }
}

static bool read_fields(struct reader *r, struct layout *layout, struct error *err)
{
    uint8_t left[SCHEMA_MAX_DEPTH] = {0};
    while (reader_left(r)) {
        struct tlg_field tlg = read_field(r);
        if (r->failed) {
            return error_set(err, ERR_FORMAT, "a field is truncated");
        }
        struct layout_node *node = layout_add(layout, err);
        if (!node) {
            return false;
        }
        fill_node(node, &tlg);
        if (layout->depth) {
            left[layout->depth - 1]--;
        }
        if (is_struct(&tlg)) {
            if (!layout_open(layout, err)) {
                return false;
            }
            left[layout->depth - 1] = tlg.out;
        }
        close_structs(layout, left);
    }
    if (layout->depth) {
        return error_set(err, ERR_FORMAT, "a struct has fewer members than it declares");
    }
    return true;
}

/* ---- types ----------------------------------------------------------------------------------- */

struct type {
    uint8_t key[SCHEMA_KEY_BYTES];
    struct span blob;
    struct span traits;
    struct event_schema schema;
    struct type *next; /* next on its shelf */
};

struct tracelogging {
    struct schema_shelves shelves;
    struct map types; /* by key */
    struct schema_losses refused;
};

/* Text ${index} of the traits. */
static struct span text_in(struct span traits, int index)
{
    struct reader r = reader_make(traits);
    uint16_t size = reader_u16(&r);
    struct reader texts = reader_make(span_first(reader_rest(&r), size >= 2 ? size - 2u : 0));
    struct span text = reader_text(&texts);
    for (int i = 0; i < index; i++) {
        text = reader_text(&texts);
    }
    return texts.failed ? span_make(NULL, 0) : text;
}

/* Set everything about the event except its fields, from the record and its metadata. */
static void name_event(struct event_schema *schema, const struct event_record *record,
    struct span traits, struct span event_name)
{
    bool is_log = record->present & RECORD_OF_LOG;
    schema->kind = is_log ? SCHEMA_EVENTLOG : SCHEMA_TRACELOGGING;
    schema->source = is_log ? "eventlog" : "tracelogging";
    schema->provider = record->provider;
    schema->descriptor = record->descriptor;
    schema->event_name = event_name;
    schema->provider_name = text_in(traits, 0);
    schema->channel_name = is_log ? text_in(traits, 1) : span_make(NULL, 0);
}

/* Split a blob into event name and fields; false if even the name is incomplete. */
static bool open_blob(struct span blob, struct span *ret_name, struct reader *ret_fields)
{
    struct reader head = reader_make(blob);
    uint16_t size = reader_u16(&head);
    struct reader r = reader_make(span_first(reader_rest(&head), size >= 2 ? size - 2u : 0));
    skip_tags(&r);
    *ret_name = reader_text(&r);
    *ret_fields = r;
    ret_fields->failed = size > blob.size;
    return !head.failed && !r.failed;
}

/* False with ERR_MEMORY: out of room. Other errors: the fields are invalid. */
static bool make_layout(
    struct reader *r, struct event_schema *schema, struct arena *arena, struct error *err)
{
    struct arena scratch;
    struct layout layout;
    arena_init(&scratch, SCRATCH_BYTES);
    layout_init(&layout, &scratch);
    bool ok = read_fields(r, &layout, err) && layout_write(&layout, schema, arena, err) &&
              schema_finish(schema, arena, err);
    arena_fini(&scratch);
    return ok;
}

void schema_tracelogging_names(const struct event_record *record, struct event_schema *ret_schema)
{
    struct schema_metadata metadata = schema_key_metadata(record);
    struct span name = {0};
    struct reader fields;
    if (!open_blob(metadata.blob, &name, &fields)) {
        name = span_make(NULL, 0);
    }
    *ret_schema = (struct event_schema){.has_layout = false};
    name_event(ret_schema, record, metadata.traits, name);
}

/* Create the type on an open shelf, with its layout if ${has_layout}. NULL: out of room. */
static struct type *put_type(struct schema_shelf *shelf, const struct event_record *record,
    const struct schema_metadata *metadata, bool has_layout)
{
    struct arena *arena = &shelf->arena;
    struct type *type = arena_alloc(arena, sizeof(*type));
    struct error err = {0};
    struct reader fields;
    struct span name;
    if (!type || !arena_copy(arena, metadata->blob, &type->blob) ||
        !arena_copy(arena, metadata->traits, &type->traits)) {
        return NULL;
    }
    open_blob(type->blob, &name, &fields);
    struct event_schema *schema = &type->schema;
    bool is_whole = has_layout && !fields.failed && make_layout(&fields, schema, arena, &err);
    if (!is_whole) {
        if (err.code == ERR_MEMORY) {
            return NULL;
        }
        *schema = (struct event_schema){0};
    }
    schema->has_layout = is_whole;
    name_event(schema, record, type->traits, name);
    return type;
}

/* Like put_type(), making room if necessary: evicts other shelves if all memory is used, else this
 * one. */
static struct type *find_room(struct tracelogging *source, struct schema_shelf *shelf,
    const struct event_record *record, const struct schema_metadata *metadata, bool has_layout)
{
    struct type *type = put_type(shelf, record, metadata, has_layout);
    for (int own = 0; !type && own < 2; own++) {
        if (schema_shelves_make_room(&source->shelves, shelf, own)) {
            type = put_type(shelf, record, metadata, has_layout);
        }
    }
    return type;
}

static struct type *make_type(struct tracelogging *source, const struct event_record *record,
    const struct schema_metadata *metadata)
{
    struct schema_shelf *shelf = schema_shelves_open(&source->shelves, &record->provider);
    if (!shelf) {
        return NULL;
    }
    struct type *type = find_room(source, shelf, record, metadata, true);
    if (!type) {
        source->refused.refused++;
        source->refused.provider = record->provider;
        type = find_room(source, shelf, record, metadata, false);
    }
    schema_shelves_close(&source->shelves, shelf);
    if (type) {
        type->next = shelf->items;
        shelf->items = type;
    }
    return type;
}

/* If several types have one key (a hash collision), the first stays until it is evicted. */
static void remove_types(void *self, struct schema_shelf *shelf)
{
    struct tracelogging *source = self;
    for (const struct type *type = shelf->items; type; type = type->next) {
        struct span key = span_make(type->key, sizeof(type->key));
        if (map_get(&source->types, key) == type) {
            map_remove(&source->types, key);
        }
    }
}

/* ---- the source ------------------------------------------------------------------------------ */

static void tracelogging_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    struct tracelogging *source = self;
    struct schema_metadata metadata = schema_key_metadata(record);
    struct span name;
    struct reader fields;
    if (!metadata.has_blob || !open_blob(metadata.blob, &name, &fields)) {
        return;
    }
    uint8_t bytes[SCHEMA_KEY_BYTES];
    struct span key = span_make(bytes, sizeof(bytes));
    schema_key_make(record, &metadata, false, bytes);
    struct type *type = map_get(&source->types, key);
    if (type &&
        (!span_equal(type->blob, metadata.blob) || !span_equal(type->traits, metadata.traits))) {
        return;
    }
    if (type) {
        schema_shelves_touch(&source->shelves, &record->provider);
    } else {
        type = make_type(source, record, &metadata);
        if (!type) {
            return;
        }
        memcpy(type->key, bytes, sizeof(bytes));
        map_put(&source->types, span_make(type->key, sizeof(type->key)), type);
    }
    schema_candidates_add(found, &type->schema);
}

static void tracelogging_losses(void *self, struct schema_losses *losses)
{
    const struct tracelogging *source = self;
    const struct schema_losses evicted = {.evicted = source->shelves.dropped,
        .gone = schema_shelves_gone(&source->shelves),
        .provider = source->shelves.last};
    schema_losses_add(losses, &evicted);
    schema_losses_add(losses, &source->refused);
}

static void *tracelogging_create(const struct schema_source_settings *settings, struct error *err)
{
    struct tracelogging *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for TraceLogging schemas");
        return NULL;
    }
    schema_shelves_init(
        &source->shelves, schema_source_learned_bytes(settings, MAX_BYTES), remove_types, source);
    map_init(&source->types, MAX_TYPES);
    return source;
}

static void tracelogging_destroy(void *self)
{
    struct tracelogging *source = self;
    if (source) {
        schema_shelves_fini(&source->shelves);
        map_fini(&source->types);
        free(source);
    }
}

const struct schema_source_ops schema_source_tracelogging = {
    .name = "tracelogging",
    .create = tracelogging_create,
    .find = tracelogging_find,
    .losses = tracelogging_losses,
    .destroy = tracelogging_destroy,
};
