#include "support/etw_sim/sim_tdh.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/utf.h"
#include "decode/decode.h"
#include "input/file/input_file.h"
#include "schema/cache/schema_cache.h"
#include "support/etl_put.h"
#include "support/etw_sim/etw_sim.h"
#include "support/etw_sim/sim_tdh_own.h"

/*
 * A schema cache over what is installed, and one more for each manifest that was loaded while
 * running, asked in this order. Of several definitions the first that takes the payload to its last
 * byte is the one, as in the agent. One lock around everything: answers are copied out under it.
 *
 * Providers are listed from what the caches know, when they are asked for
 * and something has changed.
 */
enum { MAX_LOADED = 64, MAX_ADDED_BYTES = 16 * 1024 * 1024 };

struct loaded {
    char *path;
    struct schema_cache *cache;
};

struct added {
    struct guid guid;
    struct span name;
    struct added *next;
};

struct sim_tdh {
    struct plat_mutex mutex;
    struct decoder decoder;
    struct schema_cache *cache;
    struct loaded loaded[MAX_LOADED];
    size_t loaded_count;
    struct arena arena; /* providers without events */
    struct added *added;
    struct sim_tdh_provider *providers;
    size_t provider_count;
    size_t provider_capacity;
    const struct event_schema **schemas; /* of all providers, sorted */
    size_t schema_count;
    size_t schema_capacity;
    bool listed;
    bool failed;
};

static _Atomic(struct sim_tdh *) current;

/* ---- life ------------------------------------------------------------------------------------ */

static void learn(void *self, const struct event_record *record)
{
    schema_cache_learn(self, record);
}

/* The metadata of a trace comes before its first record. */
static bool stop_at_once(void *self, const struct event_record *record)
{
    (void)self;
    (void)record;
    return false;
}

static bool learn_trace(struct schema_cache *cache, const char *path, struct error *err)
{
    const char *paths[] = {path};
    const struct input_file_settings settings = {
        .paths = {.items = paths, .count = 1}, .stack_walk = INPUT_FILE_STACK_EVENTS};
    const struct input_env env = {.name = NULL};
    void *input = input_file.create(&settings, &env, err);
    if (!input) {
        return false;
    }
    const struct input_sink sink = {.self = cache, .metadata = learn, .record = stop_at_once};
    bool ok = input_file.run(input, &sink, err) != INPUT_FAILED;
    input_file.destroy(input);
    return ok;
}

static bool set_up(struct sim_tdh *tdh, const struct sim_tdh_settings *settings, struct error *err)
{
    const struct schema_cache_settings cache = {.no_builtin = true,
        .sources = {.paths = settings->paths,
            .path_count = settings->path_count,
            .warn = settings->warn,
            .warn_self = settings->warn_self}};
    tdh->cache = schema_cache_create(&cache, err);
    if (!tdh->cache || !decoder_init(&tdh->decoder, err)) {
        return false;
    }
    for (size_t i = 0; i < settings->trace_count; i++) {
        if (!learn_trace(tdh->cache, settings->traces[i], err)) {
            return false;
        }
    }
    return true;
}

struct sim_tdh *sim_tdh_create(const struct sim_tdh_settings *settings, struct error *err)
{
    static const struct sim_tdh_settings nothing;
    struct sim_tdh *tdh = calloc(1, sizeof(*tdh));
    if (!tdh) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    plat_mutex_init(&tdh->mutex);
    arena_init(&tdh->arena, MAX_ADDED_BYTES);
    if (!set_up(tdh, settings ? settings : &nothing, err)) {
        sim_tdh_destroy(tdh);
        return NULL;
    }
    return tdh;
}

void sim_tdh_destroy(struct sim_tdh *tdh)
{
    if (!tdh) {
        return;
    }
    if (current == tdh) {
        current = NULL;
    }
    for (size_t i = 0; i < tdh->loaded_count; i++) {
        schema_cache_destroy(tdh->loaded[i].cache);
        free(tdh->loaded[i].path);
    }
    schema_cache_destroy(tdh->cache);
    decoder_fini(&tdh->decoder);
    arena_fini(&tdh->arena);
    free(tdh->providers);
    free((void *)tdh->schemas);
    plat_mutex_fini(&tdh->mutex);
    free(tdh);
}

void sim_tdh_use(struct sim_tdh *tdh)
{
    current = tdh;
}

void sim_tdh_fill(struct etw_api *api)
{
    api->TdhGetEventInformation = etw_sim_TdhGetEventInformation;
    api->TdhGetEventMapInformation = etw_sim_TdhGetEventMapInformation;
    api->TdhEnumerateProviders = etw_sim_TdhEnumerateProviders;
    api->TdhEnumerateProviderFieldInformation = etw_sim_TdhEnumerateProviderFieldInformation;
    api->TdhEnumerateManifestProviderEvents = etw_sim_TdhEnumerateManifestProviderEvents;
    api->TdhGetManifestEventInformation = etw_sim_TdhGetManifestEventInformation;
    api->TdhCreatePayloadFilter = etw_sim_TdhCreatePayloadFilter;
    api->TdhDeletePayloadFilter = etw_sim_TdhDeletePayloadFilter;
    api->TdhAggregatePayloadFilters = etw_sim_TdhAggregatePayloadFilters;
    api->TdhCleanupPayloadEventFilterDescriptor = etw_sim_TdhCleanupPayloadEventFilterDescriptor;
}

struct sim_tdh *sim_tdh_current(void)
{
    etw_sim_world(); /* which may make one, and use() with it */
    return current;
}

struct sim_tdh *sim_tdh_enter(void)
{
    struct sim_tdh *tdh = sim_tdh_current();
    if (tdh) {
        plat_mutex_lock(&tdh->mutex);
    }
    return tdh;
}

void sim_tdh_leave(struct sim_tdh *tdh)
{
    plat_mutex_unlock(&tdh->mutex);
}

bool sim_tdh_add_provider(struct sim_tdh *tdh, const struct guid *guid, struct span name)
{
    plat_mutex_lock(&tdh->mutex);
    struct added *added = arena_alloc(&tdh->arena, sizeof(*added));
    bool ok = added && arena_copy(&tdh->arena, name, &added->name);
    if (ok) {
        added->guid = *guid;
        added->next = tdh->added;
        tdh->added = added;
        tdh->listed = false;
    }
    plat_mutex_unlock(&tdh->mutex);
    return ok;
}

/* ---- manifests loaded while running ---------------------------------------------------------- */

static size_t find_loaded(const struct sim_tdh *tdh, const char *path)
{
    size_t i = 0;
    while (i < tdh->loaded_count && strcmp(tdh->loaded[i].path, path) != 0) {
        i++;
    }
    return i;
}

static void note_warning(void *self, const char *text)
{
    (void)text;
    *(bool *)self = true;
}

static uint32_t load(struct sim_tdh *tdh, const char *path)
{
    if (find_loaded(tdh, path) < tdh->loaded_count) {
        return ETW_SUCCESS;
    }
    bool warned = false;
    const struct schema_cache_settings settings = {
        .sources = {.paths = &path, .path_count = 1, .warn = note_warning, .warn_self = &warned},
        .only_source = "manifest"};
    size_t size = strlen(path) + 1;
    struct loaded made = {.path = malloc(size), .cache = schema_cache_create(&settings, NULL)};
    if (!made.path || !made.cache || warned || tdh->loaded_count == MAX_LOADED) {
        schema_cache_destroy(made.cache);
        free(made.path);
        return warned ? ETW_ERROR_FILE_NOT_FOUND : ETW_ERROR_NOT_ENOUGH_MEMORY;
    }
    memcpy(made.path, path, size);
    tdh->loaded[tdh->loaded_count++] = made;
    tdh->listed = false;
    return ETW_SUCCESS;
}

static uint32_t unload(struct sim_tdh *tdh, const char *path)
{
    size_t place = find_loaded(tdh, path);
    if (place == tdh->loaded_count) {
        return ETW_ERROR_NOT_FOUND;
    }
    schema_cache_destroy(tdh->loaded[place].cache);
    free(tdh->loaded[place].path);
    tdh->loaded_count--;
    memmove(&tdh->loaded[place], &tdh->loaded[place + 1],
        (tdh->loaded_count - place) * sizeof(tdh->loaded[0]));
    tdh->listed = false;
    return ETW_SUCCESS;
}

uint32_t sim_tdh_load(struct sim_tdh *tdh, const char *path)
{
    plat_mutex_lock(&tdh->mutex);
    uint32_t code = load(tdh, path);
    plat_mutex_unlock(&tdh->mutex);
    return code;
}

uint32_t sim_tdh_unload(struct sim_tdh *tdh, const char *path)
{
    plat_mutex_lock(&tdh->mutex);
    uint32_t code = unload(tdh, path);
    plat_mutex_unlock(&tdh->mutex);
    return code;
}

/* ---- schemas of events ----------------------------------------------------------------------- */

static bool find_in(struct sim_tdh *tdh, struct schema_cache *cache,
    const struct event_record *record, const struct event_schema **ret_schema)
{
    const struct schema_choice *choice = schema_cache_find(cache, record);
    const struct event_schema *best = NULL;
    struct event event;
    for (size_t i = 0; i < choice->count; i++) {
        const struct event_schema *schema = choice->list[i];
        if (!schema->has_layout || schema->kind == SCHEMA_STRING) {
            continue;
        }
        decoder_run(&tdh->decoder, record, schema, record->pointer_size, &event);
        bool fits = event.status == DECODE_COMPLETE;
        best = !best || fits ? schema : best;
        if (fits) {
            break;
        }
    }
    *ret_schema = best ? best : *ret_schema;
    return best != NULL;
}

bool sim_tdh_find(struct sim_tdh *tdh, const struct event_record *record,
    const struct event_schema **ret_schema, struct tei_options *ret_options)
{
    bool found = find_in(tdh, tdh->cache, record, ret_schema);
    for (size_t i = 0; !found && i < tdh->loaded_count; i++) {
        found = find_in(tdh, tdh->loaded[i].cache, record, ret_schema);
    }
    if (found) {
        bool is_manifest = (*ret_schema)->kind == SCHEMA_MANIFEST ||
                           (*ret_schema)->kind == SCHEMA_EVENTSOURCE;
        *ret_options = (struct tei_options){.descriptor = is_manifest ? NULL : &record->descriptor,
            .pointer_size = record->pointer_size,
            .spaces = is_manifest ? TEI_SPACES_WINDOWS : TEI_SPACES_NONE};
    }
    return found;
}

static enum record_kind kind_of(uint16_t flags)
{
    if (flags & EVENT_FLAG_TRACE_MESSAGE) {
        return RECORD_MESSAGE;
    }
    return flags & EVENT_FLAG_CLASSIC ? RECORD_CLASSIC : RECORD_EVENT;
}

void sim_tdh_event_of(const struct etw_event_record *from, struct sim_tdh_event *ret_event)
{
    size_t count = 0;
    for (uint16_t i = 0; i < from->extended_data_count && from->extended_data; i++) {
        const struct etw_extended_item *item = &from->extended_data[i];
        if (count < RECORD_MAX_EXTENDED && item->data) {
            ret_event->items[count++] = (struct extended_item){.type = item->ext_type,
                .data = span_make((const void *)(uintptr_t)item->data, item->data_size)};
        }
    }
    ret_event->record = (struct event_record){.kind = kind_of(from->header.flags),
        .pointer_size = from->header.flags & EVENT_FLAG_32_BIT ? 4 : 8,
        .present = RECORD_HAS_PROCESS | RECORD_HAS_THREAD,
        .flags = from->header.flags,
        .event_property = from->header.event_property,
        .process_id = from->header.process_id,
        .thread_id = from->header.thread_id,
        .provider = from->header.provider_id,
        .descriptor = from->header.descriptor,
        .activity_id = from->header.activity_id,
        .extended = ret_event->items,
        .extended_count = count,
        .payload = span_make(from->user_data, from->user_data ? from->user_data_length : 0)};
}

/* ---- providers ------------------------------------------------------------------------------- */

static void note_schema(void *self, const struct event_schema *schema)
{
    struct sim_tdh *tdh = self;
    /* What processes told a trace of themselves is not installed. */
    if (strcmp(schema->source, "eventsource") == 0 ||
        (schema->kind != SCHEMA_MANIFEST && schema->kind != SCHEMA_EVENTSOURCE &&
            schema->kind != SCHEMA_MOF)) {
        return;
    }
    if (tdh->schema_count == tdh->schema_capacity) {
        size_t capacity = tdh->schema_capacity ? tdh->schema_capacity * 2 : 1024;
        const struct event_schema **grown = realloc(
            (void *)tdh->schemas, capacity * sizeof(*grown));
        if (!grown) {
            tdh->failed = true;
            return;
        }
        tdh->schemas = grown;
        tdh->schema_capacity = capacity;
    }
    tdh->schemas[tdh->schema_count++] = schema;
}

static int compare_schemas(const void *a, const void *b)
{
    const struct event_schema *x = *(const struct event_schema *const *)a;
    const struct event_schema *y = *(const struct event_schema *const *)b;
    int order = memcmp(x->provider.bytes, y->provider.bytes, sizeof(x->provider.bytes));
    order = order ? order : x->descriptor.id - y->descriptor.id;
    order = order ? order : x->descriptor.version - y->descriptor.version;
    order = order ? order : (int)x->serial - (int)y->serial;
    return order ? order : (x > y) - (x < y);
}

static int compare_names(const void *a, const void *b)
{
    const struct sim_tdh_provider *x = a;
    const struct sim_tdh_provider *y = b;
    size_t size = x->name.size < y->name.size ? x->name.size : y->name.size;
    int order = size ? memcmp(x->name.data, y->name.data, size) : 0;
    order = order ? order : (x->name.size > y->name.size) - (x->name.size < y->name.size);
    return order ? order : memcmp(x->guid.bytes, y->guid.bytes, sizeof(x->guid.bytes));
}

static bool note_provider(struct sim_tdh *tdh, const struct sim_tdh_provider *provider)
{
    if (tdh->provider_count == tdh->provider_capacity) {
        size_t capacity = tdh->provider_capacity ? tdh->provider_capacity * 2 : 256;
        struct sim_tdh_provider *grown = realloc(tdh->providers, capacity * sizeof(*grown));
        if (!grown) {
            return false;
        }
        tdh->providers = grown;
        tdh->provider_capacity = capacity;
    }
    tdh->providers[tdh->provider_count++] = *provider;
    return true;
}

/* The schemas from ${first} on that belong to one provider. */
static size_t provider_end(const struct sim_tdh *tdh, size_t first)
{
    size_t end = first + 1;
    while (end < tdh->schema_count &&
           guid_equal(&tdh->schemas[end]->provider, &tdh->schemas[first]->provider)) {
        end++;
    }
    return end;
}

static bool list_providers(struct sim_tdh *tdh)
{
    for (size_t first = 0; first < tdh->schema_count;) {
        size_t end = provider_end(tdh, first);
        const struct event_schema *schema = tdh->schemas[first];
        struct sim_tdh_provider provider = {.guid = schema->provider,
            .name = schema->provider_name,
            .is_mof = schema->kind == SCHEMA_MOF,
            .schemas = tdh->schemas + first,
            .schema_count = end - first};
        if (!note_provider(tdh, &provider)) {
            return false;
        }
        first = end;
    }
    size_t with_events = tdh->provider_count;
    for (const struct added *added = tdh->added; added; added = added->next) {
        size_t i = 0;
        while (i < with_events && !guid_equal(&tdh->providers[i].guid, &added->guid)) {
            i++;
        }
        struct sim_tdh_provider provider = {.guid = added->guid, .name = added->name};
        if (i == with_events && !note_provider(tdh, &provider)) {
            return false;
        }
    }
    return true;
}

bool sim_tdh_providers(
    struct sim_tdh *tdh, const struct sim_tdh_provider **ret_list, size_t *ret_count)
{
    if (!tdh->listed) {
        tdh->failed = false;
        tdh->schema_count = 0;
        tdh->provider_count = 0;
        schema_cache_list(tdh->cache, note_schema, tdh);
        for (size_t i = 0; i < tdh->loaded_count; i++) {
            schema_cache_list(tdh->loaded[i].cache, note_schema, tdh);
        }
        if (tdh->schema_count) {
            qsort((void *)tdh->schemas, tdh->schema_count, sizeof(*tdh->schemas), compare_schemas);
        }
        if (tdh->failed || !list_providers(tdh)) {
            return false;
        }
        if (tdh->provider_count) {
            qsort(tdh->providers, tdh->provider_count, sizeof(*tdh->providers), compare_names);
        }
        tdh->listed = true;
    }
    *ret_list = tdh->providers;
    *ret_count = tdh->provider_count;
    return true;
}

const struct sim_tdh_provider *sim_tdh_provider(struct sim_tdh *tdh, const struct guid *guid)
{
    const struct sim_tdh_provider *list = NULL;
    size_t count = 0;
    if (!sim_tdh_providers(tdh, &list, &count)) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (guid_equal(&list[i].guid, guid)) {
            return &list[i];
        }
    }
    return NULL;
}

bool sim_tdh_find_guid(struct sim_tdh *tdh, struct span name, struct guid *ret_guid)
{
    const struct sim_tdh_provider *list = NULL;
    size_t count = 0;
    bool found = false;
    plat_mutex_lock(&tdh->mutex);
    if (sim_tdh_providers(tdh, &list, &count)) {
        for (size_t i = 0; i < count && !found; i++) {
            if (span_equal_nocase(list[i].name, name)) {
                *ret_guid = list[i].guid;
                found = true;
            }
        }
    }
    plat_mutex_unlock(&tdh->mutex);
    return found;
}

/* ---- answers --------------------------------------------------------------------------------- */

uint32_t sim_tdh_give(const struct buf *made, void *ret_data, uint32_t *bytes)
{
    if (made->failed) {
        return ETW_ERROR_OUTOFMEMORY;
    }
    uint32_t room = *bytes;
    *bytes = (uint32_t)made->size;
    if (!ret_data || room < made->size) {
        return ETW_ERROR_INSUFFICIENT_BUFFER;
    }
    memcpy(ret_data, made->data, made->size);
    return ETW_SUCCESS;
}

struct span sim_tdh_utf16(const etw_char *text)
{
    size_t units = 0;
    while (text && text[units]) {
        units++;
    }
    return span_make(text, units * sizeof(*text));
}

bool sim_tdh_utf8(const etw_char *text, struct buf *out)
{
    struct span utf16 = sim_tdh_utf16(text);
    buf_init(out, utf16_json_bound(utf16.size) + 1);
    if (!buf_reserve(out, utf16_json_bound(utf16.size) + 1)) {
        return false;
    }
    out->size = utf16_to_utf8(utf16, out->data);
    buf_add_byte(out, 0);
    return !out->failed;
}
