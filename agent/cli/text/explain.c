#include "cli/text/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_rules.h"
#include "app/plan/app_scope.h"
#include "base/visible.h"
#include "cli/text/keyword_words.h"
#include "etw/etw_names.h"
#include "filter/push/filter_push.h"

static void look_at_list(void *self, const char *where, const struct config_list *list)
{
    struct explain *explain = self;
    const struct app_rule *rules = list->items;
    (void)where;
    for (size_t i = 0; i < list->count; i++) {
        const char *const *text = app_rules_text(&rules[i]);
        if (config_written(explain->config->memory, text, sizeof(*text))) {
            explain->hides = true;
        }
    }
}

bool explain_init(struct explain *explain, const struct app_config *config,
    void (*warn)(void *self, const char *text), struct error *err)
{
    size_t count;
    const char **paths = app_config_schema_paths(config, &count);
    *explain = (struct explain){.config = config};
    if (!paths) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    const struct schema_source_settings sources = {
        .paths = paths, .path_count = count, .language = config->agent.language, .warn = warn};
    explain->schemas = schema_shared_create(&sources, err);
    free(paths);
    app_rules_each(config, look_at_list, explain);
    const struct schema_cache_settings definitions = {
        .shared = explain->schemas, .no_builtin = true};
    explain->definitions = explain->schemas ? schema_cache_create(&definitions, err) : NULL;
    const struct agent_plan_settings settings = {
        .config = config, .schemas = explain->schemas, .for_words = true};
    return explain->definitions && agent_plan_init(&explain->plan, &settings, err);
}

void explain_fini(struct explain *explain)
{
    agent_plan_fini(&explain->plan);
    schema_cache_destroy(explain->definitions);
    schema_shared_destroy(explain->schemas);
}

size_t explain_find(const struct explain *explain, const char *name)
{
    for (size_t i = 0; i < explain->plan.session_count; i++) {
        if (strcmp(agent_plan_session_name(&explain->plan, i), name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void ask(
    const struct app_session *session, const struct provider_spec *spec, struct explain_call *call)
{
    struct provider_spec alone = *spec;
    uint32_t unused;
    memset(&call->request, 0, sizeof(call->request));
    memset(&call->wide, 0, sizeof(call->wide));
    alone.scope = NULL;
    etw_plan_request(spec, &call->request, &call->too_much);
    etw_plan_request(&alone, &call->wide, &unused);
    const struct etw_system_provider *system = etw_plan_system_provider(spec, session->ops->kernel);
    if (system) {
        call->request.provider = system->guid;
    }
    call->spec = spec;
    call->nothing = spec->scope && spec->scope->nothing;
    call->hindrance = app_scope_hindrance(session, spec);
}

/* As in a running session (etw_providers.c): all entries of one provider become one request. */
static void join(struct explain_call *into, const struct explain_call *other)
{
    into->entries++;
    if (other->nothing) {
        return;
    }
    if (into->nothing) {
        const struct explain_call before = *into;
        *into = *other;
        into->entries = before.entries;
        into->provider = before.provider;
        return;
    }
    etw_enable_merge(&into->request, &other->request);
    etw_enable_merge(&into->wide, &other->wide);
    into->too_much |= other->too_much;
}

bool explain_each(const struct explain *explain, size_t session, explain_fn *each, void *self)
{
    const struct app_session *config = explain->plan.session_configs[session];
    const struct app_provider *providers = config->providers.items;
    size_t count = config->ops->switches_on ? config->providers.count : 0;
    struct explain_call *calls = calloc(count + 1, sizeof(*calls));
    struct explain_call *one = calls ? &calls[count] : NULL;
    size_t call_count = 0;
    for (size_t i = 0; calls && i < count; i++) {
        *one = (struct explain_call){.provider = &providers[i], .entries = 1};
        ask(config, &explain->plan.providers[session][i], one);
        size_t at = 0;
        while (
            at < call_count && !guid_equal(&calls[at].request.provider, &one->request.provider)) {
            at++;
        }
        if (at < call_count) {
            join(&calls[at], one);
        } else {
            calls[call_count++] = *one;
        }
    }
    for (size_t i = 0; i < call_count; i++) {
        each(self, &calls[i]);
    }
    free(calls);
    return calls != NULL;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* The output of the session without rules; NULL: there is none. */
static const struct app_output *takes_all(const struct explain *explain, size_t session)
{
    for (size_t i = 0; i < explain->plan.output_count; i++) {
        const struct app_output *output = explain->plan.output_configs[i];
        if (agent_plan_takes(&explain->plan, session, i) && output->filters.count == 0) {
            return output;
        }
    }
    return NULL;
}

size_t explain_rules(const struct explain *explain, size_t session, size_t *ret_of_outputs)
{
    const struct app_session *config = explain->plan.session_configs[session];
    const struct app_provider *providers = config->providers.items;
    size_t count = explain->config->filters.count + config->filters.count;
    *ret_of_outputs = 0;
    for (size_t i = 0; i < config->providers.count; i++) {
        count += providers[i].filters.count;
    }
    for (size_t i = 0; i < explain->plan.output_count; i++) {
        *ret_of_outputs += agent_plan_takes(&explain->plan, session, i)
                               ? explain->plan.output_configs[i]->filters.count
                               : 0;
    }
    return count + *ret_of_outputs;
}

const char *explain_value(const struct explain *explain, const char *value)
{
    return explain->hides ? "(set)" : value;
}

/* ---- keywords -------------------------------------------------------------------------------- */

struct keyword_names {
    const struct guid *guid;
    uint64_t left; /* bits without a name */
    struct buf *out;
    const char *comma;
};

static void add_name(struct keyword_names *names, uint64_t bits, struct span name)
{
    if (bits && (bits & names->left) == bits && name.size) {
        buf_add_text(names->out, names->comma);
        visible_add(names->out, name);
        names->left &= ~bits;
        names->comma = ", ";
    }
}

static void look_at(void *self, const struct event_schema *schema)
{
    struct keyword_names *names = self;
    for (size_t i = 0; guid_equal(&schema->provider, names->guid) && i < schema->keyword_count;
         i++) {
        add_name(names, schema->keywords[i].mask, schema->keywords[i].name);
    }
}

static bool look_at_known(void *self, const struct etw_known_field *field)
{
    struct keyword_names *names = self;
    add_name(names, field->value, span_text(field->name));
    return names->left != 0;
}

void explain_keywords(
    const struct explain *explain, const struct guid *guid, uint64_t bits, struct buf *out)
{
    struct keyword_names names = {.guid = guid, .left = bits, .out = out, .comma = ""};
    schema_cache_list(explain->definitions, look_at, &names);
    etw_names_each_field(guid, ETW_FIELD_KEYWORD, look_at_known, &names);
}

/* ---- notes ----------------------------------------------------------------------------------- */

const char *explain_why(int why)
{
    static const char *const words[] = {
        [FILTER_PUSH_NO_FIELD] = "ETW does not filter by it",
        [FILTER_PUSH_NO_TEST] = "ETW has no such test",
        [FILTER_PUSH_BY_CASE] = "ETW compares text by case, as 'text'c does",
        [FILTER_PUSH_NO_DEFINITION] = "no definition here has its position in the payload",
        [FILTER_PUSH_NOT_ALONE] = "it does not decide alone",
    };
    return words[why];
}

static const char *limit_of(uint32_t kind)
{
    switch (kind) {
    case ETW_FILTER_KIND(ETW_FILTER_EVENT_ID):
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK):
        return "64 ids, and not names beside them";
    case ETW_FILTER_KIND(ETW_FILTER_EVENT_NAME):
    case ETW_FILTER_KIND(ETW_FILTER_STACKWALK_NAME):
        return "4,096 bytes of names, and not ids beside them";
    case ETW_FILTER_KIND(ETW_FILTER_PID):
        return "8 processes";
    default:
        return "1,024 bytes";
    }
}

struct notes {
    void (*note)(void *self, const char *text);
    void *self;
};

static void tell(const struct notes *notes, const char *format, ...) ETWSHIP_PRINTF(2, 3);

static void tell(const struct notes *notes, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    notes->note(notes->self, text);
}

/* Both the included and the excluded ids exceed the limit. */
static bool is_long(size_t id_count)
{
    return id_count > ETW_MAX_FILTER_IDS && FILTER_PUSH_IDS - id_count > ETW_MAX_FILTER_IDS;
}

static void note_scope(const struct notes *notes, const struct explain_call *call)
{
    const struct provider_scope *scope = call->spec->scope;
    if (scope->notes & FILTER_PUSH_MANY_IDS ||
        (scope->ids && call->request.events.count == 0 && is_long(scope->id_count))) {
        tell(notes,
            "rules select by more than %d event ids, which is ETW's limit: left to the agent",
            ETW_MAX_FILTER_IDS);
    }
    if (call->spec->group) {
        tell(notes, "ETW does not filter a group by ids, names or payload");
    }
    if (scope->notes & FILTER_PUSH_MANY_PIDS) {
        tell(notes, "rules keep more than %d processes, which is ETW's limit: left to the agent",
            ETW_MAX_FILTER_PIDS);
    }
    if (scope->notes & FILTER_PUSH_SYSTEM_PIDS) {
        tell(notes, "ETW does not filter kernel events by process: left to the agent");
    }
    if (scope->notes & FILTER_PUSH_ANY_LEVEL) {
        tell(notes, "all levels are enabled: rules keep levels above 5, and no manifest here "
                    "excludes them. event.level >= 5 drops them, too");
    }
    if (scope->notes & FILTER_PUSH_NO_LEVEL) {
        tell(
            notes, "all levels are enabled: rules keep events without a level in their definition");
    }
    if (scope->notes & FILTER_PUSH_NO_KEYWORDS) {
        tell(notes,
            "all keywords are enabled: rules keep events without keywords in their definition");
    }
    if (scope->notes & FILTER_PUSH_COMPLEX) {
        tell(notes, "rules test bits of numbers, or too many numbers, for ETW: left to the agent");
    }
    if (scope->notes & FILTER_PUSH_NEEDED) {
        tell(notes, "events about processes are always enabled, as other events need them");
    }
    if (!call->request.events.exclude &&
        etw_enable_has_id(&call->request.events, RECORD_MANIFEST_ID) &&
        !etw_enable_has_id(&call->wide.events, RECORD_MANIFEST_ID)) {
        tell(notes, "event %d is enabled, too: an EventSource describes its events with it",
            RECORD_MANIFEST_ID);
    }
    if (call->request.pid_count > 0 && call->wide.pid_count == 0) {
        tell(notes, "a process must run when the session starts");
    }
}

void explain_notes(const struct explain *explain, size_t session, const struct explain_call *call,
    void (*note)(void *self, const char *text), void *self)
{
    const struct notes notes = {note, self};
    const struct app_output *all = takes_all(explain, session);
    size_t of_outputs;
    size_t rules = explain_rules(explain, session, &of_outputs);
    if (call->entries > 1 && !call->nothing) {
        tell(&notes, "%zu entries name it and become one call with the events of all of them",
            call->entries);
    }
    for (uint32_t kinds = call->too_much; kinds; kinds &= kinds - 1) {
        uint32_t kind = kinds & (~kinds + 1);
        tell(&notes, "%s: ETW takes %s: left to the agent", etw_enable_kind_name(kind),
            call->spec->group ? "none for a group" : limit_of(kind));
    }
    if (!call->nothing) {
        keyword_words_each(&call->request, call->spec, note, self);
    }
    if (rules && call->hindrance) {
        tell(&notes, "rules are left to the agent, %s", call->hindrance);
    } else if (all && of_outputs) {
        tell(
            &notes, "output %s gets all events, so rules of other outputs exclude none", all->name);
    }
    if (call->spec->scope && !call->nothing) {
        note_scope(&notes, call);
    }
}
