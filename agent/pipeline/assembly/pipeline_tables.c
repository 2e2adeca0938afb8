#include "pipeline/assembly/pipeline_tables.h"

#include <stdlib.h>

#include "pipeline/spool/spool_durable.h"

bool pipeline_tables_init(
    struct pipeline_tables *t, const struct pipeline_settings *s, struct error *err)
{
    size_t sessions = s->session_count + 1;
    size_t streams = s->stream_count + 1;
    size_t outputs = s->output_count + 1;
    t->session_count = sessions;
    t->output_count = s->output_count;
    t->worker_streams = calloc(streams, sizeof(*t->worker_streams));
    t->worker_sessions = calloc(sessions, sizeof(*t->worker_sessions));
    t->sealer_streams = calloc(streams, sizeof(*t->sealer_streams));
    t->sealer_sessions = calloc(sessions, sizeof(*t->sealer_sessions));
    t->stream_outputs = calloc(outputs, sizeof(*t->stream_outputs));
    t->all_streams = calloc(streams, sizeof(*t->all_streams));
    t->resume = calloc(sessions * outputs, sizeof(*t->resume));
    t->output_resume = calloc(sessions * outputs, sizeof(*t->output_resume));
    t->output_delivered = calloc(sessions * outputs, sizeof(*t->output_delivered));
    t->stream_resume = calloc(sessions * streams, sizeof(*t->stream_resume));
    t->stream_resume_max = calloc(sessions * streams, sizeof(*t->stream_resume_max));
    t->repeats = calloc(sessions, sizeof(*t->repeats));
    bool ok = t->worker_streams && t->worker_sessions && t->sealer_streams && t->sealer_sessions &&
              t->stream_outputs && t->all_streams && t->resume && t->output_resume &&
              t->output_delivered && t->stream_resume && t->stream_resume_max && t->repeats;
    return ok || error_set(err, ERR_MEMORY, "out of memory for the pipeline");
}

void pipeline_tables_fini(struct pipeline_tables *t)
{
    free(t->worker_streams);
    free(t->worker_sessions);
    free(t->sealer_streams);
    free(t->sealer_sessions);
    free(t->stream_outputs);
    free(t->all_streams);
    free(t->resume);
    free(t->output_resume);
    free(t->output_delivered);
    free(t->stream_resume);
    free(t->stream_resume_max);
    free(t->repeats);
}

static void fill_streams(struct pipeline_tables *t, const struct pipeline_settings *s)
{
    size_t used = 0;
    for (size_t i = 0; i < s->stream_count; i++) {
        const struct pipeline_stream *stream = &s->streams[i];
        size_t first = used;
        for (size_t o = 0; o < s->output_count; o++) {
            if (s->outputs[o].stream == i) {
                t->stream_outputs[used++] = o;
            }
        }
        t->all_streams[i] = i;
        t->worker_streams[i] = stream->shape;
        t->worker_streams[i].batch_bytes = stream->max_bytes;
        t->worker_streams[i].outputs = t->stream_outputs + first;
        t->worker_streams[i].output_count = used - first;
        t->sealer_streams[i] = (struct sealer_stream){.route_count = stream->shape.route_count,
            .format = stream->shape.format,
            .max_bytes = stream->max_bytes,
            .max_events = stream->max_events,
            .whole_pieces = stream->whole_pieces,
            .max_age_ns = stream->max_age_ns,
            .outputs = t->stream_outputs + first,
            .output_count = used - first};
    }
}

/* The sequence of a session that all outputs of a stream have; ${ret_highest}: the highest of one
 * of them. */
static uint64_t lowest_resume(
    const struct pipeline_tables *t, size_t session, size_t stream, uint64_t *ret_highest)
{
    const struct sealer_stream *outputs = &t->sealer_streams[stream];
    uint64_t lowest = outputs->output_count ? UINT64_MAX : 0;
    *ret_highest = 0;
    for (size_t i = 0; i < outputs->output_count; i++) {
        uint64_t resume = pipeline_tables_resume(t, session, outputs->outputs[i]);
        lowest = resume < lowest ? resume : lowest;
        *ret_highest = resume > *ret_highest ? resume : *ret_highest;
    }
    return lowest;
}

static void fill_sessions(struct pipeline_tables *t, const struct pipeline_settings *s)
{
    for (size_t i = 0; i < t->session_count; i++) {
        bool own = i == s->session_count;
        const struct pipeline_session *session = own ? NULL : &s->sessions[i];
        const size_t *streams = own ? t->all_streams : session->streams;
        size_t count = own ? s->stream_count : session->stream_count;
        uint64_t *resume = t->stream_resume + i * (s->stream_count + 1);
        uint64_t *resume_max = t->stream_resume_max + i * (s->stream_count + 1);
        for (size_t k = 0; k < count; k++) {
            resume[k] = lowest_resume(t, i, streams[k], &resume_max[k]);
        }
        const char *shown = own || session->shown ? NULL : session->name;
        t->worker_sessions[i] = (struct worker_session){
            .name = own || shown ? shown : session->shown,
            .pointer_size = own ? 0 : session->decoding.pointer_size,
            .ansi = own ? NULL : session->ansi,
            .processes = own ? NULL : session->processes,
            .rules = own ? (struct worker_rules){.gates = NULL} : session->rules,
            .streams = streams,
            .resume = resume,
            .resume_max = resume_max,
            .stream_count = count,
            .observed = own || !s->observed ? 0 : s->observed[i]};
        t->sealer_sessions[i] = (struct sealer_session){.streams = streams,
            .stream_count = count,
            .replayable = !own && session->replayable,
            .waits = !own && session->waits};
    }
}

/* The position of a session in the spool, which all outputs reach from there. */
static void fill_resume_of_spool(struct pipeline_tables *t, const struct pipeline_settings *s,
    const struct spool *spool, size_t session)
{
    for (size_t o = 0; o < s->output_count; o++) {
        uint64_t *resume = &t->resume[session * s->output_count + o];
        uint64_t kept = spool_durable_sequence(spool, session, s->outputs[o].stream);
        *resume = kept > *resume ? kept : *resume;
    }
}

/* What an output had in an earlier run, and so leaves out of what it is given. A spool that keeps
 * gives it only what it has not had, but for what came to it before there was such a spool. */
static uint64_t resume_of(const struct pipeline_tables *t, const struct pipeline_settings *s,
    const struct spool *spool, size_t session, size_t output)
{
    if (!spool->keeps) {
        return pipeline_tables_resume(t, session, output);
    }
    return s->store.delivered && session < s->session_count
               ? delivered_number(&s->store.delivered[session * s->output_count + output])
               : 0;
}

static void fill_resume(
    struct pipeline_tables *t, const struct pipeline_settings *s, const struct spool *spool)
{
    for (size_t i = 0; s->resume && i < s->session_count * s->output_count; i++) {
        t->resume[i] = s->resume[i];
    }
    for (size_t i = 0; i < s->session_count; i++) {
        t->repeats[i] = s->restarted && s->sessions[i].replayable;
        if (spool->keeps && s->sessions[i].replayable) {
            fill_resume_of_spool(t, s, spool, i);
        }
    }
    for (size_t o = 0; o < s->output_count; o++) {
        for (size_t i = 0; i < t->session_count; i++) {
            t->output_resume[o * t->session_count + i] = resume_of(t, s, spool, i, o);
            if (s->store.delivered && i < s->session_count) {
                t->output_delivered[o * t->session_count + i] =
                    s->store.delivered[i * s->output_count + o];
            }
        }
    }
}

void pipeline_tables_fill(
    struct pipeline_tables *t, const struct pipeline_settings *s, const struct spool *spool)
{
    fill_resume(t, s, spool);
    fill_streams(t, s);
    fill_sessions(t, s);
}
