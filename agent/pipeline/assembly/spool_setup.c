#include "pipeline/assembly/spool_setup.h"

#include <stdlib.h>

#include "pipeline/assembly/budget.h"

/* ---- what the spool asks; on its thread ------------------------------------------------------ */

static void begin_commit(void *self)
{
    losses_begin(((struct spool_setup *)self)->losses);
}

static bool stage_commit(void *self, struct store *store, bool all, struct error *err)
{
    struct spool_setup *setup = self;
    const struct pipeline_settings *s = &setup->settings;
    return losses_stage(setup->losses, store, all, err) &&
           (!s->store.stage || s->store.stage(s->store.self, store, all, err));
}

/* Report events that waited for an output that is not configured now. */
static void on_other_loss(struct spool_setup *setup, const struct spool_durable_loss *loss)
{
    const struct pipeline_settings *s = &setup->settings;
    struct time_range times = {.from = loss->from, .to = loss->to};
    struct buf text;
    losses_add_stranger(setup->losses, loss->output, loss->reason, loss->records, times);
    buf_init(&text, 4096);
    buf_printf(&text,
        "%llu events that waited for output %.*s, which this configuration does not have, are "
        "given up (%s). if it does not come back: etwship spool forget %.*s",
        (unsigned long long)loss->records, SPAN_ARG(loss->output),
        ledger_output_drop_reason(loss->reason), SPAN_ARG(loss->output));
    buf_add_byte(&text, 0);
    s->warn(s->self, NULL, "other output", (const char *)text.data);
    buf_fini(&text);
}

/* A batch may be of several sessions, and it is not read to know which: the agent itself says what
 * is lost with it. */
static void on_loss(void *self, const struct spool_durable_loss *loss)
{
    struct spool_setup *setup = self;
    struct ledger_settlement settlement = {.acked = 0};
    if (loss->cursor == SIZE_MAX) {
        on_other_loss(setup, loss);
        return;
    }
    struct loss told = {.session = setup->settings.session_count,
        .output = loss->cursor,
        .reason = loss->reason,
        .count = loss->records,
        .times = {.from = loss->from, .to = loss->to}};
    if (!loss->own) {
        losses_add(setup->losses, &told);
    }
    settlement.dropped[loss->reason] = loss->records;
    ledger_settle(setup->ledger, loss->cursor, &settlement, loss->own);
}

static void on_warning(void *self, const char *kind, const char *text)
{
    const struct pipeline_settings *s = &((struct spool_setup *)self)->settings;
    s->warn(s->self, NULL, kind, text);
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool fill(struct spool_setup *setup, struct error *err)
{
    const struct pipeline_settings *s = &setup->settings;
    setup->sessions = calloc(s->session_count + 1, sizeof(*setup->sessions));
    setup->replayable = calloc(s->session_count + 1, sizeof(*setup->replayable));
    setup->comes_again = calloc(s->session_count + 1, sizeof(*setup->comes_again));
    setup->streams = calloc(s->stream_count + 1, sizeof(*setup->streams));
    if (!setup->sessions || !setup->replayable || !setup->comes_again || !setup->streams) {
        return error_set(err, ERR_MEMORY, "out of memory for the spool");
    }
    for (size_t i = 0; i < s->session_count; i++) {
        setup->sessions[i] = s->sessions[i].name;
        setup->replayable[i] = s->sessions[i].replayable;
        setup->comes_again[i] = pipeline_session_can_wait(&s->sessions[i]);
    }
    setup->sessions[s->session_count] = "";
    for (size_t i = 0; i < s->stream_count; i++) {
        setup->streams[i] = (struct spool_durable_stream){
            .key = s->streams[i].key, .hash = s->streams[i].hash};
    }
    return true;
}

/* How far sources may be ahead of outputs; 0: as far as there is room, as one of them is live. Each
 * worker of an output finds two batches when it has sent one. */
static size_t most_ahead(const struct pipeline_settings *s)
{
    enum { LEAST_BYTES = 4 * 1024 * 1024, BATCHES = 2 };
    size_t ahead = LEAST_BYTES;
    for (size_t i = 0; i < s->output_count; i++) {
        const struct pipeline_output *output = &s->outputs[i];
        size_t bytes = BATCHES * (output->workers + 1) * s->streams[output->stream].max_bytes;
        ahead = bytes > ahead ? bytes : ahead;
    }
    return budget_has_live(s) ? 0 : ahead;
}

static struct spool *make_durable(struct spool_setup *setup, struct error *err)
{
    enum { RESERVE_SHARE = 4 }; /* of the room, for live sessions */
    static const uint64_t max_hold_ns = UINT64_C(200000000);
    const struct pipeline_settings *s = &setup->settings;
    struct spool_durable_settings spool = {.store = s->store.store,
        .streams = setup->streams,
        .stream_count = s->stream_count,
        .sessions = setup->sessions,
        .replayable = setup->replayable,
        .comes_again = setup->comes_again,
        .session_count = s->session_count + 1,
        .pool = setup->pool,
        .memory_bytes = budget_spool_bytes(s),
        .max_ahead = most_ahead(s),
        .max_hold_ns = max_hold_ns,
        .sync_interval_ns = s->store.sync_interval_ns,
        .sync_bytes = s->store.sync_bytes,
        .folder = s->store.folder,
        .max_bytes = s->store.max_bytes,
        .min_free_bytes = s->store.min_free_bytes,
        .on_full = s->store.on_full,
        .reserve_bytes = s->store.max_bytes / RESERVE_SHARE,
        .begin = begin_commit,
        .stage = stage_commit,
        .lost = on_loss,
        .warn = on_warning,
        .self = setup};
    return spool_durable_create(&spool, err);
}

static struct spool *make_in_memory(struct spool_setup *setup, struct error *err)
{
    const struct pipeline_settings *s = &setup->settings;
    struct spool *spool = spool_memory_create(s->stream_count, budget_spool_bytes(s), err);
    size_t ahead = most_ahead(s);
    if (spool && ahead) {
        spool_memory_hold_back(spool, ahead);
    }
    return spool;
}

struct spool *spool_setup_make(
    struct spool_setup *setup, const struct pipeline_settings *settings, struct error *err)
{
    setup->settings = *settings;
    if (!fill(setup, err)) {
        return NULL;
    }
    return settings->store.store ? make_durable(setup, err) : make_in_memory(setup, err);
}

void spool_setup_fini(struct spool_setup *setup)
{
    free(setup->sessions);
    free(setup->replayable);
    free(setup->comes_again);
    free(setup->streams);
}
