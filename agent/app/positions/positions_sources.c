#include <stdlib.h>

#include "app/positions/positions_own.h"
#include "app/state/spool_facts.h"
#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/catalogue_outputs.h"
#include "store/catalogue/catalogue_sources.h"

/*
 * The positions at which sources resume. The content of the spool decides, whatever outputs have
 * delivered of it: per stream, a session resumes after the last sequence that the stream has of it.
 * - A stream that the last run did not have (another shape, another filter) begins at the positions
 *   of the streams that its outputs read then. If it has only new outputs, it begins where the
 *   other streams are, because earlier events were not wanted. The store gets that position at
 *   once, so that the next run finds it there.
 * - A stream that was ahead of one of its outputs, which read another stream then, goes back to
 *   that output's position. Its other outputs skip the events that they have already (handover.h).
 *
 * Sequences are valid only together with the input's notes about its files. If the catalogue was
 * rebuilt, these notes are lost, or older than the sequences: then sequences start again above
 * them.
 */

/* ---- the previous run ------------------------------------------------------------------------ */

/* State of the catalogue before this run changes it. */
struct earlier {
    struct positions *p;
    uint64_t *ids;     /* by stream of the plan; 0: it is new */
    bool *current;     /* by stream: the last run had it */
    uint64_t *own;     /* [stream * session_count + session] */
    uint64_t *highest; /* by session */

    /* By output: its number then, and the stream that it read; 0: it is new. */
    uint64_t *output_ids;
    uint64_t *output_streams;
    uint64_t *output_own; /* [session * output_count + output]: how far that had the session … */
    bool *output_took;    /* … if it took it: then it may have nothing of it yet */
};

static bool note_stream(void *self, const struct catalogue_stream *stream)
{
    struct earlier *earlier = self;
    for (size_t i = 0; i < earlier->p->plan->stream_count; i++) {
        if (span_is(stream->key, earlier->p->keys[i])) {
            earlier->ids[i] = stream->id;
        }
    }
    return true;
}

static bool note_output(void *self, const struct catalogue_output *output)
{
    struct earlier *earlier = self;
    const struct agent_plan *plan = earlier->p->plan;
    size_t o = agent_plan_find_output(plan, output->name);
    if (o < plan->output_count) {
        earlier->output_ids[o] = output->id;
    }
    return true;
}

static bool note_range(void *self, const struct catalogue_range *range)
{
    struct earlier *earlier = self;
    for (size_t o = 0; range->last == UINT64_MAX && o < earlier->p->plan->output_count; o++) {
        if (earlier->output_ids[o] == range->output) {
            earlier->output_streams[o] = range->stream;
        }
    }
    for (size_t i = 0; range->last == UINT64_MAX && i < earlier->p->plan->stream_count; i++) {
        earlier->current[i] = earlier->current[i] || range->stream == earlier->ids[i];
    }
    return true;
}

static bool note_source(void *self, const struct catalogue_source *source)
{
    struct earlier *earlier = self;
    const struct agent_plan *plan = earlier->p->plan;
    for (size_t s = 0; s < plan->session_count; s++) {
        if (!span_is(source->session, agent_plan_session_name(plan, s))) {
            continue;
        }
        for (size_t i = 0; i < plan->stream_count; i++) {
            if (source->stream == earlier->ids[i]) {
                earlier->own[i * plan->session_count + s] = source->sequence;
            }
        }
        for (size_t o = 0; o < plan->output_count; o++) {
            if (source->stream == earlier->output_streams[o]) {
                earlier->output_own[s * plan->output_count + o] = source->sequence;
                earlier->output_took[s * plan->output_count + o] = true;
            }
        }
        if (source->sequence > earlier->highest[s]) {
            earlier->highest[s] = source->sequence;
        }
    }
    return true;
}

static bool read_earlier(struct positions *p, struct earlier *earlier, struct error *err)
{
    struct catalogue *reader = positions_store_take_reader(p, err);
    bool ok = reader && catalogue_streams(reader, note_stream, earlier, err) &&
              catalogue_outputs(reader, note_output, earlier, err) &&
              catalogue_ranges(reader, note_range, earlier, err) &&
              catalogue_sources(reader, note_source, earlier, err);
    plat_mutex_unlock(&p->reader_mutex);
    return ok;
}

/* ---- where a stream resumes ------------------------------------------------------------------ */

/* Did the output read another stream in the last run, which took the session? */
static bool has_moved(const struct earlier *earlier, size_t stream, size_t session, size_t output)
{
    const struct agent_plan *plan = earlier->p->plan;
    return plan->outputs[output].stream == stream &&
           earlier->output_streams[output] != earlier->ids[stream] &&
           earlier->output_took[session * plan->output_count + output];
}

/* The position at which a stream that was at ${begin} resumes: that of the streams which its
 * outputs read in the last run; of several the lowest, so that nothing is skipped. */
static uint64_t find_begin(
    const struct earlier *earlier, size_t stream, size_t session, uint64_t begin)
{
    const struct agent_plan *plan = earlier->p->plan;
    for (size_t o = 0; o < plan->output_count; o++) {
        uint64_t own = earlier->output_own[session * plan->output_count + o];
        if (has_moved(earlier, stream, session, o) && own < begin) {
            begin = own;
        }
    }
    return begin;
}

/* A stream that was at ${before} continues at ${begin}: what its outputs had beyond that, here or
 * in the stream that they read, they leave out. True if there is any. */
static bool note_delivered(
    const struct earlier *earlier, size_t stream, size_t session, uint64_t before, uint64_t begin)
{
    struct positions *p = earlier->p;
    const struct agent_plan *plan = p->plan;
    bool any = false;
    for (size_t o = 0; o < plan->output_count; o++) {
        size_t cell = session * plan->output_count + o;
        bool moved = has_moved(earlier, stream, session, o);
        uint64_t own = moved ? earlier->output_own[cell] : before;
        bool counts = plan->outputs[o].stream == stream && (moved || earlier->current[stream]);
        if (counts && own > begin && own > delivered_number(&p->handover.delivered[cell])) {
            delivered_set(&p->handover.delivered[cell], own, store_last_id(p->store));
            any = true;
        }
    }
    return any;
}

/* Was something of the session read, and is it lost what? */
static bool begins_anew(const struct positions *p, const struct earlier *earlier, size_t session)
{
    return earlier->highest[session] && p->plan->session_configs[session]->ops->state &&
           p->states[session].size == 0;
}

static bool begin_session(struct positions *p, const struct earlier *earlier, size_t stream,
    uint64_t id, size_t session, struct error *err)
{
    const struct agent_plan *plan = p->plan;
    size_t cell = stream * plan->session_count + session;
    struct span name = span_text(agent_plan_session_name(p->plan, session));
    bool is_taken_over = p->handover.known[cell];
    bool knows = earlier->current[stream] || is_taken_over;
    uint64_t before = knows ? earlier->own[cell] : earlier->highest[session];
    bool fixed = is_taken_over || (knows && begins_anew(p, earlier, session));
    uint64_t begin = fixed ? before : find_begin(earlier, stream, session, before);
    bool ok = true;
    bool takes = false;
    bool has_more = !fixed && note_delivered(earlier, stream, session, before, begin);
    p->is_back |= begin < before || has_more;
    if (has_more) {
        ok = handover_put_delivered(p->plan, p->store, &p->handover, err);
    }
    for (size_t o = 0; o < plan->output_count; o++) {
        if (plan->outputs[o].stream == stream && agent_plan_takes(plan, session, o)) {
            uint64_t delivered = delivered_number(
                &p->handover.delivered[session * plan->output_count + o]);
            p->resume[session * plan->output_count + o] = delivered > begin ? delivered : begin;
            takes = true;
        }
    }
    return ok && (!takes || (knows && begin == before) ||
                     store_source_from(p->store, name, id, begin, err));
}

static bool begin_stream(
    struct positions *p, const struct earlier *earlier, size_t stream, struct error *err)
{
    const struct agent_plan *plan = p->plan;
    uint64_t id;
    bool ok = store_stream(p->store, span_text(p->keys[stream]), plan->streams[stream].hash,
        span_make(NULL, 0), &id, err);
    for (size_t s = 0; ok && s < plan->session_count; s++) {
        ok = !plan->sessions[s].replayable || begin_session(p, earlier, stream, id, s, err);
    }
    return ok;
}

/* ---- log lines ------------------------------------------------------------------------------- */

/* The sequence after which the session resumes: the lowest of its outputs. */
static uint64_t find_resume(const struct positions *p, size_t session)
{
    const struct agent_plan *plan = p->plan;
    uint64_t lowest = UINT64_MAX;
    for (size_t o = 0; o < plan->output_count; o++) {
        size_t cell = session * plan->output_count + o;
        if (agent_plan_takes(plan, session, o) && p->resume[cell] < lowest) {
            lowest = p->resume[cell];
        }
    }
    return lowest == UINT64_MAX ? 0 : lowest;
}

/* Log the folder of the spool, and what waits in it. */
static void tell_waiting(struct positions *p)
{
    struct spool_facts facts;
    struct error ignored;
    const char *folder = p->folder;
    log_write(p->log, LOG_LEVEL_INFO, NULL,
        "spool: events wait in %s until outputs have delivered them", folder);
    struct catalogue *reader = positions_store_take_reader(p, &ignored);
    bool ok = reader && spool_facts_read(reader, &facts, &ignored);
    plat_mutex_unlock(&p->reader_mutex);
    if (!ok) {
        return; /* unreadable state is reported where it is needed */
    }
    for (size_t i = 0; i < facts.output_count; i++) {
        const struct spool_output_facts *output = &facts.outputs[i];
        if (output->backlog.records) {
            log_write(p->log, LOG_LEVEL_INFO, NULL,
                "spool: %llu events of an earlier run wait for output %s in %s",
                (unsigned long long)output->backlog.records, output->name, folder);
        }
    }
    spool_facts_fini(&facts);
}

static void tell_begin(struct positions *p, const struct earlier *earlier)
{
    tell_waiting(p);
    for (size_t s = 0; s < p->plan->session_count; s++) {
        if (p->plan->sessions[s].replayable && begins_anew(p, earlier, s)) {
            p->restarted = true;
            log_write_as(p->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, NULL,
                "session %s: the saved read position of its files is lost: they are read again, "
                "and events may be delivered twice",
                agent_plan_session_name(p->plan, s));
        } else if (p->plan->sessions[s].replayable && find_resume(p, s)) {
            log_write(p->log, LOG_LEVEL_INFO, NULL,
                "session %s resumes after event %llu: an earlier run has read the events before "
                "it, according to %s%s",
                agent_plan_session_name(p->plan, s), (unsigned long long)find_resume(p, s),
                p->data_dir,
                p->config->agent.data_dir
                    ? ""
                    : ". to read it again, set another agent.data_dir, or spool.mode: memory");
        }
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What was staged so far, if the disk lets it: a full one is no reason not to start, as what lies
 * on it may leave by the outputs. It becomes true with a later commit then. But a stream that goes
 * back must not be taken to be where it was. */
static bool commit_beginning(struct positions *p, struct error *err)
{
    struct store_committed committed;
    struct error why;
    if (store_commit(p->store, &committed, &why)) {
        return true;
    }
    if (p->is_back) {
        return error_set(err, why.code,
            "%s. formats or filters of outputs have changed, so outputs get undelivered events "
            "again. make room on the disk first",
            why.text);
    }
    log_write_as(p->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, "spool",
        "spool: %s; the agent tries again", why.text);
    return true;
}

bool positions_sources_find(struct positions *p, struct error *err)
{
    const struct agent_plan *plan = p->plan;
    struct earlier earlier = {.p = p,
        .ids = calloc(plan->stream_count + 1, sizeof(*earlier.ids)),
        .current = calloc(plan->stream_count + 1, sizeof(*earlier.current)),
        .own = calloc(plan->stream_count * plan->session_count + 1, sizeof(*earlier.own)),
        .highest = calloc(plan->session_count + 1, sizeof(*earlier.highest)),
        .output_ids = calloc(plan->output_count + 1, sizeof(*earlier.output_ids)),
        .output_streams = calloc(plan->output_count + 1, sizeof(*earlier.output_streams)),
        .output_own = calloc(
            plan->output_count * plan->session_count + 1, sizeof(*earlier.output_own)),
        .output_took = calloc(
            plan->output_count * plan->session_count + 1, sizeof(*earlier.output_took))};
    bool ok = (earlier.ids && earlier.current && earlier.own && earlier.highest &&
                  earlier.output_ids && earlier.output_streams && earlier.output_own &&
                  earlier.output_took) ||
              error_set(err, ERR_MEMORY, "out of memory");
    ok = ok && read_earlier(p, &earlier, err);
    for (size_t i = 0; ok && i < plan->stream_count; i++) {
        ok = begin_stream(p, &earlier, i, err);
    }
    ok = ok && commit_beginning(p, err);
    if (ok) {
        store_tidy(p->store);
        tell_begin(p, &earlier);
    }
    free(earlier.ids);
    free(earlier.current);
    free(earlier.own);
    free(earlier.highest);
    free(earlier.output_ids);
    free(earlier.output_streams);
    free(earlier.output_own);
    free(earlier.output_took);
    return ok;
}
