#include <stdlib.h>

#include "app/positions/positions_own.h"
#include "platform/plat_clock.h"
#include "store/catalogue/catalogue_sources.h"

/* The store of positions: opening, closing, and what a commit contains. positions_own.h says whose
 * it is when. */

/* ---- the connection for others' threads ------------------------------------------------------ */

struct catalogue *positions_store_take_reader(struct positions *p, struct error *err)
{
    plat_mutex_lock(&p->reader_mutex);
    if (!p->reader) {
        p->reader = catalogue_open(p->catalogue, CATALOGUE_READ, err);
    }
    return p->reader;
}

/* The store is about to move the file away, or has put another one in its place. */
static void close_reader(void *self)
{
    struct positions *p = self;
    plat_mutex_lock(&p->reader_mutex);
    catalogue_close(p->reader);
    p->reader = NULL;
    plat_mutex_unlock(&p->reader_mutex);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool find_sessions(struct positions *p, struct error *err)
{
    struct catalogue *catalogue = store_catalogue(p->store, err);
    bool ok = catalogue != NULL;
    for (size_t s = 0; ok && s < p->plan->session_count; s++) {
        struct span name = span_text(agent_plan_session_name(p->plan, s));
        ok = catalogue_find_state(catalogue, name, &p->states[s], err) &&
             catalogue_find_live(catalogue, name, &p->last_times[s], err);
        if (ok && p->is_remade && p->states[s].size) {
            buf_reset(&p->states[s]);
            ok = store_source_state(p->store, name, buf_span(&p->states[s]), err);
        }
    }
    p->is_remade = false;
    return ok;
}

/* The catalogue was rebuilt, without the states of inputs and outputs. If the store keeps no
 * batches, the next commit writes all of these again. Else they are lost, and sessions read their
 * traces again. */
static void note_remade(struct positions *p)
{
    const struct agent_plan *plan = p->plan;
    if (!p->pipeline || p->keeps) {
        p->is_remade = true;
        return;
    }
    for (size_t s = 0; s < plan->session_count; s++) {
        buf_reset(&p->states[s]);
    }
    memset(p->stored_changes, 0, plan->output_count * sizeof(*p->stored_changes));
}

static void report(void *self, enum store_news news, const char *text)
{
    struct positions *p = self;
    bool usual = news == STORE_NEWS_UNCLEAN;
    if (news == STORE_NEWS_REBUILT) {
        note_remade(p);
    }
    log_write_as(p->log, LOG_CAUSE_SPOOL, usual ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, NULL,
        "spool: %s", text);
}

static bool open_store(struct positions *p, struct error *err)
{
    const struct app_spool *config = &p->config->spool;
    bool ages = p->is_durable && config->max_age_ns != CONFIG_NEVER;
    const struct store_settings settings = {.folder = p->folder,
        .max_bytes = config->max_size_bytes,
        .min_free_bytes = config->min_free_disk_bytes,
        .max_age_ms = ages ? config->max_age_ns / NS_PER_MS : 0,
        .zstd = config->compression == APP_SPOOL_ZSTD,
        .no_batches = !app_config_copies(p->config),
        .report = report,
        .close_readers = close_reader,
        .self = p};
    p->store = store_open(&settings, err);
    return p->store != NULL;
}

/* A store in memory outlives the agent: the next one continues from it. */
static bool open_in_memory(struct positions *p, struct error *err)
{
    const struct store_settings settings = {.no_batches = true};
    if (!*p->memory) {
        *p->memory = store_open(&settings, err);
    }
    p->store = *p->memory;
    return p->store != NULL;
}

static bool open_in_folder(struct positions *p, struct error *err)
{
    return data_folder_path(p->data_dir, "spool", p->folder, err) &&
           data_folder_path(p->folder, "catalogue.db", p->catalogue, err) && open_store(p, err);
}

static bool allocate(struct positions *p, struct error *err)
{
    const struct agent_plan *plan = p->plan;
    p->keys = calloc(plan->stream_count + 1, sizeof(*p->keys));
    p->states = calloc(plan->session_count + 1, sizeof(*p->states));
    p->last_times = calloc(plan->session_count + 1, sizeof(*p->last_times));
    for (size_t s = 0; p->states && s < plan->session_count; s++) {
        buf_init(&p->states[s], STORE_VALUE_MAX);
    }
    return (p->keys && p->states && p->last_times) || error_set(err, ERR_MEMORY, "out of memory");
}

static bool write_keys(struct positions *p, struct error *err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < p->plan->stream_count; i++) {
        ok = stream_key_write(p->plan, i, p->keys[i], err);
        p->plan->streams[i].key = p->keys[i];
    }
    return ok;
}

static bool note_gap(void *self, const struct catalogue_gap *gap)
{
    (void)gap;
    *(bool *)self = true;
    return false;
}

/* Where an earlier run left batches on the disk, or gaps that go with them, this run delivers
 * these, and keeps its own batches on the disk as well. */
static bool choose(struct positions *p, struct error *err)
{
    struct catalogue_info info;
    struct catalogue *catalogue = store_catalogue(p->store, err);
    bool has_gap = false;
    if (!catalogue || !catalogue_info(catalogue, &info, err) ||
        !catalogue_gaps(catalogue, note_gap, &has_gap, err)) {
        return false;
    }
    bool is_left = info.batches || has_gap;
    p->keeps = app_config_copies(p->config) || (p->is_durable && is_left);
    return true;
}

bool positions_store_open(struct positions *p, struct error *err)
{
    if (!allocate(p, err)) {
        return false;
    }
    if (p->is_durable && !p->data_dir) { /* app_config_can_run says more */
        return error_set(err, ERR_CONFIG, "agent.data_dir is not set");
    }
    if (!(p->data_dir ? open_in_folder(p, err) : open_in_memory(p, err)) || !choose(p, err)) {
        return false;
    }
    if (!p->keeps) {
        return find_sessions(p, err) &&
               handover_to_memory(p->plan, p->log, p->data_dir, p->store, err);
    }
    return write_keys(p, err) && handover_to_disk(p->plan, p->store, &p->handover, err) &&
           find_sessions(p, err) && positions_sources_find(p, err);
}

void positions_store_close(struct positions *p)
{
    handover_fini(&p->handover, p->plan->output_count);
    catalogue_close(p->reader);
    if (p->store != *p->memory) {
        store_close(p->store);
    }
    for (size_t s = 0; p->states && s < p->plan->session_count; s++) {
        buf_fini(&p->states[s]);
    }
    free(p->keys);
    free(p->states);
    free(p->last_times);
}

/* ---- what becomes true with a commit --------------------------------------------------------- */

/* The state that an input needs to resume; nothing if it has none, or if the catalogue has lost the
 * matching sequences: an older state would not match them. */
static bool write_state(struct positions *p, size_t session, struct buf *out, struct error *err)
{
    struct error why = {.code = ERR_NONE};
    if (p->is_remade) {
        return true;
    }
    const struct input_ops *ops = p->plan->session_configs[session]->ops;
    void *input = p->inputs[session];
    uint64_t safe = 0;
    positions_live_acked(p, session, &safe);
    bool ok = ops->state ? ops->state(input, out, &why) : ops->bookmarks(input, safe, out, &why);
    if (!ok && why.code == ERR_LIMIT) {
        log_write_as(p->log, LOG_CAUSE_SPOOL, LOG_LEVEL_WARNING, "spool state", "session %s: %s",
            agent_plan_session_name(p->plan, session), why.text);
        buf_fini(out);
        buf_init(out, STORE_VALUE_MAX);
        return true;
    }
    return (ok || error_set(err, why.code, "%s", why.text)) &&
           (!out->failed || error_set(err, ERR_MEMORY, "out of memory"));
}

static bool stage_state(struct positions *p, size_t session, struct error *err)
{
    const struct input_ops *ops = p->plan->session_configs[session]->ops;
    struct buf *last = &p->states[session];
    struct buf fresh;
    if (!ops->state && !ops->bookmarks) {
        return true;
    }
    buf_init(&fresh, STORE_VALUE_MAX);
    bool ok = write_state(p, session, &fresh, err);
    if (ok && !span_equal(buf_span(&fresh), buf_span(last))) {
        ok = store_source_state(
            p->store, span_text(agent_plan_session_name(p->plan, session)), buf_span(&fresh), err);
        if (ok) {
            struct buf before = *last;
            *last = fresh;
            fresh = before;
        }
    }
    buf_fini(&fresh);
    return ok;
}

bool positions_store_stage_states(struct positions *p, struct error *err)
{
    bool ok = true;
    for (size_t s = 0; ok && s < p->plan->session_count; s++) {
        ok = stage_state(p, s, err);
    }
    return ok;
}

static bool stage(void *self, struct store *store, bool all, struct error *err)
{
    struct positions *p = self;
    (void)store; /* the same */
    (void)all;   /* pipeline_staged knows it */
    plat_mutex_lock(&p->mutex);
    bool ok = positions_finish_files(p, err);
    plat_mutex_unlock(&p->mutex);
    return ok && positions_live_save(p, err) && positions_store_stage_states(p, err);
}

struct pipeline_store positions_store_settings(struct positions *p)
{
    static const enum spool_full on_full[] = {[APP_SPOOL_BLOCK] = SPOOL_FULL_BLOCK,
        [APP_SPOOL_DROP_OLDEST] = SPOOL_FULL_DROP_OLDEST,
        [APP_SPOOL_DROP_NEWEST] = SPOOL_FULL_DROP_NEWEST};
    const struct app_spool *config = &p->config->spool;
    if (!p->keeps) {
        return (struct pipeline_store){.store = NULL};
    }
    return (struct pipeline_store){.store = p->store,
        .folder = p->folder,
        .max_bytes = config->max_size_bytes,
        .min_free_bytes = config->min_free_disk_bytes,
        .sync_interval_ns = config->sync.interval_ns,
        .sync_bytes = config->sync.bytes,
        .on_full = on_full[config->on_full],
        .delivered = p->handover.delivered,
        .stage = stage,
        .self = p};
}
