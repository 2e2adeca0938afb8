#include "app/plan/agent_plan.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/config/app_boot.h"
#include "app/config/app_providers.h"
#include "app/config/app_rules.h"
#include "app/config/app_shape.h"
#include "app/plan/app_budgets.h"
#include "app/plan/app_scope.h"
#include "app/plan/session_selection.h"
#include "event/formats/event_format.h"
#include "platform/plat_clock.h"
#include "platform/plat_system.h"

/*
 * Sessions and outputs that are not enabled are left out, so numbers here are not those of the
 * configuration. Filters are compiled once each: of the agent, of each session, of each provider
 * with rules, and of each stream.
 */
enum { MAX_PLAN_BYTES = 256 * 1024 * 1024 };

/* ---- filters --------------------------------------------------------------------------------- */

static const struct app_rule *rules_of(const struct config_list *list)
{
    return list->items;
}

static bool explain(
    const struct app_rule *rule, const struct filter_place *place, struct error *err)
{
    size_t line;
    size_t column;
    char text[sizeof(err->text)];
    filter_position(span_text(*app_rules_text(rule)), place->offset, &line, &column);
    snprintf(text, sizeof(text), "%s", err->text);
    return error_set(err, ERR_CONFIG, "%s:%u:%u: error: at character %zu of the expression: %.300s",
        rule->position.file ? rule->position.file : "--set", (unsigned)rule->position.line,
        (unsigned)rule->position.column, column, text);
}

/* Compile a list; an empty one leaves ${ret_gate} as it is. */
static bool compile(struct agent_plan *plan, const struct config_list *list, const char *of,
    const char *name, struct gate *ret_gate, struct error *err)
{
    if (list->count == 0) {
        return true;
    }
    struct filter_rule *rules = calloc(list->count, sizeof(*rules));
    struct agent_filter *filter = &plan->filters[plan->filter_count];
    snprintf(filter->where, sizeof(filter->where), "%s%s", of, name);
    if (!rules) {
        return error_set(err, ERR_MEMORY, "out of memory for filters");
    }
    plan->filter_count++;
    for (size_t i = 0; i < list->count; i++) {
        rules[i] = app_rules_filter_rule(&rules_of(list)[i]);
    }
    struct filter_place place = {.rule = 0};
    filter->filter = filter_create(rules, list->count, &place, err);
    free(rules);
    if (!filter->filter) {
        return err->code == ERR_MEMORY ? false : explain(&rules_of(list)[place.rule], &place, err);
    }
    filter->hits = calloc(list->count + 1, sizeof(*filter->hits));
    filter->dropped = calloc(list->count + 1, sizeof(*filter->dropped));
    if (!filter->hits || !filter->dropped) {
        return error_set(err, ERR_MEMORY, "out of memory for filters");
    }
    *ret_gate = (struct gate){
        .filter = filter->filter, .hits = filter->hits, .dropped = filter->dropped};
    for (size_t i = 0; i < list->count; i++) {
        ret_gate->rolls_up |= rules_of(list)[i].rollup.every_ns > 0;
    }
    for (size_t i = 0; i < list->count && !filter->limiter; i++) {
        if (rules_of(list)[i].limit.rate) {
            filter->limiter = limiter_create(filter->filter, plan->session_count, err);
            ret_gate->limiter = filter->limiter;
            return filter->limiter != NULL;
        }
    }
    return true;
}

static size_t count_filters(const struct app_config *config)
{
    size_t count = 1 + config->output_count;
    for (size_t i = 0; i < config->session_count; i++) {
        count += 2 * (1 + config->sessions[i].providers.count); /* with its boot file */
    }
    return count;
}

/* ---- providers of a session ------------------------------------------------------------------ */

static bool plan_budgets(struct agent_plan *plan, const struct app_config *all, size_t index,
    const struct provider_spec *specs, struct error *err)
{
    const struct app_session *config = plan->session_configs[index];
    struct pipeline_session *session = &plan->sessions[index];
    return config->ops->replayable || config->ops->waits ||
           app_budgets_plan(all, config, specs, &plan->memory, &session->budget) ||
           error_set(err, ERR_MEMORY, "out of memory for the budgets of providers");
}

/* Lists of outputs that take the session; SIZE_MAX: one has none, and keeps all. */
static size_t list_outputs(const struct agent_plan *plan, size_t index, const struct filter **ret)
{
    const struct pipeline_session *session = &plan->sessions[index];
    for (size_t i = 0; i < session->stream_count; i++) {
        ret[i] = plan->streams[session->streams[i]].shape.gate.filter;
        if (!ret[i]) {
            return SIZE_MAX;
        }
    }
    return session->stream_count;
}

/* The scope of the filters of session ${index}. */
struct session_filters {
    const struct filter *gates[2];
    const struct filter **outputs; /* in the plan's memory */
    struct app_scope_settings scope;
};

/* ${ret_filters}->scope points into it. */
static bool find_filters(
    struct agent_plan *plan, size_t index, struct session_filters *ret_filters, struct error *err)
{
    struct session_filters *f = ret_filters;
    const struct pipeline_session *session = &plan->sessions[index];
    f->outputs = arena_alloc_array(&plan->memory, plan->stream_count + 1, sizeof(*f->outputs));
    if (!f->outputs) {
        return error_set(err, ERR_MEMORY, "out of memory for filters");
    }
    size_t output_count = list_outputs(plan, index, f->outputs);
    for (size_t i = 0; i < session->rules.gate_count; i++) {
        f->gates[i] = session->rules.gates[i].filter;
    }
    f->scope = (struct app_scope_settings){.session = plan->session_configs[index],
        .lists = f->gates,
        .list_count = session->rules.gate_count,
        .outputs = f->outputs,
        .output_count = output_count == SIZE_MAX ? 0 : output_count,
        .memory = &plan->memory};
    return true;
}

/* Which events of its providers session ${index} need not ask ETW for,
 * since no stream keeps them. */
static bool plan_scopes(struct agent_plan *plan, const struct agent_plan_settings *settings,
    size_t index, const struct filter *const *entries, struct provider_spec *specs,
    struct error *err)
{
    const struct schema_cache_settings definitions = {
        .shared = settings->schemas, .no_builtin = true};
    struct session_filters filters;
    if (!find_filters(plan, index, &filters, err)) {
        return false;
    }
    struct schema_cache *cache = settings->schemas ? schema_cache_create(&definitions, err) : NULL;
    filters.scope.entries = entries;
    filters.scope.definitions = cache;
    bool ok = (cache || !settings->schemas) &&
              app_scope_find(
                  &filters.scope, specs, plan->session_configs[index]->providers.count, err);
    schema_cache_destroy(cache);
    return ok;
}

/* The filters that entries of session ${index} have of their own. ${ret_entries}: by entry, NULL:
 * it has none. */
static bool plan_gates(struct agent_plan *plan, const struct agent_plan_settings *settings,
    size_t index, const struct provider_spec *specs, struct session_selection *selection,
    const struct filter **ret_entries, struct error *err)
{
    const struct app_session *config = plan->session_configs[index];
    const struct app_provider *providers = config->providers.items;
    for (size_t i = 0; i < config->providers.count; i++) {
        if (providers[i].filters.count == 0) {
            continue;
        }
        struct provider_gate *gate = &selection->gates[selection->gate_count];
        if (!settings->for_words) {
            gate->selection = provider_selection_create_from(&specs[i], 1, false, err);
            if (!gate->selection) {
                return false;
            }
        }
        selection->gate_count++;
        if (!compile(plan, &providers[i].filters, "providers of session ", config->name,
                &gate->gate, err)) {
            return false;
        }
        ret_entries[i] = gate->gate.filter;
        if (filter_has_edits(gate->gate.filter)) {
            plan->sessions[index].rules.edits = session_selection_edit;
        }
    }
    plan->sessions[index].rules.selects = selection->gate_count ? session_selection_selects : NULL;
    return true;
}

static bool plan_providers(struct agent_plan *plan, const struct agent_plan_settings *settings,
    size_t index, struct session_selection *selection, struct error *err)
{
    const struct app_config *all = settings->config;
    const struct app_session *config = plan->session_configs[index];
    const struct app_provider *providers = config->providers.items;
    size_t count = config->providers.count;
    struct provider_spec *specs = arena_alloc_array(&plan->memory, count, sizeof(*specs));
    const struct filter **entries = arena_alloc_array(
        &plan->memory, count, sizeof(struct filter *));
    selection->gates = calloc(count, sizeof(*selection->gates));
    selection->is_live = config->ops->switches_on;
    plan->providers[index] = specs;
    if (!specs || !selection->gates || !entries) {
        return error_set(err, ERR_MEMORY, "out of memory for providers");
    }
    for (size_t i = 0; i < count; i++) {
        specs[i] = providers[i].spec;
    }
    /* As the session does that wrote a boot file: its reader has the same providers. */
    bool ok = app_providers_resolve(all, plan->events_of[index], specs, err);
    for (size_t i = 0; !ok && settings->for_words && i < count; i++) {
        specs[i] = providers[i].spec;
    }
    ok = (ok || settings->for_words) && plan_budgets(plan, all, index, specs, err);
    if (ok && !settings->for_words) {
        selection->selection = provider_selection_create_from(
            specs, count, selection->is_live, err);
        ok = selection->selection != NULL;
    }
    return ok && plan_gates(plan, settings, index, specs, selection, entries, err) &&
           (!selection->is_live || plan_scopes(plan, settings, index, entries, specs, err));
}

/* ---- outputs and streams --------------------------------------------------------------------- */

/* Batches of a stream are sealed as the most impatient of its outputs wants it. */
static void narrow(struct pipeline_stream *stream, const struct app_config *config,
    const struct app_output *output)
{
    const struct app_batch *batch = &output->batch;
    size_t events = (size_t)batch->events;
    size_t bytes = (size_t)app_config_batch_bytes(config, output);
    stream->max_events = events < stream->max_events ? events : stream->max_events;
    stream->max_bytes = bytes < stream->max_bytes ? bytes : stream->max_bytes;
    stream->max_age_ns = batch->age_ns < stream->max_age_ns ? batch->age_ns : stream->max_age_ns;
}

/* The stream's template for the output, if it has one; false: the stream has no room for it. */
static bool route(
    struct agent_plan *plan, struct pipeline_output *output, const char *text, struct error *err)
{
    struct pipeline_stream *stream = &plan->streams[output->stream];
    if (stream->shape.route_count == STREAM_MAX_ROUTES ||
        plan->template_count == sizeof(plan->templates) / sizeof(plan->templates[0])) {
        return error_set(err, ERR_LIMIT,
            "output %s: too many outputs with paths or indexes of "
            "their own. at most %d for one format and filter",
            output->name, STREAM_MAX_ROUTES);
    }
    struct event_template *template = event_template_create(
        span_text(text), output->ops->route_safety, err);
    if (!template) {
        return false;
    }
    plan->templates[plan->template_count++] = template;
    output->route = stream->shape.route_count;
    stream->shape.routes[stream->shape.route_count++] = template;
    return true;
}

static size_t find_stream(
    const struct agent_plan *plan, const struct app_config *config, size_t output)
{
    for (size_t i = 0; i < output; i++) {
        size_t stream = plan->outputs[i].stream;
        bool full = plan->streams[stream].shape.route_count == STREAM_MAX_ROUTES;
        if (!full &&
            app_config_same_stream(config, plan->output_configs[i], plan->output_configs[output])) {
            return stream;
        }
    }
    return plan->stream_count;
}

static bool plan_output(struct agent_plan *plan, size_t index,
    const struct agent_plan_settings *settings, struct error *err)
{
    enum { MAX_WAIT_MS = 24 * 3600 * 1000 };
    const struct app_output *config = plan->output_configs[index];
    uint64_t min_ms = config->retry.min_ns / NS_PER_MS;
    uint64_t max_ms = config->retry.max_ns / NS_PER_MS;
    struct pipeline_output *output = &plan->outputs[index];
    size_t stream_index = find_stream(plan, settings->config, index);
    *output = (struct pipeline_output){.name = config->name,
        .ops = config->ops,
        .settings = config->settings,
        .retry = {.min_ms = (unsigned)(min_ms > MAX_WAIT_MS ? MAX_WAIT_MS : min_ms),
            .max_ms = (unsigned)(max_ms > MAX_WAIT_MS ? MAX_WAIT_MS : max_ms),
            .max_age_ns = config->retry.max_age_ns == CONFIG_NEVER ? 0 : config->retry.max_age_ns},
        .workers = (size_t)config->workers,
        .own_bytes = (size_t)app_config_own_bytes(settings->config, config),
        .stream = stream_index,
        .route = SIZE_MAX,
        .ids = config->ops->ids && config->ops->ids(config->settings)};
    struct pipeline_stream *stream = &plan->streams[stream_index];
    if (stream_index == plan->stream_count) {
        *stream = (struct pipeline_stream){
            .shape = {.format = event_format_find(span_text(app_config_format(config))),
                .options = app_shape_options(config),
                .colors = settings->colors},
            .max_bytes = SIZE_MAX,
            .max_events = SIZE_MAX,
            .max_age_ns = UINT64_MAX};
        if (!stream->shape.format) {
            return error_set(err, ERR_CONFIG, "output %s: format %s is not in this build",
                config->name, app_config_format(config));
        }
        plan->stream_count++;
        if (!app_shape_hash(config, &stream->hash, err) ||
            !compile(plan, &config->filters, "output ", config->name, &stream->shape.gate, err)) {
            return false;
        }
    }
    stream->shape.ids |= output->ids;
    narrow(stream, settings->config, config);
    const char *text = config->ops->route ? config->ops->route(config->settings) : NULL;
    return !text || route(plan, output, text, err);
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void list_streams(struct agent_plan *plan, size_t index)
{
    struct pipeline_session *session = &plan->sessions[index];
    size_t *list = plan->stream_lists + index * (plan->output_count + 1);
    session->streams = list;
    for (size_t i = 0; i < plan->stream_count; i++) {
        for (size_t o = 0; o < plan->output_count; o++) {
            if (plan->outputs[o].stream == i && agent_plan_takes(plan, index, o)) {
                list[session->stream_count++] = i;
                break;
            }
        }
    }
}

/* Which records session ${index} need not ask the Event Log for, since no stream keeps them. */
static bool plan_evt_scope(struct agent_plan *plan, size_t index, struct error *err)
{
    struct session_filters filters;
    return find_filters(plan, index, &filters, err) &&
           app_scope_of_logs(&filters.scope, &plan->evt_scopes[index], err);
}

static bool plan_session(struct agent_plan *plan, size_t index,
    const struct agent_plan_settings *settings, struct error *err)
{
    const struct app_session *config = plan->session_configs[index];
    struct pipeline_session *session = &plan->sessions[index];
    struct codepage *ansi = &plan->codepages[index];
    struct gate *gates = plan->gates + index * 2;
    *session = (struct pipeline_session){.name = config->name,
        .shown = plan->events_of[index]->name,
        .ansi = ansi,
        .rules.gates = gates,
        .replayable = config->ops->replayable,
        .waits = config->ops->waits,
        .block_for_ns = config->block_for_ns,
        .max_events = settings->max_events};
    if (config->ops->decoding) {
        config->ops->decoding(config->settings, &session->decoding);
    }
    uint32_t codepage = session->decoding.codepage;
    if (!plat_codepage_init(ansi, codepage ? codepage : codepage_1252.id, err)) {
        return false;
    }
    list_streams(plan, index);
    if (plan->all.filter) {
        gates[session->rules.gate_count++] = plan->all;
    }
    struct gate own = {.filter = NULL};
    if (!compile(plan, &config->filters, "session ", config->name, &own, err)) {
        return false;
    }
    if (own.filter) {
        gates[session->rules.gate_count++] = own;
    }
    if (config->providers.count) {
        struct session_selection *selection = &plan->selections[index];
        session->rules.wants = session_selection_wants;
        session->rules.selection = selection;
        return plan_providers(plan, settings, index, selection, err);
    }
    return plan_budgets(plan, settings->config, index, NULL, err) &&
           (!config->ops->needs_eventlog || plan_evt_scope(plan, index, err));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool allocate(struct agent_plan *plan, const struct app_config *config, struct error *err)
{
    struct arena *memory = &plan->memory;
    size_t sessions = 2 * config->session_count + 1; /* each may have a boot file */
    size_t outputs = config->output_count + 1;
    plan->sessions = arena_alloc_array(memory, sessions, sizeof(*plan->sessions));
    plan->session_configs = arena_alloc_array(memory, sessions, sizeof(*plan->session_configs));
    plan->events_of = arena_alloc_array(memory, sessions, sizeof(*plan->events_of));
    plan->providers = arena_alloc_array(memory, sessions, sizeof(struct provider_spec *));
    plan->evt_scopes = arena_alloc_array(memory, sessions, sizeof(*plan->evt_scopes));
    plan->streams = arena_alloc_array(memory, outputs, sizeof(*plan->streams));
    plan->outputs = arena_alloc_array(memory, outputs, sizeof(*plan->outputs));
    plan->output_configs = arena_alloc_array(memory, outputs, sizeof(*plan->output_configs));
    plan->takes = arena_alloc_array(memory, sessions * outputs, sizeof(*plan->takes));
    plan->stream_lists = arena_alloc_array(memory, sessions * outputs, sizeof(*plan->stream_lists));
    plan->codepages = arena_alloc_array(memory, sessions, sizeof(*plan->codepages));
    plan->gates = arena_alloc_array(memory, sessions * 2, sizeof(*plan->gates));
    plan->selections = arena_alloc_array(memory, sessions, sizeof(*plan->selections));
    plan->filters = arena_alloc_array(memory, count_filters(config), sizeof(*plan->filters));
    bool ok = plan->sessions && plan->session_configs && plan->events_of && plan->providers &&
              plan->evt_scopes && plan->streams && plan->outputs && plan->output_configs &&
              plan->takes && plan->stream_lists && plan->codepages && plan->gates &&
              plan->selections && plan->filters;
    return ok || error_set(err, ERR_MEMORY, "out of memory");
}

/* Without a folder it would not be known what of a boot file was read, so it is not. */
static bool choose_session(struct agent_plan *plan, const struct app_session *session,
    const char *data_dir, struct error *err)
{
    plan->events_of[plan->session_count] = session;
    plan->session_configs[plan->session_count++] = session;
    if (data_dir && app_boot_is_read(session)) {
        const struct app_session *reader = app_boot_reader(session, data_dir, &plan->memory, err);
        if (!reader) {
            return false;
        }
        plan->events_of[plan->session_count] = session;
        plan->session_configs[plan->session_count++] = reader;
    }
    return true;
}

static bool choose(struct agent_plan *plan, const struct app_config *config, struct error *err)
{
    const char *data_dir = app_config_data_dir(config);
    for (size_t i = 0; i < config->session_count; i++) {
        if (config->sessions[i].enabled &&
            !choose_session(plan, &config->sessions[i], data_dir, err)) {
            return false;
        }
    }
    for (size_t i = 0; i < config->output_count; i++) {
        if (config->outputs[i].enabled) {
            plan->output_configs[plan->output_count++] = &config->outputs[i];
        }
    }
    for (size_t s = 0; s < plan->session_count; s++) {
        for (size_t o = 0; o < plan->output_count; o++) {
            plan->takes[s * plan->output_count + o] = app_config_takes(
                plan->output_configs[o], plan->events_of[s]);
        }
    }
    return true;
}

bool agent_plan_init(
    struct agent_plan *plan, const struct agent_plan_settings *settings, struct error *err)
{
    *plan = (struct agent_plan){.session_count = 0};
    arena_init(&plan->memory, MAX_PLAN_BYTES);
    if (!allocate(plan, settings->config, err)) {
        return false;
    }
    bool ok = choose(plan, settings->config, err) &&
              compile(plan, &settings->config->filters, "all sessions", "", &plan->all, err);
    for (size_t i = 0; ok && i < plan->output_count; i++) {
        ok = plan_output(plan, i, settings, err);
    }
    for (size_t i = 0; ok && i < plan->session_count; i++) {
        ok = plan_session(plan, i, settings, err);
    }
    return ok;
}

void agent_plan_fini(struct agent_plan *plan)
{
    for (size_t i = 0; i < plan->session_count; i++) {
        session_selection_fini(&plan->selections[i]);
        plat_codepage_fini(&plan->codepages[i]);
    }
    for (size_t i = 0; i < plan->filter_count; i++) {
        filter_destroy(plan->filters[i].filter);
        free(plan->filters[i].hits);
        free(plan->filters[i].dropped);
        limiter_destroy(plan->filters[i].limiter);
    }
    for (size_t i = 0; i < plan->template_count; i++) {
        event_template_destroy(plan->templates[i]);
    }
    arena_fini(&plan->memory);
}

const struct provider_selection *agent_plan_selection(const struct agent_plan *plan, size_t session)
{
    return plan->selections[session].selection;
}

size_t agent_plan_find_session(const struct agent_plan *plan, struct span name)
{
    size_t s = 0;
    while (s < plan->session_count && !span_is(name, agent_plan_session_name(plan, s))) {
        s++;
    }
    return s;
}

size_t agent_plan_find_output(const struct agent_plan *plan, struct span name)
{
    size_t o = 0;
    while (o < plan->output_count && !span_is(name, agent_plan_output_name(plan, o))) {
        o++;
    }
    return o;
}
