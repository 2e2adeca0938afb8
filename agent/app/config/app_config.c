/*
 * The loader (config.h) checks each value by its row. This file and the other files of this folder
 * check what concerns several values: names, references, providers, rules, the modules' own checks.
 * All of them accept incomplete settings, so that one run reports all errors.
 */
#include "app/config/app_config.h"

#include <stdlib.h>

#include "app/config/app_boot.h"
#include "app/config/app_fields.h"
#include "app/config/app_limits.h"
#include "app/config/app_listen.h"
#include "app/config/app_live.h"
#include "app/config/app_loop.h"
#include "app/config/app_names.h"
#include "app/config/app_providers.h"
#include "app/config/app_rules.h"
#include "app/config/app_shape.h"
#include "app/config/app_targets.h"
#include "config/config_check.h"
#include "config/config_text.h"
#include "platform/plat_system.h"

struct checker {
    struct config *memory;
    struct config_report *report;
};

static void check_schemas(struct checker *checker, const struct config_list *list)
{
    const struct app_schema *schemas = list->items;
    for (size_t i = 0; i < list->count; i++) {
        const struct app_schema *schema = &schemas[i];
        if (config_is_flawed_at(checker->memory, &schema->type, sizeof(schema->type))) {
            continue;
        }
        if (schema->type == APP_SCHEMA_FOLDER &&
            !config_is_given(checker->memory, &schema->path, sizeof(schema->path))) {
            config_error_at(checker->memory, schema, sizeof(*schema), checker->report,
                "the key 'path' is missing. add it: the folder, or one file");
        } else if (schema->type == APP_SCHEMA_TDH && schema->path) {
            config_error_at(checker->memory, &schema->path, sizeof(schema->path), checker->report,
                "path: tdh reads no files. remove the key");
        }
    }
}

static void check_filters(const struct checker *checker, const struct app_root *root)
{
    app_rules_check(checker->memory, &root->filters, checker->report);
    const struct app_session *sessions = root->sessions.items;
    for (size_t i = 0; i < root->sessions.count; i++) {
        const struct app_provider *providers = sessions[i].providers.items;
        app_rules_check(checker->memory, &sessions[i].filters, checker->report);
        for (size_t k = 0; k < sessions[i].providers.count; k++) {
            app_rules_check(checker->memory, &providers[k].filters, checker->report);
            app_rules_refuse_shared(checker->memory, &providers[k].filters, checker->report);
        }
    }
    const struct app_output *outputs = root->outputs.items;
    for (size_t i = 0; i < root->outputs.count; i++) {
        app_rules_check(checker->memory, &outputs[i].filters, checker->report);
    }
}

/* Sessions that no output takes, and outputs that take no session:
 * the user may have left one out by mistake. */
static void check_routes(const struct checker *checker, const struct app_root *root)
{
    const struct app_session *sessions = root->sessions.items;
    const struct app_output *outputs = root->outputs.items;
    if (root->outputs.count == 0) {
        return; /* the error was reported */
    }
    for (size_t i = 0; i < root->sessions.count; i++) {
        const struct app_session *session = &sessions[i];
        const struct input_ops *ops = session->variant ? session->variant->module : NULL;
        bool taken = !session->enabled || !ops || !input_delivers(ops, session->settings);
        for (size_t k = 0; k < root->outputs.count && !taken; k++) {
            taken = config_is_flawed(checker->memory, &outputs[k]) ||
                    (outputs[k].enabled && app_config_takes(&outputs[k], session));
        }
        if (!taken) {
            config_error_at(checker->memory, session, sizeof(*session), checker->report,
                "no output takes the events of session %s. add it to the `sessions` of one that is "
                "enabled, or write enabled: false here",
                config_text_quote(span_text(session->name)).text);
        }
    }
}

/* Windows runs one session at a time of some types. */
static void check_alone(
    const struct checker *checker, const struct app_session *sessions, size_t index)
{
    const struct app_session *session = &sessions[index];
    for (size_t k = 0; k < index && session->enabled && session->ops->is_alone; k++) {
        if (sessions[k].enabled && sessions[k].ops == session->ops) {
            config_error_at(checker->memory, &session->type, sizeof(session->type), checker->report,
                "type: Windows runs one session of type %s at a time, and %s is it. put both into "
                "one, or write enabled: false",
                session->ops->name, config_text_quote(span_text(sessions[k].name)).text);
            return;
        }
    }
}

/* Set the modules, and let them check their settings. */
static void check_sessions(const struct checker *checker, const struct app_root *root)
{
    struct app_session *sessions = root->sessions.items;
    for (size_t i = 0; i < root->sessions.count; i++) {
        sessions[i].ops = sessions[i].variant ? sessions[i].variant->module : NULL;
        if (sessions[i].ops) {
            config_check_report(
                checker->memory, sessions[i].ops->check, sessions[i].settings, checker->report);
            app_live_check(checker->memory, &sessions[i], checker->report);
            app_boot_check(checker->memory, &sessions[i], checker->report);
            check_alone(checker, sessions, i);
        }
    }
}

/* Is ${word} one of ${words}, which have spaces between? */
static bool is_word(const char *words, const char *word)
{
    size_t size = strlen(word);
    while (*words) {
        size_t length = strcspn(words, " ");
        if (length == size && memcmp(words, word, size) == 0) {
            return true;
        }
        words += length + (words[length] != '\0');
    }
    return false;
}

static void check_format(const struct checker *checker, const struct app_output *output)
{
    const char *formats = output->ops->formats;
    if (formats && !is_word(formats, app_config_format(output))) {
        config_error_at(checker->memory, &output->format, sizeof(output->format), checker->report,
            "format: type %s does not take '%s'. write one of: %s", output->ops->name,
            app_config_format(output), formats);
    }
}

static void check_output(const struct checker *checker, struct app_output *output)
{
    const struct output_ops *ops = output->variant ? output->variant->module : NULL;
    const struct app_retry *retry = &output->retry;
    output->ops = ops;
    if (ops) {
        config_check_report(checker->memory, ops->check, output->settings, checker->report);
        check_format(checker, output);
    }
    if (retry->min_ns > retry->max_ns &&
        !config_is_flawed_at(checker->memory, retry, sizeof(*retry))) {
        config_error_at(checker->memory, retry, sizeof(*retry), checker->report,
            "retry: min is above max. swap them");
    }
    if (ops && ops->alone && output->workers > 1) {
        config_error_at(checker->memory, &output->workers, sizeof(output->workers), checker->report,
            "workers: output type %s works with one. remove the key", ops->name);
    }
    if (output->workers == 0) { /* not given */
        output->workers = ops && ops->workers ? ops->workers : 1;
    }
}

/* An output that writes into a trace that is read would destroy it. */
static void check_evidence(
    const struct checker *checker, const struct app_root *root, const struct app_output *output)
{
    const struct app_session *sessions = root->sessions.items;
    for (size_t i = 0; i < root->sessions.count; i++) {
        const char *pattern;
        if (app_loop_find(output, &sessions[i], &pattern) == APP_LOOP_READ) {
            config_error_at(checker->memory, app_config_target_member(output), sizeof(const char *),
                checker->report,
                "output %s writes into what session %s reads, %s, and would destroy it. write "
                "elsewhere",
                output->name, sessions[i].name, config_text_quote(span_text(pattern)).text);
            return;
        }
    }
}

static void check_outputs(const struct checker *checker, const struct app_root *root)
{
    struct app_output *outputs = root->outputs.items;
    for (size_t i = 0; i < root->outputs.count; i++) {
        check_output(checker, &outputs[i]);
    }
    for (size_t i = 0; i < root->outputs.count; i++) {
        const char *target = outputs[i].enabled ? app_config_target(&outputs[i]) : NULL;
        if (target && outputs[i].name) {
            app_targets_check(checker->memory, root, i, checker->report);
            check_evidence(checker, root, &outputs[i]);
        }
    }
}

static bool check(struct config *memory, const struct app_root *root, struct config_report *report)
{
    struct checker checker = {.memory = memory, .report = report};
    struct app_session *sessions = root->sessions.items;
    size_t errors = report->error_count;
    bool good = app_names_check(memory, root, report);
    bool named = report->error_count == errors;
    for (size_t i = 0; i < root->sessions.count && good; i++) {
        good = app_providers_check(memory, &sessions[i], report);
    }
    if (good) {
        check_schemas(&checker, &root->schemas);
        check_filters(&checker, root);
        if (named) {
            check_routes(&checker, root);
        }
        check_sessions(&checker, root);
        check_outputs(&checker, root);
        app_limits_check(memory, root, report);
        app_listen_check(memory, root, report);
    }
    return good;
}

static bool any_output_keeps(const struct app_root *root)
{
    const struct app_output *outputs = root->outputs.items;
    bool keeps = false;
    for (size_t i = 0; i < root->outputs.count && !keeps; i++) {
        keeps = outputs[i].enabled && !(outputs[i].ops && outputs[i].ops->shows);
    }
    return keeps;
}

static bool any_session_is_live(const struct app_root *root)
{
    const struct app_session *sessions = root->sessions.items;
    bool live = false;
    for (size_t i = 0; i < root->sessions.count && !live; i++) {
        live = sessions[i].enabled && !(sessions[i].ops && sessions[i].ops->replayable);
    }
    return live;
}

/* The system's folder is used only if the configuration asks for it (the section `spool`, or
 * agent.data_dir), or if live events would be lost without it. Recorded traces can be read again,
 * and output on a terminal is not kept anyway. */
static enum app_spool_reason spool_reason(const struct config *memory, const struct app_root *root)
{
    bool is_asked_for = root->agent.data_dir ||
                        config_is_given(memory, &root->spool, sizeof(root->spool));
    return is_asked_for                 ? APP_SPOOL_AS_CONFIGURED
           : !any_output_keeps(root)    ? APP_SPOOL_ONLY_SHOWN
           : !any_session_is_live(root) ? APP_SPOOL_ONLY_RECORDED
                                        : APP_SPOOL_AS_CONFIGURED;
}

/* Check what was bound to ${root}, and give it to the caller with its
 * memory if there is no error. */
static bool finish(struct config *memory, const struct app_root *root,
    const struct config_field *fields, const char *name, struct app_config *ret_config,
    struct config_report *report)
{
    if (root && !check(memory, root, report)) {
        config_report_add(report, name, 0, 0, "out of memory. free some and retry");
    }
    if (!root || !config_report_ok(report)) {
        config_destroy(memory);
        return false;
    }
    *ret_config = (struct app_config){
        .memory = memory,
        .root = root,
        .fields = fields,
        .agent = root->agent,
        .status = root->status,
        .spool = root->spool,
        .filters = root->filters,
        .schemas = root->schemas.items,
        .schema_count = root->schemas.count,
        .sessions = root->sessions.items,
        .session_count = root->sessions.count,
        .outputs = root->outputs.items,
        .output_count = root->outputs.count,
    };
    ret_config->spool_reason = spool_reason(memory, root);
    if (ret_config->spool_reason != APP_SPOOL_AS_CONFIGURED) {
        ret_config->spool.mode = APP_SPOOL_MEMORY;
    }
    return true;
}

/* ${text} NULL: the file ${name}. */
static const struct app_root *bind(struct config *memory, const struct span *text, const char *name,
    const struct config_field *fields, const struct app_config_options *options,
    struct config_report *report)
{
    struct config_additions additions = {.include_key = "include"};
    if (options) {
        additions.no_include = options->no_include;
        additions.overrides = options->settings;
        additions.override_count = options->setting_count;
        additions.policies = options->policies;
        additions.policy_count = options->policy_count;
    }
    config_use(memory, &additions);
    const struct app_root *root = text ? config_parse(
                                             memory, *text, name, fields, sizeof(*root), report)
                                       : config_load(memory, name, fields, sizeof(*root), report);
    config_use(memory, NULL);
    return root;
}

static bool load(const struct span *text, const char *name, const struct app_registry *registry,
    const struct app_config_options *options, struct app_config *ret_config,
    struct config_report *report)
{
    struct config *memory = config_create(NULL, NULL);
    const struct config_field *fields = memory ? app_fields_create(memory, registry) : NULL;
    if (!fields) {
        config_destroy(memory);
        config_report_add(report, name, 0, 0, "out of memory. free some and retry");
        return false;
    }
    const struct app_root *root = bind(memory, text, name, fields, options, report);
    return finish(memory, root, fields, name, ret_config, report);
}

const struct app_root *app_config_bind(struct config *memory, const char *path,
    const struct config_field *fields, const struct app_config_options *options,
    struct config_report *report)
{
    return bind(memory, NULL, path, fields, options, report);
}

bool app_config_load(const char *path, const struct app_registry *registry,
    const struct app_config_options *options, struct app_config *ret_config,
    struct config_report *report)
{
    return load(NULL, path, registry, options, ret_config, report);
}

bool app_config_parse(struct span text, const char *name, const struct app_registry *registry,
    const struct app_config_options *options, struct app_config *ret_config,
    struct config_report *report)
{
    return load(&text, name, registry, options, ret_config, report);
}

void app_config_fini(struct app_config *config)
{
    config_destroy(config->memory);
    *config = (struct app_config){0};
}

/* Once, even if several entries name it. */
static void add_schema_path(const char **paths, size_t *count, const char *path)
{
    size_t i = 0;
    while (i < *count && strcmp(paths[i], path) != 0) {
        i++;
    }
    paths[i] = path;
    *count += i == *count;
}

const char **app_config_schema_paths(const struct app_config *config, size_t *ret_count)
{
    size_t most = config->schema_count;
    for (size_t i = 0; i < config->session_count; i++) {
        most += config->sessions[i].providers.count;
    }
    const char **paths = calloc(most + 1, sizeof(*paths));
    *ret_count = 0;
    for (size_t i = 0; paths && i < config->schema_count; i++) {
        if (config->schemas[i].type == APP_SCHEMA_FOLDER) {
            add_schema_path(paths, ret_count, config->schemas[i].path);
        }
    }
    for (size_t i = 0; paths && i < config->session_count; i++) {
        const struct app_provider *providers = config->sessions[i].providers.items;
        for (size_t k = 0; k < config->sessions[i].providers.count; k++) {
            if (providers[k].wpp) {
                add_schema_path(paths, ret_count, providers[k].wpp);
            }
        }
    }
    return paths;
}

const struct config_strings *app_config_paths(const struct app_session *session)
{
    return session->ops && session->settings && session->ops->paths
               ? session->ops->paths(session->settings)
               : NULL;
}

bool app_config_takes(const struct app_output *output, const struct app_session *session)
{
    bool takes = output->sessions.count == 0;
    for (size_t i = 0; i < output->sessions.count && !takes; i++) {
        takes = strcmp(output->sessions.items[i], session->name) == 0;
    }
    return takes;
}

const char *app_config_target(const struct app_output *output)
{
    return output->ops && output->ops->target ? output->ops->target(output->settings) : NULL;
}

const void *app_config_target_member(const struct app_output *output)
{
    const char *target = app_config_target(output);
    for (const struct config_field *f = output->variant->fields; target && f->key; f++) {
        const uint8_t *member = (const uint8_t *)output->settings + f->offset;
        if (f->type == CONFIG_PATH && *(const char *const *)(const void *)member == target) {
            return member;
        }
    }
    return output->settings;
}

static bool same_rules(const struct config_list *a, const struct config_list *b)
{
    const struct app_rule *x = a->items;
    const struct app_rule *y = b->items;
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++) {
        same = app_rules_are_same(&x[i], &y[i]);
    }
    return same;
}

bool app_config_has_session(const struct app_config *config)
{
    for (size_t i = 0; i < config->session_count; i++) {
        if (config->sessions[i].enabled) {
            return true;
        }
    }
    return false;
}

/* May the output hold events of one route while it delivers others? In memory a kill would make it
 * send those again, with all that was delivered since. */
static bool may_hold(const struct app_output *output)
{
    const struct output_ops *ops = output->ops;
    bool has_checkpoint = ops->checkpoint && output->workers <= 1;
    return output->enabled && ops->route && ops->route(output->settings) && !has_checkpoint;
}

bool app_config_copies(const struct app_config *config)
{
    size_t outputs = 0;
    for (size_t i = 0; i < config->output_count; i++) {
        outputs += config->outputs[i].enabled;
    }
    bool copies = config->spool.recorded == APP_SPOOL_COPY ||
                  (config->spool.recorded == APP_SPOOL_RECORDED_AUTO && outputs > 1);
    for (size_t i = 0; i < config->output_count && !copies; i++) {
        copies = may_hold(&config->outputs[i]);
    }
    for (size_t i = 0; i < config->session_count && !copies; i++) {
        copies = config->sessions[i].enabled && !config->sessions[i].ops->replayable;
    }
    return copies && config->spool.mode == APP_SPOOL_DURABLE;
}

const char *app_config_data_dir(const struct app_config *config)
{
    bool keeps = config->spool.mode == APP_SPOOL_DURABLE;
    return config->agent.data_dir ? config->agent.data_dir
           : keeps                ? plat_default_data_folder()
                                  : NULL;
}

const char *app_config_format(const struct app_output *output)
{
    static const char *const names[] = {
        [APP_FORMAT_NATIVE] = "native", [APP_FORMAT_ECS] = "ecs", [APP_FORMAT_OTEL] = "otel"};
    const char *own = output->ops->format ? output->ops->format(output->settings) : NULL;
    return own ? own : names[output->format];
}

uint64_t app_config_batch_bytes(const struct app_config *config, const struct app_output *output)
{
    enum { SPOOL_SHARE = 8 };
    bool keeps = config->spool.mode == APP_SPOOL_DURABLE;
    uint64_t most = keeps ? config->spool.max_size_bytes / SPOOL_SHARE : UINT64_MAX;
    return output->batch.bytes < most ? output->batch.bytes : most;
}

uint64_t app_config_own_bytes(const struct app_config *config, const struct app_output *output)
{
    return output->ops->memory
               ? output->ops->memory(output->settings, app_config_batch_bytes(config, output),
                     (uint64_t)output->batch.events)
               : 0;
}

bool app_config_same_stream(
    const struct app_config *config, const struct app_output *a, const struct app_output *b)
{
    struct event_options of_a = app_shape_options(a);
    struct event_options of_b = app_shape_options(b);
    bool same = strcmp(app_config_format(a), app_config_format(b)) == 0 &&
                event_options_equal(&of_a, &of_b) && same_rules(&a->filters, &b->filters);
    for (size_t i = 0; i < config->session_count && same; i++) {
        const struct app_session *session = &config->sessions[i];
        same = !session->enabled || app_config_takes(a, session) == app_config_takes(b, session);
    }
    return same;
}
