#include "app/trace/no_match.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/trace/trace_census.h"
#include "base/append.h"

enum { LINE_BYTES = 2048, SHOWN_PROVIDERS = 5, MAX_NAME_BYTES = 200 };

/* What the events had to do with one entry. */
struct entry {
    uint64_t events; /* of its provider */
    uint64_t passed;
};

struct search {
    const struct no_match_settings *settings;
    struct trace_census *census;
    struct event_observer count; /* of the census */
    struct entry *entries;
    uint64_t seen;
    size_t found;
};

static bool on_event(void *self, const struct event *event)
{
    struct search *search = self;
    const struct provider_selection *selection = search->settings->selection;
    size_t count = selection ? provider_selection_count(selection) : 0;
    for (size_t i = 0; i < count; i++) {
        bool passes;
        search->entries[i].events += provider_selection_asks(selection, i, event, &passes);
        search->entries[i].passed += passes;
    }
    return search->count.event(search->count.self, event) && ++search->seen < NO_MATCH_MAX_EVENTS;
}

static bool read_again(struct search *search, struct error *err)
{
    const struct no_match_settings *s = search->settings;
    struct event_observer observer = {.self = search, .event = on_event};
    struct trace_run_settings run = {.input = s->input,
        .settings = s->settings,
        .cache = s->cache,
        .ansi = s->ansi,
        .process_context = true,
        .observer = observer,
        .show_progress = s->shows_progress};
    struct trace_result result;
    return trace_run(&run, &result, err);
}

static void tell(struct search *search, const char *format, ...) ETWSHIP_PRINTF(2, 3);

static void tell(struct search *search, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    search->settings->tell(search->settings->self, line);
    search->found++;
}

/* Which events were looked at, if not all. */
static const char *which_events(const struct search *search)
{
    _Static_assert(NO_MATCH_MAX_EVENTS == 2000000, "the text names it");
    return search->seen < NO_MATCH_MAX_EVENTS ? "" : " of the first 2000000";
}

/* `. did you mean X?`, or which there are, from the one with the most events on. */
static void add_hint(const struct search *search, struct span meant, char *text, size_t size)
{
    if (meant.size) {
        snprintf(text, size, ". did you mean %.*s?", SPAN_ARG(span_first(meant, MAX_NAME_BYTES)));
        return;
    }
    size_t count;
    uint64_t beyond;
    size_t shown = 0;
    const struct census_provider **rows = trace_census_providers(search->census, &count, &beyond);
    text[0] = 0;
    for (size_t i = 0; i < count && shown < SHOWN_PROVIDERS; i++) {
        if (rows[i]->name.size) {
            append_printf(text, size, "%s%.*s", shown ? ", " : ". there are events of: ",
                SPAN_ARG(span_first(rows[i]->name, MAX_NAME_BYTES)));
            shown++;
        }
    }
    if (shown < count) {
        append_printf(text, size, "%s`etwship providers TRACE` lists all%s", shown ? ", … (" : ". ",
            shown ? ")" : "");
    }
    free((void *)rows);
}

static void tell_entry(struct search *search, size_t index)
{
    const struct no_match_settings *s = search->settings;
    const struct provider_spec *spec = provider_selection_spec(s->selection, index);
    const struct entry *entry = &search->entries[index];
    char guid[GUID_TEXT_SIZE];
    char hint[LINE_BYTES / 2];
    struct span meant = span_make(NULL, 0);
    guid_write(&spec->guid, guid);
    struct span name = spec->name.size ? spec->name
                       : spec->wpp     ? span_text(spec->wpp)
                                       : span_make(guid, sizeof(guid));
    name = span_first(name, MAX_NAME_BYTES);
    if (entry->passed) {
        return; /* its events passed an entry before it */
    }
    if (entry->events) {
        tell(search,
            "%s '%.*s': its level, ids and keywords let none of the %llu events of this provider "
            "pass",
            s->providers, SPAN_ARG(name), (unsigned long long)entry->events);
        return;
    }
    if (spec->name.size) {
        trace_census_may_have(search->census, CENSUS_PROVIDER, spec->name, &meant);
    }
    add_hint(search, meant, hint, sizeof(hint));
    tell(search, "%s '%.*s': no event%s is of this provider%s", s->providers, SPAN_ARG(name),
        which_events(search), hint);
}

/* ---- names in rules -------------------------------------------------------------------------- */

static void tell_wanted(void *self, const struct filter_wanted *wanted)
{
    static const struct {
        const char *path;
        enum census_name name;
    } known[] = {{"provider.name", CENSUS_PROVIDER}, {"event.name", CENSUS_EVENT},
        {"process.name", CENSUS_PROCESS}};
    struct search *search = self;
    struct span text = span_first(wanted->text, MAX_NAME_BYTES);
    struct guid guid;
    bool is_guid = span_is(wanted->path, "provider.guid") && guid_parse(wanted->text, &guid);
    bool missing = is_guid && !trace_census_may_have_guid(search->census, &guid);
    struct span meant = span_make(NULL, 0);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && span_is_ascii(wanted->text); i++) {
        if (span_is(wanted->path, known[i].path)) {
            missing = !trace_census_may_have(search->census, known[i].name, wanted->text, &meant);
        }
    }
    if (missing) {
        char hint[LINE_BYTES / 2] = "";
        bool of_provider = is_guid || span_is(wanted->path, "provider.name");
        if (meant.size || of_provider) {
            add_hint(search, meant, hint, sizeof(hint));
        }
        tell(search, "%s: no event%s has %.*s '%.*s'%s", search->settings->rules,
            which_events(search), SPAN_ARG(wanted->path), SPAN_ARG(text), hint);
    }
}

static void tell_all(struct search *search)
{
    const struct no_match_settings *s = search->settings;
    size_t count = s->selection ? provider_selection_count(s->selection) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!provider_selection_matched(s->selection, i)) {
            tell_entry(search, i);
        }
    }
    for (size_t i = 0; i < s->filter_count; i++) {
        filter_each_wanted(s->filters[i], tell_wanted, search);
    }
}

bool no_match_find(
    const struct no_match_settings *settings, struct no_match *ret_found, struct error *err)
{
    size_t count = settings->selection ? provider_selection_count(settings->selection) : 0;
    struct search search = {.settings = settings, .census = trace_census_create()};
    search.entries = calloc(count + 1, sizeof(*search.entries));
    bool good = search.census && search.entries;
    if (!good) {
        error_set(err, ERR_MEMORY, "out of memory");
    } else {
        search.count = trace_census_observer(search.census);
        good = read_again(&search, err);
    }
    if (good && search.seen) {
        tell_all(&search);
    }
    trace_census_destroy(search.census);
    free(search.entries);
    *ret_found = (struct no_match){.findings = search.found, .seen = search.seen};
    return good;
}
