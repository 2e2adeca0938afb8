#include <stdlib.h>

#include "pipeline/work/decode_worker_own.h"

/* What a worker keeps for each session: its caches, writers and readers of processes. */

static bool make_writers(
    struct context *context, const struct decode_worker_settings *settings, struct error *err)
{
    const struct worker_session *session = context->session;
    for (size_t i = 0; i < session->stream_count; i++) {
        const struct worker_stream *stream = &settings->streams[session->streams[i]];
        struct event_writer_settings writer = {.session = span_text(session->name),
            .ansi = session->ansi,
            .tail = settings->tail,
            .agent = settings->agent,
            .colors = stream->colors,
            .zone = stream->zone,
            .options = stream->options};
        context->streams[i].stream = stream;
        context->streams[i].writer = event_writer_create(&writer, err);
        if (!context->streams[i].writer) {
            return false;
        }
    }
    return true;
}

bool decode_worker_context_make(struct decode_worker *worker, size_t index, struct error *err)
{
    const struct decode_worker_settings *settings = &worker->settings;
    const struct worker_session *session = &settings->sessions[index];
    struct context *context = &worker->contexts[index];
    context->session = session;
    context->decode = (struct event_decode){.cache = settings->caches[index],
        .decoder = &worker->decoder,
        .pointer_size = session->pointer_size};
    context->has_scratch = true; /* fini is allowed from here on */
    context->decode.widths = width_evidence_create(err);
    if (!filter_scratch_init(&context->scratch, session->ansi, err) || !context->decode.widths) {
        return false;
    }
    context->scratch.paths.session = span_text(session->name);
    context->scratch.paths.agent = settings->agent;
    context->processes = session->processes ? process_reader_create(session->processes, err) : NULL;
    if (session->processes && !context->processes) {
        return false;
    }
    context->streams = calloc(session->stream_count + 1, sizeof(*context->streams));
    context->observed = session->observed;
    if (!context->streams || !decode_worker_gates_make(worker, index, err)) {
        return error_set(err, ERR_MEMORY, "out of memory for a decode worker");
    }
    context->is_edited = edit_stage_is_needed(session, context->gates, context->stream_gates);
    return make_writers(context, settings, err);
}

void decode_worker_context_fini(struct decode_worker *worker, size_t index)
{
    struct context *context = &worker->contexts[index];
    const struct worker_session *session = &worker->settings.sessions[index];
    for (size_t i = 0; context->streams && i < session->stream_count; i++) {
        event_writer_destroy(context->streams[i].writer);
    }
    free(context->streams);
    width_evidence_destroy(context->decode.widths);
    process_reader_destroy(context->processes);
    decode_worker_gates_fini(worker, index);
    if (context->has_scratch) {
        filter_scratch_fini(&context->scratch);
    }
}
