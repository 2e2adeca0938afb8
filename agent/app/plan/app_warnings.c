#include "app/plan/app_warnings.h"

#include <stdio.h>

#include "app/config/app_boot.h"
#include "app/config/app_fields.h"
#include "app/config/app_limits.h"
#include "app/config/app_loop.h"
#include "app/config/app_memory.h"
#include "app/config/app_rules.h"
#include "app/config/app_targets.h"
#include "app/plan/app_age.h"
#include "app/plan/app_budgets.h"
#include "app/plan/app_streams.h"
#include "app/state/data_folder.h"
#include "config/config_text.h"
#include "config/config_value.h"
#include "etw/enable/etw_keywords.h"
#include "input/live/live_options.h"
#include "input/windows/etw_plan.h"
#include "platform/plat_file.h"
#include "platform/plat_rights.h"
#include "platform/plat_system.h"
#include "schema/source/schema_files.h"

struct search {
    const struct app_config *config;
    struct config_report *report;
};

#define WARN(search, member, ...) \
    config_error_at(              \
        (search)->config->memory, (member), sizeof(*(member)), (search)->report, __VA_ARGS__)

/* ---- rules ----------------------------------------------------------------------------------- */

static bool is_true(const char *text)
{
    text += strspn(text, " ");
    return strncmp(text, "true", 4) == 0 && text[4 + strspn(text + 4, " ")] == 0;
}

struct slow_search {
    const struct search *search;
    const struct app_rule *rule;
};

static void warn_of_slow(void *self, const struct filter_slow *slow)
{
    const struct slow_search *slow_search = self;
    char what[256];
    snprintf(what, sizeof(what),
        "some texts make the regular expression exceed its limits (%s). `unsure` decides about "
        "their events. make it simpler",
        slow->text);
    app_rules_complain(slow_search->search->config->memory, slow_search->rule, &slow->place, what,
        slow_search->search->report);
}

static void try_rule(const struct search *search, const struct app_rule *rule)
{
    struct slow_search slow_search = {.search = search, .rule = rule};
    const struct filter_rule one = app_rules_filter_rule(rule);
    struct filter_place place;
    struct filter_scratch scratch;
    struct filter *filter = filter_create(&one, 1, &place, NULL);
    if (filter_scratch_init(&scratch, NULL, NULL) && filter) {
        filter_each_slow(filter, &scratch, warn_of_slow, &slow_search);
    }
    filter_scratch_fini(&scratch);
    filter_destroy(filter);
}

static void warn_of_rules(void *self, const char *where, const struct config_list *list)
{
    const struct search *search = self;
    const struct app_rule *rules = list->items;
    (void)where;
    for (size_t i = 0; i < list->count; i++) {
        try_rule(search, &rules[i]);
    }
    for (size_t i = 0; i + 1 < list->count; i++) {
        if (is_true(*app_rules_text(&rules[i])) &&
            filter_action_decides(app_rules_action(&rules[i]))) {
            WARN(search, &rules[i + 1],
                "no rule after `true` is ever used. put it last, or remove what follows");
            return;
        }
    }
}

/* ---- providers ------------------------------------------------------------------------------- */

static void warn_of_protected(const struct search *search, const struct app_session *session,
    const struct app_provider *provider)
{
    const char *needs = etw_enable_protected(provider->spec.name, &provider->spec.guid);
    if (needs && session->ops->switches_on && !provider->spec.group) {
        WARN(search, provider, "the provider can hardly be enabled: %s", needs);
    }
}

/* A user may have them as numbers only. */
static bool is_named(const struct provider_keywords *keywords, const struct etw_keyword *keyword)
{
    bool is_named = (keywords->named & keyword->mask) != 0;
    for (size_t i = 0; i < keywords->name_count && !is_named; i++) {
        is_named = span_equal_nocase(span_text(keywords->names[i]), span_text(keyword->name));
    }
    return is_named;
}

static void warn_of_effects(const struct search *search, const struct app_session *session,
    const struct app_provider *provider)
{
    const struct provider_spec *spec = &provider->spec;
    struct guid guid = spec->name.size ? guid_from_name(spec->name) : spec->guid;
    const struct etw_keyword *keyword;
    for (size_t i = 0; (keyword = etw_keywords_get(i)) != NULL && session->ops->switches_on; i++) {
        if (etw_keywords_is_of(keyword, &guid) && is_named(&spec->any, keyword)) {
            WARN(search, provider,
                "keyword %s (0x%llx): %s, with each start, reload and repair of the session. leave "
                "it out if that is not meant",
                keyword->name, (unsigned long long)keyword->mask, keyword->effect);
        }
    }
}

/* Of what says how to switch messages on, and not what they are. */
static const char *const control_endings[] = {".mof", ".mfl", ".tmc", NULL};

static const char *const format_endings[] = {".tmf", ".pdb", NULL};

/* Callback of schema_files_walk: up to the first. */
static bool look_for_formats(void *self, const char *path)
{
    bool *has_formats = self;
    *has_formats = schema_files_is_one(path, format_endings);
    return !*has_formats;
}

static bool is_folder_without_formats(const char *path)
{
    bool has_formats = false;
    return plat_path_kind(path) == PLAT_PATH_DIR &&
           schema_files_walk(path, look_for_formats, &has_formats, NULL) && !has_formats;
}

static void warn_of_wpp(const struct search *search, const struct app_session *session,
    const struct app_provider *provider)
{
    const struct provider_spec *spec = &provider->spec;
    if (!provider->wpp) {
        return;
    }
    if (plat_path_kind(provider->wpp) == PLAT_PATH_NONE) {
        WARN(search, &provider->wpp, "wpp: there is no such file or folder");
    }
    if (!session->ops->switches_on && schema_files_is_one(provider->wpp, control_endings)) {
        WARN(search, &provider->wpp,
            "wpp: such a file describes no messages, so none of a recorded trace is selected. name "
            "the .tmf or .pdb");
    }
    if (!session->ops->switches_on && is_folder_without_formats(provider->wpp)) {
        WARN(search, &provider->wpp,
            "wpp: no .tmf or .pdb is below this folder, so no message of a recorded trace is "
            "selected");
    }
    if (!session->ops->switches_on && spec->any.bits) {
        WARN(search, &provider->flags,
            "messages of recorded traces have no flags, but their formats name them. write names");
    }
    if (session->ops->switches_on && spec->name.size == 0 && guid_is_zero(&spec->guid)) {
        WARN(search, provider,
            "the control GUID that enables these messages is unknown: the .mof, .tmc and .pdb "
            "files that wpp names have none, or several. add name: GUID");
    }
    if (spec->any.bits >> 32 || spec->all.bits || spec->all.name_count) {
        WARN(search, provider,
            "WPP has 32 flags, any of which is enough: other bits have no effect");
    }
    if (provider->payload.count) {
        WARN(search, provider, "WPP messages have no fields: payload has no effect. use filters");
    }
}

static void warn_of_providers(const struct search *search, const struct app_session *session)
{
    const struct app_provider *providers = session->providers.items;
    for (size_t i = 0; i < session->providers.count; i++) {
        const struct app_provider *p = &providers[i];
        const struct provider_spec *spec = &p->spec;
        if (spec->level == 0) {
            WARN(search, p, "level 0 means every level. write verbose, or leave it out");
        }
        if (spec->any.given && spec->any.bits == 0 && spec->any.name_count == 0) {
            WARN(search, p, "keywords 0 means every keyword. leave them out");
        }
        if (spec->all.bits && !spec->any.given && session->ops->needs_etw) {
            WARN(search, p,
                "ETW ignores `all` where `any` is missing. write any: [0xffffffffffffffff], too");
        }
        if (!session->ops->needs_etw &&
            (p->payload.count || spec->executables.count || spec->packages.count ||
                spec->apps.count || spec->container)) {
            WARN(search, p,
                "only ETW applies payload and processes by name: they have no effect on recorded "
                "traces. use filters");
        }
        if (session->ops->switches_on && strcmp(session->type, "realtime") == 0 &&
            etw_plan_system_provider(spec, false)) {
            WARN(search, p,
                "only sessions of kernel events deliver kernel events. write type: system");
        }
        warn_of_protected(search, session, p);
        warn_of_effects(search, session, p);
        warn_of_wpp(search, session, p);
    }
}

/* ---- budgets --------------------------------------------------------------------------------- */

static void warn_of_budget(const struct search *search, const struct app_session *session,
    const struct app_provider *provider, const struct app_budget *budget)
{
    const char *problem = app_budgets_is_given(search->config, budget)
                              ? app_budgets_problem(session, provider)
                              : NULL;
    if (problem) {
        WARN(search, budget, "%s", problem);
    }
}

static void warn_of_budgets(const struct search *search, const struct app_session *session)
{
    const struct app_provider *providers = session->providers.items;
    warn_of_budget(search, session, NULL, &session->provider_budget);
    for (size_t i = 0; i < session->providers.count; i++) {
        warn_of_budget(search, session, &providers[i], &providers[i].budget);
    }
}

/* ---- sessions and outputs -------------------------------------------------------------------- */

/* A file of ETW's holds numbers all the same: sessions that record want them there. */
static void warn_of_sequence(const struct search *search, const struct app_session *session)
{
    struct input_live live = session->ops->live ? session->ops->live(session->settings)
                                                : (struct input_live){.session = NULL};
    if (live.session && !session->ops->delivers && live.session->sequence != LIVE_SEQUENCE_NONE &&
        live.session->delivery == LIVE_DELIVERY_EVENTS) {
        WARN(search, &live.session->sequence,
            "single events have no numbers. write delivery: raw, too");
    }
}

static void warn_of_paths(const struct search *search, const struct app_session *session)
{
    const struct config_strings *paths = app_config_paths(session);
    for (size_t i = 0; paths && i < paths->count; i++) {
        const char *path = paths->items[i];
        if (!strpbrk(path, "*?") && plat_path_kind(path) == PLAT_PATH_NONE) {
            WARN(search, &paths->items[i], "there is no file %s now. check the path",
                config_text_quote(span_text(path)).text);
        } else if (plat_path_kind(path) == PLAT_PATH_DIR) {
            WARN(search, &paths->items[i], "%s is a folder. name files, as in %s/*.etl",
                config_text_quote(span_text(path)).text, path);
        }
    }
}

/* What an output writes beside a session's traces may be taken for one. */
static void warn_of_loops(const struct search *search, const struct app_output *output)
{
    for (size_t i = 0; i < search->config->session_count; i++) {
        const struct app_session *session = &search->config->sessions[i];
        const char *pattern;
        if (app_loop_find(output, session, &pattern) == APP_LOOP_WATCHED) {
            config_error_at(search->config->memory, app_config_target_member(output),
                sizeof(const char *), search->report,
                "output %s writes into a folder that session %s watches, %s. write elsewhere",
                output->name, session->name, config_text_quote(span_text(pattern)).text);
        }
    }
}

static bool is_separator(char c)
{
    return c == '/' || c == '\\';
}

/* ${path} is ${folder} or in it, as far as their text tells. */
static bool is_in(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    while (size > 1 && is_separator(folder[size - 1])) {
        size--;
    }
    return size && strncmp(path, folder, size) == 0 && (!path[size] || is_separator(path[size]));
}

/* A file cannot have a folder's name, and none of the user's belongs among the agent's own. */
static void warn_of_target(const struct search *search, const struct app_output *output)
{
    const char *target = app_config_target(output);
    const char *own = app_config_data_dir(search->config);
    if (!target) {
        return;
    }
    bool is_own = own && is_in(target, own);
    if (is_own || plat_path_kind(target) == PLAT_PATH_DIR) {
        config_error_at(search->config->memory, app_config_target_member(output),
            sizeof(const char *), search->report,
            is_own ? "output %s writes into agent.data_dir, which is the agent's own. write "
                     "elsewhere"
                   : "output %s writes to a folder. write the name of a file in it",
            output->name);
    }
}

/* Outputs follow no link that another account may have put there: they would write nothing. */
static void warn_of_link(const struct search *search, const struct app_output *output)
{
    const char *target = app_config_target(output);
    struct plat_rights rights;
    bool is_link = target && strncmp(target, "/dev/", 5) != 0 &&
                   strncmp(target, "/proc/", 6) != 0 && plat_rights_read(target, &rights, NULL);
    if (is_link) {
        is_link = rights.kind == PLAT_RIGHTS_LINK;
        plat_rights_fini(&rights);
    }
    if (is_link) {
        config_error_at(search->config->memory, app_config_target_member(output),
            sizeof(const char *), search->report,
            "output %s writes nothing to %s, which is a link. name the file itself, or remove the "
            "link",
            output->name, config_text_quote(span_text(target)).text);
    }
}

static void warn_of_output(const struct search *search, const struct app_output *output)
{
    const struct app_config *config = search->config;
    size_t taken = 0;
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        taken += session->enabled && input_delivers(session->ops, session->settings) &&
                 app_config_takes(output, session);
    }
    if (!taken) {
        WARN(search, output, "output %s gets nothing: none of its sessions is enabled. enable one",
            output->name);
    }
    if (output->batch.bytes > config->agent.memory_bytes / 4) {
        WARN(search, &output->batch.bytes,
            "one batch may take more than a quarter of agent.memory. make it smaller, or "
            "agent.memory larger");
    }
    uint64_t batch_bytes = app_config_batch_bytes(config, output);
    if (output->batch.bytes > batch_bytes) {
        WARN(search, &output->batch.bytes,
            "more than an eighth of spool.max_size: batches end at %s. make it smaller, or "
            "spool.max_size larger",
            config_value_write_size(batch_bytes).text);
    }
    config_check_report(config->memory, output->ops->warnings, output->settings, search->report);
    app_age_warn(config, output, search->report);
    app_streams_warn(config, output, search->report);
    warn_of_loops(search, output);
    warn_of_target(search, output);
    warn_of_link(search, output);
    app_targets_warn(config, (size_t)(output - config->outputs), search->report);
}

static void warn_of_schemas(const struct search *search)
{
    for (size_t i = 0; i < search->config->schema_count; i++) {
        const struct app_schema *schema = &search->config->schemas[i];
        if (schema->type == APP_SCHEMA_TDH && !plat_has_etw()) {
            WARN(search, schema, "tdh works on Windows only. name folders of manifests");
        } else if (schema->type == APP_SCHEMA_FOLDER &&
                   plat_path_kind(schema->path) == PLAT_PATH_NONE) {
            WARN(search, &schema->path, "%s does not exist. create it, or remove the entry",
                config_text_quote(span_text(schema->path)).text);
        }
    }
}

static void warn_of_memory(const struct search *search)
{
    const uint64_t *memory = &search->config->root->agent.memory_bytes;
    struct error err;
    if (!app_memory_check(search->config, &err)) {
        WARN(search, memory, "%s", err.text);
    }
}

static void warn_of_disk(const struct search *search)
{
    const struct app_spool *spool = &search->config->spool;
    const char *folder = app_config_data_dir(search->config);
    uint64_t bytes;
    if (app_config_copies(search->config) && folder && data_folder_free(folder, &bytes) &&
        bytes < spool->min_free_disk_bytes) {
        enum { KB = 1024 };
        WARN(search, &search->config->root->spool.min_free_disk_bytes,
            "the disk of %s has %s free, and min_free_disk is %s: the spool takes no events until "
            "more is free. lower it, free some space, or set another agent.data_dir",
            folder, config_value_write_size(bytes - bytes % KB).text,
            config_value_write_size(spool->min_free_disk_bytes).text);
    }
}

static void warn_of_boot(const struct search *search, const struct app_session *session)
{
    if (session->enabled && app_boot_is_read(session) && !app_config_data_dir(search->config)) {
        WARN(search, &session->ops->live(session->settings).session->boot,
            "boot: there is no folder for the events before the agent starts, so `etwship "
            "autologger install` will refuse. add agent.data_dir");
    }
}

void app_warnings_find(const struct app_config *config, struct config_report *report)
{
    struct search search = {config, report};
    config_report_remarks(config->memory, report);
    warn_of_memory(&search);
    app_limits_warn(config, report);
    warn_of_disk(&search);
    app_rules_each(config, warn_of_rules, &search);
    warn_of_schemas(&search);
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        warn_of_providers(&search, session);
        warn_of_budgets(&search, session);
        warn_of_sequence(&search, session);
        warn_of_boot(&search, session);
        config_check_report(config->memory, session->ops->warnings, session->settings, report);
        if (session->enabled) {
            warn_of_paths(&search, session);
        }
    }
    for (size_t i = 0; i < config->output_count; i++) {
        if (config->outputs[i].enabled) {
            warn_of_output(&search, &config->outputs[i]);
        }
    }
}

/* ---- what definitions say -------------------------------------------------------------------- */

static void warn_of_names(const struct search *search, const struct app_provider *provider,
    const char *noun, const char *const *names, size_t count, uint64_t found)
{
    for (size_t i = 0; i < count && i < 64; i++) {
        if (!(found >> i & 1)) {
            WARN(search, provider, "the definition of the provider has no %s %s. check the name",
                noun, config_text_quote(span_text(names[i])).text);
        }
    }
}

static void warn_of_unknown(const struct search *search, const struct app_provider *provider,
    const struct provider_facts *facts)
{
    const char *const *text = provider->text.compact ? &provider->text.compact
                                                     : &provider->text.name;
    if (facts->meant.size) {
        WARN(search, text, "there is no definition of provider %s. did you mean %s?",
            config_text_quote(facts->spec->name).text, config_text_quote(facts->meant).text);
    }
}

void app_warnings_of_facts(const struct app_config *config, const struct app_provider *provider,
    const struct provider_facts *facts, struct config_report *report)
{
    struct search search = {config, report};
    const struct provider_spec *spec = &provider->spec;
    if (!facts->found) {
        warn_of_unknown(&search, provider, facts);
        return;
    }
    for (size_t i = 0; i < spec->include.range_count && i < 64; i++) {
        const struct provider_id_range *range = &spec->include.ranges[i];
        if (facts->ids_found >> i & 1) {
            continue;
        }
        if (range->first == range->last) {
            WARN(&search, provider, "the definition of the provider has no event %u. check the id",
                range->first);
        } else {
            WARN(&search, provider,
                "the definition of the provider has no event from %u to %u. check the ids",
                range->first, range->last);
        }
    }
    warn_of_names(&search, provider, "event", spec->include.names, spec->include.name_count,
        facts->names_found);
    warn_of_names(
        &search, provider, "keyword", spec->any.names, spec->any.name_count, facts->any_found);
    warn_of_names(
        &search, provider, "keyword", spec->all.names, spec->all.name_count, facts->all_found);
}
