#include "schema/windows/tdh_registry.h"

#include <stdlib.h>

#include "base/grow.h"
#include "etw/etw_names.h"

/* Windows has a few thousand providers with some ten thousand events. */
enum { MAX_SCHEMA_BYTES = 1024 * 1024 * 1024, MAX_EVENTS = 1 << 20 };

void tdh_registry_init(struct tdh_registry *registry)
{
    *registry = (struct tdh_registry){.count = 0};
    tdh_ask_init(&registry->ask, MAX_SCHEMA_BYTES);
}

void tdh_registry_fini(struct tdh_registry *registry)
{
    free((void *)registry->schemas);
    tdh_ask_fini(&registry->ask);
}

static bool has_room(struct tdh_registry *registry)
{
    bool has = registry->count < MAX_EVENTS;
    has = has && grow_list(&registry->schemas, registry->count, &registry->capacity,
                     sizeof(*registry->schemas));
    registry->failed |= !has;
    return has;
}

enum { MAX_KEYWORDS = 256 };

struct provider {
    struct tdh_registry *registry;
    const struct guid *guid;
    struct schema_keyword keywords[MAX_KEYWORDS];
    size_t keyword_count;
};

static bool add_keyword(void *self, const struct etw_known_field *field)
{
    struct provider *provider = self;
    struct schema_keyword keyword = {.mask = field->value};
    if (!arena_copy(&provider->registry->ask.arena, span_text(field->name), &keyword.name)) {
        provider->registry->failed = true;
        return false;
    }
    provider->keywords[provider->keyword_count++] = keyword;
    return provider->keyword_count < MAX_KEYWORDS;
}

/* TRACE_EVENT_INFO lists keyword names without their bits. The provider's list has the bits. */
static void give_keywords(const struct provider *provider, size_t first)
{
    struct tdh_registry *registry = provider->registry;
    struct schema_keyword *kept = arena_alloc_array(
        &registry->ask.arena, provider->keyword_count, sizeof(*kept));
    if (!kept) {
        registry->failed = true;
        return;
    }
    memcpy(kept, provider->keywords, provider->keyword_count * sizeof(*kept));
    for (size_t i = first; i < registry->count; i++) {
        /* the schema is not shared yet */
        struct event_schema *schema = (struct event_schema *)(uintptr_t)registry->schemas[i];
        schema->keywords = kept;
        schema->keyword_count = provider->keyword_count;
    }
}

static bool add_event(void *self, const struct event_descriptor *event)
{
    const struct provider *provider = self;
    struct tdh_registry *registry = provider->registry;
    const struct event_schema *schema = tdh_ask_manifest(&registry->ask, provider->guid, event);
    if (!schema) {
        registry->unknown++;
        return true;
    }
    if (!has_room(registry)) {
        return false;
    }
    registry->schemas[registry->count++] = schema;
    return true;
}

void tdh_registry_add(struct tdh_registry *registry, const struct guid *provider)
{
    struct provider self = {.registry = registry, .guid = provider};
    size_t first = registry->count;
    etw_names_each_event(provider, add_event, &self);
    etw_names_each_field(provider, ETW_FIELD_KEYWORD, add_keyword, &self);
    if (self.keyword_count && registry->count > first) {
        give_keywords(&self, first);
    }
}

static void add_provider(void *self, const struct etw_known_provider *provider)
{
    if (!provider->is_mof) {
        tdh_registry_add(self, &provider->guid);
    }
}

bool tdh_registry_add_all(struct tdh_registry *registry, struct error *err)
{
    struct etw_names *names = etw_names_create(err);
    if (!names) {
        return false;
    }
    etw_names_each(names, add_provider, registry);
    etw_names_destroy(names);
    return true;
}
