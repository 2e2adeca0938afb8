#include <stdlib.h>

#include "app/run/agent_spool_own.h"
#include "platform/plat_path.h"
#include "store/catalogue/catalogue_sources.h"

/*
 * Threads: until the pipeline starts, the store belongs to the thread that makes the agent.
 *
 * From then on, a store that keeps batches belongs to the spool's thread, which calls `stage`.
 * Sources ask which files are done by a connection of their own to the catalogue, under
 * spool->mutex. The store closes it when it rebuilds the catalogue.
 *
 * A store that keeps no batches belongs to the thread that holds agent->store_mutex.
 */
static const char *session_name(const struct agent *agent, size_t session)
{
    return agent->plan->session_configs[session]->name;
}

/* ---- the connection for others' threads ---------------------------------------------------------- */

struct catalogue *agent_spool_take_reader(struct agent_spool *spool, struct error *err)
{
    plat_mutex_lock(&spool->mutex);
    if (!spool->reader) {
        spool->reader = catalogue_open(spool->catalogue, CATALOGUE_READ, err);
    }
    return spool->reader;
}

/* The store is about to move the file away, or has put another one in its place. */
static void let_go(void *self)
{
    struct agent_spool *spool = ((struct agent *)self)->spool;
    plat_mutex_lock(&spool->mutex);
    catalogue_close(spool->reader);
    spool->reader = NULL;
    plat_mutex_unlock(&spool->mutex);
}

/* ---- opening ---------------------------------------------------------------------------------- */

static bool find_sessions(struct agent *agent, struct error *err)
{
    struct agent_spool *spool = agent->spool;
    bool ok = true;
    for (size_t s = 0; ok && s < agent->plan->session_count; s++) {
        struct span name = span_text(session_name(agent, s));
        ok = store_find_source_state(spool->store, name, &spool->states[s], err) &&
             store_find_live(spool->store, name, &spool->last_times[s], err);
        if (ok && spool->is_remade && spool->states[s].size) {
            buf_reset(&spool->states[s]);
            ok = store_source_state(spool->store, name, buf_span(&spool->states[s]), err);
        }
    }
    spool->is_remade = false;
    return ok;
}

/* The catalogue was rebuilt, without the states of inputs and outputs. If the store keeps no
 * batches, the next commit writes all of these again. Else they are lost, and sessions read their
 * traces again. */
static void note_remade(struct agent *agent)
{
    const struct agent_plan *plan = agent->plan;
    struct agent_spool *spool = agent->spool;
    if (!agent->pipeline || agent->keeps) {
        spool->is_remade = true;
        return;
    }
    for (size_t s = 0; s < plan->session_count; s++) {
        buf_reset(&spool->states[s]);
    }
    memset(agent->stored_changes, 0, plan->output_count * sizeof(*agent->stored_changes));
}

static void tell(void *self, enum store_news news, const char *text)
{
    struct agent *agent = self;
    bool usual = news == STORE_NEWS_UNCLEAN;
    if (news == STORE_NEWS_REBUILT) {
        note_remade(agent);
    }
    log_write_as(agent->log, LOG_CAUSE_SPOOL, usual ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, NULL,
        "spool: %s", text);
}

static bool open_store(struct agent *agent, struct error *err)
{
    enum { NS_PER_MS = 1000000 };
    const struct app_spool *config = &agent->config->spool;
    struct agent_spool *spool = agent->spool;
    bool ages = config->mode == APP_SPOOL_DURABLE && config->max_age_ns != CONFIG_NEVER;
    const struct store_settings settings = {.folder = spool->folder,
        .max_bytes = config->max_size_bytes,
        .min_free_bytes = config->min_free_disk_bytes,
        .max_age_ms = ages ? config->max_age_ns / NS_PER_MS : 0,
        .zstd = config->compression == APP_SPOOL_ZSTD,
        .no_batches = !app_config_copies(agent->config),
        .tell = tell,
        .let_go = let_go,
        .self = agent};
    spool->store = store_open(&settings, err);
    return spool->store != NULL;
}

/* A store in memory outlives the agent: the next one continues from it. */
static bool open_in_memory(struct agent *agent, struct error *err)
{
    struct agent_runner *runner = agent->runner;
    const struct store_settings settings = {.no_batches = true};
    if (!runner->store) {
        runner->store = store_open(&settings, err);
    }
    agent->spool->store = runner->store;
    return runner->store != NULL;
}

static bool open_in_folder(struct agent *agent, struct error *err)
{
    struct agent_spool *spool = agent->spool;
    return data_folder_path(agent->data_dir, "spool", spool->folder, err) &&
           data_folder_path(spool->folder, "catalogue.db", spool->catalogue, err) &&
           open_store(agent, err);
}

static bool allocate(struct agent *agent, struct error *err)
{
    const struct agent_plan *plan = agent->plan;
    struct agent_spool *spool = calloc(1, sizeof(*spool));
    if (!spool) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    agent->spool = spool;
    plat_mutex_init(&spool->mutex);
    spool->keys = calloc(plan->stream_count + 1, sizeof(*spool->keys));
    spool->states = calloc(plan->session_count + 1, sizeof(*spool->states));
    spool->last_times = calloc(plan->session_count + 1, sizeof(*spool->last_times));
    for (size_t s = 0; spool->states && s < plan->session_count; s++) {
        buf_init(&spool->states[s], STORE_VALUE_MAX);
    }
    return (spool->keys && spool->states && spool->last_times) ||
           error_set(err, ERR_MEMORY, "out of memory");
}

static bool write_keys(struct agent *agent, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < agent->plan->stream_count; i++) {
        ok = stream_key_write(agent->plan, i, agent->spool->keys[i], err);
        agent->plan->streams[i].key = agent->spool->keys[i];
    }
    return ok;
}

static bool note_gap(void *self, const struct catalogue_gap *gap)
{
    (void)gap;
    *(bool *)self = true;
    return false;
}

/* Where an earlier run left batches on the disk, or gaps that go with them, this run delivers these, and keeps its
 * own batches on the disk as well. */
static bool choose(struct agent *agent, struct error *err)
{
    struct catalogue_info info;
    struct catalogue *catalogue = store_catalogue(agent->spool->store);
    bool is_durable = agent->config->spool.mode == APP_SPOOL_DURABLE;
    bool has_gap = false;
    if (!catalogue_info(catalogue, &info, err) ||
        !catalogue_gaps(catalogue, note_gap, &has_gap, err)) {
        return false;
    }
    bool is_left = info.batches || has_gap;
    agent->keeps = app_config_copies(agent->config) || (is_durable && is_left);
    agent->replays = is_durable && !agent->keeps;
    return true;
}

bool agent_spool_open(struct agent *agent, struct error *err)
{
    if (!allocate(agent, err)) {
        return false;
    }
    struct agent_spool *spool = agent->spool;
    bool is_durable = agent->config->spool.mode == APP_SPOOL_DURABLE;
    if (is_durable && !agent->data_dir) { /* app_config_can_run says more */
        return error_set(err, ERR_CONFIG, "agent.data_dir is not set");
    }
    if (!(agent->data_dir ? open_in_folder(agent, err) : open_in_memory(agent, err)) ||
        !choose(agent, err)) {
        return false;
    }
    if (!agent->keeps) {
        return find_sessions(agent, err) && agent_handover_to_memory(agent, spool->store, err);
    }
    return write_keys(agent, err) &&
           agent_handover_to_disk(agent, spool->store, &spool->handover, err) &&
           find_sessions(agent, err) && agent_sources_find(agent, err);
}

uint64_t agent_spool_letters_lost(const struct agent *agent)
{
    bool has_letters = agent->data_dir && agent->spool && agent->spool->store;
    return has_letters ? store_letters_lost(agent->spool->store) : 0;
}

void agent_spool_close(struct agent *agent)
{
    struct agent_spool *spool = agent->spool;
    if (!spool) {
        return;
    }
    agent_handover_fini(&spool->handover, agent->plan->output_count);
    catalogue_close(spool->reader);
    if (spool->store != agent->runner->store) {
        store_close(spool->store);
    }
    for (size_t s = 0; spool->states && s < agent->plan->session_count; s++) {
        buf_fini(&spool->states[s]);
    }
    plat_mutex_fini(&spool->mutex);
    free(spool->keys);
    free(spool->states);
    free(spool->last_times);
    free(spool);
    agent->spool = NULL;
}

struct span agent_spool_checkpoint(const struct agent *agent, size_t output)
{
    return buf_span(&agent->spool->handover.checkpoints[output]);
}

bool agent_spool_begin(struct agent *agent, struct error *err)
{
    struct agent_spool *spool = agent->spool;
    return !agent->keeps || agent_handover_done(agent, spool->store, &spool->handover, err);
}

/* ---- sources ---------------------------------------------------------------------------------- */

void agent_spool_restore(struct agent *agent)
{
    for (size_t s = 0; s < agent->plan->session_count; s++) {
        const struct input_ops *ops = agent->plan->session_configs[s]->ops;
        if (ops->restore) {
            ops->restore(agent->sessions[s].input, buf_span(&agent->spool->states[s]));
        }
    }
}

uint64_t agent_spool_last_time(const struct agent *agent, size_t session)
{
    return agent->spool->last_times[session];
}

bool agent_spool_put_time(struct agent *agent, size_t session, uint64_t time, struct error *err)
{
    return store_live(agent->spool->store, span_text(session_name(agent, session)), time, err);
}

bool agent_spool_is_done(
    void *self, uint32_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence)
{
    struct agent *agent = self;
    struct agent_spool *spool = agent->spool;
    const struct span name = span_text(session_name(agent, session));
    struct error err;
    bool found = false;
    bool ok;
    if (agent->keeps) {
        struct catalogue *reader = agent_spool_take_reader(spool, &err);
        ok = reader && catalogue_find_done(reader, name, file_id, ret_last_sequence, &found, &err);
        plat_mutex_unlock(&spool->mutex);
    } else {
        plat_mutex_lock(&agent->store_mutex);
        uint64_t sequence;
        ok = store_find_done(spool->store, name, file_id, &found, &sequence, &err);
        *ret_last_sequence = ok && found ? sequence : *ret_last_sequence;
        plat_mutex_unlock(&agent->store_mutex);
    }
    if (!ok) {
        log_write_as(agent->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, "spool done",
            "spool: cannot determine whether a file was read before: %s", err.text);
    }
    return ok && found;
}

/* ---- what becomes true with a commit -------------------------------------------------------------- */

/* The state that an input needs to resume; nothing if it has none, or if the catalogue has lost the
 * matching sequences: an older state would not match them. */
static bool write_state(struct agent *agent, size_t session, struct buf *out, struct error *err)
{
    struct error why = {.code = ERR_NONE};
    if (agent->spool->is_remade) {
        return true;
    }
    const struct input_ops *ops = agent->plan->session_configs[session]->ops;
    void *input = agent->sessions[session].input;
    uint64_t safe = 0;
    agent_live_acked(agent, session, &safe);
    bool ok = ops->state ? ops->state(input, out, &why) : ops->bookmarks(input, safe, out, &why);
    if (!ok && why.code == ERR_LIMIT) {
        log_write_as(agent->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, "spool state",
            "session %s: %s", session_name(agent, session), why.text);
        buf_fini(out);
        buf_init(out, STORE_VALUE_MAX);
        return true;
    }
    return (ok || error_set(err, why.code, "%s", why.text)) &&
           (!out->failed || error_set(err, ERR_MEMORY, "out of memory"));
}

bool agent_spool_stage_state(
    struct agent *agent, struct store *store, size_t session, struct error *err)
{
    const struct input_ops *ops = agent->plan->session_configs[session]->ops;
    struct buf *last = &agent->spool->states[session];
    struct buf fresh;
    if (!ops->state && !ops->bookmarks) {
        return true;
    }
    buf_init(&fresh, STORE_VALUE_MAX);
    bool ok = write_state(agent, session, &fresh, err);
    if (ok && !span_equal(buf_span(&fresh), buf_span(last))) {
        ok = store_source_state(
            store, span_text(session_name(agent, session)), buf_span(&fresh), err);
        if (ok) {
            struct buf before = *last;
            *last = fresh;
            fresh = before;
        }
    }
    buf_fini(&fresh);
    return ok;
}

static bool stage(void *self, struct store *store, bool all, struct error *err)
{
    struct agent *agent = self;
    (void)all; /* pipeline_staged knows it */
    plat_mutex_lock(&agent->store_mutex);
    bool ok = agent_store_finish_files(agent, err);
    plat_mutex_unlock(&agent->store_mutex);
    ok = ok && agent_live_save(agent, err);
    for (size_t s = 0; ok && s < agent->plan->session_count; s++) {
        ok = agent_spool_stage_state(agent, store, s, err);
    }
    return ok;
}

struct pipeline_store agent_spool_store(const struct agent *agent)
{
    static const enum spool_full on_full[] = {[APP_SPOOL_BLOCK] = SPOOL_FULL_BLOCK,
        [APP_SPOOL_DROP_OLDEST] = SPOOL_FULL_DROP_OLDEST,
        [APP_SPOOL_DROP_NEWEST] = SPOOL_FULL_DROP_NEWEST};
    const struct app_spool *config = &agent->config->spool;
    if (!agent->keeps) {
        return (struct pipeline_store){.store = NULL};
    }
    return (struct pipeline_store){.store = agent->spool->store,
        .folder = agent->spool->folder,
        .max_bytes = config->max_size_bytes,
        .min_free_bytes = config->min_free_disk_bytes,
        .sync_interval_ns = config->sync.interval_ns,
        .sync_bytes = config->sync.bytes,
        .on_full = on_full[config->on_full],
        .delivered = agent->spool->handover.delivered,
        .stage = stage};
}
