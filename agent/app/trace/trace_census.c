#include "app/trace/trace_census.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/order.h"
#include "base/text/nearest.h"

/* A hostile trace can hold as many names as records: what comes beyond is only counted. */
enum { MAX_PROVIDERS = 16384, MAX_NAMES = 16384, MAX_BYTES = 32 * 1024 * 1024 };

struct trace_census {
    struct arena arena;
    struct map providers;           /* GUID and name -> census_provider */
    struct map names[CENSUS_NAMES]; /* of themselves, as struct span */
    struct buf key;
    uint64_t beyond;
    bool misses[CENSUS_NAMES]; /* for want of room some names are not kept */
    uint32_t last_schema;      /* serial: the names of an event like the previous one are known */
    uint64_t last_process;
};

struct trace_census *trace_census_create(void)
{
    struct trace_census *census = calloc(1, sizeof(*census));
    if (census) {
        census->last_schema = UINT32_MAX;
        arena_init(&census->arena, MAX_BYTES);
        map_init(&census->providers, MAX_PROVIDERS);
        buf_init(&census->key, 64 * 1024);
        for (size_t i = 0; i < CENSUS_NAMES; i++) {
            map_init(&census->names[i], MAX_NAMES);
        }
    }
    return census;
}

void trace_census_destroy(struct trace_census *census)
{
    if (census) {
        for (size_t i = 0; i < CENSUS_NAMES; i++) {
            map_fini(&census->names[i]);
        }
        buf_fini(&census->key);
        map_fini(&census->providers);
        arena_fini(&census->arena);
        free(census);
    }
}

static void add_name(struct trace_census *census, enum census_name kind, struct span name)
{
    struct map *names = &census->names[kind];
    if (name.size == 0 || map_get(names, name)) {
        return;
    }
    /* Looked at first: what is copied for a full map would take the room of others. */
    bool has_room = names->count < MAX_NAMES;
    struct span *copy = has_room ? arena_alloc(&census->arena, sizeof(*copy)) : NULL;
    if (!copy || !arena_copy(&census->arena, name, copy) || !map_put(names, *copy, copy)) {
        census->misses[kind] = true;
    }
}

/* By GUID and name: a hostile file may have several names for one. */
static struct census_provider *find_provider(struct trace_census *census, const struct event *event)
{
    struct guid guid = event_provider_guid(event);
    struct span name = event_provider_name(event);
    const char *kind = event_kind_name(event);
    struct buf *key = &census->key;
    buf_reset(key);
    buf_add(key, guid.bytes, sizeof(guid.bytes));
    buf_add_span(key, name);
    struct census_provider *row = key->failed ? NULL : map_get(&census->providers, buf_span(key));
    if (row && strcmp(row->kind, schema_kind_name(SCHEMA_UNKNOWN)) == 0) {
        row->kind = kind;
    }
    if (row || key->failed || census->providers.count == MAX_PROVIDERS) {
        return row;
    }
    struct span kept;
    row = arena_alloc(&census->arena, sizeof(*row));
    if (!row || !arena_copy(&census->arena, buf_span(key), &kept)) {
        return NULL;
    }
    *row = (struct census_provider){
        .guid = guid, .kind = kind, .name = span_from(kept, sizeof(guid.bytes))};
    add_name(census, CENSUS_PROVIDER, name);
    return map_put(&census->providers, kept, row) ? row : NULL;
}

static bool on_event(void *self, const struct event *event)
{
    struct trace_census *census = self;
    if (record_is_metadata(event->record)) {
        return true;
    }
    struct census_provider *row = find_provider(census, event);
    census->beyond += row == NULL;
    if (row) {
        row->events++;
        row->undecoded += event->status == DECODE_PARTIAL || event_is_undecoded(event);
    }
    const struct event_schema *schema = event->schema;
    if (schema && (schema->serial == UINT32_MAX || schema->serial != census->last_schema)) {
        census->last_schema = schema->serial;
        add_name(census, CENSUS_EVENT, schema->event_name);
    }
    if (event->process && event->process->serial != census->last_process) {
        census->last_process = event->process->serial;
        add_name(census, CENSUS_PROCESS, event->process->name);
    }
    return true;
}

struct event_observer trace_census_observer(struct trace_census *census)
{
    return (struct event_observer){.self = census, .event = on_event};
}

static int by_events(const void *a, const void *b)
{
    const struct census_provider *x = *(const struct census_provider *const *)a;
    const struct census_provider *y = *(const struct census_provider *const *)b;
    int order = order_u64(y->events, x->events);
    order = order ? order : guid_compare(&x->guid, &y->guid);
    return order ? order : strcmp(x->kind, y->kind);
}

const struct census_provider **trace_census_providers(
    const struct trace_census *census, size_t *ret_count, uint64_t *ret_beyond)
{
    const struct census_provider **rows = NULL;
    size_t count = 0;
    size_t cursor = 0;
    const struct map_slot *slot;
    if (census->providers.count) {
        rows = calloc(census->providers.count, sizeof(*rows));
    }
    while (rows && (slot = map_next(&census->providers, &cursor))) {
        rows[count++] = slot->value;
    }
    if (count > 1) {
        qsort((void *)rows, count, sizeof(*rows), by_events);
    }
    *ret_count = count;
    *ret_beyond = census->beyond;
    return rows;
}

bool trace_census_may_have(const struct trace_census *census, enum census_name kind,
    struct span name, struct span *ret_meant)
{
    struct nearest nearest = {.text = name};
    bool found = census->misses[kind];
    size_t cursor = 0;
    const struct map_slot *slot;
    while (!found && (slot = map_next(&census->names[kind], &cursor))) {
        const struct span *known = slot->value;
        found = span_equal_nocase(*known, name);
        nearest_consider(&nearest, *known);
    }
    *ret_meant = found ? span_make(NULL, 0) : nearest_meant(&nearest);
    return found;
}

bool trace_census_may_have_guid(const struct trace_census *census, const struct guid *guid)
{
    size_t cursor = 0;
    const struct map_slot *slot;
    while ((slot = map_next(&census->providers, &cursor))) {
        const struct census_provider *row = slot->value;
        if (guid_equal(&row->guid, guid)) {
            return true;
        }
    }
    return census->beyond > 0;
}
