#include "app/agent_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/agent_identity.h"
#include "event/event_writer.h"
#include "pipeline/delivery_host.h"
#include "pipeline/stream.h"
#include "platform/plat_system.h"

enum { MAX_OUTPUTS = 64, MAX_SCHEMA_PATHS = 1024 };

struct agent {
    const struct agent_run_settings *settings;
    struct schema_cache *cache;
    struct buf tail;
    struct delivery_host *hosts[MAX_OUTPUTS]; /* by output; NULL: disabled */
    struct agent_run_result result;
};

/* The streams of one session: outputs grouped by the format that they want. */
struct session_streams {
    struct codepage ansi;
    struct event_writer *writers[MAX_OUTPUTS];
    struct stream *streams[MAX_OUTPUTS];
    struct flow_consumer consumers[MAX_OUTPUTS + 1];
    size_t count;
};

static void warn_schema(void *self, const char *text)
{
    struct agent *agent = self;
    agent->settings->warn(agent->settings->warn_self, text);
}

static void warn_output(void *self, const char *output, const char *text)
{
    struct agent *agent = self;
    char line[700];
    snprintf(line, sizeof(line), "output %s: %s; trying again", output, text);
    agent->settings->warn(agent->settings->warn_self, line);
}

static void warn_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct agent *agent = self;
    char line[700];
    snprintf(line, sizeof(line), "%.*s: damaged at byte %llu: %s",
        SPAN_ARG(span_first(trace->path, 400)), (unsigned long long)offset, what);
    agent->settings->warn(agent->settings->warn_self, line);
}

static bool stopping(void *self)
{
    (void)self;
    return session_run_stopping();
}

/* ---- what lives as long as the agent -------------------------------------------------------------- */

static bool make_cache(struct agent *agent, struct error *err)
{
    const struct app_config *config = agent->settings->config;
    const char *paths[MAX_SCHEMA_PATHS];
    size_t count = 0;
    for (size_t i = 0; i < config->schema_count && count < MAX_SCHEMA_PATHS; i++) {
        if (config->schemas[i].type == APP_SCHEMA_FOLDER) {
            paths[count++] = config->schemas[i].path;
        }
    }
    struct schema_cache_settings settings = {
        .sources = {.paths = paths, .path_count = count, .warn = warn_schema, .warn_self = agent}};
    agent->cache = schema_cache_create(&settings, err);
    return agent->cache != NULL;
}

static bool make_hosts(struct agent *agent, struct error *err)
{
    const struct app_config *config = agent->settings->config;
    if (config->output_count > MAX_OUTPUTS) {
        return error_set(err, ERR_LIMIT, "more than %d outputs", MAX_OUTPUTS);
    }
    for (size_t i = 0; i < config->output_count; i++) {
        const struct app_output *output = &config->outputs[i];
        if (!output->enabled) {
            continue;
        }
        struct delivery_host_settings settings = {.ops = output->ops,
            .settings = output->settings,
            .name = output->name,
            .stopping = stopping,
            .warn = warn_output,
            .self = agent};
        agent->hosts[i] = delivery_host_create(&settings, err);
        if (!agent->hosts[i]) {
            return false;
        }
    }
    return true;
}

static void agent_fini(struct agent *agent)
{
    for (size_t i = 0; i < MAX_OUTPUTS; i++) {
        delivery_host_destroy(agent->hosts[i]);
    }
    schema_cache_destroy(agent->cache);
    buf_fini(&agent->tail);
}

/* ---- one session ---------------------------------------------------------------------------------- */

static const char *format_of(const struct app_output *output)
{
    const char *own = output->ops->format ? output->ops->format(output->settings) : NULL;
    return own ? own : output->format == APP_FORMAT_ECS ? "ecs" : "native";
}

static bool add_stream(struct agent *agent, const struct app_session *session, const char *format,
    struct delivery_host **hosts, size_t host_count, struct session_streams *streams,
    struct error *err)
{
    size_t n = streams->count;
    struct event_writer_settings writer = {.session = span_text(session->name),
        .tail = buf_span(&agent->tail),
        .ansi = &streams->ansi,
        .colors = agent->settings->colors};
    streams->writers[n] = event_writer_create(&writer, err);
    if (!streams->writers[n]) {
        return false;
    }
    struct stream_settings settings = {.format = event_format_find(span_text(format)),
        .writer = streams->writers[n],
        .hosts = hosts,
        .host_count = host_count};
    streams->count++;
    streams->streams[n] = stream_create(&settings, err);
    if (!streams->streams[n]) {
        return false;
    }
    streams->consumers[n] = stream_consumer(streams->streams[n]);
    return true;
}

static bool make_streams(struct agent *agent, const struct app_session *session,
    struct session_streams *streams, struct error *err)
{
    const struct app_config *config = agent->settings->config;
    bool done[MAX_OUTPUTS] = {false};
    struct input_decoding decoding = {.codepage = 0};
    if (session->ops->decoding) {
        session->ops->decoding(session->settings, &decoding);
    }
    if (!plat_codepage_init(
            &streams->ansi, decoding.codepage ? decoding.codepage : codepage_1252.id, err)) {
        return false;
    }
    for (size_t i = 0; i < config->output_count; i++) {
        if (done[i] || !agent->hosts[i] || !app_config_takes(&config->outputs[i], session)) {
            continue;
        }
        const char *format = format_of(&config->outputs[i]);
        struct delivery_host *hosts[MAX_OUTPUTS];
        size_t count = 0;
        for (size_t k = i; k < config->output_count; k++) {
            if (agent->hosts[k] && app_config_takes(&config->outputs[k], session) &&
                strcmp(format, format_of(&config->outputs[k])) == 0) {
                done[k] = true;
                hosts[count++] = agent->hosts[k];
            }
        }
        if (!add_stream(agent, session, format, hosts, count, streams, err)) {
            return false;
        }
    }
    return true;
}

static void streams_fini(struct session_streams *streams)
{
    for (size_t i = 0; i < streams->count; i++) {
        stream_destroy(streams->streams[i]);
        event_writer_destroy(streams->writers[i]);
    }
    plat_codepage_fini(&streams->ansi);
}

static void add_result(
    struct agent *agent, const struct app_session *session, const struct session_result *result)
{
    struct agent_run_result *total = &agent->result;
    total->damaged += result->damaged;
    total->raw += result->counts.decode.raw;
    total->partial += result->counts.decode.partial;
    if (result->end == INPUT_FAILED) {
        char line[700];
        snprintf(line, sizeof(line), "session %s: %s", session->name, result->error.text);
        agent->settings->warn(agent->settings->warn_self, line);
        total->failed_sessions++;
    }
}

static bool run_session(struct agent *agent, const struct app_session *session, struct error *err)
{
    struct session_streams streams = {.count = 0};
    bool ok = make_streams(agent, session, &streams, err);
    if (ok) {
        streams.consumers[streams.count] = summary_consumer(agent->result.summary);
        struct session_run_settings settings = {.input = session->ops,
            .settings = session->settings,
            .cache = agent->cache,
            .max_events = agent->settings->max_events,
            .consumers = streams.consumers,
            .consumer_count = streams.count + 1,
            .damage = warn_damage,
            .damage_self = agent};
        struct session_result result;
        ok = session_run(&settings, &result, err);
        for (size_t i = 0; i < streams.count; i++) {
            stream_flush(streams.streams[i]);
        }
        if (ok) {
            add_result(agent, session, &result);
        }
    }
    streams_fini(&streams);
    return ok;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static void count_outputs(struct agent *agent)
{
    const struct app_config *config = agent->settings->config;
    for (size_t i = 0; i < config->output_count; i++) {
        if (!agent->hosts[i]) {
            continue;
        }
        struct delivery_counts counts = delivery_host_counts(agent->hosts[i]);
        summary_add_output(
            agent->result.summary, config->outputs[i].name, counts.delivered, counts.bytes);
        agent->result.rejected += counts.rejected;
        agent->result.undelivered += delivery_host_closed(agent->hosts[i]) ? 0 : counts.undelivered;
    }
}

bool agent_run(const struct agent_run_settings *settings, struct agent_run_result *ret_result,
    struct error *err)
{
    const struct app_config *config = settings->config;
    struct agent agent = {.settings = settings};
    buf_init(&agent.tail, 1024 * 1024);
    agent.result.summary = summary_create();
    bool ok = agent.result.summary || error_set(err, ERR_MEMORY, "out of memory");
    ok = ok &&
         agent_identity_tail_full(config->agent.data_dir, &config->agent.labels,
             &config->agent.tags, &agent.tail, err) &&
         make_cache(&agent, err) && make_hosts(&agent, err);
    for (size_t i = 0; ok && i < config->session_count && !session_run_stopping(); i++) {
        if (config->sessions[i].enabled) {
            ok = run_session(&agent, &config->sessions[i], err);
        }
    }
    if (ok) {
        agent.result.stopped = session_run_stopping();
        count_outputs(&agent);
        *ret_result = agent.result;
    } else {
        summary_destroy(agent.result.summary);
    }
    agent_fini(&agent);
    return ok;
}
