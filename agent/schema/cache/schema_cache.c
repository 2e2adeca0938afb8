#include "schema/cache/schema_cache.h"

#include <stdlib.h>

#include "base/filetime.h"
#include "base/map.h"
#include "schema/cache/schema_copies.h"
#include "schema/cache/schema_log.h"
#include "schema/cache/schema_memory.h"
#include "schema/cache/schema_recent.h"
#include "schema/source/known_providers.h"
#include "schema/source/schema_key.h"
#include "schema/source/schema_sources.h"

/*
 * Entries live in an arena. Their key consists of the kind of record, the provider or class GUID,
 * and what distinguishes the types of one provider. For TraceLogging the last part is a hash of the
 * metadata blob, which is compared in full on every hit.
 *
 * A definition that several caches share is copied into the cache when first found, because its
 * serial belongs to the cache; what it points to stays shared. A corrected schema is copied, too.
 * Copies outlive entries, so that a type keeps its serial. When copies fill up, or schemas they
 * were made from are freed, both copies and entries are dropped.
 *
 * A provider that sent .NET ManifestData can mean different things in different processes. Its
 * entries are marked, and a second look-up uses a key with the process id.
 *
 * Sources that learn from events may free schemas during any call. Only entries, copies and
 * provider names point to such schemas; they are dropped then.
 */
enum {
    ENTRY_BYTES = 512, /* estimate including its slot in the map */
    MAX_FIXED_BYTES = 64 * 1024,
    MISS_SECONDS = 60,
    FOUND_TRIES = 3,
};

/* What every event reads comes first. */
struct cache_entry {
    uint64_t retry_after; /* event time (FILETIME) of the next try; 0: not tried yet */
    struct span blob;     /* metadata of a TraceLogging type */
    struct span traits;
    struct schema_choice choice;
    uint8_t key[SCHEMA_KEY_BYTES];
    /* look up again with the process id if that process sent a manifest */
    bool per_process;
    struct event_schema *bare; /* schema of a miss: names without a definition; made once */
};

struct schema_cache {
    struct schema_recent recent; /* entries */
    struct schema_source_set sources;
    struct arena arena;         /* lives as long as the cache */
    struct arena entries_arena; /* cleared whenever a source learns something */
    struct map entries;
    struct map provider_names;       /* GUID -> schema that names the provider */
    struct schema_log_silent silent; /* providers of event logs without messages */
    struct schema_copies copies;     /* of shared and of corrected schemas */
    struct corrections *corrections; /* NULL: schema_shared has them */
    bool names_listed;
    bool is_short; /* the entries' memory did not suffice to join a definition */
    bool late;     /* an entry was made while a source was still searching */
    uint64_t news; /* sum of the sources' `news` at that time */
    uint32_t next_serial;
    uint64_t gone; /* schema_losses.gone when copies and entries were made */
    struct event_schema string_schema;
    struct schema_choice string_choice;
    struct event_schema passing; /* for one event, when entries are full */
    struct schema_choice passing_choice;
};

static const struct schema_choice nothing;

/* ---- creation -------------------------------------------------------------------------------- */

/* Schema of EventWriteString: one UTF-16 text, identified by a header flag. */
static bool make_string_schema(struct schema_cache *cache, struct error *err)
{
    struct schema_field *field = arena_alloc(&cache->arena, sizeof(*field));
    if (!field) {
        return error_set(err, ERR_MEMORY, "out of memory for event schemas");
    }
    *field = (struct schema_field){
        .name = span_text("String"), .in_type = IN_UNICODE_STRING, .count = 1};
    cache->string_schema = (struct event_schema){.kind = SCHEMA_STRING,
        .source = "string",
        .serial = cache->next_serial++,
        .has_layout = true,
        .message = span_text("%1"),
        .fields = field,
        .field_count = 1,
        .top_count = 1};
    cache->string_choice = (struct schema_choice){.list = {&cache->string_schema}, .count = 1};
    return schema_finish(&cache->string_schema, &cache->arena, err);
}

static bool create_sources(
    struct schema_cache *cache, const struct schema_cache_settings *settings, struct error *err)
{
    struct schema_source_set_settings set = {.sources = settings->sources,
        .shared = settings->shared,
        .tdh = settings->tdh,
        .no_builtin = settings->no_builtin,
        .only_source = settings->only_source};
    set.sources.max_learned_bytes = schema_memory_learned(settings->max_bytes);
    return schema_source_set_init(&cache->sources, &set, err);
}

static bool create_corrections(
    struct schema_cache *cache, const struct schema_cache_settings *settings, struct error *err)
{
    if (settings->shared) {
        cache->copies.corrections = schema_shared_corrections(settings->shared);
        return true;
    }
    cache->corrections = corrections_create(&settings->sources, err);
    cache->copies.corrections = cache->corrections;
    return cache->corrections != NULL;
}

struct schema_cache *schema_cache_create(
    const struct schema_cache_settings *settings, struct error *err)
{
    struct schema_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) {
        error_set(err, ERR_MEMORY, "out of memory for event schemas");
        return NULL;
    }
    arena_init(&cache->arena, MAX_FIXED_BYTES);
    size_t tables = schema_memory_table(settings->max_bytes);
    size_t types = tables / ENTRY_BYTES;
    types = types > SCHEMA_CACHE_MAX_TYPES ? SCHEMA_CACHE_MAX_TYPES : types;
    arena_init(&cache->entries_arena, tables);
    map_init(&cache->entries, types);
    map_init(&cache->provider_names, types);
    schema_copies_init(&cache->copies, tables);
    schema_log_silent_init(&cache->silent);
    cache->next_serial = 1;
    if (!make_string_schema(cache, err) || !create_sources(cache, settings, err) ||
        !create_corrections(cache, settings, err)) {
        schema_cache_destroy(cache);
        return NULL;
    }
    return cache;
}

void schema_cache_destroy(struct schema_cache *cache)
{
    if (!cache) {
        return;
    }
    schema_source_set_fini(&cache->sources);
    map_fini(&cache->entries);
    map_fini(&cache->provider_names);
    schema_copies_fini(&cache->copies);
    schema_log_silent_fini(&cache->silent);
    corrections_destroy(cache->corrections);
    arena_fini(&cache->entries_arena);
    arena_fini(&cache->arena);
    free(cache);
}

bool schema_cache_next_silent(struct schema_cache *cache, struct span *ret_provider)
{
    return schema_log_silent_next(&cache->silent, ret_provider);
}

/* ---- learning -------------------------------------------------------------------------------- */

static void clear_entries(struct schema_cache *cache)
{
    cache->late = false;
    memset(&cache->recent, 0, sizeof(cache->recent));
    map_clear(&cache->entries);
    arena_fini(&cache->entries_arena);
}

/* Entries point to copies, so both are cleared. */
static void clear_copies(struct schema_cache *cache)
{
    clear_entries(cache);
    schema_copies_clear(&cache->copies);
}

static void clear_names(struct schema_cache *cache)
{
    map_clear(&cache->provider_names);
    cache->names_listed = false;
}

/* Clear everything after a source learned something. */
static void clear_all(struct schema_cache *cache)
{
    clear_entries(cache);
    clear_names(cache);
}

struct schema_losses schema_cache_losses(const struct schema_cache *cache)
{
    return schema_source_set_losses(&cache->sources);
}

/* Clear everything that may point to freed schemas. True if there were any. */
static bool clear_gone(struct schema_cache *cache)
{
    uint64_t gone = schema_cache_losses(cache).gone;
    if (gone == cache->gone) {
        return false;
    }
    cache->gone = gone;
    clear_copies(cache);
    clear_names(cache);
    return true;
}

void schema_cache_learn(struct schema_cache *cache, const struct event_record *record)
{
    bool learned = schema_source_set_learn(&cache->sources, record);
    clear_gone(cache);
    if (learned) {
        clear_all(cache);
    }
}

/* ---- look-up --------------------------------------------------------------------------------- */

/* Assign the serial, which is the only field of an otherwise immutable schema that the cache sets.
 * Also sets the provider name if the definition lacks it. */
static void give_serial(struct schema_cache *cache, const struct event_schema *schema)
{
    struct event_schema *mutable = (struct event_schema *)(uintptr_t)schema;
    if (mutable->serial == 0) {
        mutable->serial = cache->next_serial++;
        if (mutable->provider_name.size == 0) {
            mutable->provider_name = known_providers_name(&mutable->provider);
        }
    }
}

/* Index of the definition from the trace itself, or found->count. */
static size_t best_of_trace(const struct schema_candidates *found)
{
    for (size_t i = 0; i < found->count; i++) {
        if (!found->yields[i]) {
            return i;
        }
    }
    return found->count;
}

static void ask_source(struct schema_cache *cache, size_t place, const struct event_record *record,
    struct schema_candidates *found)
{
    size_t before = found->count;
    if (!schema_source_set_ask(&cache->sources, place, record, found)) {
        for (size_t i = before; i < found->count; i++) {
            found->list[i] = schema_copies_correct(&cache->copies, found->list[i]);
        }
        return;
    }
    size_t count = found->count;
    found->count = before;
    for (size_t i = before; i < count; i++) {
        schema_candidates_add(found, schema_copies_get(&cache->copies, found->list[i]));
    }
}

/* ${own} describes the record of an event log. Join it with the definition of its provider, from
 * the sources after ${place}. */
static const struct event_schema *join_log(struct schema_cache *cache, size_t place,
    const struct event_record *record, const struct event_schema *own, bool *ret_late)
{
    struct event_record question = schema_log_question(record);
    /* a classic event has no GUID, but its provider may have a manifest */
    if (guid_is_zero(&question.provider)) {
        known_providers_guid(own->provider_name, &question.provider);
    }
    struct schema_candidates found = {.count = 0};
    for (; place < cache->sources.count; place++) {
        if (!schema_source_set_is_of_trace(&cache->sources, place)) {
            ask_source(cache, place, &question, &found);
        }
    }
    *ret_late = found.late;
    const struct schema_parameters *parameters = schema_source_set_parameters(&cache->sources, own);
    const struct event_schema *joined = schema_log_join(
        own, schema_log_best(&found), parameters, &cache->entries_arena);
    cache->is_short = !joined && own->has_layout && (found.count || parameters);
    bool is_silent = !(joined && joined->message.size) && !found.late &&
                     !record_log_message(record).size &&
                     !(record->present & (RECORD_WITHOUT_MESSAGE | RECORD_MESSAGE_SOUGHT));
    if (is_silent && own->provider_name.size) {
        schema_log_silent_add(&cache->silent, own->provider_name);
    }
    return joined ? joined : own;
}

/* Sources that read the trace come first; a definition from one of them is used exclusively. */
static void ask_sources(
    struct schema_cache *cache, const struct event_record *record, struct schema_choice *choice)
{
    struct schema_candidates found = {.count = 0};
    size_t place = 0;
    for (; place < cache->sources.count && schema_source_set_is_of_trace(&cache->sources, place);
         place++) {
        ask_source(cache, place, record, &found);
        if (best_of_trace(&found) < found.count) {
            break;
        }
    }
    if (found.count) {
        size_t best = best_of_trace(&found);
        found.list[0] = found.list[best < found.count ? best : 0];
        found.count = 1;
        if (found.list[0]->kind == SCHEMA_EVENTLOG) {
            found.list[0] = join_log(cache, place, record, found.list[0], &found.late);
        }
        place = cache->sources.count;
    }
    for (; place < cache->sources.count; place++) {
        ask_source(cache, place, record, &found);
    }
    schema_candidates_put_layouts_first(&found);
    for (size_t i = 0; i < found.count; i++) {
        give_serial(cache, found.list[i]);
        choice->list[i] = found.list[i];
    }
    choice->count = found.count;
    choice->late = found.late;
}

static void note_provider(void *self, const struct event_schema *schema)
{
    struct schema_cache *cache = self;
    struct span key = span_make(schema->provider.bytes, sizeof(schema->provider.bytes));
    if (schema->provider_name.size && !map_get(&cache->provider_names, key)) {
        map_put(&cache->provider_names, key, (void *)(uintptr_t)schema);
    }
}

/* Provider name from another definition, else from the known names; empty if unknown. All providers
 * of `builtin` are known names, so its texts need no parsing here. */
static struct span provider_name_of(struct schema_cache *cache, const struct event_record *record)
{
    if (!cache->names_listed) {
        schema_source_set_list(&cache->sources, &schema_source_builtin, note_provider, cache);
        cache->names_listed = true;
    }
    const struct event_schema *other = map_get(
        &cache->provider_names, span_make(record->provider.bytes, sizeof(record->provider.bytes)));
    if (other) {
        return other->provider_name;
    }
    struct span name = known_providers_name(&record->provider);
    if (name.size == 0) {
        name = schema_source_set_provider_name(&cache->sources, &record->provider);
    }
    return name;
}

/* Describe a record without a definition: the provider name of an event, the kind of a message.
 * False if even that is unknown. */
static bool describe_bare(
    struct schema_cache *cache, const struct event_record *record, struct event_schema *ret_schema)
{
    *ret_schema = (struct event_schema){.provider = record->provider};
    if (record->kind == RECORD_MESSAGE) {
        ret_schema->kind = SCHEMA_WPP;
        ret_schema->source = "wpp";
        ret_schema->descriptor.id = record->descriptor.id;
    } else if (record->kind == RECORD_EVENT) {
        ret_schema->kind = SCHEMA_UNKNOWN;
        ret_schema->source = "none";
        ret_schema->descriptor = record->descriptor;
        ret_schema->provider_name = provider_name_of(cache, record);
    }
    return ret_schema->kind == SCHEMA_WPP || ret_schema->provider_name.size > 0;
}

/* The entry owns this schema. No source owns it, because any process can send any number of unknown
 * types. */
static void add_bare(
    struct schema_cache *cache, const struct event_record *record, struct cache_entry *entry)
{
    struct event_schema schema;
    if (!entry->bare && describe_bare(cache, record, &schema)) {
        entry->bare = arena_alloc(&cache->entries_arena, sizeof(*entry->bare));
        if (entry->bare) {
            *entry->bare = schema;
            entry->bare->serial = cache->next_serial++;
        }
    }
    if (entry->bare) {
        entry->choice.list[0] = entry->bare;
        entry->choice.count = 1;
    }
}

static struct cache_entry *make_entry(struct schema_cache *cache, const struct event_record *record,
    const struct schema_metadata *metadata, const uint8_t *key)
{
    struct cache_entry *entry = arena_alloc(&cache->entries_arena, sizeof(*entry));
    if (!entry || !arena_copy(&cache->entries_arena, metadata->blob, &entry->blob) ||
        !arena_copy(&cache->entries_arena, metadata->traits, &entry->traits)) {
        return NULL;
    }
    memcpy(entry->key, key, SCHEMA_KEY_BYTES);
    if (!map_put(&cache->entries, span_make(entry->key, SCHEMA_KEY_BYTES), entry)) {
        return NULL;
    }
    entry->per_process = record->kind == RECORD_EVENT && !metadata->has_blob &&
                         !(key[0] & SCHEMA_KEY_WITH_PROCESS) &&
                         schema_source_set_by_process(&cache->sources, record, false);
    return entry;
}

/* False: the entry was freed, because schemas were freed or to make room for joining a
 * definition. */
static bool fill_entry(
    struct schema_cache *cache, const struct event_record *record, struct cache_entry *entry)
{
    uint64_t news = schema_source_set_news(&cache->sources);
    entry->choice.count = 0;
    cache->is_short = false;
    ask_sources(cache, record, &entry->choice);
    if (clear_gone(cache)) {
        return false;
    }
    if (cache->is_short && cache->entries.count > 1) {
        clear_entries(cache);
        return false;
    }
    if (entry->choice.late && !cache->late) {
        cache->late = true;
        cache->news = news;
    }
    entry->retry_after = UINT64_MAX;
    if (entry->choice.count == 0) {
        entry->retry_after = record->time + MISS_SECONDS * FILETIME_PER_S;
        add_bare(cache, record, entry);
    }
    return true;
}

/* Find or create the entry for ${key}. A full cache is cleared; types still in use are then looked
 * up once more. */
static struct cache_entry *entry_for(struct schema_cache *cache, const struct event_record *record,
    const struct schema_metadata *metadata, const uint8_t *key)
{
    struct cache_entry *entry = map_get(&cache->entries, span_make(key, SCHEMA_KEY_BYTES));
    if (!entry) {
        entry = make_entry(cache, record, metadata, key);
    }
    if (!entry) {
        clear_entries(cache);
        entry = make_entry(cache, record, metadata, key);
    }
    return entry;
}

/* The entry for the record's type, which may need filling; NULL if the cache is full. */
static struct cache_entry *place_of(struct schema_cache *cache, const struct event_record *record,
    const struct schema_metadata *metadata)
{
    uint8_t key[SCHEMA_KEY_BYTES];
    if (schema_copies_are_full(&cache->copies)) {
        clear_copies(cache);
    }
    schema_key_make(record, metadata, false, key);
    struct cache_entry *entry = entry_for(cache, record, metadata, key);
    if (entry && entry->per_process &&
        schema_source_set_by_process(&cache->sources, record, true)) {
        schema_key_make(record, metadata, true, key);
        entry = entry_for(cache, record, metadata, key);
    }
    bool is_other = entry && (!span_equal(metadata->blob, entry->blob) ||
                                 !span_equal(metadata->traits, entry->traits));
    return is_other ? NULL : entry;
}

/* Find the entry and fill it. Finding a definition may evict schemas that entries point to; these
 * are then dropped and a second try succeeds. */
static struct cache_entry *find_entry(struct schema_cache *cache, const struct event_record *record,
    const struct schema_metadata *metadata)
{
    for (unsigned i = 0; i < FOUND_TRIES; i++) {
        struct cache_entry *entry = place_of(cache, record, metadata);
        bool is_current = entry && entry->retry_after != 0 && record->time <= entry->retry_after;
        if (!entry || is_current || fill_entry(cache, record, entry)) {
            return entry;
        }
    }
    return NULL;
}

/* Used when nothing can be kept for the type: returns what the record says of itself. The schema is
 * valid for this event only; its serial is one for which no table keeps anything. */
static const struct schema_choice *in_passing(struct schema_cache *cache,
    const struct event_record *record, const struct schema_metadata *metadata)
{
    if (metadata->has_blob) {
        schema_tracelogging_names(record, &cache->passing);
    } else if (!describe_bare(cache, record, &cache->passing)) {
        return &nothing;
    }
    cache->passing.serial = UINT32_MAX;
    cache->passing_choice = (struct schema_choice){.list = {&cache->passing}, .count = 1};
    return &cache->passing_choice;
}

/* The entry of the record's type, if it was used lately and needs no new look-up; else NULL. */
static inline struct cache_entry *find_recent(
    struct schema_cache *cache, const struct event_record *record)
{
    struct schema_metadata metadata = schema_key_metadata(record);
    struct cache_entry *entry = schema_recent_get(
        schema_recent_slot(&cache->recent, record, &metadata), record);
    bool is_its = entry && record->time <= entry->retry_after &&
                  span_equal(metadata.blob, entry->blob) &&
                  span_equal(metadata.traits, entry->traits);
    return is_its ? entry : NULL;
}

static const struct schema_choice *look_up(
    struct schema_cache *cache, const struct event_record *record)
{
    struct schema_metadata metadata = schema_key_metadata(record);
    struct cache_entry *entry = find_entry(cache, record, &metadata);
    if (!entry) {
        return in_passing(cache, record, &metadata);
    }
    if (!(entry->key[0] & SCHEMA_KEY_WITH_PROCESS) && !entry->per_process) {
        schema_recent_put(schema_recent_slot(&cache->recent, record, &metadata), record, entry);
    }
    return &entry->choice;
}

const struct schema_choice *schema_cache_find(
    struct schema_cache *cache, const struct event_record *record)
{
    if (record->kind == RECORD_OPAQUE) {
        return &nothing;
    }
    if (cache->late && schema_source_set_news(&cache->sources) != cache->news) {
        clear_all(cache);
    }
    if (record->flags & EVENT_FLAG_STRING_ONLY && record->kind == RECORD_EVENT) {
        return &cache->string_choice;
    }
    struct cache_entry *entry = find_recent(cache, record);
    return entry ? &entry->choice : look_up(cache, record);
}

struct listing {
    struct schema_cache *cache;
    void (*each)(void *self, const struct event_schema *schema);
    void *self;
};

static void tell_corrected(void *self, const struct event_schema *schema)
{
    const struct listing *listing = self;
    listing->each(listing->self, schema_copies_correct(&listing->cache->copies, schema));
}

const struct schema_parameters *schema_cache_parameters(
    const struct schema_cache *cache, const struct event_schema *schema)
{
    return schema_source_set_parameters(&cache->sources, schema);
}

void schema_cache_list(struct schema_cache *cache,
    void (*each)(void *self, const struct event_schema *schema), void *self)
{
    struct listing listing = {.cache = cache, .each = each, .self = self};
    schema_source_set_list(&cache->sources, NULL, tell_corrected, &listing);
}

void schema_cache_list_met(struct schema_cache *cache,
    void (*each)(void *self, const struct event_schema *schema), void *self)
{
    const struct map_slot *slot;
    size_t cursor = 0;
    while ((slot = map_next(&cache->entries, &cursor))) {
        const struct cache_entry *entry = slot->value;
        for (size_t i = 0; i < entry->choice.count; i++) {
            each(self, entry->choice.list[i]);
        }
    }
}
