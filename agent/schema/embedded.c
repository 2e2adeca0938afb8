#include <stdlib.h>

#include "base/map.h"
#include "base/reader.h"
#include "schema/event_info.h"
#include "schema/names.h"
#include "schema/schema_source.h"

/*
 * Definitions that the recording machine merged into the trace: records of the metadata class,
 * opcode 32 with a TRACE_EVENT_INFO, 33 with a provider GUID and an EVENT_MAP_INFO. Infos are kept
 * as they are and become schemas when an event asks for them; a schema whose maps were not all
 * there is made again once more maps are known, the old one staying valid.
 */
enum {
    OPCODE_EVENT_INFO = 32,
    OPCODE_MAP_INFO = 33,
    MAX_BYTES = 128 * 1024 * 1024,
    MAX_INFOS = 1 << 18,
    MAX_MAPS = 1 << 16,
    MAX_SAME_KEY = 4, /* different definitions of one event, from traces of several machines */
    KEY_BYTES = 20,
};

struct info {
    struct span bytes;
    struct event_schema *schema;
    bool broken;
    bool maps_missing;
    size_t maps_known; /* when the schema was made */
    struct info *next; /* another definition of the same event */
};

/* First the GUID, then what tells the events of a provider or class apart. */
struct info_key {
    uint8_t bytes[KEY_BYTES];
};

struct embedded {
    struct arena arena;
    struct map infos; /* struct info_key -> struct info */
    struct map maps;  /* provider GUID and name -> struct schema_map */
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

/* ---- learning -------------------------------------------------------------------------------- */

static bool add_info(struct embedded *source, const struct info_key *key, struct span bytes)
{
    struct info *first = map_get(&source->infos, key_span(key));
    struct info **link = &first;
    for (size_t same = 0; *link; link = &(*link)->next) {
        if (span_equal((*link)->bytes, bytes) || ++same == MAX_SAME_KEY) {
            return false;
        }
    }
    struct info *info = arena_alloc(&source->arena, sizeof(*info));
    struct span kept_key;
    if (!info || !arena_copy(&source->arena, bytes, &info->bytes)) {
        return false;
    }
    if (first) {
        *link = info;
        return true;
    }
    return arena_copy(&source->arena, key_span(key), &kept_key) &&
           map_put(&source->infos, kept_key, info);
}

/* Infos of TraceLogging events are of use only where the provider gives them ids: the events
 * themselves say more. */
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
    bool learned = add_info(source, &key, bytes);
    if (info.has_control && !guid_is_zero(&info.event_guid)) {
        key = event_key(&info.event_guid, d->id, d->version);
        learned |= add_info(source, &key, bytes);
    }
    return learned;
}

static bool map_key(
    struct arena *arena, const struct guid *provider, struct span name, struct span *ret_key)
{
    return names_join(
        arena, span_make(provider->bytes, sizeof(provider->bytes)), "", name, ret_key);
}

static bool learn_map(struct embedded *source, struct span payload)
{
    struct reader r = reader_make(payload);
    struct guid provider = reader_guid(&r);
    struct span name;
    struct span key;
    const struct schema_map *map;
    return !r.failed && event_info_map(reader_rest(&r), &source->arena, &name, &map, NULL) &&
           map_key(&source->arena, &provider, name, &key) && !map_get(&source->maps, key) &&
           map_put(&source->maps, key, (void *)(uintptr_t)map);
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
    const struct schema_map *map = map_key(&scratch, provider, name, &key)
                                       ? map_get(&source->maps, key)
                                       : NULL;
    arena_fini(&scratch);
    return map;
}

static void complete(struct embedded *source, struct info *info)
{
    bool stale = info->maps_missing && info->maps_known != source->maps.count;
    if (info->broken || (info->schema && !stale)) {
        return;
    }
    const struct event_info_maps maps = {.find = find_map, .self = source};
    bool missing = false;
    struct event_schema *schema = event_info_schema(
        info->bytes, &maps, &source->arena, &missing, NULL);
    info->maps_known = source->maps.count;
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
        complete(source, info);
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
            complete(source, info);
            if (info->schema) {
                each(each_self, info->schema);
            }
        }
    }
}

static void *embedded_create(const struct schema_source_settings *settings, struct error *err)
{
    (void)settings;
    struct embedded *source = calloc(1, sizeof(*source));
    if (!source) {
        error_set(err, ERR_MEMORY, "no memory for embedded schemas");
        return NULL;
    }
    arena_init(&source->arena, MAX_BYTES);
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
        arena_fini(&source->arena);
        free(source);
    }
}

const struct schema_source_ops schema_source_embedded = {
    .name = "embedded",
    .create = embedded_create,
    .learn = embedded_learn,
    .find = embedded_find,
    .list = embedded_list,
    .destroy = embedded_destroy,
};
