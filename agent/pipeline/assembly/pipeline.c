#include "pipeline/assembly/pipeline.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "pipeline/assembly/budget.h"
#include "pipeline/assembly/pipeline_tables.h"
#include "pipeline/assembly/spool_setup.h"
#include "platform/plat_clock.h"

/*
 * Assembly only: the threads and locks are those of the parts.
 *
 *   source threads ──► slab_queue ──► decode workers ──► sealer ──► spool ──► outlets
 *
 * Memory is shared out by budget.c. A thread that puts bytes into the spool waits for room first,
 * so the whole chain stops when it is full: workers wait, the queue fills, sources wait or drop.
 *
 * The agent itself is one more session, after the others: its events (status) come with a name but
 * without a source.
 *
 * The end: everything from the sources is sealed, and every output has settled its batches, if only
 * by dropping them. Then all losses are known, and the gaps that report them are decoded, sealed
 * and delivered last.
 */
static const uint64_t slab_age_ns = UINT64_C(50000000);
static const uint64_t default_gap_age_ns = UINT64_C(1000000000);

/* Time for outputs to count their losses when the time for the shutdown is over. */
static const uint64_t last_losses_ns = UINT64_C(500000000);

struct pipeline {
    struct pipeline_settings settings;
    size_t session_count; /* with the agent itself */
    char agent_id[64];    /* output_env.agent_id; "": there is none */

    struct pipeline_tables tables;
    struct schema_cache **caches; /* [worker * session_count + session] */
    struct spool_setup spool_setup;

    struct block_pool *pool;
    struct ledger *ledger;
    struct spool *spool;
    struct slab_queue *queue;
    struct losses *losses;
    struct sealer *sealer;
    struct source **sources;
    struct decode_worker **workers;
    struct outlet **outlets;
    atomic_size_t workers_started; /* pipeline_drain sets it to 0; pipeline_hand_over reads it */
    size_t outlets_started;
    bool stuck;

    uint64_t reports; /* numbers of status events */
    atomic_size_t reports_in_flight;
};

/* ---- parts ----------------------------------------------------------------------------------- */

static bool allocate(struct pipeline *p, struct error *err)
{
    const struct pipeline_settings *s = &p->settings;
    p->caches = calloc(p->session_count * s->worker_count, sizeof(struct schema_cache *));
    p->sources = calloc(p->session_count, sizeof(struct source *));
    p->workers = calloc(s->worker_count, sizeof(struct decode_worker *));
    p->outlets = calloc(s->output_count + 1, sizeof(struct outlet *));
    return (p->caches && p->sources && p->workers && p->outlets) ||
           error_set(err, ERR_MEMORY, "out of memory for the pipeline");
}

static uint64_t gap_age_ns(const struct pipeline_settings *s)
{
    return s->gap_age_ns ? s->gap_age_ns : default_gap_age_ns;
}

/* Of a session that is replayed nothing is lost in a stop if its positions are kept. */
static struct losses *make_losses(struct pipeline *p, struct error *err)
{
    const struct pipeline_settings *s = &p->settings;
    const char **outputs = calloc(s->output_count + 1, sizeof(*outputs));
    struct losses *losses = NULL;
    if (outputs) {
        for (size_t i = 0; i < s->output_count; i++) {
            outputs[i] = s->outputs[i].name;
        }
        struct losses_settings settings = {.session_count = p->session_count,
            .sessions = p->spool_setup.sessions,
            .comes_again = p->spool_setup.comes_again,
            .ends_with_us = !s->save && !p->spool->keeps,
            .outputs = outputs,
            .output_count = s->output_count,
            .queue = p->queue,
            .gap_age_ns = gap_age_ns(s)};
        losses = losses_create(&settings, err);
    } else {
        error_set(err, ERR_MEMORY, "out of memory for gaps");
    }
    free(outputs);
    return losses;
}

static bool make_spool(struct pipeline *p, struct error *err)
{
    p->pool = block_pool_create(budget_block_bytes(&p->settings));
    p->spool_setup.pool = p->pool;
    p->spool = spool_setup_make(&p->spool_setup, &p->settings, err);
    return p->spool != NULL;
}

static bool make_core(struct pipeline *p, struct error *err)
{
    const struct pipeline_settings *s = &p->settings;
    p->ledger = ledger_create(p->session_count, s->output_count, err);
    p->queue = p->ledger ? slab_queue_create(budget_queue_bytes(s), s->worker_count, err) : NULL;
    p->losses = p->queue ? make_losses(p, err) : NULL;
    p->spool_setup.ledger = p->ledger;
    p->spool_setup.losses = p->losses;
    if (p->losses && p->spool->keeps && !losses_load(p->losses, s->store.store, err)) {
        return false;
    }
    struct sealer_settings sealer = {.streams = p->tables.sealer_streams,
        .stream_count = s->stream_count,
        .sessions = p->tables.sealer_sessions,
        .session_count = p->session_count,
        .output_count = s->output_count,
        .resume = p->tables.resume,
        .worker_count = s->worker_count,
        .pool = p->pool,
        .spool = p->spool,
        .ledger = p->ledger,
        .losses = p->losses};
    p->sealer = p->losses ? sealer_create(&sealer, err) : NULL;
    return p->sealer != NULL;
}

/* Up to where all streams of a session have it. */
static uint64_t resume_of(const struct pipeline *p, size_t session)
{
    size_t count = p->settings.sessions[session].stream_count;
    uint64_t least = count ? UINT64_MAX : 0;
    for (size_t k = 0; k < count; k++) {
        uint64_t stream = p->tables.worker_sessions[session].resume[k];
        least = stream < least ? stream : least;
    }
    return least;
}

/* Up to where some output has it. */
static uint64_t resume_max_of(const struct pipeline *p, size_t session)
{
    uint64_t most = 0;
    for (size_t o = 0; o < p->settings.output_count; o++) {
        uint64_t output = pipeline_tables_resume(&p->tables, session, o);
        most = output > most ? output : most;
    }
    return most;
}

static bool make_sources(struct pipeline *p, struct error *err)
{
    const struct pipeline_settings *s = &p->settings;
    for (size_t i = 0; i < s->session_count; i++) {
        const struct pipeline_session *session = &s->sessions[i];
        struct source_settings source = {.session = (uint32_t)i,
            .queue = p->queue,
            .ledger = p->ledger,
            .losses = p->losses,
            .pool = p->pool,
            .slab_bytes = budget_slab_bytes(s),
            .decoding = session->decoding,
            .processes = session->processes,
            .ansi = session->ansi,
            .replayable = pipeline_session_can_wait(session),
            .block_for_ns = session->block_for_ns,
            .budget = session->budget,
            .slab_age_ns = slab_age_ns,
            .gap_age_ns = gap_age_ns(s),
            .max_events = session->max_events,
            .resume = resume_of(p, i),
            .resume_max = resume_max_of(p, i),
            .hooks = s->hooks};
        const struct source_gates_settings gates = {.session = &p->tables.worker_sessions[i],
            .streams = p->tables.worker_streams,
            .agent = s->agent};
        if (session->replayable && !source_gates_create(&gates, &source.gates, err)) {
            return false;
        }
        p->sources[i] = source_create(&source, err);
        if (!p->sources[i]) {
            return false;
        }
    }
    return true;
}

static bool make_workers(struct pipeline *p, struct error *err)
{
    const struct pipeline_settings *s = &p->settings;
    for (size_t w = 0; w < s->worker_count; w++) {
        struct schema_cache **caches = p->caches + w * p->session_count;
        for (size_t i = 0; i < s->session_count; i++) {
            caches[i] = s->make_cache(s->self, i, w, err);
            if (!caches[i]) {
                return false;
            }
        }
        struct decode_worker_settings worker = {.index = w,
            .queue = p->queue,
            .sealer = p->sealer,
            .losses = p->losses,
            .streams = p->tables.worker_streams,
            .stream_count = s->stream_count,
            .sessions = p->tables.worker_sessions,
            .session_count = p->session_count,
            .caches = caches,
            .pool = p->pool,
            .tail = s->tail,
            .agent = s->agent,
            .taps = s->taps,
            .definitions = s->definitions,
            .silent = s->silent,
            .definitions_self = s->self};
        if (s->observe) {
            worker.observer = s->observe(s->self, w);
        }
        p->workers[w] = decode_worker_create(&worker, err);
        if (!p->workers[w]) {
            return false;
        }
    }
    return true;
}

/* A cursor for the output, and the checkpoint that belongs to it, if the spool keeps that. */
static bool make_cursor(
    struct pipeline *p, size_t index, size_t *ret_cursor, struct buf *checkpoint, struct error *err)
{
    const struct pipeline_settings *s = &p->settings;
    const struct pipeline_output *output = &s->outputs[index];
    struct spool_reader reader = {.name = output->name,
        .stream = output->stream,
        .route = output->route,
        .stream_hash = s->streams[output->stream].hash,
        .from_head = output->from_head,
        .checkpoint = output->checkpoint};
    struct spool_backlog backlog;
    const struct spool_ops *ops = p->spool->ops;
    if (!ops->add_cursor(p->spool, &reader, ret_cursor, &backlog, err)) {
        return false;
    }
    ledger_offer(p->ledger, index, backlog.records, 0, false);
    if (output->checkpoint.size == 0) {
        return ops->first_checkpoint(p->spool, *ret_cursor, checkpoint, err);
    }
    buf_add_span(checkpoint, output->checkpoint);
    return !checkpoint->failed || error_set(err, ERR_LIMIT, "a checkpoint is too long");
}

static bool make_outlet(
    struct pipeline *p, size_t i, size_t cursor, struct span checkpoint, struct error *err)
{
    const struct pipeline_settings *s = &p->settings;
    const struct pipeline_output *output = &s->outputs[i];
    bool keeps = p->spool->keeps;
    struct outlet_settings outlet = {.index = i,
        .name = output->name,
        .format = s->streams[output->stream].shape.format->name,
        .ops = output->ops,
        .settings = output->settings,
        .retry = output->retry,
        .ends_on_failure = output->ends_on_failure,
        .workers = output->workers,
        .ids = output->ids,
        .checkpoint = checkpoint,
        .folder = s->output_folder,
        .agent_id = *p->agent_id ? p->agent_id : NULL,
        .resume = keeps && !s->store.delivered ? NULL
                                               : p->tables.output_resume + i * p->session_count,
        .delivered = s->store.delivered ? p->tables.output_delivered + i * p->session_count : NULL,
        .repeats = p->tables.repeats,
        .session_count = p->session_count,
        .spool = p->spool,
        .cursor = cursor,
        .ledger = p->ledger,
        .losses = p->losses,
        .drops_held = s->store.store && s->store.on_full == SPOOL_FULL_DROP_OLDEST,
        .dead_letters = s->dead_letters,
        .save = s->save,
        .ended = s->ended,
        .stopping = s->stopping,
        .warn = s->warn,
        .note = s->note,
        .self = s->self};
    p->outlets[i] = outlet_create(&outlet, err);
    return p->outlets[i] != NULL;
}

static bool make_outlets(struct pipeline *p, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < p->settings.output_count; i++) {
        struct buf checkpoint;
        size_t cursor;
        buf_init(&checkpoint, OUTPUT_CHECKPOINT_MAX_BYTES);
        ok = make_cursor(p, i, &cursor, &checkpoint, err) &&
             make_outlet(p, i, cursor, buf_span(&checkpoint), err);
        buf_fini(&checkpoint);
    }
    return ok;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct pipeline *pipeline_create(const struct pipeline_settings *settings, struct error *err)
{
    struct pipeline *p = calloc(1, sizeof(*p));
    if (!p) {
        error_set(err, ERR_MEMORY, "out of memory for the pipeline");
        return NULL;
    }
    p->settings = *settings;
    p->session_count = settings->session_count + 1;
    if (settings->agent) {
        snprintf(p->agent_id, sizeof(p->agent_id), "%.*s", SPAN_ARG(settings->agent->id));
    }
    atomic_init(&p->workers_started, 0);
    atomic_init(&p->reports_in_flight, 0);
    bool ok = allocate(p, err) && pipeline_tables_init(&p->tables, settings, err) &&
              make_spool(p, err);
    if (ok) {
        pipeline_tables_fill(&p->tables, settings, p->spool);
        ok = make_core(p, err) && make_sources(p, err) && make_workers(p, err) &&
             make_outlets(p, err);
    }
    if (!ok) {
        pipeline_destroy(p);
        return NULL;
    }
    return p;
}

static void free_plans(struct pipeline *p)
{
    pipeline_tables_fini(&p->tables);
    free(p->caches);
    free(p->sources);
    free(p->workers);
    free(p->outlets);
    spool_setup_fini(&p->spool_setup);
    free(p);
}

void pipeline_destroy(struct pipeline *p)
{
    if (!p) {
        return;
    }
    const struct pipeline_settings *s = &p->settings;
    for (size_t i = 0; p->outlets && !p->stuck && i < s->output_count; i++) {
        if (p->outlets[i]) {
            outlet_close(p->outlets[i]);
        }
    }
    if (p->spool) { /* its last commit asks the others */
        p->spool->ops->halt(p->spool);
    }
    if (p->stuck) {
        return;
    }
    for (size_t i = 0; p->outlets && i < s->output_count; i++) {
        outlet_destroy(p->outlets[i]);
    }
    for (size_t i = 0; p->workers && i < s->worker_count; i++) {
        decode_worker_destroy(p->workers[i]);
    }
    bool owns = p->caches && !s->borrows_caches;
    for (size_t i = 0; owns && i < s->worker_count * p->session_count; i++) {
        schema_cache_destroy(p->caches[i]);
    }
    sealer_destroy(p->sealer);
    slab_queue_destroy(p->queue);
    losses_destroy(p->losses);
    for (size_t i = 0; p->sources && i < s->session_count; i++) {
        source_destroy(p->sources[i]);
    }
    spool_destroy(p->spool);
    ledger_destroy(p->ledger);
    block_pool_destroy(p->pool);
    free_plans(p);
}

bool pipeline_start(struct pipeline *p, struct error *err)
{
    bool ok = p->spool->ops->start(p->spool, err);
    for (size_t i = 0; ok && i < p->settings.output_count; i++) {
        ok = outlet_start(p->outlets[i], err);
        p->outlets_started += 1; /* some of its threads may run */
    }
    for (size_t i = 0; ok && i < p->settings.worker_count; i++) {
        ok = decode_worker_start(p->workers[i], err);
        atomic_fetch_add(&p->workers_started, ok);
    }
    ok = ok && losses_start(p->losses, err);
    if (!ok) {
        pipeline_drain(p);
    } else if (p->settings.left) {
        losses_take(p->losses, p->settings.left);
    }
    return ok;
}

/* Everything that the sources gave is settled; reports on that, and gaps,
 * go their way meanwhile. */
static void wait_settled(struct pipeline *p)
{
    sealer_wait(p->sealer, slab_queue_tickets(p->queue));
    sealer_flush(p->sealer);
    p->spool->ops->flush(p->spool, NULL); /* outputs get nothing before; the spool tries again */
    ledger_wait_settled(p->ledger);
    if (!losses_are_held(p->losses) || !losses_hand_over(p->losses, p->settings.left)) {
        losses_close(p->losses);
    }
}

bool pipeline_drain(struct pipeline *p)
{
    struct error err;
    if (p->workers_started == p->settings.worker_count) {
        wait_settled(p);
    }
    slab_queue_close(p->queue);
    for (size_t i = 0; i < p->workers_started; i++) {
        decode_worker_join(p->workers[i]);
    }
    atomic_store(&p->workers_started, 0);
    sealer_flush(p->sealer);
    p->spool->ops->close(p->spool);
    p->stuck = false;
    for (size_t i = 0; i < p->outlets_started; i++) {
        p->stuck |= !outlet_join(p->outlets[i]);
    }
    losses_stop(p->losses);
    if (!p->spool->ops->flush(p->spool, &err) && err.code != ERR_STOPPED) { /* never started */
        p->settings.warn(p->settings.self, NULL, "spool", err.text);
    }
    return !p->stuck;
}

void pipeline_expect_successor(struct pipeline *p)
{
    losses_expect_successor(p->losses);
    if (p->settings.left && !p->spool->keeps) {
        losses_hold(p->losses);
    }
}

void pipeline_hand_over(struct pipeline *p)
{
    if (p->spool->keeps && p->workers_started == p->settings.worker_count) {
        sealer_wait(p->sealer, slab_queue_tickets(p->queue));
        sealer_flush(p->sealer);
        for (size_t i = 0; i < p->settings.output_count; i++) {
            outlet_move(p->outlets[i], OUTLET_HANDS_OVER);
        }
    }
}

void pipeline_retry_now(struct pipeline *p)
{
    for (size_t i = 0; i < p->settings.output_count; i++) {
        outlet_move(p->outlets[i], OUTLET_RETRIES_NOW);
    }
}

void pipeline_cancel(struct pipeline *p)
{
    ledger_set_deadline(p->ledger, plat_monotonic_ns() + last_losses_ns);
    slab_queue_cancel(p->queue);
    p->spool->ops->cancel(p->spool);
    for (size_t i = 0; i < p->settings.output_count; i++) {
        outlet_move(p->outlets[i], OUTLET_CANCELS);
    }
}

/* ---- sources --------------------------------------------------------------------------------- */

void pipeline_sink(struct pipeline *p, size_t session, struct input_sink *ret_sink)
{
    source_sink(p->sources[session], ret_sink);
}

void pipeline_finish_source(struct pipeline *p, size_t session, bool stopped)
{
    source_finish(p->sources[session], stopped);
}

struct source_counts pipeline_source_counts(const struct pipeline *p, size_t session)
{
    return source_counts(p->sources[session]);
}

void pipeline_report(struct pipeline *p, const struct status *status, uint64_t now)
{
    if (atomic_load(&p->reports_in_flight)) {
        return;
    }
    size_t size = status->counters.size + status->message.size;
    struct slab *slab = slab_create(SLAB_STATUS, (uint32_t)p->settings.session_count, size, NULL);
    if (!slab) {
        return;
    }
    uint8_t *text = (uint8_t *)slab->memory;
    memcpy(text, status->counters.data, status->counters.size);
    if (status->message.size) {
        memcpy(text + status->counters.size, status->message.data, status->message.size);
    }
    slab->status.counters = span_make(text, status->counters.size);
    slab->status.message = span_make(text + status->counters.size, status->message.size);
    slab->now = now;
    slab->last_sequence = ++p->reports;
    slab->in_flight = &p->reports_in_flight;
    atomic_fetch_add(&p->reports_in_flight, 1);
    if (slab_queue_push_now(p->queue, slab) != SLAB_PUSHED) {
        slab_destroy(slab);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

uint64_t pipeline_staged(const struct pipeline *p, size_t session)
{
    const struct sealer_session *streams = &p->tables.sealer_sessions[session];
    uint64_t least = streams->stream_count ? UINT64_MAX : 0;
    for (size_t i = 0; i < streams->stream_count; i++) {
        uint64_t sequence = spool_durable_sequence(p->spool, session, streams->streams[i]);
        least = sequence < least ? sequence : least;
    }
    return least;
}

uint64_t pipeline_observed(const struct pipeline *p, size_t session)
{
    uint64_t observed = 0;
    for (size_t w = 0; w < p->settings.worker_count; w++) {
        uint64_t here = decode_worker_observed(p->workers[w], session);
        observed = here > observed ? here : observed;
    }
    return observed;
}

struct ledger *pipeline_ledger(struct pipeline *p)
{
    return p->ledger;
}

struct spool *pipeline_spool(struct pipeline *p)
{
    return p->spool;
}

struct dead_letters *pipeline_dead_letters(struct pipeline *p)
{
    return p->settings.dead_letters;
}

struct losses *pipeline_losses(struct pipeline *p)
{
    return p->losses;
}

struct outlet *pipeline_outlet(struct pipeline *p, size_t output)
{
    return p->outlets[output];
}

size_t pipeline_queue_bytes(const struct pipeline *p)
{
    return slab_queue_bytes(p->queue);
}
