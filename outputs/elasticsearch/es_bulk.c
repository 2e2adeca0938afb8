#include "outputs/elasticsearch/es_bulk.h"

#include <stdlib.h>

#include "base/utf.h"
#include "outputs/delivery_id.h"

/*
 * A line reads {"create":{"_index":"…","_id":"…","pipeline":"…"}}. All but the id is the same for all
 * records of a route, so it is written once per route and delivery and copied from there.
 */
enum { BODY_MAX_BYTES = 1 << 30, HEADS_MAX_BYTES = 1 << 26, TAIL_MAX_BYTES = 1 << 16 };

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
    buf_init(&bulk->body, BODY_MAX_BYTES);
}

void es_bulk_fini(struct es_bulk *bulk)
{
    buf_fini(&bulk->heads);
    buf_fini(&bulk->tail);
    buf_fini(&bulk->body);
    free(bulk->head_ends);
    free(bulk->ends);
    bulk->head_ends = NULL;
    bulk->ends = NULL;
}

static void add_string(struct buf *out, struct span text)
{
    buf_add_byte(out, '"');
    if (buf_reserve(out, utf8_json_bound(text.size))) {
        out->size += utf8_to_json(text, out->data + out->size);
    }
    buf_add_byte(out, '"');
}

static void add_member(struct buf *out, const char *key, const char *text)
{
    if (text) {
        buf_printf(out, ",\"%s\":", key);
        add_string(out, span_text(text));
    }
}

static bool grow(struct es_bulk *bulk, size_t routes, size_t records)
{
    if (routes > bulk->route_capacity) {
        uint32_t *ends = realloc(bulk->head_ends, routes * sizeof(*ends));
        bulk->head_ends = ends ? ends : bulk->head_ends;
        bulk->route_capacity = ends ? routes : bulk->route_capacity;
    }
    if (records > bulk->record_capacity) {
        size_t *ends = realloc(bulk->ends, records * sizeof(*ends));
        bulk->ends = ends ? ends : bulk->ends;
        bulk->record_capacity = ends ? records : bulk->record_capacity;
    }
    return routes <= bulk->route_capacity && records <= bulk->record_capacity;
}

/* A name that is made of fields must not be taken for the name itself: servers would make that index. */
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
    return good || error_set(err, ERR_CONFIG,
                       "a record comes without the fields that the name of its index is made of");
}

static void add_heads(struct es_bulk *bulk, const struct es_bulk_options *options,
    const char *format, const struct delivery *delivery, bool ids)
{
    buf_reset(&bulk->heads);
    buf_reset(&bulk->tail);
    for (size_t i = 0; i < (delivery->routes ? delivery->route_count : 1); i++) {
        char name[ES_NAME_MAX];
        struct span route = delivery->routes ? delivery->route_names[i] : span_make(NULL, 0);
        size_t size = es_name_write(&options->name, format, route, name);
        buf_printf(&bulk->heads, "{\"%s\":{\"_index\":", options->action);
        add_string(&bulk->heads, span_make(name, size));
        buf_add_text(&bulk->heads, ids ? id_key : "");
        bulk->head_ends[i] = (uint32_t)bulk->heads.size;
    }
    buf_add_text(&bulk->tail, ids ? "\"" : "");
    add_member(&bulk->tail, "pipeline", options->pipeline);
    add_member(&bulk->tail, "routing", options->routing);
    buf_add_text(&bulk->tail, options->require_alias ? ",\"require_alias\":true" : "");
    buf_add_text(&bulk->tail, options->require_data_stream ? ",\"require_data_stream\":true" : "");
    buf_add_text(&bulk->tail, "}}\n");
}

static void add_record(
    struct es_bulk *bulk, const struct delivery *delivery, size_t index, bool ids)
{
    uint32_t route = delivery->routes ? delivery->routes[index] : 0;
    uint32_t head = route ? bulk->head_ends[route - 1] : 0;
    uint32_t start = index ? delivery->record_ends[index - 1] : 0;
    char id[DELIVERY_ID_MAX];
    buf_add(&bulk->body, bulk->heads.data + head, bulk->head_ends[route] - head);
    if (ids) {
        buf_add(&bulk->body, id, delivery_id_write(delivery, index, id));
    }
    buf_add_span(&bulk->body, buf_span(&bulk->tail));
    buf_add(&bulk->body, delivery->bytes.data + start, delivery->record_ends[index] - start);
    if (bulk->body.size && bulk->body.data[bulk->body.size - 1] != '\n') {
        buf_add_byte(&bulk->body, '\n');
    }
}

bool es_bulk_build(struct es_bulk *bulk, const struct es_bulk_options *options, const char *format,
    const struct delivery *delivery, struct error *err)
{
    bool ids = options->ids && delivery->ids;
    buf_reset(&bulk->body);
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
        add_record(bulk, delivery, i, ids);
        bulk->ends[i] = bulk->body.size;
    }
    if (bulk->heads.failed || bulk->tail.failed || bulk->body.failed) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    return true;
}

struct span es_bulk_body(const struct es_bulk *bulk, size_t first, size_t count)
{
    size_t start = first ? bulk->ends[first - 1] : 0;
    return span_make(bulk->body.data + start, bulk->ends[first + count - 1] - start);
}

size_t es_bulk_fit(const struct es_bulk *bulk, size_t first, size_t count, uint64_t max_bytes)
{
    size_t fits = 1;
    while (fits < count && es_bulk_body(bulk, first, fits + 1).size <= max_bytes) {
        fits++;
    }
    return fits;
}
