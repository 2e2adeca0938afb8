#include "schema/windows/tdh_ask.h"

#include <stdlib.h>

#include "etw/etw_text.h"
#include "schema/events/event_info.h"
#include "schema/text/names.h"

/*
 * Windows determines the sizes: a call reports how much memory it needs, and it may report more on
 * a later try. Memory and number of tries are limited. event_info.c reads the result and checks all
 * offsets.
 */
enum {
    FIRST_ROOM_BYTES = 4096,
    MAX_TRIES = 4,
    MAX_MAPS = 1 << 16,
};

void tdh_ask_init(struct tdh_ask *ask, size_t max_bytes)
{
    *ask = (struct tdh_ask){.api = etw_api_get()};
    arena_init(&ask->arena, max_bytes);
    map_init(&ask->maps, MAX_MAPS);
}

void tdh_ask_fini(struct tdh_ask *ask)
{
    free(ask->info.data);
    free(ask->map.data);
    map_fini(&ask->maps);
    arena_fini(&ask->arena);
}

bool tdh_ask_is_possible(const struct tdh_ask *ask)
{
    return ask->api->TdhGetEventInformation != NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct question {
    struct etw_event_record *record;
    const struct guid *provider;               /* look up by descriptor only */
    const struct event_descriptor *descriptor; /* NULL: look up by record */
    etw_char *map;                             /* NULL: the event itself */
};

static uint32_t call(
    const struct etw_api *api, const struct question *question, void *room, uint32_t *bytes)
{
    if (question->map) {
        return api->TdhGetEventMapInformation(question->record, question->map, room, bytes);
    }
    if (question->descriptor) {
        return api->TdhGetManifestEventInformation(
            question->provider, question->descriptor, room, bytes);
    }
    return api->TdhGetEventInformation(question->record, 0, NULL, room, bytes);
}

static bool grow(struct tdh_room *room, uint32_t size)
{
    uint8_t *data = size <= TDH_MAX_ANSWER_BYTES ? realloc(room->data, size) : NULL;
    if (data) {
        *room = (struct tdh_room){.data = data, .size = size};
    }
    return data != NULL;
}

/* The bytes of the answer, valid until the next call with ${room}; empty if there is none. */
static struct span answer(
    const struct etw_api *api, const struct question *question, struct tdh_room *room)
{
    static const struct span none;
    if (room->size == 0 && !grow(room, FIRST_ROOM_BYTES)) {
        return none;
    }
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        uint32_t bytes = room->size;
        uint32_t code = call(api, question, room->data, &bytes);
        if (code == ETW_SUCCESS) {
            return bytes <= room->size ? span_make(room->data, bytes) : none;
        }
        if (code != ETW_ERROR_INSUFFICIENT_BUFFER || bytes <= room->size || !grow(room, bytes)) {
            return none;
        }
    }
    return none;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static const struct schema_map *ask_map(struct tdh_ask *ask, struct span name)
{
    etw_char wide[ETW_MAX_NAME_CHARS];
    struct span ignored;
    const struct schema_map *map;
    if (!ask->api->TdhGetEventMapInformation ||
        !etw_text_encode(name, wide, ETW_MAX_NAME_CHARS, NULL)) {
        return NULL;
    }
    struct question question = {.record = ask->record, .map = wide};
    struct span bytes = answer(ask->api, &question, &ask->map);
    return bytes.size && event_info_map(bytes, &ask->arena, &ignored, &map, NULL) ? map : NULL;
}

/* Maps belong to the provider, or to the class of classic events, and are requested once. */
static const struct schema_map *find_map(void *self, const struct guid *provider, struct span name)
{
    struct tdh_ask *ask = self;
    const struct guid *owner = &ask->record->header.provider_id;
    struct span key;
    (void)provider;
    if (!names_join(&ask->arena, span_make(owner->bytes, sizeof(owner->bytes)), "", name, &key)) {
        return NULL;
    }
    const struct schema_map *map = map_get(&ask->maps, key);
    if (!map) {
        map = ask_map(ask, name);
        if (map) {
            map_put(&ask->maps, key, (void *)(uintptr_t)map);
        }
    }
    return map;
}

/* ---- events ---------------------------------------------------------------------------------- */

static const struct event_schema *make_schema(struct tdh_ask *ask, const struct question *question)
{
    ask->record = question->record;
    struct span bytes = answer(ask->api, question, &ask->info);
    const struct event_info_maps maps = {.find = find_map, .self = ask};
    bool missing;
    struct event_schema *schema = bytes.size
                                      ? event_info_schema(bytes, &maps, &ask->arena, &missing, NULL)
                                      : NULL;
    ask->record = NULL;
    if (!schema || schema->kind == SCHEMA_WPP || schema->kind == SCHEMA_TRACELOGGING) {
        return NULL; /* TDH only repeats what the event carries */
    }
    schema->source = "tdh";
    return schema;
}

const struct event_schema *tdh_ask_event(struct tdh_ask *ask, struct etw_event_record *record)
{
    struct question question = {.record = record};
    return tdh_ask_is_possible(ask) ? make_schema(ask, &question) : NULL;
}

const struct event_schema *tdh_ask_manifest(
    struct tdh_ask *ask, const struct guid *provider, const struct event_descriptor *descriptor)
{
    struct etw_event_record record = {
        .header = {.size = sizeof(struct etw_event_header),
            .flags = EVENT_FLAG_64_BIT,
            .provider_id = *provider,
            .descriptor = *descriptor},
    };
    struct question question = {.record = &record, .provider = provider, .descriptor = descriptor};
    return ask->api->TdhGetManifestEventInformation ? make_schema(ask, &question) : NULL;
}
