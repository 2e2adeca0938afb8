#include "schema/cache/schema_source_set.h"

#include "schema/source/corrections.h"
#include "schema/source/schema_files.h"
#include "schema/source/schema_sources.h"

static const struct schema_source_ops *const sources[] = {
#define SCHEMA_SOURCE(id) &schema_source_##id,
#include "schema/source/schema_sources.def"
#undef SCHEMA_SOURCE
};

enum { COUNT = sizeof(sources) / sizeof(sources[0]) };
_Static_assert((int)COUNT <= (int)SCHEMA_SOURCES_MAX, "a set has no room for all sources");

const char *schema_source_set_name(size_t index)
{
    return index < COUNT ? sources[index]->name : NULL;
}

bool schema_source_set_reads(const char *path)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (sources[i]->endings && schema_files_is_one(path, sources[i]->endings)) {
            return true;
        }
    }
    return schema_files_is_one(path, corrections_endings);
}

/* ---- creation -------------------------------------------------------------------------------- */

static bool is_off(const struct schema_source_set_settings *settings, size_t source)
{
    return sources[source] == &schema_source_tdh
               ? settings->tdh == SCHEMA_TDH_OFF && !settings->only_source
               : sources[source] == &schema_source_builtin && settings->no_builtin;
}

/* Use the order of the table, but move TDH before the user's files if configured. */
static void set_order(struct schema_source_set *set, enum schema_tdh tdh)
{
    size_t count = 0;
    size_t tdh_at = COUNT;
    for (size_t i = 0; i < COUNT; i++) {
        bool is_file = sources[i] == &schema_source_mof || sources[i] == &schema_source_manifest ||
                       sources[i] == &schema_source_pack;
        if (tdh == SCHEMA_TDH_FIRST && is_file && tdh_at == COUNT) {
            tdh_at = count++;
        }
        if (sources[i] == &schema_source_tdh && tdh_at < COUNT) {
            set->order[tdh_at] = i;
        } else {
            set->order[count++] = i;
        }
    }
}

static bool make(struct schema_source_set *set, size_t source,
    const struct schema_source_set_settings *settings, struct error *err)
{
    if (settings->shared) {
        set->instances[source] = schema_shared_source(settings->shared, sources[source]);
        set->shared[source] = set->instances[source] != NULL;
    }
    if (!set->shared[source]) {
        struct schema_source_settings told = settings->sources;
        told.is_read = schema_source_set_reads;
        set->instances[source] = sources[source]->create(&told, err);
    }
    if (sources[source] == &schema_source_eventsource) {
        set->by_process = set->instances[source];
    }
    if (sources[source] == &schema_source_builtin) {
        set->builtin = set->instances[source];
    }
    return set->instances[source] != NULL;
}

bool schema_source_set_init(struct schema_source_set *set,
    const struct schema_source_set_settings *settings, struct error *err)
{
    bool any = false;
    set->count = COUNT;
    set_order(set, settings->tdh);
    for (size_t i = 0; i < COUNT; i++) {
        if (settings->only_source && strcmp(settings->only_source, sources[i]->name) != 0) {
            continue;
        }
        any = true;
        if (!is_off(settings, i) && !make(set, i, settings, err)) {
            return false;
        }
    }
    return any || error_set(err, ERR_CONFIG, "unknown schema source '%s'", settings->only_source);
}

void schema_source_set_fini(struct schema_source_set *set)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (!set->shared[i]) {
            sources[i]->destroy(set->instances[i]);
        }
    }
}

/* ---- all sources ----------------------------------------------------------------------------- */

bool schema_source_set_learn(struct schema_source_set *set, const struct event_record *record)
{
    bool learned = false;
    for (size_t i = 0; i < COUNT; i++) {
        if (set->instances[i] && sources[i]->learn) {
            learned |= sources[i]->learn(set->instances[i], record);
        }
    }
    return learned;
}

uint64_t schema_source_set_news(const struct schema_source_set *set)
{
    uint64_t news = 0;
    for (size_t i = 0; i < COUNT; i++) {
        if (set->instances[i] && sources[i]->news) {
            news += sources[i]->news(set->instances[i]);
        }
    }
    return news;
}

struct schema_losses schema_source_set_losses(const struct schema_source_set *set)
{
    struct schema_losses losses = {.evicted = 0};
    for (size_t i = 0; i < COUNT; i++) {
        if (set->instances[i] && sources[i]->losses) {
            sources[i]->losses(set->instances[i], &losses);
        }
    }
    return losses;
}

void schema_source_set_list(struct schema_source_set *set, const struct schema_source_ops *without,
    void (*each)(void *self, const struct event_schema *schema), void *self)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (set->instances[i] && sources[i]->list && sources[i] != without) {
            sources[i]->list(set->instances[i], each, self);
        }
    }
}

struct span schema_source_set_provider_name(
    const struct schema_source_set *set, const struct guid *provider)
{
    struct span name = {0};
    for (size_t i = 0; i < COUNT && name.size == 0; i++) {
        if (set->instances[i] && sources[i]->provider_name) {
            name = sources[i]->provider_name(set->instances[i], provider);
        }
    }
    return name;
}

const struct schema_parameters *schema_source_set_parameters(
    const struct schema_source_set *set, const struct event_schema *own)
{
    const struct schema_parameters *parameters = NULL;
    for (size_t i = 0; i < COUNT && !parameters; i++) {
        if (set->instances[i] && sources[i]->parameters) {
            parameters = sources[i]->parameters(
                set->instances[i], &own->provider, own->provider_name);
        }
    }
    return parameters;
}

/* ---- look-up --------------------------------------------------------------------------------- */

/* Only the source `eventsource` distinguishes processes. */
bool schema_source_set_by_process(
    const struct schema_source_set *set, const struct event_record *record, bool own)
{
    return set->by_process && (own ? schema_source_eventsource.knows_own(set->by_process, record)
                                   : schema_source_eventsource.knows_any(set->by_process, record));
}

bool schema_source_set_is_of_trace(const struct schema_source_set *set, size_t place)
{
    const struct schema_source_ops *source = sources[set->order[place]];
    return source->learn != NULL || source == &schema_source_tracelogging;
}

/* .NET's NativeRuntimeEventSource sends a manifest of the runtime's own provider. It lacks all
 * arrays and structs, which `builtin` has. */
static bool has_better(
    const struct schema_source_set *set, size_t source, const struct event_record *record)
{
    struct schema_candidates known = {.count = 0};
    if (sources[source] == &schema_source_eventsource && set->builtin) {
        schema_source_builtin.find(set->builtin, record, &known);
    }
    return known.count > 0;
}

bool schema_source_set_ask(const struct schema_source_set *set, size_t place,
    const struct event_record *record, struct schema_candidates *found)
{
    size_t source = set->order[place];
    if (set->instances[source] && !has_better(set, source, record)) {
        sources[source]->find(set->instances[source], record, found);
    }
    return set->shared[source];
}
