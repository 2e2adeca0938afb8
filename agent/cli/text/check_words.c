#include "cli/text/check_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "app/config/app_edits.h"
#include "app/config/app_fields.h"
#include "app/config/app_limits.h"
#include "app/config/app_memory.h"
#include "app/config/app_rules.h"
#include "app/plan/app_budgets.h"
#include "app/plan/app_streams.h"
#include "app/state/data_folder.h"
#include "cli/text/check_places.h"
#include "cli/text/policy_words.h"
#include "cli/text/typed_words.h"
#include "config/config_show.h"
#include "config/config_value.h"
#include "event/value/value_json.h"
#include "event/write/event_writer.h"
#include "platform/plat_file.h"

/* ---- providers ------------------------------------------------------------------------------- */

static void put_events(const char *word, const struct provider_events *events, struct buf *out)
{
    if (events->range_count + events->name_count == 0) {
        return;
    }
    buf_add_text(out, word);
    for (size_t i = 0; i < events->range_count; i++) {
        const struct provider_id_range *range = &events->ranges[i];
        buf_printf(out, "%s%u", i ? ", " : " ", range->first);
        if (range->last != range->first) {
            buf_printf(out, "-%u", range->last);
        }
    }
    for (size_t i = 0; i < events->name_count; i++) {
        buf_printf(out, "%s%s", i + events->range_count ? ", " : " ", events->names[i]);
    }
}

static void put_keywords(const char *word, const struct provider_keywords *keywords, uint64_t bits,
    bool resolved, struct buf *out)
{
    if (!keywords->bits && !keywords->name_count) {
        return;
    }
    buf_printf(out, "; keywords: %s of", word);
    for (size_t i = 0; i < keywords->name_count; i++) {
        buf_printf(out, " %s", keywords->names[i]);
    }
    if (keywords->bits || resolved) {
        buf_printf(out, keywords->name_count ? " (0x%" PRIx64 ")" : " 0x%" PRIx64,
            resolved ? bits : keywords->bits);
    }
}

static void put_texts_of(const char *word, const char *const *items, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s%s", i ? ", " : word, items[i]);
    }
}

/* Filters without effect are left out: check_places.h lists them as not applied. */
static void put_processes(
    const struct app_session *session, const struct provider_spec *spec, struct buf *out)
{
    for (size_t i = 0; i < spec->pid_count && check_places_keeps_pids(session, spec); i++) {
        buf_printf(out, "%s%" PRIu32, i ? ", " : "; only of process ", spec->pids[i]);
    }
    if (check_places_asks_etw(session, spec)) {
        put_texts_of("; only of ", spec->executables.items, spec->executables.count, out);
        put_texts_of("; only of package ", spec->packages.items, spec->packages.count, out);
        put_texts_of("; only of application ", spec->apps.items, spec->apps.count, out);
        put_texts_of("; only of container ", &spec->container, spec->container != NULL, out);
    }
}

static void put_extras(
    const struct app_session *session, const struct provider_spec *spec, struct buf *out)
{
    for (size_t i = 0; app_extended_names[i] && session->ops->switches_on; i++) {
        if (spec->extended >> i & 1) {
            buf_printf(out, "; with %s", app_extended_names[i]);
        }
    }
    put_processes(session, spec, out);
    if (spec->payload.count && !spec->group && check_places_asks_etw(session, spec)) {
        buf_printf(out, "; ETW filters %zu of its events by payload", spec->payload.count);
    }
    if (spec->optional) {
        buf_add_text(out, "; may be missing");
    }
}

static void put_budget(const char *before, const struct app_budget *budget, struct buf *out)
{
    if (budget->events || budget->bytes) {
        buf_add_text(out, before);
        app_budgets_write((uint64_t)budget->events, budget->bytes, out);
        buf_printf(
            out, ", at once events of %s", config_value_write_duration(budget->burst_ns).text);
    }
}

static void put_provider(const struct app_session *session, const struct app_provider *provider,
    const struct provider_facts *facts, struct buf *out)
{
    const struct provider_spec *spec = &provider->spec;
    char guid[GUID_TEXT_SIZE];
    bool is_known = facts && facts->is_known;
    guid_write(is_known ? &facts->guid : &spec->guid, guid);
    bool has_guid = is_known || spec->name.size == 0;
    struct span name = is_known ? facts->name : spec->name;
    buf_add_text(out, "      ");
    if (provider->wpp) {
        buf_printf(out, "WPP messages of %s", provider->wpp);
        if (!guid_is_zero(&spec->guid)) {
            buf_printf(out, " from {%.36s}", guid);
        }
    } else {
        buf_printf(out, "%.*s%s", SPAN_ARG(name), name.size && has_guid ? " " : "");
        if (has_guid) {
            buf_printf(out, "{%.36s}", guid);
        }
    }
    if (facts && !provider->wpp && !facts->found) {
        buf_add_text(out, " (no definition)");
    }
    if (spec->level == 0 || spec->level == PROVIDER_LEVEL_ALL) {
        buf_add_text(out, ": every level");
    } else {
        buf_printf(out, ": level %u and more severe", spec->level);
    }
    put_events("; only events", &spec->include, out);
    put_events("; not events", &spec->exclude, out);
    put_keywords("any", &spec->any, facts ? facts->any_bits : 0, facts && facts->found, out);
    put_keywords("all", &spec->all, facts ? facts->all_bits : 0, facts && facts->found, out);
    put_extras(session, spec, out);
    if (!app_budgets_problem(session, provider)) {
        put_budget("; budget ", &provider->budget, out);
    }
    buf_add_byte(out, '\n');
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* The text in the file: values of environment variables may be secret. */
static const char *as_written(const struct check *check, const char *const *member)
{
    const char *written = config_written(check->config->memory, member, sizeof(*member));
    return written ? written : *member;
}

static const char *place_of(const struct app_rule *rule)
{
    static const char *const places[] = {
        [EVENT_PATH_RECORD] = "by the header, before the definition is looked up",
        [EVENT_PATH_SCHEMA] = "by the definition, before the payload is read",
        [EVENT_PATH_EVENT] = "by the payload",
    };
    const struct filter_rule one = app_rules_filter_rule(rule);
    struct filter_place place;
    struct filter *filter = filter_create(&one, 1, &place, NULL);
    const char *text = filter ? places[filter_need(filter)] : "";
    filter_destroy(filter);
    return text;
}

static void put_rules(
    const struct check *check, const char *indent, const struct config_list *list, struct buf *out)
{
    const struct app_rule *rules = list->items;
    for (size_t i = 0; i < list->count && check->verbose; i++) {
        const struct app_sample *sample = &rules[i].sample;
        buf_printf(out, "%s%s ", indent, app_rules_word(app_rules_action(&rules[i])));
        if (sample->rate) {
            buf_printf(out, "%s by %s: ", as_written(check, &sample->rate),
                sample->by ? as_written(check, &sample->by) : "activity_id");
        }
        const struct app_limit *limit = &rules[i].limit;
        if (limit->rate) {
            buf_printf(out, "%s", as_written(check, &limit->rate));
            for (size_t k = 0; k < limit->per.count; k++) {
                buf_printf(
                    out, "%s%s", k ? ", " : " per ", as_written(check, &limit->per.items[k]));
            }
            buf_add_text(out, ": ");
        }
        bool decides = filter_action_decides(app_rules_action(&rules[i]));
        if (!decides) {
            app_edits_words(&rules[i], check->config->memory, out);
        }
        buf_printf(out, "%s\n%s  %s%s\n", as_written(check, app_rules_text(&rules[i])), indent,
            decides ? "decided " : "applied to kept events", decides ? place_of(&rules[i]) : "");
    }
}

/* ---- sessions -------------------------------------------------------------------------------- */

static void put_outputs_of(
    const struct app_config *config, const struct app_session *session, struct buf *out)
{
    const char *comma = "";
    bool delivers = input_delivers(session->ops, session->settings);
    buf_add_text(out, delivers ? "" : "no output");
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        if (output->enabled && app_config_takes(output, session) && delivers) {
            buf_printf(out, "%s%s", comma, output->name);
            comma = ", ";
        }
    }
}

/* Text values among the session type's own keys: paths, flags, another session's name. */
static void put_texts(const struct check *check, const struct app_session *session, struct buf *out)
{
    for (const struct config_field *f = session->variant->fields; f->key; f++) {
        const void *member = (const uint8_t *)session->settings + f->offset;
        if (f->type == CONFIG_STRINGS || f->type == CONFIG_PATHS) {
            const struct config_strings *strings = member;
            for (size_t i = 0; i < strings->count; i++) {
                buf_printf(out, "%s%s%s%s", i ? ", " : "; ", i ? "" : f->key, i ? "" : " ",
                    as_written(check, &strings->items[i]));
            }
        } else if (f->type == CONFIG_STRING && *(const char *const *)member) {
            buf_printf(out, "; %s %s", f->key, as_written(check, member));
        }
    }
}

static bool has_budget(const struct app_session *session)
{
    const struct app_provider *providers = session->providers.items;
    bool any = session->provider_budget.events || session->provider_budget.bytes;
    for (size_t i = 0; i < session->providers.count; i++) {
        any = any || providers[i].budget.events || providers[i].budget.bytes;
    }
    return any && !app_budgets_problem(session, NULL);
}

static void put_session(const struct check *check, const struct app_session *session,
    const struct provider_facts *facts, struct buf *out)
{
    buf_printf(
        out, "  %s (%s)%s", session->name, session->type, session->enabled ? "" : ", not enabled");
    put_texts(check, session, out);
    if (session->providers.count) {
        buf_printf(out, "; %zu provider%s", session->providers.count,
            session->providers.count == 1 ? "" : "s");
    }
    if (session->filters.count) {
        buf_printf(
            out, "; %zu rule%s", session->filters.count, session->filters.count == 1 ? "" : "s");
    }
    buf_add_text(out, "\n    to ");
    put_outputs_of(check->config, session, out);
    buf_add_byte(out, '\n');
    if (check->verbose && has_budget(session)) {
        put_budget("      each provider: budget ", &session->provider_budget, out);
        buf_printf(out, "%s      %s\n",
            session->provider_budget.events || session->provider_budget.bytes ? "\n" : "",
            app_budgets_order);
    }
    if (check->verbose && session->ops->needs_etw) {
        check_places_write_session(session, "      ", out);
    }
    const struct app_provider *providers = session->providers.items;
    for (size_t i = 0; i < session->providers.count && check->verbose; i++) {
        put_provider(session, &providers[i], facts ? &facts[i] : NULL, out);
        check_places_write(session, &providers[i], "        ", out);
        put_rules(check, "        ", &providers[i].filters, out);
    }
    put_rules(check, "      ", &session->filters, out);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void put_typed_line(void *out_, const char *text)
{
    buf_printf(out_, "      %s\n", text);
}

static const struct typed_fields *typed_of(
    const struct check *check, const struct app_output *output)
{
    const struct typed_fields *typed = check->typed
                                           ? check->typed + (output - check->config->outputs)
                                           : NULL;
    return typed && typed->fields ? typed : NULL;
}

static void put_output(const struct check *check, const struct app_output *output, struct buf *out)
{
    enum { MAX_CONFLICTS = 20, MAX_STREAM_BYTES = 1024 };
    const struct typed_fields *typed = typed_of(check, output);
    const struct app_batch *batch = &output->batch;
    buf_printf(out, "  %s (%s)%s: %s", output->name, output->type,
        output->enabled ? "" : ", not enabled", app_config_format(output));
    for (size_t i = 0; i < output->sessions.count; i++) {
        buf_printf(out, "%s%s", i ? ", " : " of ", output->sessions.items[i]);
    }
    buf_printf(out, output->sessions.count ? "" : " of every session");
    buf_printf(out, "; at once %" PRId64 " events, %s or %s", batch->events,
        config_value_write_size(batch->bytes).text,
        config_value_write_duration(batch->age_ns).text);
    if (output->filters.count) {
        buf_printf(
            out, "; %zu rule%s", output->filters.count, output->filters.count == 1 ? "" : "s");
    }
    buf_add_byte(out, '\n');
    struct buf streams;
    buf_init(&streams, MAX_STREAM_BYTES);
    if (output->enabled && app_streams_write(check->config, output, &streams)) {
        buf_printf(out, "      %.*s\n", SPAN_ARG(buf_span(&streams)));
    }
    buf_fini(&streams);
    if (typed) {
        typed_words_each(typed, check->verbose ? SIZE_MAX : MAX_CONFLICTS, put_typed_line, out);
    }
    put_rules(check, "      ", &output->filters, out);
}

/* Outputs that share encoded events, once per set. */
static size_t put_streams(const struct app_config *config, struct buf *out)
{
    size_t streams = 0;
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        bool first = output->enabled;
        for (size_t k = 0; k < i && first; k++) {
            first = !config->outputs[k].enabled ||
                    !app_config_same_stream(config, output, &config->outputs[k]);
        }
        if (!first) {
            continue;
        }
        buf_printf(out, "  %s to %s", app_config_format(output), output->name);
        for (size_t k = i + 1; k < config->output_count; k++) {
            if (config->outputs[k].enabled &&
                app_config_same_stream(config, output, &config->outputs[k])) {
                buf_printf(out, ", %s", config->outputs[k].name);
            }
        }
        buf_add_byte(out, '\n');
        streams++;
    }
    return streams;
}

/* ---- budgets --------------------------------------------------------------------------------- */

/* Rounded. */
static struct config_value_text write_free(uint64_t bytes)
{
    enum { MB = 1024 * 1024, GB = 1024 * MB };
    return config_value_write_size(bytes - bytes % (bytes / GB < 10 ? MB : GB));
}

/* The spool's limit and the free space. */
static void put_spool(const struct app_config *config, const char *folder, struct buf *out)
{
    const struct app_spool *spool = &config->spool;
    uint64_t free_bytes;
    static const char *const reasons[] = {
        [APP_SPOOL_AS_CONFIGURED] = "",
        [APP_SPOOL_ONLY_SHOWN] = ", as all outputs are stdout",
        [APP_SPOOL_ONLY_RECORDED] =
            ", as all sessions read recorded traces and agent.data_dir is not set",
    };
    if (spool->mode != APP_SPOOL_DURABLE) {
        buf_printf(out,
            "  spool: none%s; events in memory at a stop are read again from recorded traces, and "
            "lost from live sessions\n",
            reasons[config->spool_reason]);
        return;
    }
    if (!app_config_copies(config)) {
        buf_add_text(out, "  spool: not needed, as all sessions read recorded traces: the next run "
                          "reads undelivered events again\n");
        return;
    }
    buf_printf(out, "  spool: at most %s; %s of the disk stay free",
        config_value_write_size(spool->max_size_bytes).text,
        config_value_write_size(spool->min_free_disk_bytes).text);
    if (folder && data_folder_free(folder, &free_bytes)) {
        buf_printf(out, ", now %s are", write_free(free_bytes).text);
    }
    if (spool->max_age_ns != CONFIG_NEVER) {
        buf_printf(out, "; events that wait longer than %s are dropped",
            config_value_write_duration(spool->max_age_ns).text);
    }
    buf_add_byte(out, '\n');
}

static void put_limits(const struct app_limits *limits, struct buf *out)
{
    struct buf text;
    buf_init(&text, 256);
    app_limits_write(limits, &text);
    if (text.size) {
        buf_printf(out, "  limits that the system enforces: %.*s\n", SPAN_ARG(buf_span(&text)));
    }
    buf_fini(&text);
}

static void put_budgets(const struct check *check, struct buf *out)
{
    const struct app_config *config = check->config;
    const char *const *data_dir = &config->root->agent.data_dir;
    const struct app_rotate *rotate = &config->agent.log.rotate;
    buf_printf(out, "Memory\n  %s for the process and the events that wait",
        config_value_write_size(config->agent.memory_bytes).text);
    buf_printf(out, "; %s is the minimum for this configuration\n",
        config_value_write_size(app_memory_needed(config)).text);
    put_limits(&config->agent.limits, out);
    const char *folder = app_config_data_dir(config);
    buf_printf(out, "Disk\n  data_dir: %s\n",
        *data_dir                                 ? as_written(check, data_dir)
        : folder                                  ? folder
        : config->spool.mode == APP_SPOOL_DURABLE ? "none, and the system has no default"
                                                  : "none; no state is kept");
    put_spool(config, folder, out);
    buf_printf(out, "  log: at most %s, and %" PRId64 " older files\n",
        config_value_write_size(rotate->size_bytes).text, rotate->keep);
}

static void put_can_run(const struct check *check, struct buf *out)
{
    buf_printf(out, "%s: good%s\n", check->path, check->can_run ? "" : ", but it cannot run here");
}

void check_words_write(const struct check *check, struct buf *out)
{
    const struct app_config *config = check->config;
    put_can_run(check, out);
    policy_words_write(&check->policy, out);
    buf_add_text(out, "Sessions\n");
    const struct provider_facts *facts = check->facts;
    for (size_t i = 0; i < config->session_count; i++) {
        put_session(check, &config->sessions[i], facts, out);
        facts = facts ? facts + config->sessions[i].providers.count : NULL;
    }
    if (config->filters.count) {
        buf_printf(out, "Rules for every session: %zu\n", config->filters.count);
        put_rules(check, "      ", &config->filters, out);
    }
    buf_add_text(out, "Outputs\n");
    for (size_t i = 0; i < config->output_count; i++) {
        put_output(check, &config->outputs[i], out);
    }
    buf_add_text(out, "Streams: each event is written once for each\n");
    put_streams(config, out);
    put_budgets(check, out);
    if (check->explain) {
        buf_add_text(out, "Filters of Windows and of the agent\n");
        explain_write(check->explain, SIZE_MAX, "  ", out);
    }
    if (check->verbose) {
        buf_add_text(out, "All settings, including defaults\n");
        config_show_yaml(config->memory, config->fields, config->root, 2, out);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_report(const char *key, const struct config_report *report, struct buf *out)
{
    buf_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < report->line_count; i++) {
        const struct config_report_line *line = &report->lines[i];
        buf_printf(out, "%s{\"file\":", i ? "," : "");
        value_json_string(span_text(report->files[line->file]), out);
        if (line->line) {
            buf_printf(out, ",\"line\":%u,\"column\":%u", line->line, line->column);
        }
        buf_add_text(out, ",\"text\":");
        value_json_string(span_text(line->what), out);
        buf_add_byte(out, '}');
    }
    buf_add_byte(out, ']');
}

static void put_fact(
    const struct app_session *session, const struct provider_facts *facts, struct buf *out)
{
    char guid[GUID_TEXT_SIZE];
    guid_write(&facts->guid, guid);
    buf_printf(
        out, "{\"session\":\"%s\",\"found\":%s", session->name, facts->found ? "true" : "false");
    if (facts->is_known || facts->spec->name.size == 0) {
        buf_printf(out, ",\"guid\":\"%.36s\"", guid);
    }
    if (facts->name.size) {
        buf_add_text(out, ",\"name\":");
        value_json_string(facts->name, out);
    }
    buf_printf(out,
        ",\"level\":%u,\"any\":\"0x%" PRIx64 "\",\"all\":\"0x%" PRIx64 "\",\"event_count\":%zu}",
        facts->spec->level, facts->any_bits, facts->all_bits, facts->event_count);
}

static void put_facts(const struct check *check, struct buf *out)
{
    const struct app_config *config = check->config;
    size_t at = 0;
    buf_add_text(out, ",\"providers\":[");
    for (size_t i = 0; i < config->session_count; i++) {
        for (size_t k = 0; k < config->sessions[i].providers.count; k++) {
            buf_add_text(out, at ? "," : "");
            put_fact(&config->sessions[i], &check->facts[at++], out);
        }
    }
    buf_add_byte(out, ']');
}

static void put_json_streams(const struct app_config *config, struct buf *out)
{
    buf_add_text(out, ",\"streams\":[");
    bool done[64] = {false};
    const char *comma = "";
    for (size_t i = 0; i < config->output_count && i < 64; i++) {
        const struct app_output *output = &config->outputs[i];
        if (done[i] || !output->enabled) {
            continue;
        }
        buf_printf(out, "%s{\"format\":\"%s\",\"outputs\":[", comma, app_config_format(output));
        for (size_t k = i; k < config->output_count && k < 64; k++) {
            if (config->outputs[k].enabled &&
                app_config_same_stream(config, output, &config->outputs[k])) {
                buf_printf(out, "%s\"%s\"", k > i ? "," : "", config->outputs[k].name);
                done[k] = true;
            }
        }
        buf_add_text(out, "]}");
        comma = ",";
    }
    buf_add_byte(out, ']');
}

/* Outputs with index types for payload fields. */
static void put_json_typed(const struct check *check, struct buf *out)
{
    const char *comma = "";
    buf_add_text(out, ",\"typed_fields\":[");
    for (size_t i = 0; i < check->config->output_count; i++) {
        const struct typed_fields *typed = typed_of(check, &check->config->outputs[i]);
        if (typed) {
            buf_printf(
                out, "%s{\"output\":\"%s\",\"payloads\":", comma, check->config->outputs[i].name);
            typed_words_write_json(typed, out);
            buf_add_byte(out, '}');
            comma = ",";
        }
    }
    buf_add_byte(out, ']');
}

void check_words_write_json(const struct check *check, struct buf *out)
{
    const struct app_config *config = check->config;
    buf_add_text(out, "{\"file\":");
    value_json_string(span_text(check->path), out);
    buf_printf(out, ",\"can_run\":%s", check->can_run ? "true" : "false");
    policy_words_write_json(&check->policy, out);
    put_report("refusals", &check->refusals, out);
    put_report("warnings", &check->warnings, out);
    put_json_streams(config, out);
    if (check->facts) {
        put_facts(check, out);
    }
    if (check->typed) {
        put_json_typed(check, out);
    }
    buf_add_text(out, ",\"config\":");
    config_show_json(config->memory, config->fields, config->root, out);
    buf_add_text(out, "}\n");
}
