#include <stdlib.h>

#include "base/grow.h"
#include "pipeline/spool/spool_durable_own.h"

/*
 * The writer's work on batches: appended batches become rows and frames of the store while there is
 * room; batches that cannot stay are dropped, and reported to the cursors that had them ahead. With
 * a batch, the store gets the positions of the sessions in it that are read again.
 */
/* True if the session's events in the batch can be read again. */
static bool is_replayable(const struct spool_durable *spool, uint32_t session)
{
    return session + 1 < spool->settings.session_count && spool->settings.replayable[session];
}

/* Would a session lose events if one of these batches waited for room? What the agent says of
 * itself is not worth that others are dropped for it. */
static bool has_live(const struct spool_durable *spool, const struct batch *batch)
{
    for (; batch; batch = batch->next) {
        for (size_t i = 0; i < batch->segment_count && !batch->own; i++) {
            if (!spool_durable_comes_again(spool, batch->segments[i].session)) {
                return true;
            }
        }
    }
    return false;
}

/* How far the batch takes sessions that are read again: into `sources`. Returns how many. */
static size_t collect_sources(struct spool_durable *spool, const struct batch *batch)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->segment_count; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        uint64_t *sequence = &spool->source_sequences[segment->session];
        if (!is_replayable(spool, segment->session) || segment->last_sequence == 0) {
            continue;
        }
        if (*sequence == 0) {
            spool->sources[count++].session = span_text(spool->settings.sessions[segment->session]);
        }
        *sequence = segment->last_sequence > *sequence ? segment->last_sequence : *sequence;
    }
    size_t at = 0;
    for (size_t i = 0; i < batch->segment_count && at < count; i++) {
        uint32_t session = batch->segments[i].session;
        if (is_replayable(spool, session) && spool->source_sequences[session]) {
            spool->sources[at++].sequence = spool->source_sequences[session];
            spool->source_sequences[session] = 0;
        }
    }
    return at;
}

/* The staged positions of the batch's sessions, for spool_durable_sequence. */
static void note_sequences(struct spool_durable *spool, const struct batch *batch)
{
    for (size_t i = 0; i < batch->segment_count; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        uint64_t *sequence =
            &spool->sequences[segment->session * spool->settings.stream_count + batch->stream];
        *sequence = segment->last_sequence > *sequence ? segment->last_sequence : *sequence;
    }
}

/* Only events of the agent itself have no time: their rows are known by that. */
static struct time_range times_of(const struct batch *batch)
{
    struct time_range times = {.from = 0};
    for (size_t i = 0; i < batch->segment_count && !batch->own; i++) {
        time_range_add(&times, batch->segments[i].times);
    }
    times.to = times.to || batch->own ? times.to : 1;
    return times;
}

static bool reserve_row(struct spool_durable *spool, struct error *err)
{
    return grow_list(&spool->rows, spool->row_count, &spool->row_capacity, sizeof(*spool->rows)) ||
           error_set(err, ERR_MEMORY, "out of memory");
}

/* No output reads the batch, or it is empty: only the positions of its sessions are stored. */
static bool stage_sources(
    struct spool_durable *spool, const struct batch *batch, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct store_source *source = &spool->sources[i];
        if (!store_source(spool->settings.store, source->session, spool->stream_ids[batch->stream],
                source->sequence, err)) {
            return false;
        }
    }
    return true;
}

/* The batch can never be stored: that is a loss. */
static void lose_batch(struct spool_durable *spool, const struct batch *batch)
{
    struct time_range times = times_of(batch);
    for (size_t i = 0; i < spool->cursor_count && spool->settings.lost; i++) {
        struct spool_durable_loss loss = {.cursor = i,
            .reason = OUTPUT_DROP_SPOOL_DAMAGED,
            .records = batch->piece.count,
            .own = batch->own,
            .from = times.from,
            .to = times.to};
        if (spool->cursors[i].reader.stream == batch->stream) {
            spool->settings.lost(spool->settings.self, &loss);
        }
    }
}

/* Stage one batch. ${ret_row}->id is 0 where nothing is to be handed out. */
static bool stage_batch(
    struct spool_durable *spool, struct batch *batch, struct store_row *ret_row, struct error *err)
{
    size_t count = collect_sources(spool, batch);
    struct span body;
    *ret_row = (struct store_row){.id = 0};
    if (batch->piece.count == 0 || spool->stream_cursors[batch->stream] == 0) {
        return stage_sources(spool, batch, count, err);
    }
    struct time_range times = times_of(batch);
    bool ok = batch_codec_write(&spool->codec, batch, &body, err);
    struct store_batch store_batch = {.stream = spool->stream_ids[batch->stream],
        .records = (uint32_t)batch->piece.count,
        .first_time = times.from,
        .last_time = times.to,
        .sources = spool->sources,
        .source_count = count};
    if (ok) {
        store_batch.body = body; /* the batch is staged, and as it is, until that is committed */
        store_batch.is_lent = true;
        ok = store_append(spool->settings.store, &store_batch, ret_row, err);
    }
    if (!ok && err->code == ERR_LIMIT) {
        lose_batch(spool, batch);
        *ret_row = (struct store_row){.id = 0};
        return stage_sources(spool, batch, count, err) || err->code == ERR_LIMIT;
    }
    return ok;
}

/* ---- losses ---------------------------------------------------------------------------------- */

struct losing {
    struct spool_durable *spool;
    enum output_drop reason;
};

static bool is_busy(void *self, uint64_t id)
{
    struct spool_durable *spool = ((struct losing *)self)->spool;
    bool busy = false;
    plat_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->cursor_count && !busy; i++) {
        busy = spool_cursor_has(&spool->cursors[i], id);
    }
    plat_mutex_unlock(&spool->mutex);
    return busy;
}

static void tell_lost(struct spool_durable *spool, size_t cursor, struct span output,
    enum output_drop reason, const struct store_row *row)
{
    struct spool_durable_loss loss = {.cursor = cursor,
        .output = output,
        .reason = reason,
        .records = row->records,
        .own = row->id >= spool->first_id && row->last_time == 0,
        .from = row->first_time,
        .to = row->last_time};
    if (spool->settings.lost) {
        spool->settings.lost(spool->settings.self, &loss);
    }
}

static void on_lost(void *self, size_t output, struct span name, const struct store_row *row)
{
    struct losing *losing = self;
    struct spool_durable *spool = losing->spool;
    struct store_row mine = *row;
    if (output == SIZE_MAX && row->last_time) { /* what the agent said of itself is no loss */
        tell_lost(spool, SIZE_MAX, name, losing->reason, row);
    }
    if (output >= spool->cursor_count) {
        return;
    }
    plat_mutex_lock(&spool->mutex);
    bool lost = spool_cursor_lose(spool, output, &mine);
    plat_mutex_unlock(&spool->mutex);
    if (lost) {
        tell_lost(spool, output, span_make(NULL, 0), losing->reason, &mine);
    }
}

/* Drop batches, except those that an output holds. Returns how many. */
static uint64_t drop(struct spool_durable *spool, enum store_drop why, enum output_drop reason)
{
    struct losing losing = {.spool = spool, .reason = reason};
    struct store_loss loss = {.is_busy = is_busy, .lost = on_lost, .self = &losing};
    uint64_t count = 0;
    if (!store_drop(spool->settings.store, why, &loss, &count, NULL)) {
        return 0;
    }
    spool->dropped |= count > 0;
    return count;
}

void spool_stage_too_old(struct spool_durable *spool)
{
    drop(spool, STORE_DROP_TOO_OLD, OUTPUT_DROP_SPOOL_TOO_OLD);
}

void spool_stage_remove_old(struct spool_durable *spool)
{
    struct losing losing = {.spool = spool, .reason = OUTPUT_DROP_SPOOL_TOO_OLD};
    struct store_loss loss = {.lost = on_lost, .self = &losing};
    store_remove_old(spool->settings.store, &loss);
}

/* For the outputs that found it damaged; the store reports it to the others. */
static void lose_damaged(struct spool_durable *spool, const struct store_row *row)
{
    for (size_t i = 0; i < spool->cursor_count; i++) {
        struct store_row mine = *row;
        plat_mutex_lock(&spool->mutex);
        bool lost = spool_cursor_lose_damaged(spool, i, &mine);
        plat_mutex_unlock(&spool->mutex);
        if (lost) {
            tell_lost(spool, i, span_make(NULL, 0), OUTPUT_DROP_SPOOL_DAMAGED, &mine);
        }
    }
}

void spool_stage_damaged(struct spool_durable *spool)
{
    plat_mutex_lock(&spool->mutex);
    struct store_row *rows = spool->damaged;
    size_t count = spool->damaged_count;
    spool->damaged = NULL;
    spool->damaged_count = spool->damaged_capacity = 0;
    plat_mutex_unlock(&spool->mutex);
    struct losing losing = {.spool = spool, .reason = OUTPUT_DROP_SPOOL_DAMAGED};
    struct store_loss loss = {.lost = on_lost, .self = &losing};
    for (size_t i = 0; i < count; i++) {
        struct error err;
        if (!store_set_aside(spool->settings.store, &rows[i], &loss, &err)) {
            spool_durable_warn(spool, "damaged", err.text);
        }
        lose_damaged(spool, &rows[i]);
        spool->dropped = true;
    }
    free(rows);
}

/* ---- room ------------------------------------------------------------------------------------ */

enum spool_room spool_stage_room(struct spool_durable *spool, uint64_t bytes)
{
    switch (store_room(spool->settings.store, bytes)) {
    case STORE_ROOM_OK:
        return SPOOL_ROOM;
    case STORE_ROOM_FULL:
        return SPOOL_NO_ROOM_FULL;
    default:
        return SPOOL_NO_ROOM_DISK;
    }
}

/* There may be no room for what came from live sessions: then the oldest batches make some, where
 * the user wants that. ${room}: for what waits. */
static bool make_room(struct spool_durable *spool, enum spool_room room)
{
    bool full = room != SPOOL_ROOM;
    bool disk_full = spool->failures && spool_durable_is_full(&spool->last_error);
    const struct batch *stuck = full ? spool->waiting.head : disk_full ? spool->staged.head : NULL;
    if (!stuck || spool->settings.on_full != SPOOL_FULL_DROP_OLDEST || !has_live(spool, stuck)) {
        return false;
    }
    return drop(spool, STORE_DROP_FULL,
               room == SPOOL_NO_ROOM_FULL ? OUTPUT_DROP_SPOOL_FULL : OUTPUT_DROP_SPOOL_DISK) > 0;
}

/* Stage the accepted batches while there is room. ${ret_again}: dropped older batches gave some. */
void spool_stage_batches(struct spool_durable *spool, enum spool_room *ret_room, bool *ret_again)
{
    struct error err = {.code = ERR_NONE};
    struct batch *batch;
    enum spool_room room = SPOOL_ROOM;
    bool ok = true;
    while (ok && (batch = spool->waiting.head)) {
        struct store_row row;
        room = spool_stage_room(spool, batch_size(batch));
        if (room != SPOOL_ROOM) {
            break;
        }
        /* Room for the row first: what is staged has one. */
        ok = reserve_row(spool, &err) && stage_batch(spool, batch, &row, &err);
        if (ok) {
            spool->rows[spool->row_count++] = row;
            spool->first_id = row.id && row.id < spool->first_id ? row.id : spool->first_id;
            note_sequences(spool, batch);
            batch_list_remove(&spool->waiting, batch);
            batch_list_add(&spool->staged, batch);
        }
    }
    if (!ok) {
        spool_durable_warn(spool, "spool", err.text);
    }
    if (room != SPOOL_ROOM) {
        store_need_room(spool->settings.store, true);
    }
    *ret_room = room;
    *ret_again = make_room(spool, room);
}
