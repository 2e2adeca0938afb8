#include "app/config/provider_names.h"

#include <stdlib.h>

#include "base/text/nearest.h"
#include "schema/source/known_providers.h"

/* Events of a provider follow each other: find its facts once for all of them. */
struct search {
    struct provider_facts *facts;
    size_t count;
    size_t *matches; /* facts of the provider below */
    size_t match_count;
    struct guid provider;
    struct span name;
    bool started;
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

static void find_matches(struct search *search, const struct event_schema *schema)
{
    if (search->started && guid_equal(&search->provider, &schema->provider) &&
        span_equal(search->name, schema->provider_name)) {
        return;
    }
    search->provider = schema->provider;
    search->name = schema->provider_name;
    search->match_count = 0;
    search->started = true;
    for (size_t i = 0; i < search->count; i++) {
        if (is_of(&search->facts[i], schema)) {
            search->matches[search->match_count++] = i;
        }
    }
}

static void look_at(void *self, const struct event_schema *schema)
{
    struct search *search = self;
    find_matches(search, schema);
    for (size_t i = 0; i < search->match_count; i++) {
        struct provider_facts *facts = &search->facts[search->matches[i]];
        facts->found = true;
        facts->is_known = true;
        facts->guid = schema->provider;
        facts->name = schema->provider_name.size ? schema->provider_name : facts->name;
        facts->event_count++;
        for (size_t k = 0; k < schema->keyword_count; k++) {
            const struct schema_keyword *keyword = &schema->keywords[k];
            find_keywords(&facts->spec->any, keyword, &facts->any_named, &facts->any_found);
            find_keywords(&facts->spec->all, keyword, &facts->all_bits, &facts->all_found);
        }
        facts->any_bits |= facts->any_named;
        find_events(facts, schema);
    }
}

/* ---- unknown names --------------------------------------------------------------------------- */

/*
 * Names of providers have long beginnings in common, and a name without a definition is nothing
 * unusual. So a suggestion needs a name with at most two errors, or one whose beginning was left
 * out, as in DNS-Client.
 */
enum { MAX_SLIPS = 2, MIN_ENDING_BYTES = 3, MAX_GUESSES = 256 };

struct guess {
    struct provider_facts *facts;
    struct nearest nearest;
    struct span ends_so; /* a known name with the text as its last words */
};

struct guesses {
    struct guess *list;
    size_t count;
    struct span last; /* events of a provider follow each other */
};

static bool ends_so(struct span name, struct span text)
{
    if (text.size < MIN_ENDING_BYTES || name.size <= text.size) {
        return false;
    }
    size_t start = name.size - text.size;
    return name.data[start - 1] == '-' && span_equal_nocase(span_from(name, start), text);
}

static void consider_name(struct guesses *guesses, struct span name)
{
    for (size_t i = 0; i < guesses->count; i++) {
        struct guess *guess = &guesses->list[i];
        struct span text = guess->nearest.text;
        size_t gap = name.size > text.size ? name.size - text.size : text.size - name.size;
        if (gap <= MAX_SLIPS) {
            nearest_consider(&guess->nearest, name);
        } else if (ends_so(name, text)) {
            guess->ends_so = name;
        }
    }
}

static void consider(void *self, const struct event_schema *schema)
{
    struct guesses *guesses = self;
    struct span name = schema->provider_name;
    if (name.size && !span_equal(name, guesses->last)) {
        guesses->last = name;
        consider_name(guesses, name);
    }
}

static void consider_known(void *self, const struct guid *provider, struct span name)
{
    (void)provider;
    consider_name(self, name);
}

/* Without memory there is no suggestion. */
static void guess_names(
    struct schema_cache *cache, struct provider_facts *facts, size_t count, size_t unknown)
{
    size_t room = unknown < MAX_GUESSES ? unknown : MAX_GUESSES; /* further ones do not help */
    struct guess *list = room ? calloc(room, sizeof(*list)) : NULL;
    struct guesses guesses = {.list = list};
    for (size_t i = 0; i < count && list && guesses.count < room; i++) {
        if (!facts[i].is_known && facts[i].spec->name.size) {
            list[guesses.count++] = (struct guess){
                .facts = &facts[i], .nearest = {.text = facts[i].spec->name}};
        }
    }
    if (guesses.count) {
        schema_cache_list(cache, consider, &guesses);
        known_providers_each(consider_known, &guesses);
    }
    for (size_t i = 0; i < guesses.count; i++) {
        struct span meant = nearest_meant(&list[i].nearest);
        bool is_slip = meant.size && list[i].nearest.edits <= MAX_SLIPS;
        list[i].facts->meant = is_slip ? meant : list[i].ends_so;
    }
    free(list);
}

/* Facts that need no definition. */
static void set_known(struct provider_facts *facts)
{
    const struct provider_spec *spec = facts->spec;
    facts->guid = spec->guid;
    facts->name = spec->name;
    if (spec->name.size == 0) {
        facts->name = known_providers_name(&spec->guid);
        facts->is_known = facts->name.size > 0;
    } else if (known_providers_guid(spec->name, &facts->guid)) {
        facts->is_known = true;
    } else {
        facts->guid = guid_from_name(spec->name);
    }
}

bool provider_names_find(struct schema_cache *cache, struct provider_facts *facts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct provider_spec *spec = facts[i].spec;
        facts[i] = (struct provider_facts){
            .spec = spec, .any_bits = spec->any.bits, .all_bits = spec->all.bits};
        set_known(&facts[i]);
    }
    struct search search = {
        .facts = facts, .count = count, .matches = calloc(count + 1, sizeof(*search.matches))};
    if (!search.matches) {
        return false;
    }
    schema_cache_list(cache, look_at, &search);
    free(search.matches);
    size_t unknown = 0;
    for (size_t i = 0; i < count; i++) {
        unknown += !facts[i].is_known;
    }
    guess_names(cache, facts, count, unknown);
    return true;
}
