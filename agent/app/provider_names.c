#include "app/provider_names.h"

struct search {
    struct provider_facts *facts;
    size_t count;
};

static bool is_of(const struct provider_facts *facts, const struct event_schema *schema)
{
    return facts->spec->name.size ? span_equal_nocase(facts->spec->name, schema->provider_name)
                                  : guid_equal(&facts->spec->guid, &schema->provider);
}

static void find_keywords(const struct provider_keywords *wanted,
    const struct schema_keyword *keyword, uint64_t *bits, uint64_t *found)
{
    for (size_t i = 0; i < wanted->name_count && i < 64; i++) {
        if (span_equal_nocase(keyword->name, span_text(wanted->names[i]))) {
            *bits |= keyword->mask;
            *found |= UINT64_C(1) << i;
        }
    }
}

static void find_events(struct provider_facts *facts, const struct event_schema *schema)
{
    const struct provider_events *wanted = &facts->spec->include;
    for (size_t i = 0; i < wanted->range_count && i < 64; i++) {
        if (schema->descriptor.id >= wanted->ranges[i].first &&
            schema->descriptor.id <= wanted->ranges[i].last) {
            facts->ids_found |= UINT64_C(1) << i;
        }
    }
    for (size_t i = 0; i < wanted->name_count && i < 64; i++) {
        if (span_is(schema->event_name, wanted->names[i])) {
            facts->names_found |= UINT64_C(1) << i;
        }
    }
}

static void look_at(void *self, const struct event_schema *schema)
{
    struct search *search = self;
    for (size_t i = 0; i < search->count; i++) {
        struct provider_facts *facts = &search->facts[i];
        if (!is_of(facts, schema)) {
            continue;
        }
        facts->found = true;
        facts->guid = schema->provider;
        facts->name = schema->provider_name.size ? schema->provider_name : facts->name;
        facts->event_count++;
        for (size_t k = 0; k < schema->keyword_count; k++) {
            const struct schema_keyword *keyword = &schema->keywords[k];
            find_keywords(&facts->spec->any, keyword, &facts->any_bits, &facts->any_found);
            find_keywords(&facts->spec->all, keyword, &facts->all_bits, &facts->all_found);
        }
        find_events(facts, schema);
    }
}

void provider_names_find(struct schema_cache *cache, struct provider_facts *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct provider_spec *spec = facts[i].spec;
        facts[i] = (struct provider_facts){
            .spec = spec, .any_bits = spec->any.bits, .all_bits = spec->all.bits};
        facts[i].guid = spec->name.size ? guid_from_name(spec->name) : spec->guid;
        facts[i].name = spec->name;
    }
    struct search search = {facts, count};
    schema_cache_list(cache, look_at, &search);
}
