#include "app/session_selection.h"

#include <stdlib.h>

#include "app/app_rules.h"
#include "app/provider_names.h"
#include "app/provider_selection.h"

enum { MAX_PIDS = 8 };

struct entry {
    struct filter *filter; /* NULL: no rules */
    uint32_t pids[MAX_PIDS];
    size_t pid_count;
};

struct session_selection {
    struct provider_selection *providers;
    size_t count;
    struct entry entries[];
};

/* ---- making it ------------------------------------------------------------------------------------- */

static bool refuse_keyword(const struct app_session *session, const struct provider_facts *facts,
    const char *name, struct error *err)
{
    if (!facts->found) {
        return error_set(err, ERR_CONFIG,
            "session %s: no definition of provider %.*s is at hand, so its keyword '%.100s' has no "
            "bits. name its manifest under schema, or write the bits",
            session->name, SPAN_ARG(span_first(facts->name, 200)), name);
    }
    return error_set(err, ERR_CONFIG,
        "session %s: the definition of provider %.*s has no keyword '%.100s'. write its bits",
        session->name, SPAN_ARG(span_first(facts->name, 200)), name);
}

/* Put bits in the place of names. Without any definition there are none. */
static bool resolve(const struct app_session *session, const struct provider_facts *facts,
    struct provider_spec *spec, struct error *err)
{
    for (size_t i = 0; i < spec->any.name_count; i++) {
        if (i >= 64 || !(facts->any_found >> i & 1)) {
            return refuse_keyword(session, facts, spec->any.names[i], err);
        }
    }
    for (size_t i = 0; i < spec->all.name_count; i++) {
        if (i >= 64 || !(facts->all_found >> i & 1)) {
            return refuse_keyword(session, facts, spec->all.names[i], err);
        }
    }
    spec->any.bits = facts->any_bits;
    spec->any.name_count = 0;
    spec->all.bits = facts->all_bits;
    spec->all.name_count = 0;
    return true;
}

static bool fill_entry(const struct app_provider *provider, struct entry *entry, struct error *err)
{
    const struct config_strings *pids = &provider->processes.pids;
    for (size_t i = 0; i < pids->count && entry->pid_count < MAX_PIDS; i++) {
        uint64_t pid = 0;
        provider_spec_parse_bits(span_text(pids->items[i]), &pid);
        entry->pids[entry->pid_count++] = (uint32_t)pid;
    }
    return app_rules_compile(&provider->filters, &entry->filter, err);
}

/* Copies of what is wanted, resolved; the caller frees. NULL with ${err} set. */
static struct provider_spec *resolve_all(
    const struct app_session *session, struct schema_cache *cache, struct error *err)
{
    const struct app_provider *providers = session->providers.items;
    size_t count = session->providers.count;
    struct provider_spec *specs = calloc(count, sizeof(*specs));
    struct provider_facts *facts = calloc(count, sizeof(*facts));
    if (!specs || !facts) {
        free(specs);
        free(facts);
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        specs[i] = providers[i].spec;
        facts[i].spec = &providers[i].spec;
    }
    provider_names_find(cache, facts, count);
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        good = resolve(session, &facts[i], &specs[i], err);
    }
    free(facts);
    if (!good) {
        free(specs);
        return NULL;
    }
    return specs;
}

static bool fill(const struct app_session *session, const struct provider_spec *specs,
    struct session_selection *selection, struct error *err)
{
    const struct app_provider *providers = session->providers.items;
    selection->providers = provider_selection_create_from(specs, session->providers.count, err);
    bool good = selection->providers != NULL;
    for (size_t i = 0; i < session->providers.count && good; i++) {
        good = fill_entry(&providers[i], &selection->entries[i], err);
        selection->count++;
    }
    return good;
}

bool session_selection_create(const struct app_session *session, struct schema_cache *cache,
    struct session_selection **ret_selection, struct error *err)
{
    if (session->providers.count == 0) {
        *ret_selection = NULL;
        return true;
    }
    struct provider_spec *specs = resolve_all(session, cache, err);
    if (!specs) {
        return false;
    }
    struct session_selection *selection = calloc(
        1, sizeof(*selection) + session->providers.count * sizeof(selection->entries[0]));
    bool good = selection ? fill(session, specs, selection, err)
                          : error_set(err, ERR_MEMORY, "out of memory");
    free(specs);
    if (good) {
        *ret_selection = selection;
    } else {
        session_selection_destroy(selection);
    }
    return good;
}

void session_selection_destroy(struct session_selection *selection)
{
    for (size_t i = 0; selection && i < selection->count; i++) {
        filter_destroy(selection->entries[i].filter);
    }
    if (selection) {
        provider_selection_destroy(selection->providers);
    }
    free(selection);
}

/* ---- asking it ------------------------------------------------------------------------------------- */

static bool is_of_process(const struct entry *entry, const struct event_record *record)
{
    for (size_t i = 0; i < entry->pid_count; i++) {
        if (record->present & RECORD_HAS_PROCESS && record->process_id == entry->pids[i]) {
            return true;
        }
    }
    return entry->pid_count == 0;
}

bool session_selection_passes(
    const void *self, struct filter_scratch *scratch, const struct event *event)
{
    const struct session_selection *selection = self;
    for (size_t i = provider_selection_find(selection->providers, event, 0); i != SIZE_MAX;
         i = provider_selection_find(selection->providers, event, i + 1)) {
        const struct entry *entry = &selection->entries[i];
        size_t rule;
        if (is_of_process(entry, event->record) &&
            (!entry->filter || filter_event(entry->filter, scratch, event, &rule) == FILTER_KEEP)) {
            return true;
        }
    }
    return false;
}
