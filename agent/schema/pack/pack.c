#include "schema/pack/pack.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "platform/plat_file.h"
#include "schema/source/schema_files.h"

/*
 * The source `pack`: all packs that the user names, directly or by folder. They are read when the
 * source is created and merged into one sorted index. Definitions of one event type come in the
 * order of the settings, within a folder in path order, within a pack from top to bottom.
 */
enum { MAX_PACKS = 1024 };

static const char *const pack_endings[] = {".pack", NULL};

struct indexed {
    const struct event_schema *schema;
    size_t place;
};

struct pack_source {
    const struct schema_source_settings *settings; /* valid only during creation */
    struct pack *packs[MAX_PACKS];
    size_t pack_count;
    struct indexed *index;
    size_t index_count;
};

/* Sort key of a definition. MOF ones: class, type and version; others: provider, id and version. */
struct key {
    bool is_classic;
    const struct guid *guid;
    uint16_t number;
    uint8_t version;
};

void pack_destroy(struct pack *pack)
{
    if (pack) {
        arena_fini(&pack->arena);
        pack_parameters_fini(&pack->parameters);
        free(pack->events);
        free(pack);
    }
}

/* ---- the index ------------------------------------------------------------------------------- */

static struct key key_of(const struct event_schema *schema)
{
    bool is_classic = schema->kind == SCHEMA_MOF;
    return (struct key){.is_classic = is_classic,
        .guid = is_classic ? &schema->class_guid : &schema->provider,
        .number = is_classic ? schema->descriptor.opcode : schema->descriptor.id,
        .version = schema->descriptor.version};
}

static int compare_keys(const struct key *a, const struct key *b)
{
    int order = order_u64(a->is_classic, b->is_classic);
    order = order ? order : guid_compare(a->guid, b->guid);
    order = order ? order : order_u64(a->number, b->number);
    return order ? order : order_u64(a->version, b->version);
}

static int compare_indexed(const void *a, const void *b)
{
    const struct indexed *x = a;
    const struct indexed *y = b;
    struct key x_key = key_of(x->schema);
    struct key y_key = key_of(y->schema);
    int order = compare_keys(&x_key, &y_key);
    return order ? order : order_u64(x->place, y->place);
}

static bool make_index(struct pack_source *source)
{
    size_t count = 0;
    for (size_t i = 0; i < source->pack_count; i++) {
        count += source->packs[i]->event_count;
    }
    source->index = calloc(count + 1, sizeof(*source->index));
    if (!source->index) {
        return false;
    }
    for (size_t i = 0; i < source->pack_count; i++) {
        for (size_t k = 0; k < source->packs[i]->event_count; k++) {
            source->index[source->index_count] = (struct indexed){
                .schema = source->packs[i]->events[k], .place = source->index_count};
            source->index_count++;
        }
    }
    qsort(source->index, source->index_count, sizeof(*source->index), compare_indexed);
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void take_pack(struct pack_source *source, struct span text, const char *path)
{
    struct error err = {0};
    struct pack *pack = pack_read(text, path, source->settings->budget, &err);
    if (pack) {
        source->packs[source->pack_count++] = pack;
    } else {
        schema_files_warn(source->settings, path, err.text);
    }
}

static void load_pack(void *self, const char *path)
{
    struct pack_source *source = self;
    struct error err = {0};
    char *data;
    size_t size;
    if (source->pack_count == MAX_PACKS) {
        schema_files_warn(source->settings, path, "too many schema packs; this file is ignored");
    } else if (!schema_files_load(source->settings, path, PACK_MAX_BYTES, &data, &size, &err)) {
        schema_files_warn(source->settings, path, err.text);
    } else {
        take_pack(source, span_make(data, size), path);
        schema_files_unload(source->settings, data, size);
    }
}

/* ---- the source ------------------------------------------------------------------------------ */

static void pack_source_destroy(void *self)
{
    struct pack_source *source = self;
    if (source) {
        for (size_t i = 0; i < source->pack_count; i++) {
            pack_destroy(source->packs[i]);
        }
        free(source->index);
        free(source);
    }
}

/* Files with other endings belong to other sources, which also report missing files. */
static void *pack_source_create(const struct schema_source_settings *settings, struct error *err)
{
    struct pack_source *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for schema packs");
        return NULL;
    }
    source->settings = settings;
    if (settings->pack.size) {
        take_pack(source, settings->pack, "built in");
    }
    schema_files_each(settings, pack_endings, load_pack, source);
    source->settings = NULL;
    if (!make_index(source)) {
        error_set(err, ERR_MEMORY, "no memory for schema packs");
        pack_source_destroy(source);
        return NULL;
    }
    return source;
}

static bool is_of(const struct pack_source *source, size_t at, const struct key *key)
{
    struct key other = key_of(source->index[at].schema);
    return compare_keys(&other, key) == 0;
}

/* The key to use for ${key}, which belongs at ${at} in the index. Classic events without a
 * definition of their version use the next lower one, because new versions append fields. */
static struct key version_for(const struct pack_source *source, size_t at, const struct key *key)
{
    struct key lower = *key;
    bool is_there = at < source->index_count && is_of(source, at, key);
    if (key->is_classic && !is_there && at > 0) {
        lower.version = source->index[at - 1].schema->descriptor.version;
    }
    return lower;
}

static void pack_source_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    const struct pack_source *source = self;
    bool is_classic = record->kind == RECORD_CLASSIC || record->kind == RECORD_KERNEL;
    if (!is_classic && record->kind != RECORD_EVENT) {
        return;
    }
    const struct key key = {.is_classic = is_classic,
        .guid = &record->provider,
        .number = is_classic ? record->descriptor.opcode : record->descriptor.id,
        .version = record->descriptor.version};
    size_t low = 0;
    size_t high = source->index_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct key other = key_of(source->index[middle].schema);
        if (compare_keys(&other, &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    struct key version = version_for(source, low, &key);
    while (low > 0 && is_of(source, low - 1, &version)) {
        low--;
    }
    for (; low < source->index_count && is_of(source, low, &version); low++) {
        schema_candidates_add(found, source->index[low].schema);
    }
}

static void pack_source_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    const struct pack_source *source = self;
    for (size_t i = 0; i < source->index_count; i++) {
        each(each_self, source->index[i].schema);
    }
}

static const struct schema_parameters *pack_source_parameters(
    const void *self, const struct guid *provider, struct span name)
{
    const struct pack_source *source = self;
    const struct schema_parameters *found = NULL;
    for (size_t i = 0; i < source->pack_count && !found; i++) {
        found = pack_parameters_find(&source->packs[i]->parameters, provider, name);
    }
    return found;
}

const struct schema_source_ops schema_source_pack = {
    .name = "pack",
    .endings = pack_endings,
    .shared = true,
    .create = pack_source_create,
    .find = pack_source_find,
    .parameters = pack_source_parameters,
    .list = pack_source_list,
    .destroy = pack_source_destroy,
};
