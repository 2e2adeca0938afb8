#include "app/plan/field_warnings.h"

#include <stdio.h>

#include "app/config/app_rules.h"
#include "base/map.h"
#include "config/config_text.h"

enum { MAX_NAMES = 1000000 };

struct search {
    struct map names; /* of fields of the providers' events */
    bool failed;      /* out of memory: nothing is known */
    const struct provider_facts *facts;
    size_t fact_count;
    const struct config *memory;
    struct config_report *report;
    const struct app_rule *rule; /* that is looked at */
};

/* Do all events come from providers that were found? */
static bool is_complete(const struct app_config *config, const struct provider_facts *facts)
{
    size_t at = 0;
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        bool counts = session->enabled && input_delivers(session->ops, session->settings);
        if (counts && session->providers.count == 0) {
            return false;
        }
        for (size_t k = 0; k < session->providers.count; k++, at++) {
            if (counts && !facts[at].found) {
                return false;
            }
        }
    }
    return true;
}

static void gather(void *self, const struct event_schema *schema)
{
    struct search *search = self;
    for (size_t i = 0; i < search->fact_count; i++) {
        if (!search->facts[i].found || !guid_equal(&search->facts[i].guid, &schema->provider)) {
            continue;
        }
        for (size_t k = 0; k < schema->top_count && !search->failed; k++) {
            struct span name = schema->fields[k].name;
            search->failed = !map_put(&search->names, name, (void *)&schema->fields[k]);
        }
        return;
    }
}

static void each_name(void *self, filter_name_fn *take, void *take_self)
{
    const struct search *search = self;
    const struct map_slot *slot;
    size_t cursor = 0;
    while ((slot = map_next(&search->names, &cursor))) {
        take(take_self, slot->key);
    }
}

static void look_at_field(void *self, const struct filter_field *field)
{
    struct search *search = self;
    const struct filter_names names = {each_name, search};
    struct span meant;
    if (filter_field_known(field, &names, &meant)) {
        return;
    }
    char what[512];
    snprintf(what, sizeof(what),
        "the definitions of the providers have no event with a field %s. %s%s%s",
        config_text_quote(field->name).text, meant.size ? "did you mean " : "check its name",
        meant.size ? config_text_quote(meant).text : "", meant.size ? "?" : "");
    app_rules_complain(search->memory, search->rule, &field->place, what, search->report);
}

static void look_at_rules(void *self, const char *where, const struct config_list *list)
{
    struct search *search = self;
    const struct app_rule *rules = list->items;
    (void)where;
    for (size_t i = 0; i < list->count; i++) {
        const struct filter_rule one = app_rules_filter_rule(&rules[i]);
        struct filter_place place;
        struct filter *filter = filter_create(&one, 1, &place, NULL);
        search->rule = &rules[i];
        if (filter) {
            filter_each_field(filter, look_at_field, search);
        }
        filter_destroy(filter);
    }
}

void field_warnings_find(const struct app_config *config, struct schema_cache *cache,
    const struct provider_facts *facts, size_t fact_count, struct config_report *report)
{
    struct search search = {
        .facts = facts, .fact_count = fact_count, .memory = config->memory, .report = report};
    if (!is_complete(config, facts)) {
        return;
    }
    map_init(&search.names, MAX_NAMES);
    schema_cache_list(cache, gather, &search);
    if (!search.failed) {
        app_rules_each(config, look_at_rules, &search);
    }
    map_fini(&search.names);
}
