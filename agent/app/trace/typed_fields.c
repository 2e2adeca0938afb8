#include "app/trace/typed_fields.h"

#include <stdlib.h>

#include "app/config/app_providers.h"
#include "app/trace/trace_run.h"
#include "base/map.h"
#include "input/file/input_file.h"
#include "schema/source/known_providers.h"
#include "schema/windows/tdh_registry.h"

/*
 * Of an event that several definitions describe, those count that the decoder may take: the cache
 * is asked for it as for an event that came. Of those that find the same bytes for each field it
 * always takes the first.
 */
enum { MAX_TYPES = 1 << 20, MAX_BYTES = 256 * 1024 * 1024 };

/* An event of a manifest, to be asked for. */
struct type {
    struct type *next;
    struct guid provider;
    struct event_descriptor descriptor;
};

struct search {
    const struct typed_fields_settings *settings;
    struct typed_fields *typed;
    struct arena arena; /* of types, and of keys of the map */
    struct map seen;    /* types and definitions */
    struct type *types; /* of manifests, of the session */
    bool *found;        /* by provider of the session */
    const struct app_session *session;
    bool failed; /* out of memory */
};

/* ---- whose definitions count ----------------------------------------------------------------- */

static bool is_of(const struct provider_spec *spec, const struct event_schema *schema)
{
    struct guid guid = spec->guid;
    bool by_guid = spec->name.size == 0 || known_providers_guid(spec->name, &guid);
    return (by_guid &&
               (guid_equal(&guid, &schema->provider) || guid_equal(&guid, &schema->class_guid))) ||
           (spec->name.size && (span_equal_nocase(spec->name, schema->provider_name) ||
                                   (schema->kind == SCHEMA_MOF &&
                                       span_equal_nocase(spec->name, schema->task_name))));
}

/* Does the entry ask for events of this id? Names and ids of other kinds of
 * events are not looked at. */
static bool asks_for(const struct provider_spec *spec, const struct event_schema *schema)
{
    const struct provider_events *wanted = &spec->include;
    bool counts = (schema->kind == SCHEMA_MANIFEST || schema->kind == SCHEMA_EVENTSOURCE) &&
                  wanted->range_count && !wanted->name_count;
    for (size_t i = 0; counts && i < wanted->range_count; i++) {
        if (schema->descriptor.id >= wanted->ranges[i].first &&
            schema->descriptor.id <= wanted->ranges[i].last) {
            return true;
        }
    }
    return !counts;
}

/* Its events are those of the kernel's classes, and no providers are named for them. */
static bool is_kernel(const struct app_session *session)
{
    return session->ops->kernel || strcmp(session->ops->name, "kernel") == 0;
}

static bool is_wanted(struct search *search, const struct event_schema *schema)
{
    const struct app_provider *providers = search->session->providers.items;
    bool wanted = is_kernel(search->session) && strcmp(schema->source, "kernel") == 0;
    for (size_t i = 0; i < search->session->providers.count; i++) {
        bool is_message = providers[i].wpp && schema->kind == SCHEMA_WPP;
        if (is_message || is_of(&providers[i].spec, schema)) {
            search->found[i] = true;
            wanted = wanted || is_message || asks_for(&providers[i].spec, schema);
        }
    }
    return wanted;
}

/* Does it come for the first time? */
static bool is_new(struct search *search, const void *bytes, size_t size)
{
    struct span key = span_make(bytes, size);
    if (search->failed || map_get(&search->seen, key)) {
        return false;
    }
    search->failed = !arena_copy(&search->arena, key, &key) || !map_put(&search->seen, key, search);
    return !search->failed;
}

static void add(struct search *search, const struct event_schema *schema)
{
    search->typed->definitions++;
    index_fields_add(search->typed->fields, schema);
}

static void note_type(struct search *search, const struct event_schema *schema)
{
    struct {
        struct guid provider;
        uint16_t id;
        uint16_t version;
    } key = {schema->provider, schema->descriptor.id, schema->descriptor.version};
    if (!is_new(search, &key, sizeof(key))) {
        return;
    }
    struct type *type = arena_alloc(&search->arena, sizeof(*type));
    if (!type) {
        search->failed = true;
        return;
    }
    *type = (struct type){search->types, schema->provider, schema->descriptor};
    search->types = type;
}

static void look_at(void *self, const struct event_schema *schema)
{
    struct search *search = self;
    if (!is_wanted(search, schema)) {
        return;
    }
    if (schema->kind == SCHEMA_MANIFEST) {
        note_type(search, schema);
    } else {
        add(search, schema);
    }
}

/* ---- which one the decoder takes ------------------------------------------------------------- */

/* Do both find the same bytes for each field? */
static bool reads_alike(const struct event_schema *a, const struct event_schema *b)
{
    bool alike = a->field_count == b->field_count && a->top_count == b->top_count;
    for (size_t i = 0; alike && i < a->field_count; i++) {
        const struct schema_field *x = &a->fields[i];
        const struct schema_field *y = &b->fields[i];
        bool sized = x->fixed_size || x->pointer_sized || (x->flags & FIELD_STRUCT);
        alike = x->flags == y->flags && x->count == y->count && x->length == y->length &&
                x->struct_start == y->struct_start && x->struct_members == y->struct_members &&
                x->fixed_size == y->fixed_size && x->pointer_sized == y->pointer_sized &&
                (sized || x->in_type == y->in_type);
    }
    return alike;
}

static void ask_for(struct search *search, struct schema_cache *cache, const struct type *type)
{
    const struct event_record record = {
        .kind = RECORD_EVENT, .provider = type->provider, .descriptor = type->descriptor};
    const struct schema_choice *choice = schema_cache_find(cache, &record);
    for (size_t i = 0; i < choice->count; i++) {
        bool is_first = true;
        for (size_t k = 0; k < i; k++) {
            is_first = is_first && !reads_alike(choice->list[k], choice->list[i]);
        }
        if (is_first) {
            add(search, choice->list[i]);
        }
    }
}

/* ---- where they are -------------------------------------------------------------------------- */

/* Definitions registered on this machine apply to events recorded here. */
static void look_at_registered(struct search *search)
{
    const struct app_provider *providers = search->session->providers.items;
    struct tdh_registry registry;
    tdh_registry_init(&registry);
    for (size_t i = 0; i < search->session->providers.count; i++) {
        struct guid guid = providers[i].spec.guid;
        if (providers[i].spec.name.size == 0 ||
            known_providers_guid(providers[i].spec.name, &guid)) {
            tdh_registry_add(&registry, &guid);
        }
    }
    for (size_t i = 0; i < registry.count; i++) {
        if (is_wanted(search, registry.schemas[i])) {
            add(search, registry.schemas[i]);
        }
    }
    search->failed = search->failed || registry.failed;
    tdh_registry_fini(&registry);
}

/* Is it the first event of its definition in this session? A definition's address says nothing: the
 * cache uses memory again. */
static bool is_first_of(struct search *search, const struct event_schema *schema)
{
    const uint64_t key[] = {(uintptr_t)search->session, schema->serial};
    return is_new(search, key, sizeof(key));
}

/* Of events in a trace the definition is known that has decoded them. */
static bool take_event(void *self, const struct event *event)
{
    struct search *search = self;
    const struct event_schema *schema = event->schema;
    if (!schema || (search->session->providers.count && !is_wanted(search, schema))) {
        return !search->failed;
    }
    if (schema->serial == UINT32_MAX) { /* it is of this event alone */
        index_fields_add(search->typed->fields, schema);
    } else if (is_first_of(search, schema)) {
        add(search, schema);
    }
    return !search->failed;
}

static bool is_trace(const struct app_session *session)
{
    const struct input_file_settings *settings = session->settings;
    return session->ops->paths && strcmp(session->ops->name, "file") == 0 && !settings->follow;
}

/* Definitions in traces, and those of the events in them. False: they cannot be read, which was
 * reported. */
static bool look_at_traces(struct search *search, struct schema_cache *cache)
{
    const struct typed_fields_settings *settings = search->settings;
    struct error err;
    struct event_observer observer = {.self = search, .event = take_event};
    const struct trace_run_settings run = {.input = search->session->ops,
        .settings = search->session->settings,
        .cache = cache,
        .observer = observer,
        .show_progress = true};
    struct trace_result result;
    bool good = trace_run_whole(&run, &result, &err);
    if (!good && settings->warn) {
        settings->warn(settings->warn_self, err.text);
    }
    return good;
}

/* Which of its providers are not known, or is it not known at all? */
static void note_unknown(struct search *search, bool was_read)
{
    struct typed_fields *typed = search->typed;
    const struct app_session *session = search->session;
    const struct app_provider *providers = session->providers.items;
    for (size_t i = 0; i < session->providers.count; i++) {
        if (!search->found[i]) {
            typed->unknown_providers++;
            typed->unknown = typed->unknown.size ? typed->unknown : providers[i].spec.name;
        }
    }
    if (session->providers.count == 0 && !was_read && !is_kernel(session)) {
        typed->open_sessions++;
        typed->open = typed->open ? typed->open : session->name;
    }
}

static void look_at_definitions(struct search *search, struct schema_cache *cache)
{
    const struct app_session *session = search->session;
    bool was_read = search->settings->read_traces && is_trace(session) &&
                    look_at_traces(search, cache);
    if (session->ops->needs_etw) {
        look_at_registered(search);
    }
    search->types = NULL;
    if (session->providers.count || is_kernel(session)) {
        schema_cache_list(cache, look_at, search);
    }
    for (const struct type *type = search->types; type; type = type->next) {
        ask_for(search, cache, type);
    }
    note_unknown(search, was_read);
}

static bool look_at_session(struct search *search, struct error *err)
{
    const struct typed_fields_settings *settings = search->settings;
    struct schema_cache *cache = app_providers_all_schemas(
        settings->config, settings->warn, settings->warn_self, err);
    if (!cache) {
        return false;
    }
    search->found = calloc(search->session->providers.count + 1, sizeof(*search->found));
    if (search->found) {
        look_at_definitions(search, cache);
    }
    search->failed = search->failed || !search->found;
    free(search->found);
    search->found = NULL;
    schema_cache_destroy(cache);
    return !search->failed || error_set(err, ERR_MEMORY, "out of memory");
}

/* ---- all of it ------------------------------------------------------------------------------- */

size_t typed_fields_room(const struct app_output *output)
{
    return output->ops->field_room
               ? output->ops->field_room(output->settings, app_config_format(output))
               : 0;
}

static bool look_at_sessions(struct search *search, struct error *err)
{
    const struct app_config *config = search->settings->config;
    bool good = true;
    for (size_t i = 0; good && i < config->session_count; i++) {
        search->session = &config->sessions[i];
        if (search->session->enabled &&
            app_config_takes(search->settings->output, search->session) &&
            input_delivers(search->session->ops, search->session->settings)) {
            good = look_at_session(search, err);
        }
    }
    return good;
}

bool typed_fields_find(
    const struct typed_fields_settings *settings, struct typed_fields *ret_typed, struct error *err)
{
    bool is_ecs = strcmp(app_config_format(settings->output), "ecs") == 0;
    struct search search = {.settings = settings, .typed = ret_typed};
    *ret_typed = (struct typed_fields){.fields = index_fields_create(is_ecs, err)};
    if (!ret_typed->fields) {
        return false;
    }
    arena_init(&search.arena, MAX_BYTES);
    map_init(&search.seen, MAX_TYPES);
    bool good = look_at_sessions(&search, err) &&
                index_fields_choose(ret_typed->fields, typed_fields_room(settings->output), err);
    map_fini(&search.seen);
    arena_fini(&search.arena);
    if (!good) {
        typed_fields_fini(ret_typed);
    }
    return good;
}

void typed_fields_fini(struct typed_fields *typed)
{
    index_fields_destroy(typed->fields);
    typed->fields = NULL;
}
