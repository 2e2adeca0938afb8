#include "pipeline/spool/spool_durable.h"

#include <stdlib.h>

#include "pipeline/spool/spool_durable_own.h"
#include "platform/plat_clock.h"
#include "store/catalogue/catalogue_sources.h"

/*
 * The durable spool as the sealer and the pipeline use it: creation, start, end. The rest is in the
 * rooms that spool_durable_own.h names.
 *
 * A quarter of its memory is for batches that wait to be written, the rest for those that stay.
 */
enum { SHARES = 4 };

/* ---- the sealer ------------------------------------------------------------------------------ */

static void append(struct spool *base, size_t stream, struct batch *batch)
{
    struct spool_durable *spool = spool_durable_of(base);
    batch->stream = stream;
    batch->memory = batch_memory(batch);
    plat_mutex_lock(&spool->mutex);
    batch_list_add(&spool->pending, batch);
    spool->pending_bytes += batch->memory;
    spool_cache_count(spool->cache, batch);
    spool_durable_touch(spool);
    if (spool->pending_bytes >= spool->settings.sync_bytes ||
        spool->pending_bytes >= spool->pending_max) {
        plat_cond_signal(&spool->work);
    }
    plat_mutex_unlock(&spool->mutex);
}

/* Is there room now? SPOOL_CANCELLED: to be waited for. Holds the mutex. */
static enum spool_room room_now(const struct spool_durable *spool, enum spool_origin origin)
{
    bool drops = origin == SPOOL_LIVE && spool->settings.on_full == SPOOL_FULL_DROP_NEWEST;
    if (drops && spool->live_room != SPOOL_ROOM) {
        return spool->live_room;
    }
    bool room = spool->pending_bytes < spool->pending_max &&
                (origin != SPOOL_REPLAYED || spool->replay_room);
    return room ? SPOOL_ROOM : SPOOL_CANCELLED;
}

/* Has even the fastest output of every stream ${bytes} in memory to go on with? */
static bool is_ahead(const struct spool_durable *spool, size_t bytes)
{
    bool reads = false;
    for (size_t i = 0; i < spool->settings.stream_count; i++) {
        if (spool->stream_cursors[i] && spool_cache_untaken(spool->cache, i, bytes) < bytes) {
            return false;
        }
        reads |= spool->stream_cursors[i] > 0;
    }
    return reads;
}

/* What is further ahead leaves memory, and is read from the disk again. Holds the mutex. */
static void hold_back(struct spool_durable *spool)
{
    spool->taken_ns = plat_monotonic_ns();
    while (
        spool->takes && is_ahead(spool, spool->max_ahead) && !spool->cancelled && !spool->halted) {
        uint64_t until = spool->taken_ns + spool->settings.max_hold_ns;
        spool->holds_back = true;
        spool->takes = plat_cond_wait_until(&spool->room, &spool->mutex, until) ||
                       spool->taken_ns + spool->settings.max_hold_ns > until;
    }
    spool->holds_back = false;
}

/* A sealer that waits is woken for several batches at once. */
void spool_durable_note_take(struct spool_durable *spool)
{
    spool->takes = true;
    spool->taken_ns = plat_monotonic_ns();
    if (spool->holds_back && !is_ahead(spool, spool->max_ahead / 2)) {
        plat_cond_broadcast(&spool->room);
    }
}

/* When the agent stops, what the disk takes is still taken. */
static enum spool_room wait_room(struct spool *base, enum spool_origin origin)
{
    struct spool_durable *spool = spool_durable_of(base);
    plat_mutex_lock(&spool->mutex);
    enum spool_room room;
    if (origin == SPOOL_REPLAYED && spool->max_ahead) {
        hold_back(spool);
    }
    while ((room = room_now(spool, origin)) == SPOOL_CANCELLED && !spool->halted) {
        bool disk_takes = !spool->failing && spool->live_room == SPOOL_ROOM && spool->replay_room;
        if (spool->cancelled && !disk_takes) {
            break;
        }
        plat_cond_wait(&spool->room, &spool->mutex);
    }
    plat_mutex_unlock(&spool->mutex);
    return room;
}

void spool_durable_warn(struct spool_durable *spool, const char *kind, const char *text)
{
    if (spool->settings.warn) {
        spool->settings.warn(spool->settings.self, kind, text);
    }
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

static bool start(struct spool *base, struct error *err)
{
    return spool_writer_start(spool_durable_of(base), err);
}

static bool flush(struct spool *base, struct error *err)
{
    return spool_writer_wait(spool_durable_of(base), true, err);
}

static void close_spool(struct spool *base)
{
    struct spool_durable *spool = spool_durable_of(base);
    plat_mutex_lock(&spool->mutex);
    spool->closed = true;
    plat_cond_signal(&spool->work);
    plat_mutex_unlock(&spool->mutex);
}

static void cancel(struct spool *base)
{
    struct spool_durable *spool = spool_durable_of(base);
    plat_mutex_lock(&spool->mutex);
    spool->cancelled = true;
    plat_cond_broadcast(&spool->room);
    plat_mutex_unlock(&spool->mutex);
}

static void usage(struct spool *base, struct spool_usage *ret_usage)
{
    struct spool_durable *spool = spool_durable_of(base);
    plat_mutex_lock(&spool->mutex);
    *ret_usage = spool->usage;
    plat_mutex_unlock(&spool->mutex);
}

static void backlog(struct spool *base, size_t cursor, struct spool_backlog *ret_backlog)
{
    struct spool_durable *spool = spool_durable_of(base);
    plat_mutex_lock(&spool->mutex);
    *ret_backlog = spool->cursors[cursor].backlog;
    plat_mutex_unlock(&spool->mutex);
}

uint64_t spool_durable_sequence(const struct spool *base, size_t session, size_t stream)
{
    const struct spool_durable *spool = (const struct spool_durable *)base;
    return spool->sequences[session * spool->settings.stream_count + stream];
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The batch's records that no session delivers again. */
static uint64_t count_lost(const struct spool_durable *spool, const struct batch *batch)
{
    uint64_t lost = batch->own ? batch->piece.count : 0;
    size_t first = 0;
    for (size_t i = 0; i < batch->segment_count && !batch->own; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        bool comes_again = spool_durable_comes_again(spool, segment->session);
        lost += comes_again ? 0 : segment->record_end - first;
        first = segment->record_end;
    }
    return lost;
}

static void destroy_list(
    const struct spool_durable *spool, struct batch_list *list, uint64_t *ret_lost)
{
    struct batch *batch;
    while ((batch = batch_list_take(list))) {
        *ret_lost += count_lost(spool, batch);
        batch_destroy(batch);
    }
}

static void tell_unwritten(struct spool_durable *spool, uint64_t records)
{
    const struct error *why = &spool->last_error;
    struct buf text;
    buf_init(&text, 256);
    buf_printf(&text, "%llu events could not be written to the spool: %s",
        (unsigned long long)records, why->code ? why->text : "it is full");
    buf_add_byte(&text, 0);
    spool_durable_warn(spool, "unwritten", (const char *)text.data);
    buf_fini(&text);
}

static void halt(struct spool *base)
{
    struct spool_durable *spool = spool_durable_of(base);
    if (spool->thread) {
        spool_writer_stop(spool);
    }
}

static void destroy(struct spool *base)
{
    struct spool_durable *spool = spool_durable_of(base);
    uint64_t unwritten = 0;
    halt(base);
    destroy_list(spool, &spool->pending, &unwritten);
    destroy_list(spool, &spool->waiting, &unwritten);
    destroy_list(spool, &spool->staged, &unwritten);
    spool_cache_destroy(spool->cache);
    if (unwritten) {
        tell_unwritten(spool, unwritten);
    }
    for (size_t i = 0; i < spool->cursor_count; i++) {
        spool_cursor_fini(&spool->cursors[i]);
    }
    plat_cond_fini(&spool->work);
    plat_cond_fini(&spool->room);
    plat_cond_fini(&spool->round);
    plat_mutex_fini(&spool->mutex);
    free(spool->stream_ids);
    free(spool->stream_cursors);
    free(spool->damaged);
    free(spool->rows);
    free(spool->sequences);
    free(spool->sources);
    free(spool->source_sequences);
    free(spool);
}

static const struct spool_ops durable_ops = {
    .add_cursor = spool_cursor_add,
    .start = start,
    .wait_room = wait_room,
    .append = append,
    .next = spool_cursor_next,
    .ack = spool_cursor_ack,
    .put_down = spool_later_put_down,
    .pick_up = spool_later_pick_up,
    .next_gone = spool_later_next_gone,
    .set_restless = spool_later_set_restless,
    .note_left = spool_position_note_left,
    .checkpoint = spool_position_checkpoint,
    .first_checkpoint = spool_position_first_checkpoint,
    .flush = flush,
    .end_cursor = spool_cursor_end,
    .halt = halt,
    .close = close_spool,
    .cancel = cancel,
    .usage = usage,
    .backlog = backlog,
    .destroy = destroy,
};

static bool find_streams(struct spool_durable *spool, struct error *err)
{
    const struct spool_durable_settings *s = &spool->settings;
    struct catalogue *catalogue = store_catalogue(s->store, err);
    bool ok = catalogue != NULL;
    for (size_t i = 0; ok && i < s->stream_count; i++) {
        const struct spool_durable_stream *stream = &s->streams[i];
        uint64_t *id = &spool->stream_ids[i];
        ok = store_stream(s->store, span_text(stream->key), stream->hash, span_text(""), id, err);
        for (size_t k = 0; ok && k < s->session_count; k++) {
            uint64_t *sequence = &spool->sequences[k * s->stream_count + i];
            bool found;
            ok = !s->replayable[k] || catalogue_find_source(catalogue, span_text(s->sessions[k]),
                                          *id, sequence, &found, err);
        }
    }
    return ok;
}

/* How many ids are before the batch for the first cursor that gets to it. Holds the mutex. */
static uint64_t ahead(void *self, const struct batch *batch)
{
    const struct spool_durable *spool = self;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < spool->cursor_count; i++) {
        const struct spool_cursor *cursor = &spool->cursors[i];
        if (cursor->reader.stream == batch->stream && cursor->taken < batch->number &&
            batch->number - cursor->taken < least) {
            least = batch->number - cursor->taken;
        }
    }
    return least;
}

struct spool *spool_durable_create(const struct spool_durable_settings *settings, struct error *err)
{
    struct spool_durable *spool = calloc(1, sizeof(*spool));
    size_t streams = settings->stream_count;
    size_t sessions = settings->session_count;
    if (!spool) {
        error_set(err, ERR_MEMORY, "out of memory for the spool");
        return NULL;
    }
    spool->base = (struct spool){.ops = &durable_ops, .keeps = true};
    spool->settings = *settings;
    spool->codec = (struct batch_codec){.sessions = settings->sessions,
        .session_count = sessions,
        .other = (uint32_t)(sessions - 1)};
    spool->pending_max = settings->memory_bytes / SHARES + 1;
    spool->cache = spool_cache_create(settings->memory_bytes, ahead, spool);
    size_t half = settings->memory_bytes / 2;
    spool->max_ahead = settings->max_ahead < half ? settings->max_ahead : half;
    spool->takes = true;
    spool->pending_since_ns = UINT64_MAX;
    spool->replay_room = true;
    spool->usage.max_bytes = settings->max_bytes;
    spool->usage.free_bytes = UINT64_MAX;
    spool->first_id = UINT64_MAX;
    plat_mutex_init(&spool->mutex);
    plat_cond_init(&spool->work);
    plat_cond_init(&spool->room);
    plat_cond_init(&spool->round);
    spool->stream_ids = calloc(streams + 1, sizeof(*spool->stream_ids));
    spool->stream_cursors = calloc(streams + 1, sizeof(*spool->stream_cursors));
    spool->sequences = calloc(streams * sessions + 1, sizeof(*spool->sequences));
    spool->sources = calloc(sessions + 1, sizeof(*spool->sources));
    spool->source_sequences = calloc(sessions + 1, sizeof(*spool->source_sequences));
    bool ok = spool->cache && spool->stream_ids && spool->stream_cursors && spool->sequences &&
              spool->sources && spool->source_sequences;
    if (!ok) {
        error_set(err, ERR_MEMORY, "out of memory for the spool");
    }
    if (!ok || !find_streams(spool, err)) {
        destroy(&spool->base);
        return NULL;
    }
    return &spool->base;
}
