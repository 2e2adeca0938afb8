#include "app/config/app_memory.h"

#include <stdlib.h>

#include "app/config/app_boot.h"
#include "app/config/app_rules.h"
#include "config/config_value.h"
#include "pipeline/assembly/budget.h"

/* The stream of output ${index} among those of the outputs before it;
 * ${streams} if it has its own. */
static size_t find_stream(const struct app_config *config, const struct app_output *const *enabled,
    const struct pipeline_output *outputs, size_t index, size_t streams)
{
    for (size_t i = 0; i < index; i++) {
        if (app_config_same_stream(config, enabled[i], enabled[index])) {
            return outputs[i].stream;
        }
    }
    return streams;
}

/* Only what the pipeline's budget needs. */
static void plan(const struct app_config *config, const struct app_output **enabled,
    struct pipeline_stream *streams, struct pipeline_output *outputs,
    struct pipeline_settings *settings)
{
    bool any_live = false;
    for (size_t i = 0; i < config->session_count; i++) {
        const struct app_session *session = &config->sessions[i];
        settings->session_count += session->enabled ? 1 + app_boot_is_read(session) : 0;
        bool has_table = session->enabled && session->process_context;
        settings->process_tables += has_table && !session->ops->needs_etw;
        any_live |= has_table && session->ops->needs_etw;
    }
    settings->process_tables += any_live;
    settings->rolls_up = app_rules_roll_up(config);
    settings->limiter_tables = app_rules_bucket_tables(config);
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        size_t at = settings->output_count;
        if (!output->enabled) {
            continue;
        }
        enabled[at] = output;
        size_t stream = find_stream(config, enabled, outputs, at, settings->stream_count);
        size_t *max_bytes = &streams[stream].max_bytes;
        if (stream == settings->stream_count) {
            settings->stream_count++;
            *max_bytes = SIZE_MAX;
        }
        size_t bytes = (size_t)app_config_batch_bytes(config, output);
        *max_bytes = bytes < *max_bytes ? bytes : *max_bytes;
        outputs[at] = (struct pipeline_output){.workers = (size_t)output->workers,
            .own_bytes = (size_t)app_config_own_bytes(config, output),
            .stream = stream};
        settings->output_count++;
    }
}

/* Call ${ask} with the settings of this configuration. */
static uint64_t ask_budget(
    const struct app_config *config, size_t (*ask)(const struct pipeline_settings *settings))
{
    size_t count = config->output_count + 1;
    struct pipeline_stream *streams = calloc(count, sizeof(*streams));
    struct pipeline_output *outputs = calloc(count, sizeof(*outputs));
    const struct app_output **enabled = calloc(count, sizeof(const struct app_output *));
    struct pipeline_settings settings = {.streams = streams,
        .outputs = outputs,
        .memory_bytes = (size_t)config->agent.memory_bytes,
        .worker_count = (size_t)config->agent.decode_workers};
    uint64_t answer = 0;
    if (streams && outputs && enabled) {
        plan(config, enabled, streams, outputs, &settings);
        answer = ask(&settings);
    }
    free(streams);
    free(outputs);
    free(enabled);
    return answer;
}

uint64_t app_memory_needed(const struct app_config *config)
{
    return ask_budget(config, budget_memory_needed);
}

uint64_t app_memory_definitions(const struct app_config *config)
{
    return ask_budget(config, budget_definition_bytes);
}

bool app_memory_check(const struct app_config *config, struct error *err)
{
    uint64_t given = config->agent.memory_bytes;
    uint64_t needed = app_memory_needed(config);
    return given >= needed ||
           error_set(err, ERR_LIMIT,
               "memory: %s is too little for these sessions, workers and outputs: the process will "
               "take more. write %s or more under agent",
               config_value_write_size(given).text, config_value_write_size(needed).text);
}
