#include "app/run/agent_setup.h"

#include <stdlib.h>

#include "app/config/app_memory.h"
#include "app/log/log.h"
#include "app/run/agent_runner.h"
#include "platform/plat_clock.h"
#include "schema/events/kernel_names.h"

/* Also while an agent runs, if TDH hangs: the log may be another one than at the beginning. */
static void warn_schema(void *self, const char *text)
{
    struct log *log = agent_runner_hold_log(self);
    log_write_as(log, LOG_CAUSE_DEFINITIONS, LOG_LEVEL_WARNING, NULL, "%s", text);
    agent_runner_release_log(self);
}

static bool read_schemas(struct agent_setup *setup, const struct agent_run_settings *run,
    struct agent_runner *runner, struct error *err)
{
    const struct app_config *config = &setup->config;
    size_t count;
    const char **paths = app_config_schema_paths(config, &count);
    if (!paths) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    struct schema_source_settings settings = {.paths = paths,
        .path_count = count,
        .language = config->agent.language,
        .max_definition_bytes = (size_t)app_memory_definitions(config),
        .pack = run->schema_pack,
        .tmf = run->schema_tmf,
        .warn = warn_schema,
        .warn_self = runner};
    setup->schemas = schema_shared_create(&settings, err);
    free(paths);
    return setup->schemas != NULL;
}

struct agent_setup *agent_setup_create(const struct agent_run_settings *settings,
    struct agent_runner *runner, const struct app_config *config, bool owns, struct error *err)
{
    struct agent_setup *setup = calloc(1, sizeof(*setup));
    struct app_config given = *config;
    if (!setup) {
        if (owns) {
            app_config_fini(&given);
        }
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    setup->config = given;
    setup->owns_config = owns;
    setup->loaded = plat_now_filetime();
    struct agent_plan_settings plan = {
        .config = &setup->config, .max_events = settings->max_events, .colors = settings->colors};
    /* First of all: a file that changes while it is read is news to the next reload. */
    setup->shown = app_digest_shown(&setup->config);
    bool good = app_digest_take(&setup->config, &setup->digest, err) &&
                read_schemas(setup, settings, runner, err);
    plan.schemas = setup->schemas;
    if (!good || !agent_plan_init(&setup->plan, &plan, err)) {
        agent_setup_destroy(setup);
        return NULL;
    }
    return setup;
}

void agent_setup_destroy(struct agent_setup *setup)
{
    if (setup) {
        schema_shared_destroy(setup->schemas);
        agent_plan_fini(&setup->plan);
        if (setup->owns_config) {
            app_config_fini(&setup->config);
        }
        free(setup);
    }
}

/* ---- trying it ------------------------------------------------------------------------------- */

void *agent_setup_make_input(const struct agent_setup *setup, size_t index, struct error *err)
{
    const struct app_session *config = setup->plan.session_configs[index];
    const struct input_env env = {.name = config->name,
        .providers = setup->plan.providers[index],
        .provider_count = config->providers.count,
        .kernel_event = kernel_names_find};
    return config->ops->create(config->settings, &env, err);
}

static bool try_session(const struct agent_setup *setup, size_t index, struct error *err)
{
    const struct app_session *config = setup->plan.session_configs[index];
    struct error why;
    void *input = agent_setup_make_input(setup, index, &why);
    if (!input) {
        return error_set(err, why.code, "session %s: %s", config->name, why.text);
    }
    config->ops->destroy(input);
    return true;
}

static bool try_output(const struct agent_setup *setup, size_t index, struct error *err)
{
    const struct app_output *config = setup->plan.output_configs[index];
    const struct output_env env = {.name = config->name, .format = app_config_format(config)};
    struct error why;
    void *output = app_digest_can_read(config, &why)
                       ? config->ops->create(config->settings, &env, &why)
                       : NULL;
    if (!output) {
        return error_set(err, why.code, "output %s: %s", config->name, why.text);
    }
    config->ops->destroy(output);
    return true;
}

bool agent_setup_try(const struct agent_setup *setup, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < setup->plan.session_count; i++) {
        ok = try_session(setup, i, err);
    }
    for (size_t i = 0; ok && i < setup->plan.output_count; i++) {
        ok = try_output(setup, i, err);
    }
    return ok;
}
