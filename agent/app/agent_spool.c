#include "app/agent_spool.h"

#include <stdlib.h>

#include "app/agent_import.h"
#include "app/data_folder.h"
#include "app/spool_facts.h"
#include "app/stream_key.h"
#include "platform/plat_path.h"
#include "store/catalogue_batches.h"
#include "store/catalogue_outputs.h"
#include "store/catalogue_sources.h"
#include "store/store.h"

/*
 * Where sources go on. What counts is what is in the spool, whoever has taken it from there: a session
 * goes on, per stream, behind the last number that the stream has of it. A stream that the last run
 * did not have begins where those were that its outputs read then (another shape, another filter), or
 * where the others are if it has new outputs only, since what came before was not wanted then; that is
 * noted in the store at once, so that the next run finds it for itself. A stream that was further than
 * one of its outputs, which read another one then, goes back to where that one was. What others of its
 * outputs had beyond its beginning they leave out (agent_import.h).
 *
 * These numbers mean something together with what the input has noted of its files. Where the catalogue
 * was made anew that is lost, or older than they are: then it begins anew, behind them.
 *
 * Threads: the store belongs to the thread that makes the agent until the pipeline starts, and to the
 * spool's thread from then on, which calls `stage`. Sources ask for files that are done on their own
 * threads, so there is a connection to the catalogue for that, under a mutex; it is closed when the
 * store makes the catalogue anew.
 */
struct agent_spool {
    struct plat_lock *lock;
    struct store *store;
    char folder[DATA_FOLDER_PATH_BYTES];
    char catalogue[DATA_FOLDER_PATH_BYTES];
    char (*keys)[STREAM_KEY_BYTES]; /* by stream */
    struct buf *states;             /* by session: as its input said last */
    uint64_t *last_times;           /* by session */
    bool is_remade;                 /* the catalogue was, and knows no states that fit */
    bool is_back;                   /* a stream goes on before where it was */
    struct agent_import import;
    struct plat_mutex mutex;
    struct catalogue *reader; /* NULL: not open now */
};

static const char *session_name(const struct agent *agent, size_t session)
{
    return agent->plan.session_configs[session]->name;
}

/* ---- the connection for others' threads ---------------------------------------------------------- */

/* Takes the mutex, in any case. NULL with ${err}: it cannot be opened. */
static struct catalogue *take_reader(struct agent_spool *spool, struct error *err)
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

/* ---- where sources go on ------------------------------------------------------------------------ */

/* What the catalogue says before this run changes it. */
struct earlier {
    const struct agent *agent;
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
    for (size_t i = 0; i < earlier->agent->plan.stream_count; i++) {
        if (span_is(stream->key, earlier->agent->spool->keys[i])) {
            earlier->ids[i] = stream->id;
        }
    }
    return true;
}

static bool note_output(void *self, const struct catalogue_output *output)
{
    struct earlier *earlier = self;
    const struct agent_plan *plan = &earlier->agent->plan;
    for (size_t o = 0; o < plan->output_count; o++) {
        if (span_is(output->name, plan->output_configs[o]->name)) {
            earlier->output_ids[o] = output->id;
        }
    }
    return true;
}

static bool note_range(void *self, const struct catalogue_range *range)
{
    struct earlier *earlier = self;
    for (size_t o = 0; range->last == UINT64_MAX && o < earlier->agent->plan.output_count; o++) {
        if (earlier->output_ids[o] == range->output) {
            earlier->output_streams[o] = range->stream;
        }
    }
    for (size_t i = 0; range->last == UINT64_MAX && i < earlier->agent->plan.stream_count; i++) {
        earlier->current[i] = earlier->current[i] || range->stream == earlier->ids[i];
    }
    return true;
}

static bool note_source(void *self, const struct catalogue_source *source)
{
    struct earlier *earlier = self;
    const struct agent_plan *plan = &earlier->agent->plan;
    for (size_t s = 0; s < plan->session_count; s++) {
        if (!span_is(source->session, session_name(earlier->agent, s))) {
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

static bool read_earlier(struct agent *agent, struct earlier *earlier, struct error *err)
{
    struct catalogue *reader = take_reader(agent->spool, err);
    bool ok = reader && catalogue_streams(reader, note_stream, earlier, err) &&
              catalogue_outputs(reader, note_output, earlier, err) &&
              catalogue_ranges(reader, note_range, earlier, err) &&
              catalogue_sources(reader, note_source, earlier, err);
    plat_mutex_unlock(&agent->spool->mutex);
    return ok;
}

/* Did the output read another stream in the last run, which took the session? */
static bool has_moved(const struct earlier *earlier, size_t stream, size_t session, size_t output)
{
    const struct agent_plan *plan = &earlier->agent->plan;
    return plan->outputs[output].stream == stream &&
           earlier->output_streams[output] != earlier->ids[stream] &&
           earlier->output_took[session * plan->output_count + output];
}

/* Where a stream goes on that was at ${begin}: where the ones were that its outputs read in the last run;
 * of several the first, as nothing may be left out. */
static uint64_t find_begin(
    const struct earlier *earlier, size_t stream, size_t session, uint64_t begin)
{
    const struct agent_plan *plan = &earlier->agent->plan;
    for (size_t o = 0; o < plan->output_count; o++) {
        uint64_t own = earlier->output_own[session * plan->output_count + o];
        if (has_moved(earlier, stream, session, o) && own < begin) {
            begin = own;
        }
    }
    return begin;
}

/* A stream that was at ${before} goes on at ${begin}: what its outputs had beyond that, here or in the
 * stream that they read, they leave out. True if there is any. */
static bool note_had(
    const struct earlier *earlier, size_t stream, size_t session, uint64_t before, uint64_t begin)
{
    const struct agent_plan *plan = &earlier->agent->plan;
    bool any = false;
    for (size_t o = 0; o < plan->output_count; o++) {
        size_t cell = session * plan->output_count + o;
        uint64_t *had = &earlier->agent->spool->import.had[cell];
        bool moved = has_moved(earlier, stream, session, o);
        uint64_t own = moved ? earlier->output_own[cell] : before;
        bool counts = plan->outputs[o].stream == stream && (moved || earlier->current[stream]);
        if (counts && own > begin && own > *had) {
            *had = own;
            any = true;
        }
    }
    return any;
}

/* Was something of the session read, and is it lost what? */
static bool begins_anew(const struct agent *agent, const struct earlier *earlier, size_t session)
{
    return earlier->highest[session] && agent->plan.session_configs[session]->ops->state &&
           agent->spool->states[session].size == 0;
}

static bool begin_session(struct agent *agent, const struct earlier *earlier, size_t stream,
    uint64_t id, size_t session, struct error *err)
{
    const struct agent_plan *plan = &agent->plan;
    struct agent_spool *spool = agent->spool;
    size_t cell = stream * plan->session_count + session;
    struct span name = span_text(session_name(agent, session));
    bool imported = spool->import.known[cell];
    bool knows = earlier->current[stream] || imported;
    uint64_t before = knows ? earlier->own[cell] : earlier->highest[session];
    bool fixed = imported || (knows && begins_anew(agent, earlier, session));
    uint64_t begin = fixed ? before : find_begin(earlier, stream, session, before);
    bool ok = true;
    bool takes = false;
    if (!fixed && note_had(earlier, stream, session, before, begin)) {
        spool->import.had_behind = store_last_id(spool->store);
        spool->is_back = true;
        ok = agent_import_put_had(agent, spool->store, &spool->import, err);
    }
    for (size_t o = 0; o < plan->output_count; o++) {
        if (plan->outputs[o].stream == stream && plan->takes[session * plan->output_count + o]) {
            uint64_t had = spool->import.had[session * plan->output_count + o];
            agent->resume[session * plan->output_count + o] = had > begin ? had : begin;
            takes = true;
        }
    }
    return ok && (!takes || (knows && begin == before) ||
                     store_source_from(spool->store, name, id, begin, err));
}

static bool begin_stream(
    struct agent *agent, const struct earlier *earlier, size_t stream, struct error *err)
{
    const struct agent_plan *plan = &agent->plan;
    struct agent_spool *spool = agent->spool;
    uint64_t id;
    bool ok = store_stream(spool->store, span_text(spool->keys[stream]), plan->streams[stream].hash,
        span_make(NULL, 0), &id, err);
    for (size_t s = 0; ok && s < plan->session_count; s++) {
        ok = !plan->sessions[s].replayable || begin_session(agent, earlier, stream, id, s, err);
    }
    return ok;
}

/* The number behind which the session goes on: of its outputs here, the one that has least. */
static uint64_t find_resume(const struct agent *agent, size_t session)
{
    const struct agent_plan *plan = &agent->plan;
    uint64_t lowest = UINT64_MAX;
    for (size_t o = 0; o < plan->output_count; o++) {
        size_t cell = session * plan->output_count + o;
        if (plan->takes[cell] && agent->resume[cell] < lowest) {
            lowest = agent->resume[cell];
        }
    }
    return lowest == UINT64_MAX ? 0 : lowest;
}

/* Where things are kept, and what waits there. */
static void tell_waiting(const struct agent *agent)
{
    struct spool_facts facts;
    struct error ignored;
    const char *folder = agent->spool->folder;
    log_write(agent->log, LOG_LEVEL_INFO, NULL,
        "spool: events wait in %s until their outputs have them", folder);
    struct catalogue *reader = take_reader(agent->spool, &ignored);
    bool ok = reader && spool_facts_read(reader, &facts, &ignored);
    plat_mutex_unlock(&agent->spool->mutex);
    if (!ok) {
        return; /* what cannot be read is told where it is needed */
    }
    for (size_t i = 0; i < facts.output_count; i++) {
        const struct spool_output_facts *output = &facts.outputs[i];
        if (output->backlog.records) {
            log_write(agent->log, LOG_LEVEL_INFO, NULL,
                "spool: %llu events of an earlier run wait for output %s in %s",
                (unsigned long long)output->backlog.records, output->name, folder);
        }
    }
    spool_facts_fini(&facts);
}

static void tell_begin(struct agent *agent, const struct earlier *earlier)
{
    tell_waiting(agent);
    for (size_t s = 0; s < agent->plan.session_count; s++) {
        if (agent->plan.sessions[s].replayable && begins_anew(agent, earlier, s)) {
            agent->restarted = true;
            log_write(agent->log, LOG_LEVEL_WARNING, NULL,
                "session %s: what was noted of the files read is lost: they are read again, and "
                "events may come twice",
                session_name(agent, s));
        } else if (agent->plan.sessions[s].replayable && find_resume(agent, s)) {
            log_write(agent->log, LOG_LEVEL_INFO, NULL,
                "session %s goes on behind event %llu: what is before it was read by an earlier "
                "run, as %s says%s",
                session_name(agent, s), (unsigned long long)find_resume(agent, s), agent->data_dir,
                agent->settings->config->agent.data_dir
                    ? ""
                    : ". to read it again, set another agent.data_dir, or spool.mode: memory");
        }
    }
}

/* What was staged so far, if the disk lets it: a full one is no reason not to start, as what lies on it
 * may leave by the outputs. It becomes true with a later commit then. But a stream that goes back must
 * not be taken to be where it was. */
static bool commit_beginning(struct agent *agent, struct error *err)
{
    struct store_committed committed;
    struct error why;
    if (store_commit(agent->spool->store, &committed, &why)) {
        return true;
    }
    if (agent->spool->is_back) {
        return error_set(err, why.code,
            "%s. outputs have other formats or filters now, and are given again what they lack: "
            "make "
            "room on the disk first",
            why.text);
    }
    log_write(agent->log, LOG_LEVEL_WARNING, "spool", "spool: %s; it is tried again", why.text);
    return true;
}

static bool find_sources(struct agent *agent, struct error *err)
{
    const struct agent_plan *plan = &agent->plan;
    struct earlier earlier = {.agent = agent,
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
    ok = ok && read_earlier(agent, &earlier, err);
    for (size_t i = 0; ok && i < plan->stream_count; i++) {
        ok = begin_stream(agent, &earlier, i, err);
    }
    ok = ok && commit_beginning(agent, err);
    if (ok) {
        store_tidy(agent->spool->store);
        tell_begin(agent, &earlier);
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

static bool find_sessions(struct agent *agent, struct error *err)
{
    struct agent_spool *spool = agent->spool;
    bool ok = true;
    for (size_t s = 0; ok && s < agent->plan.session_count; s++) {
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

/* ---- opening ---------------------------------------------------------------------------------- */

static void tell(void *self, enum store_news news, const char *text)
{
    struct agent *agent = self;
    bool usual = news == STORE_NEWS_UNCLEAN;
    agent->spool->is_remade |= news == STORE_NEWS_REBUILT;
    log_write(agent->log, usual ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, NULL, "spool: %s", text);
}

static bool open_store(struct agent *agent, struct error *err)
{
    enum { NS_PER_MS = 1000000 };
    const struct app_spool *config = &agent->settings->config->spool;
    struct agent_spool *spool = agent->spool;
    const struct store_settings settings = {.folder = spool->folder,
        .max_bytes = config->max_size_bytes,
        .min_free_bytes = config->min_free_disk_bytes,
        .max_age_ms = config->max_age_ns == CONFIG_NEVER ? 0 : config->max_age_ns / NS_PER_MS,
        .zstd = config->compression == APP_SPOOL_ZSTD,
        .tell = tell,
        .let_go = let_go,
        .self = agent};
    spool->store = store_open(&settings, err);
    return spool->store != NULL;
}

static bool allocate(struct agent *agent, struct error *err)
{
    const struct agent_plan *plan = &agent->plan;
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
    for (size_t i = 0; ok && i < agent->plan.stream_count; i++) {
        ok = stream_key_write(&agent->plan, i, agent->spool->keys[i], err);
        agent->plan.streams[i].key = agent->spool->keys[i];
    }
    return ok;
}

/* Hold the folder. Whoever cannot have it is told what to do without. */
static bool take_folder(struct agent *agent, struct error *err)
{
    struct error why;
    if (!agent->data_dir) { /* app_config_can_run says more */
        return error_set(err, ERR_CONFIG, "agent.data_dir is not set");
    }
    agent->spool->lock = data_folder_take(agent->data_dir, &why);
    if (agent->spool->lock) {
        return true;
    }
    if (why.code == ERR_STOPPED) {
        return error_set(err, why.code, "%s, or spool.mode: memory, which keeps nothing", why.text);
    }
    return error_set(err, why.code,
        "%s. events wait in %s: set agent.data_dir to a folder that can be written, or spool.mode: "
        "memory, which keeps nothing",
        why.text, agent->data_dir);
}

bool agent_spool_open(struct agent *agent, struct error *err)
{
    if (!allocate(agent, err)) {
        return false;
    }
    struct agent_spool *spool = agent->spool;
    return take_folder(agent, err) &&
           data_folder_path(agent->data_dir, "spool", spool->folder, err) &&
           data_folder_path(spool->folder, "catalogue.db", spool->catalogue, err) &&
           write_keys(agent, err) && open_store(agent, err) &&
           agent_import_to_spool(agent, spool->store, &spool->import, err) &&
           find_sessions(agent, err) && find_sources(agent, err);
}

void agent_spool_close(struct agent *agent)
{
    struct agent_spool *spool = agent->spool;
    if (!spool) {
        return;
    }
    agent_import_fini(&spool->import);
    catalogue_close(spool->reader);
    store_close(spool->store);
    plat_lock_drop(spool->lock);
    for (size_t s = 0; spool->states && s < agent->plan.session_count; s++) {
        buf_fini(&spool->states[s]);
    }
    plat_mutex_fini(&spool->mutex);
    free(spool->keys);
    free(spool->states);
    free(spool->last_times);
    free(spool);
    agent->spool = NULL;
}

struct span agent_spool_checkpoint(const struct agent *agent, const char *name)
{
    const struct positions *left = agent->spool->import.left;
    return left ? positions_checkpoint(left, name) : span_make(NULL, 0);
}

bool agent_spool_begin(struct agent *agent, struct error *err)
{
    struct agent_spool *spool = agent->spool;
    return !spool || agent_import_done(agent, spool->store, &spool->import, err);
}

/* ---- sources ---------------------------------------------------------------------------------- */

void agent_spool_restore(struct agent *agent)
{
    for (size_t s = 0; s < agent->plan.session_count; s++) {
        const struct input_ops *ops = agent->plan.session_configs[s]->ops;
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
    struct agent *agent, size_t session, const uint8_t file_id[16], uint64_t *ret_last_sequence)
{
    struct agent_spool *spool = agent->spool;
    struct error err;
    bool found = false;
    struct catalogue *reader = take_reader(spool, &err);
    bool ok = reader && catalogue_find_done(reader, span_text(session_name(agent, session)),
                            file_id, ret_last_sequence, &found, &err);
    plat_mutex_unlock(&spool->mutex);
    if (!ok) {
        log_write(agent->log, LOG_LEVEL_WARNING, "spool done",
            "spool: whether a file was read before cannot be told: %s", err.text);
    }
    return ok && found;
}

/* ---- what becomes true with a commit -------------------------------------------------------------- */

/* What an input needs to go on as before; nothing where it cannot say it, or where the catalogue has lost
 * what belongs to it: an older one would not fit the numbers. */
static bool write_state(struct agent *agent, size_t session, struct buf *out, struct error *err)
{
    struct error why = {.code = ERR_NONE};
    if (agent->spool->is_remade) {
        return true;
    }
    const struct input_ops *ops = agent->plan.session_configs[session]->ops;
    bool ok = ops->state(agent->sessions[session].input, out, &why);
    if (!ok && why.code == ERR_LIMIT) {
        log_write(agent->log, LOG_LEVEL_WARNING, "spool state", "session %s: %s",
            session_name(agent, session), why.text);
        buf_fini(out);
        buf_init(out, STORE_VALUE_MAX);
        return true;
    }
    return (ok || error_set(err, why.code, "%s", why.text)) &&
           (!out->failed || error_set(err, ERR_MEMORY, "out of memory"));
}

/* That, if it is not what was said last. */
static bool stage_state(struct agent *agent, struct store *store, size_t session, struct error *err)
{
    const struct input_ops *ops = agent->plan.session_configs[session]->ops;
    struct buf *last = &agent->spool->states[session];
    struct buf fresh;
    if (!ops->state) {
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

/* Files that were given whole, and are in the spool whole. */
static bool stage_files(struct agent *agent, struct store *store, struct error *err)
{
    bool ok = true;
    plat_mutex_lock(&agent->store_mutex);
    for (size_t i = 0; ok && i < agent->file_count;) {
        struct agent_file *file = &agent->files[i];
        const struct agent_session *session = &agent->sessions[file->session];
        const struct input_ops *ops = agent->plan.session_configs[file->session]->ops;
        if (pipeline_staged(agent->pipeline, file->session) < file->last_sequence) {
            i++;
            continue;
        }
        ok = store_done(store, span_text(session_name(agent, file->session)), file->id,
            file->last_sequence, err);
        if (ok && ops->forget) {
            ops->forget(session->input, file->id);
        }
        if (ok) {
            *file = agent->files[--agent->file_count];
        }
    }
    plat_mutex_unlock(&agent->store_mutex);
    return ok;
}

static bool stage(void *self, struct store *store, bool all, struct error *err)
{
    struct agent *agent = self;
    bool ok = stage_files(agent, store, err) && agent_live_save(agent, err);
    (void)all; /* pipeline_staged knows it */
    for (size_t s = 0; ok && s < agent->plan.session_count; s++) {
        ok = stage_state(agent, store, s, err);
    }
    return ok;
}

struct pipeline_store agent_spool_store(const struct agent *agent)
{
    static const enum spool_full on_full[] = {[APP_SPOOL_BLOCK] = SPOOL_FULL_BLOCK,
        [APP_SPOOL_DROP_OLDEST] = SPOOL_FULL_DROP_OLDEST,
        [APP_SPOOL_DROP_NEWEST] = SPOOL_FULL_DROP_NEWEST};
    const struct app_spool *config = &agent->settings->config->spool;
    if (!agent->spool) {
        return (struct pipeline_store){.store = NULL};
    }
    return (struct pipeline_store){.store = agent->spool->store,
        .folder = agent->spool->folder,
        .max_bytes = config->max_size_bytes,
        .min_free_bytes = config->min_free_disk_bytes,
        .sync_interval_ns = config->sync.interval_ns,
        .sync_bytes = config->sync.bytes,
        .on_full = on_full[config->on_full],
        .had = agent->spool->import.had,
        .had_behind = agent->spool->import.had_behind,
        .stage = stage};
}
