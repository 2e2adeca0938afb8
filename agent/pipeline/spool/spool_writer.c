#include <stdlib.h>

#include "base/filetime.h"
#include "pipeline/spool/spool_durable_own.h"
#include "platform/plat_clock.h"

/*
 * The thread that owns the store while the spool runs. It works in rounds: take the appended
 * batches, stage them with everything else that belongs into the commit, commit, and give the
 * cursors the new batches. A round begins when enough bytes wait, after the sync interval, or when
 * a caller waits for it.
 *
 * What a round cannot stage or commit stays in order for the next round, after a growing pause.
 * Without room on the disk batches wait, which fills the memory and then stops the sealer, while
 * all other state is still committed; settled batches make room.
 */
enum { RETRY_FIRST_MS = 50, RETRY_LAST_MS = 2000, LOOK_MS = 500 };

/* ---- a round --------------------------------------------------------------------------------- */

static void stage_rest(struct spool_durable *spool, bool all)
{
    const struct spool_durable_settings *settings = &spool->settings;
    struct error err;
    bool ok = true;
    plat_mutex_lock(&spool->mutex);
    for (size_t i = 0; i < spool->cursor_count; i++) {
        ok = spool_position_stage(spool, i, &err) && ok;
    }
    plat_mutex_unlock(&spool->mutex);
    if (!ok) {
        spool_durable_warn(spool, "spool", err.text);
    }
    if (settings->stage && !settings->stage(settings->self, settings->store, all, &err)) {
        spool_durable_warn(spool, "spool", err.text);
    }
}

/* The cursors take what was committed, and ask for its rows. Holds the mutex. */
static void publish(struct spool_durable *spool)
{
    struct batch *batch;
    if (spool->staged.head) {
        spool_cache_begin_round(spool->cache);
    }
    for (size_t i = 0; (batch = batch_list_take(&spool->staged)); i++) {
        const struct store_row *row = &spool->rows[i];
        spool->pending_bytes -= batch->memory;
        if (row->id == 0) {
            spool_cache_free(spool->cache, batch);
            continue;
        }
        batch->number = row->id;
        batch->first_record = row->first_record;
        size_t stream = batch->stream;
        spool_cache_add(spool->cache, batch, spool->stream_cursors[stream]);
        for (size_t k = 0; k < spool->cursor_count; k++) {
            if (spool->cursors[k].reader.stream == stream) {
                spool->cursors[k].at_tip = false;
            }
        }
    }
    spool->row_count = 0;
}

struct round {
    uint64_t number;
    bool staged;       /* there are batches to commit … */
    bool all;          /* … every one that was appended before */
    bool commit_asked; /* a caller waits for it */
    bool again; /* another one follows at once, and threads that wait for this one wait for it */
    enum spool_room room;   /* for what waits */
    enum spool_room any;    /* for anything at all */
    enum spool_room replay; /* for what is read again */
    enum spool_room told;   /* what people see */
};

static void begin_round(struct spool_durable *spool, struct round *round)
{
    const struct spool_durable_settings *settings = &spool->settings;
    if (settings->begin) {
        settings->begin(settings->self);
    }
    plat_mutex_lock(&spool->mutex);
    batch_list_move(&spool->waiting, &spool->pending);
    *round = (struct round){.number = ++spool->rounds_begun, .commit_asked = spool->commit_asked};
    spool->commit_asked = false;
    spool->pending_since_ns = UINT64_MAX;
    plat_mutex_unlock(&spool->mutex);
}

static void wake_cursors(struct spool_durable *spool)
{
    for (size_t i = 0; i < spool->cursor_count; i++) {
        plat_cond_broadcast(&spool->cursors[i].ready);
    }
}

/* Its result, for all threads that wait. */
static void end_round(
    struct spool_durable *spool, const struct round *round, bool ok, const struct error *err)
{
    plat_mutex_lock(&spool->mutex);
    if (ok) {
        publish(spool);
    }
    /* With a full disk all is true but batches, or should be. */
    bool cursors = ok || (round->staged && store_committed_rest(spool->settings.store));
    spool->cursors_true = cursors ? round->number : spool->cursors_true;
    spool->all_true = ok && round->all ? round->number : spool->all_true;
    if (!ok || !round->again) {
        spool->rounds_done = round->number;
    }
    spool->failing = !ok;
    spool->usage.failing = !ok;
    spool->usage.room = round->told;
    spool->last_error = *err;
    bool left = spool->pending.head || spool->waiting.head || spool->staged.head;
    if (left || !ok) {
        spool_durable_touch(spool);
    } else if (spool->closed && !spool->written) {
        spool->written = true;
        wake_cursors(spool);
    }
    spool->live_room = round->room;
    spool->replay_room = round->replay == SPOOL_ROOM;
    plat_cond_broadcast(&spool->room);
    plat_cond_broadcast(&spool->round);
    plat_mutex_unlock(&spool->mutex);
}

/* The next try is after a pause. */
static void note_failure(struct spool_durable *spool, const struct error *err)
{
    uint64_t ms = RETRY_FIRST_MS;
    for (unsigned i = 0; i < spool->failures && ms < RETRY_LAST_MS; i++) {
        ms *= 2;
    }
    if (spool->failures++ == 0) {
        spool_durable_warn(spool, "spool", err->text);
    }
    spool->retry_ns = plat_monotonic_ns() + (ms < RETRY_LAST_MS ? ms : RETRY_LAST_MS) * NS_PER_MS;
}

static void note_success(struct spool_durable *spool)
{
    if (spool->failures) {
        spool_durable_warn(spool, "spool again", "the agent writes to it again");
        spool->failures = 0;
    }
}

/* How long something has been waiting, which came with the oldest batch or after it. */
static uint64_t age_of(const struct store_usage *usage, uint64_t entered)
{
    uint64_t later_ms = entered > usage->oldest ? (entered - usage->oldest) / FILETIME_PER_MS : 0;
    return entered && later_ms < usage->oldest_ms ? usage->oldest_ms - later_ms : 0;
}

/* Periodic: the status of the spool, and batches that are too old. */
static void look(struct spool_durable *spool, bool now)
{
    struct store *store = spool->settings.store;
    struct store_usage usage;
    uint64_t time = plat_monotonic_ns();
    bool due = now || time - spool->looked_ns >= LOOK_MS * NS_PER_MS || spool->looked_ns == 0;
    bool has_usage = due && store_usage(store, &usage, NULL);
    for (size_t i = 0; due && i < spool->cursor_count; i++) {
        struct store_backlog backlog;
        if (store_backlog(store, i, &backlog, NULL)) {
            plat_mutex_lock(&spool->mutex);
            spool->cursors[i].backlog = (struct spool_backlog){.batches = backlog.batches,
                .records = backlog.records,
                .bytes = backlog.bytes,
                .oldest_ms = has_usage ? age_of(&usage, backlog.oldest) : 0};
            plat_mutex_unlock(&spool->mutex);
        }
    }
    plat_mutex_lock(&spool->mutex);
    if (has_usage) {
        spool->usage.bytes = usage.bytes;
        spool->usage.batches = usage.batches;
        spool->usage.oldest_ms = usage.oldest_ms;
        spool->usage.free_bytes = usage.free_bytes;
    }
    plat_mutex_unlock(&spool->mutex);
    if (due) {
        spool->looked_ns = time;
        spool_stage_too_old(spool);
    }
}

static void refill(struct spool_durable *spool)
{
    bool ok = true;
    for (size_t i = 0; i < spool->cursor_count; i++) {
        ok = spool_cursor_refill(spool, i) && ok;
    }
    /* A failed read of the catalogue is repeated. */
    spool->refill_ns = ok ? 0 : plat_monotonic_ns() + LOOK_MS * NS_PER_MS;
}

/* The state to report. If replayable sessions wait for the sake of live ones, a full spool is
 * normal; it is reported when they do not wait. */
static enum spool_room room_to_tell(const struct spool_durable *spool, const struct round *round)
{
    bool counts = round->replay == SPOOL_NO_ROOM_DISK || round->replay == spool->usage.room;
    return round->any != SPOOL_ROOM ? round->any : counts ? round->replay : SPOOL_ROOM;
}

static void put_size(struct buf *out, uint64_t bytes)
{
    enum { KB = 1024, MB = 1024 * KB };
    bool is_small = bytes < 10 * (uint64_t)MB;
    buf_printf(
        out, "%llu %s", (unsigned long long)(bytes / (is_small ? KB : MB)), is_small ? "KB" : "MB");
}

/* A user may be waiting for a program that seems to hang: name the disk, and what to do. */
static void put_disk(struct buf *out, const struct spool_durable *spool)
{
    const struct spool_durable_settings *settings = &spool->settings;
    struct store_usage usage;
    struct error ignored;
    buf_printf(out, "the disk of %s has too little free space",
        settings->folder ? settings->folder : "it");
    if (store_usage(settings->store, &usage, &ignored) && usage.free_bytes != UINT64_MAX) {
        buf_add_text(out, ": ");
        put_size(out, usage.free_bytes);
        buf_add_text(out, " are free");
        if (settings->min_free_bytes) {
            buf_add_text(out, ", and spool.min_free_disk is ");
            put_size(out, settings->min_free_bytes);
        }
    }
    buf_add_text(out,
        ". sessions wait or lose events, as spool.on_full says, until more is free. lower "
        "spool.min_free_disk, free some space, or set another agent.data_dir");
}

/* Report why the spool has no room, once when that begins, and that there is room for all, once.
 * A commit that fails reports it itself. */
static void tell_room(struct spool_durable *spool, enum spool_room room, bool failed)
{
    enum { MAX_TEXT = 8192 };
    struct buf text;
    if (room == spool->told_room || (failed && room == SPOOL_NO_ROOM_DISK)) {
        return;
    }
    spool->told_room = room;
    buf_init(&text, MAX_TEXT);
    if (room == SPOOL_NO_ROOM_DISK) {
        put_disk(&text, spool);
    } else {
        buf_add_text(&text, room == SPOOL_ROOM
                                ? "there is room again"
                                : "it has reached max_size: sessions wait or lose events, as "
                                  "on_full says, until outputs have delivered some");
    }
    buf_add_byte(&text, 0);
    spool_durable_warn(spool, room == SPOOL_ROOM ? "room again" : "room",
        text.failed ? "there is no room" : (const char *)text.data);
    buf_fini(&text);
}

/* The room reserved for live sessions; of a small disk only a part. */
static uint64_t reserve_of(const struct spool_durable *spool)
{
    enum { SHARE = 4 };
    uint64_t most = store_capacity(spool->settings.store) / SHARE;
    return spool->settings.reserve_bytes < most ? spool->settings.reserve_bytes : most;
}

/* One round. True: another one is to follow at once. */
static bool work(struct spool_durable *spool)
{
    struct store_committed committed;
    struct error err = {.code = ERR_NONE};
    struct round round;
    begin_round(spool, &round);
    spool_stage_damaged(spool);
    spool_stage_remove_old(spool);
    spool_stage_batches(spool, &round.room, &round.again);
    round.all = !spool->waiting.head;
    stage_rest(spool, round.all);
    round.staged = spool->staged.head != NULL;
    store_expect_reads(spool->settings.store, spool_cache_lets_go(spool->cache));
    bool ok = store_commit(spool->settings.store, &committed, &err);
    if (ok) {
        spool->dropped = false;
        note_success(spool);
    } else {
        note_failure(spool, &err);
    }
    if (!ok && spool_durable_is_full(&err) && round.room == SPOOL_ROOM) {
        round.room = SPOOL_NO_ROOM_DISK;
    }
    round.any = round.room == SPOOL_ROOM ? spool_stage_room(spool, 0) : round.room;
    round.replay = round.room == SPOOL_ROOM ? spool_stage_room(spool, reserve_of(spool))
                                            : round.room;
    store_need_room(spool->settings.store, round.replay != SPOOL_ROOM);
    round.told = room_to_tell(spool, &round);
    tell_room(spool, round.told, !ok);
    end_round(spool, &round, ok, &err);
    refill(spool);
    bool freed = store_tidy(spool->settings.store) && round.replay != SPOOL_ROOM;
    look(spool, round.commit_asked);
    return ok && (round.again || freed);
}

/* ---- when ------------------------------------------------------------------------------------ */

static bool wants_rows(const struct spool_durable *spool)
{
    for (size_t i = 0; i < spool->cursor_count; i++) {
        if (spool_cursor_wants_rows(&spool->cursors[i])) {
            return true;
        }
    }
    return false;
}

/* When rows are to be fetched; UINT64_MAX: there is no need. Holds the mutex. */
static uint64_t refill_due(const struct spool_durable *spool)
{
    return wants_rows(spool) ? spool->refill_ns : UINT64_MAX;
}

/* When the next round is due; 0: now. Holds the mutex. */
static uint64_t round_due(const struct spool_durable *spool)
{
    uint64_t sync = spool->pending_since_ns == UINT64_MAX
                        ? UINT64_MAX
                        : spool->pending_since_ns + spool->settings.sync_interval_ns;
    uint64_t look = spool->looked_ns + LOOK_MS * NS_PER_MS;
    if (spool->failing) {
        return spool->retry_ns;
    }
    if (spool->commit_asked || spool->damaged_count) {
        return 0;
    }
    if (spool->waiting.head || !spool->replay_room) { /* cursors make room by and by */
        return look < sync ? look : sync;
    }
    bool full = spool->pending_bytes && (spool->pending_bytes >= spool->settings.sync_bytes ||
                                            spool->pending_bytes >= spool->pending_max);
    if (full || spool->dropped || (spool->closed && !spool->written)) {
        return 0;
    }
    bool ages = spool->usage.batches > 0;
    return ages && look < sync ? look : sync;
}

static void run(void *self)
{
    struct spool_durable *spool = self;
    plat_mutex_lock(&spool->mutex);
    while (!spool->over) {
        uint64_t round = round_due(spool);
        uint64_t rows = refill_due(spool);
        uint64_t now = plat_monotonic_ns();
        if (round > now && rows > now) {
            plat_cond_wait_until(&spool->work, &spool->mutex, round < rows ? round : rows);
        } else {
            plat_mutex_unlock(&spool->mutex);
            if (round <= now) {
                while (work(spool)) {}
            } else {
                refill(spool);
            }
            plat_mutex_lock(&spool->mutex);
        }
    }
    plat_mutex_unlock(&spool->mutex);
    work(spool);
}

/* ---- for the other rooms --------------------------------------------------------------------- */

void spool_durable_touch(struct spool_durable *spool)
{
    if (spool->pending_since_ns == UINT64_MAX) {
        spool->pending_since_ns = plat_monotonic_ns();
        plat_cond_signal(&spool->work);
    }
}

bool spool_writer_wait(struct spool_durable *spool, bool all, struct error *err)
{
    plat_mutex_lock(&spool->mutex);
    uint64_t round = spool->rounds_begun + 1;
    spool->commit_asked = true;
    plat_cond_signal(&spool->work);
    while (spool->rounds_done < round && spool->running) {
        plat_cond_wait(&spool->round, &spool->mutex);
    }
    bool ok = (all ? spool->all_true : spool->cursors_true) >= round;
    bool running = spool->running;
    struct error last = spool->last_error;
    plat_mutex_unlock(&spool->mutex);
    if (ok) {
        return true;
    }
    if (!running) {
        return error_set(err, ERR_STOPPED, "the spool has been closed");
    }
    if (last.code != ERR_NONE && err) {
        *err = last;
        return false;
    }
    return error_set(err, ERR_FULL, "the spool is full");
}

bool spool_writer_start(struct spool_durable *spool, struct error *err)
{
    work(spool); /* what outputs there are becomes true, and cursors know their first rows */
    spool->thread = plat_thread_start("spool", run, spool, err);
    spool->running = spool->thread != NULL;
    return spool->running;
}

void spool_writer_stop(struct spool_durable *spool)
{
    plat_mutex_lock(&spool->mutex);
    spool->over = true;
    plat_cond_signal(&spool->work);
    plat_mutex_unlock(&spool->mutex);
    plat_thread_join(spool->thread);
    spool->thread = NULL;
    plat_mutex_lock(&spool->mutex);
    spool->running = false;
    spool->halted = true;
    wake_cursors(spool);
    plat_cond_broadcast(&spool->round);
    plat_cond_broadcast(&spool->room);
    plat_mutex_unlock(&spool->mutex);
}
