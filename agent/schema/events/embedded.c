#include <stdlib.h>

#include "base/map.h"
#include "base/reader.h"
#include "schema/events/event_info.h"
#include "schema/source/schema_shelves.h"
#include "schema/source/schema_source.h"
#include "schema/text/names.h"

/*
 * Definitions that the recording machine merged into the trace as records of the metadata class:
 * opcode 32 with a TRACE_EVENT_INFO, 33 with a provider GUID and an EVENT_MAP_INFO. Infos are kept
 * as bytes and become schemas when an event needs them. A schema that lacked maps is made again
 * once more maps are known; the old schema stays valid.
 *
 * Any process may write such records. What a record says is kept on the shelf of the provider it
 * names (schema_shelves.h): infos, their schemas and maps. Nothing points from one shelf to
 * another. A full shelf takes no more infos, because an evicted info could not be read again.
 */
enum {
    OPCODE_EVENT_INFO = 32,
    OPCODE_MAP_INFO = 33,
    MAX_BYTES = 128 * 1024 * 1024,
    MAX_INFOS = 1 << 18,
    MAX_MAPS = 1 << 16,
    MAX_SAME_KEY = 4, /* conflicting definitions of one event, from traces of several machines */
    KEY_BYTES = 20,
};

struct info {
    struct schema_shelf *shelf;
    struct span key;
    struct info *next_on_shelf;
    struct span bytes;
    struct event_schema *schema;
    bool broken;
    bool maps_missing;
    size_t maps_known; /* number of known maps when the schema was made */
    struct info *next; /* another definition of the same event */
};

/* A map that properties find by its name. */
struct kept_map {
    struct span key;
    const struct schema_map *map;
    struct kept_map *next_on_shelf;
};

struct shelf_items {
    struct info *infos;
    struct kept_map *maps;
};

/* The GUID comes first, then what distinguishes events of a provider or class. */
struct info_key {
    uint8_t bytes[KEY_BYTES];
};

struct embedded {
    struct schema_shelves shelves;
    struct map infos; /* struct info_key -> struct info */
    struct map maps;  /* provider GUID and name -> struct kept_map */
    size_t maps_learned;
    struct schema_losses refused;
};

static struct info_key event_key(const struct guid *provider, uint16_t id, uint8_t version)
{
    struct info_key key = {{0}};
    memcpy(key.bytes, provider->bytes, sizeof(provider->bytes));
    store_le16(key.bytes + 16, id);
    key.bytes[18] = version;
    return key;
}

static struct info_key class_key(const struct guid *class_guid, uint8_t opcode, uint8_t version)
{
    struct info_key key = {{0}};
    memcpy(key.bytes, class_guid->bytes, sizeof(class_guid->bytes));
    key.bytes[16] = opcode;
    key.bytes[18] = version;
    key.bytes[19] = 1;
    return key;
}

static struct span key_span(const struct info_key *key)
{
    return span_make(key->bytes, sizeof(key->bytes));
}

/* ---- shelves --------------------------------------------------------------------------------- */

static struct shelf_items *items_of(struct schema_shelf *shelf)
{
    if (!shelf->items) {
        shelf->items = arena_alloc(&shelf->arena, sizeof(struct shelf_items));
    }
    return shelf->items;
}

/* Infos of one key may lie on several shelves. */
static void remove_info(struct embedded *source, const struct info *info)
{
    struct info *first = map_get(&source->infos, info->key);
    struct info **link = &first;
    while (*link && *link != info) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = info->next;
    }
    map_remove(&source->infos, info->key);
    if (first) {
        map_put(&source->infos, first->key, first);
    }
}

static void remove_items(void *self, struct schema_shelf *shelf)
{
    struct embedded *source = self;
    const struct shelf_items *items = shelf->items;
    for (const struct info *info = items ? items->infos : NULL; info; info = info->next_on_shelf) {
        remove_info(source, info);
    }
    for (const struct kept_map *map = items ? items->maps : NULL; map; map = map->next_on_shelf) {
        map_remove(&source->maps, map->key);
    }
}

static void refuse(struct embedded *source, const struct guid *provider)
{
    source->refused.refused++;
    source->refused.provider = *provider;
}

/* ---- learning -------------------------------------------------------------------------------- */

static struct info *put_info(
    struct schema_shelf *shelf, const struct info_key *key, struct span bytes)
{
    struct shelf_items *items = items_of(shelf);
    struct info *info = items ? arena_alloc(&shelf->arena, sizeof(*info)) : NULL;
    if (!info || !arena_copy(&shelf->arena, bytes, &info->bytes) ||
        !arena_copy(&shelf->arena, key_span(key), &info->key)) {
        return NULL;
    }
    info->shelf = shelf;
    return info;
}

/* Append ${info} to others with its key, and to the list of its shelf. */
static bool link_info(struct embedded *source, struct info *info)
{
    struct info *last = map_get(&source->infos, info->key);
    while (last && last->next) {
        last = last->next;
    }
    if (last) {
        last->next = info;
    } else if (!map_put(&source->infos, info->key, info)) {
        return false;
    }
    struct shelf_items *items = info->shelf->items;
    info->next_on_shelf = items->infos;
    items->infos = info;
    return true;
}

/* False: it is kept already, or as many with its key as may be. */
static bool is_wanted(struct embedded *source, const struct info_key *key, struct span bytes)
{
    size_t same = 0;
    for (struct info *info = map_get(&source->infos, key_span(key)); info; info = info->next) {
        if (span_equal(info->bytes, bytes) || ++same == MAX_SAME_KEY) {
            return false;
        }
    }
    return true;
}

static bool add_info(struct embedded *source, const struct guid *provider,
    const struct info_key *key, struct span bytes)
{
    if (!is_wanted(source, key, bytes)) {
        return false;
    }
    struct schema_shelf *shelf = schema_shelves_open(&source->shelves, provider);
    struct info *info = shelf ? put_info(shelf, key, bytes) : NULL;
    if (shelf && !info && schema_shelves_make_room(&source->shelves, shelf, false)) {
        info = put_info(shelf, key, bytes);
    }
    bool ok = info && link_info(source, info);
    if (shelf) {
        schema_shelves_close(&source->shelves, shelf);
    }
    if (!ok) {
        refuse(source, provider);
    }
    return ok;
}

/* Keep infos of TraceLogging events only if the provider assigns event ids: each such event
 * describes itself better. */
static bool learn_info(struct embedded *source, struct span bytes)
{
    struct event_info_key info;
    if (!event_info_read_key(bytes, &info) || info.source == EVENT_INFO_WPP ||
        (info.source == EVENT_INFO_TLG && info.descriptor.id == 0)) {
        return false;
    }
    const struct event_descriptor *d = &info.descriptor;
    struct info_key key = info.source == EVENT_INFO_WBEM
                              ? class_key(&info.event_guid, d->opcode, d->version)
                              : event_key(&info.provider, d->id, d->version);
    bool learned = add_info(source, &info.provider, &key, bytes);
    if (info.has_control && !guid_is_zero(&info.event_guid)) {
        key = event_key(&info.event_guid, d->id, d->version);
        learned |= add_info(source, &info.provider, &key, bytes);
    }
    return learned;
}

static bool map_key(
    struct arena *arena, const struct guid *provider, struct span name, struct span *ret_key)
{
    return names_join(
        arena, span_make(provider->bytes, sizeof(provider->bytes)), "", name, ret_key);
}

/* NULL with ERR_MEMORY: no room. NULL otherwise: ${info} is not a usable map, or known already. */
static struct kept_map *put_map(struct embedded *source, struct schema_shelf *shelf,
    const struct guid *provider, struct span info, struct error *err)
{
    struct span name;
    struct shelf_items *items = items_of(shelf);
    struct kept_map *kept = items ? arena_alloc(&shelf->arena, sizeof(*kept)) : NULL;
    if (!kept) {
        error_set(err, ERR_MEMORY, "no memory left for maps");
        return NULL;
    }
    if (!event_info_map(info, &shelf->arena, &name, &kept->map, err)) {
        return NULL;
    }
    if (!map_key(&shelf->arena, provider, name, &kept->key)) {
        error_set(err, ERR_MEMORY, "no memory left for maps");
        return NULL;
    }
    if (map_get(&source->maps, kept->key) || !map_put(&source->maps, kept->key, kept)) {
        return NULL;
    }
    kept->next_on_shelf = items->maps;
    items->maps = kept;
    return kept;
}

/* True if ${info} is a usable map that is not known yet, so that it deserves room on a shelf. */
static bool is_new_map(const struct embedded *source, const struct guid *provider, struct span info)
{
    struct arena scratch;
    struct span name;
    struct span key;
    const struct schema_map *map;
    arena_init(&scratch, SIZE_MAX);
    bool is_new = event_info_map(info, &scratch, &name, &map, NULL) &&
                  map_key(&scratch, provider, name, &key) && !map_get(&source->maps, key);
    arena_fini(&scratch);
    return is_new;
}

static bool learn_map(struct embedded *source, struct span payload)
{
    struct reader r = reader_make(payload);
    struct guid provider = reader_guid(&r);
    struct error err = {0};
    if (r.failed || !is_new_map(source, &provider, reader_rest(&r))) {
        return false;
    }
    r = reader_make(span_from(payload, sizeof(provider.bytes)));
    struct schema_shelf *shelf = schema_shelves_open(&source->shelves, &provider);
    if (!shelf) {
        return false;
    }
    struct kept_map *kept = put_map(source, shelf, &provider, reader_rest(&r), &err);
    if (!kept && err.code == ERR_MEMORY &&
        schema_shelves_make_room(&source->shelves, shelf, false)) {
        kept = put_map(source, shelf, &provider, reader_rest(&r), &err);
    }
    schema_shelves_close(&source->shelves, shelf);
    if (!kept && err.code == ERR_MEMORY) {
        refuse(source, &provider);
    }
    source->maps_learned += kept != NULL;
    return kept != NULL;
}

static bool embedded_learn(void *self, const struct event_record *record)
{
    struct embedded *source = self;
    if (record->kind != RECORD_CLASSIC || !guid_equal(&record->provider, &record_metadata_class)) {
        return false;
    }
    switch (record->descriptor.opcode) {
    case OPCODE_EVENT_INFO:
        return learn_info(source, record->payload);
    case OPCODE_MAP_INFO:
        return learn_map(source, record->payload);
    default:
        return false;
    }
}

/* ---- look-up --------------------------------------------------------------------------------- */

static const struct schema_map *find_map(void *self, const struct guid *provider, struct span name)
{
    struct embedded *source = self;
    struct arena scratch;
    struct span key;
    arena_init(&scratch, SIZE_MAX);
    const struct kept_map *kept = map_key(&scratch, provider, name, &key)
                                      ? map_get(&source->maps, key)
                                      : NULL;
    arena_fini(&scratch);
    return kept ? kept->map : NULL;
}

/* Make the schema on the shelf of its info, which is open. */
static struct event_schema *make_schema(
    struct embedded *source, struct info *info, bool *ret_missing, struct error *err)
{
    const struct event_info_maps maps = {.find = find_map, .self = source};
    *err = (struct error){0};
    return event_info_schema(info->bytes, &maps, &info->shelf->arena, ret_missing, err);
}

/* Make the schema of ${info}. ${may_drop}: other shelves may be evicted to make room. */
static void complete(struct embedded *source, struct info *info, bool may_drop)
{
    bool stale = info->maps_missing && info->maps_known != source->maps_learned;
    if (info->broken || (info->schema && !stale)) {
        return;
    }
    struct error err;
    bool missing = false;
    struct schema_shelf *shelf = schema_shelves_open(&source->shelves, &info->shelf->provider);
    struct event_schema *schema = make_schema(source, info, &missing, &err);
    if (!schema && err.code == ERR_MEMORY && may_drop &&
        schema_shelves_make_room(&source->shelves, shelf, false)) {
        schema = make_schema(source, info, &missing, &err);
    }
    if (!schema && err.code == ERR_MEMORY && !info->schema) {
        refuse(source, &shelf->provider);
        schema = event_info_names(info->bytes, &shelf->arena, NULL);
    }
    schema_shelves_close(&source->shelves, shelf);
    info->maps_known = source->maps_learned;
    if (schema) {
        schema->source = "embedded";
        info->schema = schema;
        info->maps_missing = missing;
    } else {
        info->broken = !info->schema;
        info->maps_missing = false;
    }
}

static void embedded_find(
    void *self, const struct event_record *record, struct schema_candidates *found)
{
    struct embedded *source = self;
    const struct event_descriptor *d = &record->descriptor;
    struct info_key key;
    switch (record->kind) {
    case RECORD_EVENT:
        key = event_key(&record->provider, d->id, d->version);
        break;
    case RECORD_CLASSIC:
    case RECORD_KERNEL:
        key = class_key(&record->provider, d->opcode, d->version);
        break;
    default:
        return;
    }
    for (struct info *info = map_get(&source->infos, key_span(&key)); info; info = info->next) {
        schema_shelves_touch(&source->shelves, &info->shelf->provider);
        complete(source, info, found->count == 0);
        schema_candidates_add(found, info->schema);
    }
}

static void embedded_list(
    void *self, void (*each)(void *each_self, const struct event_schema *schema), void *each_self)
{
    struct embedded *source = self;
    const struct map_slot *slot;
    for (size_t cursor = 0; (slot = map_next(&source->infos, &cursor)) != NULL;) {
        for (struct info *info = slot->value; info; info = info->next) {
            complete(source, info, false);
            if (info->schema) {
                each(each_self, info->schema);
            }
        }
    }
}

static void embedded_losses(void *self, struct schema_losses *losses)
{
    const struct embedded *source = self;
    const struct schema_losses evicted = {.evicted = source->shelves.dropped,
        .gone = schema_shelves_gone(&source->shelves),
        .provider = source->shelves.last};
    schema_losses_add(losses, &evicted);
    schema_losses_add(losses, &source->refused);
}

static void *embedded_create(const struct schema_source_settings *settings, struct error *err)
{
    struct embedded *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for embedded schemas");
        return NULL;
    }
    schema_shelves_init(
        &source->shelves, schema_source_learned_bytes(settings, MAX_BYTES), remove_items, source);
    map_init(&source->infos, MAX_INFOS);
    map_init(&source->maps, MAX_MAPS);
    return source;
}

static void embedded_destroy(void *self)
{
    struct embedded *source = self;
    if (source) {
        map_fini(&source->maps);
        map_fini(&source->infos);
        schema_shelves_fini(&source->shelves);
        free(source);
    }
}

const struct schema_source_ops schema_source_embedded = {
    .name = "embedded",
    .create = embedded_create,
    .learn = embedded_learn,
    .find = embedded_find,
    .losses = embedded_losses,
    .list = embedded_list,
    .destroy = embedded_destroy,
};
