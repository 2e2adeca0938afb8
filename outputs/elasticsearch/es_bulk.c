#include "outputs/elasticsearch/es_bulk.h"

#include <stdlib.h>

#include "base/grow.h"
#include "event/value/value_json.h"
#include "outputs/delivery_id.h"

/*
 * A line is {"create":{"_index":"…","_id":"…","pipeline":"…"}}. Everything except the id is equal
 * for all records of a route, so it is written once per route and delivery, and without ids the
 * records share it.
 */
enum { LINES_MAX_BYTES = 1 << 30, HEADS_MAX_BYTES = 1 << 26, TAIL_MAX_BYTES = 1 << 16 };

static const char id_key[] = ",\"_id\":\"";

static bool copy_text(struct arena *arena, const char **text)
{
    struct span copy;
    if (!*text) {
        return true;
    }
    if (!arena_copy(arena, span_text(*text), &copy)) {
        return false;
    }
    *text = (const char *)copy.data;
    return true;
}

bool es_bulk_options_copy(struct es_bulk_options *options, struct arena *arena)
{
    const char **const texts[] = {&options->name.data_stream.dataset,
        &options->name.data_stream.namespace, &options->name.index, &options->action,
        &options->pipeline, &options->routing};
    bool good = true;
    for (size_t i = 0; good && i < sizeof(texts) / sizeof(texts[0]); i++) {
        good = copy_text(arena, texts[i]);
    }
    return good;
}

void es_bulk_init(struct es_bulk *bulk)
{
    *bulk = (struct es_bulk){.ends = NULL};
    buf_init(&bulk->heads, HEADS_MAX_BYTES);
    buf_init(&bulk->tail, TAIL_MAX_BYTES);
    buf_init(&bulk->lines, LINES_MAX_BYTES);
}

void es_bulk_fini(struct es_bulk *bulk)
{
    buf_fini(&bulk->heads);
    buf_fini(&bulk->tail);
    buf_fini(&bulk->lines);
    free(bulk->head_ends);
    free(bulk->parts);
    free(bulk->ends);
    bulk->head_ends = NULL;
    bulk->parts = NULL;
    bulk->ends = NULL;
}

static void add_member(struct buf *out, const char *key, const char *text)
{
    if (text) {
        buf_printf(out, ",\"%s\":", key);
        value_json_string(span_text(text), out);
    }
}

static bool grow(struct es_bulk *bulk, size_t routes, size_t records)
{
    size_t capacity = bulk->record_capacity; /* of ends and parts */
    return grow_to(&bulk->head_ends, routes, &bulk->route_capacity, sizeof(*bulk->head_ends)) &&
           grow_to(&bulk->ends, records, &capacity, sizeof(*bulk->ends)) &&
           grow_to(
               &bulk->parts, records, &bulk->record_capacity, ES_BULK_PARTS * sizeof(*bulk->parts));
}

/* A template must not be used as a name: servers would create that index. */
static bool check_routes(
    const struct es_bulk_options *options, const struct delivery *delivery, struct error *err)
{
    if (!es_name_route(&options->name)) {
        return true;
    }
    bool good = delivery->routes != NULL;
    for (size_t i = 0; good && i < delivery->route_count; i++) {
        good = delivery->route_names[i].size > 0;
    }
    return good || error_set(err, ERR_CONFIG, "a record has no route for the name of its index");
}

static void add_tail(struct buf *out, const struct es_bulk_options *options, bool ids)
{
    buf_add_text(out, ids ? "\"" : "");
    add_member(out, "pipeline", options->pipeline);
    add_member(out, "routing", options->routing);
    buf_add_text(out, options->require_alias ? ",\"require_alias\":true" : "");
    buf_add_text(out, options->require_data_stream ? ",\"require_data_stream\":true" : "");
    buf_add_text(out, "}}\n");
}

static void add_heads(struct es_bulk *bulk, const struct es_bulk_options *options,
    const char *format, const struct delivery *delivery, bool ids)
{
    buf_reset(&bulk->heads);
    buf_reset(&bulk->tail);
    add_tail(&bulk->tail, options, ids);
    for (size_t i = 0; i < (delivery->routes ? delivery->route_count : 1); i++) {
        char name[ES_NAME_MAX];
        struct span route = delivery->routes ? delivery->route_names[i] : span_make(NULL, 0);
        size_t size = es_name_write(&options->name, format, route, name);
        buf_printf(&bulk->heads, "{\"%s\":{\"_index\":", options->action);
        value_json_string(span_make(name, size), &bulk->heads);
        if (ids) {
            buf_add_text(&bulk->heads, id_key);
        } else {
            buf_add_span(&bulk->heads, buf_span(&bulk->tail));
        }
        bulk->head_ends[i] = (uint32_t)bulk->heads.size;
    }
}

static struct span head_of(const struct es_bulk *bulk, uint32_t route)
{
    uint32_t start = route ? bulk->head_ends[route - 1] : 0;
    return span_make(bulk->heads.data + start, bulk->head_ends[route] - start);
}

static uint32_t route_of(const struct delivery *delivery, size_t index)
{
    return delivery->routes ? delivery->routes[index] : 0;
}

/* Parts point into `lines`, which is therefore reserved first. */
static bool reserve_lines(struct es_bulk *bulk, const struct delivery *delivery)
{
    size_t room = 0;
    for (size_t i = 0; i < delivery->record_count; i++) {
        room += head_of(bulk, route_of(delivery, i)).size + DELIVERY_ID_MAX + bulk->tail.size;
    }
    buf_reset(&bulk->lines);
    return buf_reserve(&bulk->lines, room);
}

static struct span line_of(
    struct es_bulk *bulk, const struct delivery *delivery, size_t index, bool ids)
{
    struct span head = head_of(bulk, route_of(delivery, index));
    if (!ids) {
        return head;
    }
    struct buf *lines = &bulk->lines; /* which has the room */
    size_t start = lines->size;
    buf_add_span(lines, head);
    lines->size += delivery_id_write(delivery, index, (char *)lines->data + lines->size);
    buf_add_span(lines, buf_span(&bulk->tail));
    return span_from(buf_span(lines), start);
}

static struct span document_of(const struct delivery *delivery, size_t index)
{
    uint32_t start = index ? delivery->record_ends[index - 1] : 0;
    return span_make(delivery->bytes.data + start, delivery->record_ends[index] - start);
}

static bool has_break(struct span document)
{
    return document.size == 0 || document.data[document.size - 1] == '\n';
}

/* ${breaks}: documents end with line breaks. */
static void add_record(
    struct es_bulk *bulk, const struct delivery *delivery, size_t index, bool ids, bool breaks)
{
    struct span document = document_of(delivery, index);
    struct span *parts = bulk->parts + index * ES_BULK_PARTS;
    parts[0] = line_of(bulk, delivery, index, ids);
    parts[1] = document;
    parts[2] = breaks || has_break(document) ? span_make(NULL, 0) : span_text("\n");
    bulk->ends[index] = (index ? bulk->ends[index - 1] : 0) + parts[0].size + parts[1].size +
                        parts[2].size;
}

/* All documents of a delivery have one format with one kind of end. Checking each would load its
 * bytes from memory, which takes as long as copying. */
static bool has_breaks(const struct delivery *delivery)
{
    return delivery->record_count == 0 ||
           has_break(document_of(delivery, delivery->record_count - 1));
}

bool es_bulk_build(struct es_bulk *bulk, const struct es_bulk_options *options, const char *format,
    const struct delivery *delivery, struct error *err)
{
    bool ids = options->ids && delivery->ids;
    if (!grow(bulk, delivery->route_count + 1, delivery->record_count)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    if (!check_routes(options, delivery, err)) {
        return false;
    }
    add_heads(bulk, options, format, delivery, ids);
    for (size_t i = 0; i < delivery->record_count; i++) {
        if (delivery->routes && delivery->routes[i] >= delivery->route_count) {
            return error_set(err, ERR_FORMAT, "a record goes to route %u of %zu",
                delivery->routes[i], delivery->route_count);
        }
    }
    if (bulk->heads.failed || bulk->tail.failed || (ids && !reserve_lines(bulk, delivery))) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    bool breaks = has_breaks(delivery);
    for (size_t i = 0; i < delivery->record_count; i++) {
        add_record(bulk, delivery, i, ids, breaks);
    }
    return true;
}

struct es_body es_bulk_body(const struct es_bulk *bulk, size_t first, size_t count)
{
    size_t start = first ? bulk->ends[first - 1] : 0;
    return (struct es_body){.parts = bulk->parts + first * ES_BULK_PARTS,
        .part_count = count * ES_BULK_PARTS,
        .size = bulk->ends[first + count - 1] - start};
}

void es_bulk_gather(const struct es_body *body, struct buf *out)
{
    for (size_t i = 0; i < body->part_count; i++) {
        buf_add_span(out, body->parts[i]);
    }
}

size_t es_bulk_fit(const struct es_bulk *bulk, size_t first, size_t count, uint64_t max_bytes)
{
    size_t fits = 1;
    while (fits < count && es_bulk_body(bulk, first, fits + 1).size <= max_bytes) {
        fits++;
    }
    return fits;
}
