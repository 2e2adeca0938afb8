#include <stdlib.h>

#include "pipeline/work/sealer_own.h"
#include "platform/plat_clock.h"
#include "platform/plat_thread.h"

/*
 * Workers finish slabs in any order. A finished slab is parked in a small ring at its ticket; the
 * worker that finds the next ticket there takes the role of the sealer (`busy`), and keeps it until
 * the ring has a hole. So slabs are sealed in order without a thread of their own, and a worker
 * waits only when the ring is full.
 *
 * The mutex guards the ring and the open batches. It is let go of while the spool has no room:
 * `busy` keeps the order then. The thread that seals by age takes the mutex, not the role: sealing
 * an open batch does not change the order of anything. Lock order: sealer, then ledger or spool.
 *
 * Bytes are not copied where a whole piece fits: the piece becomes the batch.
 */
static const uint64_t trim_every_ns = UINT64_C(10000000000);

/* ---- where outputs continue after a restart -------------------------------------------------- */

static uint64_t resume_of(const struct sealer *sealer, uint32_t session, size_t output)
{
    const struct sealer_settings *settings = &sealer->settings;
    return settings->resume ? settings->resume[session * settings->output_count + output] : 0;
}

/* The first sequence from ${sequence} on after which an output of the stream continues. */
static uint64_t next_cut(
    const struct sealer *sealer, size_t index, uint32_t session, uint64_t sequence)
{
    uint64_t cut = UINT64_MAX;
    if (sequence > sealer->last_resume[session]) {
        return cut;
    }
    const struct sealer_stream *stream = &sealer->settings.streams[index];
    for (size_t i = 0; i < stream->output_count; i++) {
        uint64_t resume = resume_of(sealer, session, stream->outputs[i]);
        if (resume >= sequence && resume < cut) {
            cut = resume;
        }
    }
    return cut;
}

/* ---- slabs ----------------------------------------------------------------------------------- */

/* Index after the last record from ${first} on that is numbered up to ${sequence}. */
static size_t end_of(const struct piece *piece, size_t first, uint64_t sequence)
{
    if (piece->count && piece->sequences[piece->count - 1] <= sequence) {
        return piece->count;
    }
    size_t end = first;
    while (end < piece->count && piece->sequences[end] <= sequence) {
        end++;
    }
    return end;
}

static void add_piece(
    struct sealer *sealer, size_t index, const struct slab *slab, struct piece *piece)
{
    struct stream *stream = &sealer->streams[index];
    size_t first = 0;
    uint64_t from = sealer->done[slab->session] + 1;
    for (;;) {
        uint64_t cut = next_cut(sealer, index, slab->session, from);
        bool is_cut = cut <= slab->done_sequence;
        size_t total = piece->count;
        size_t end = is_cut ? end_of(piece, first, cut) : total;
        size_t count = sealer_count_fitting(
            stream, sealer_open_batch(sealer, index), piece, first, end);
        bool last = first + count == end;
        /* The sequence up to here, taken before the piece may become the batch. */
        uint64_t sequence = is_cut ? cut : slab->done_sequence;
        if (!last) { /* with no room for any of them, what comes next is as before */
            sequence = count ? piece->sequences[first + count - 1] : from - 1;
        }
        if (count) {
            sealer_move_records(sealer, index, piece, first, count);
        }
        if (count || last) {
            struct batch_segment segment = {.session = slab->session,
                .cut = last && is_cut,
                .last_sequence = sequence,
                .times = slab->times};
            sealer_mark(sealer, index, &segment);
        }
        first = piece->count ? first + count : 0;
        if (!last || sealer_is_full(stream)) {
            sealer_seal(sealer, index);
        }
        if (last && !(is_cut && cut < slab->done_sequence)) {
            return;
        }
        from = sequence + 1;
    }
}

/* Events of the agent itself are batches of their own, so that they can be counted apart. One that
 * has no number takes its session nowhere. */
static void add_own_piece(
    struct sealer *sealer, size_t index, const struct slab *slab, struct piece *piece)
{
    sealer_seal(sealer, index);
    sealer_open_batch(sealer, index)->own = true;
    if (slab->last_sequence) {
        add_piece(sealer, index, slab, piece);
    } else if (piece->count) {
        sealer_move_records(sealer, index, piece, 0, piece->count);
    }
    sealer_seal(sealer, index);
}

/* How many of a stream's events an output is offered: what it had before a restart, it is not. */
static void offer(struct sealer *sealer, const struct slab *slab, const struct piece *piece,
    const struct rolled *rolled, size_t output)
{
    bool own = slab->kind != SLAB_RECORDS;
    if (own && slab->last_sequence == 0) {
        ledger_offer(sealer->settings.ledger, output, piece->count, 0, true);
        return;
    }
    uint64_t resume = resume_of(sealer, slab->session, output);
    if (piece->count == 0 || piece->sequences[0] > resume) {
        if (resume < slab->done_sequence) {
            ledger_offer(sealer->settings.ledger, output, own ? piece->count : piece->seen,
                piece->filtered, own);
        }
        return;
    }
    uint64_t count = piece->count - end_of(piece, 0, resume);
    ledger_offer(sealer->settings.ledger, output, count + rolled->events, 0, own);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Wake the clock if it would look too late. It is not woken for each of thousands of batches a
 * second, nor for one that is sealed by now. */
static void tell_clock(struct sealer *sealer, const struct slab *slab, uint64_t now_ns)
{
    const struct sealer_session *session = &sealer->settings.sessions[slab->session];
    uint64_t due = earlier(sealer_next_window(sealer), now_ns + trim_every_ns);
    for (size_t i = 0; i < slab->piece_count; i++) {
        due = earlier(due, sealer_due(&sealer->streams[session->streams[i]]));
    }
    if (due < sealer->clock_ns) {
        plat_cond_signal(&sealer->opened);
    }
}

static void add_slab(struct sealer *sealer, struct slab *slab)
{
    const struct sealer_session *session = &sealer->settings.sessions[slab->session];
    uint64_t now_ns = plat_monotonic_ns();
    for (size_t i = 0; i < slab->piece_count; i++) {
        size_t index = session->streams[i];
        const struct sealer_stream *stream = &sealer->settings.streams[index];
        struct rolled rolled = rollups_take_slab(
            sealer->rollups, slab, i, index, session->replayable, now_ns);
        for (size_t k = 0; k < stream->output_count; k++) {
            offer(sealer, slab, &slab->pieces[i], &rolled, stream->outputs[k]);
            ledger_roll_up(sealer->settings.ledger, stream->outputs[k], rolled.absorbed);
        }
        if (slab->kind == SLAB_RECORDS) {
            add_piece(sealer, index, slab, &slab->pieces[i]);
            sealer_add_left(sealer, index, slab, i);
        } else {
            add_own_piece(sealer, index, slab, &slab->pieces[i]);
        }
    }
    if (slab->kind == SLAB_RECORDS || slab->last_sequence) {
        sealer->done[slab->session] = slab->done_sequence;
    }
    if (slab->kind == SLAB_RECORDS) {
        sealer_close_windows_of(sealer, slab->session, slab->times.to, now_ns);
    }
    tell_clock(sealer, slab, now_ns);
}

/* Report that there was no room. */
static const struct {
    enum session_drop session;
    enum output_drop loss;
} drops[] = {
    [SPOOL_NO_ROOM_FULL] = {SESSION_DROP_SPOOL_FULL, OUTPUT_DROP_SPOOL_FULL},
    [SPOOL_NO_ROOM_DISK] = {SESSION_DROP_SPOOL_DISK, OUTPUT_DROP_SPOOL_DISK},
    [SPOOL_CANCELLED] = {SESSION_DROP_STOPPED, OUTPUT_DROP_STOPPED},
};

/* There is no room: the slab's events are lost to the agent. Where it stops, so that some of them
 * may come again, the session has a hole. */
static void drop_slab(struct sealer *sealer, struct slab *slab, enum spool_room why)
{
    struct session_counts *counts = &slab->counts;
    sealer->has_hole[slab->session] |= why == SPOOL_CANCELLED;
    counts->filtered = slab->taken.filtered;
    counts->accepted = slab->taken.accepted;
    counts->decode = slab->taken.decode;
    uint64_t counted = counts->metadata + counts->joined + counts->filtered + counts->accepted;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        counted += counts->dropped[i];
    }
    counts->dropped[drops[why].session] += counts->received - counted;
    struct loss loss = {.session = slab->session,
        .output = SIZE_MAX,
        .reason = drops[why].loss,
        .count = counts->received - counted,
        .times = slab->times};
    if (sealer->settings.losses) {
        losses_add(sealer->settings.losses, &loss);
    }
    ledger_add_session(sealer->settings.ledger, slab->session, counts);
}

/* Is it a gap that the next run finds again, with the dropped events before it? */
static bool comes_again(const struct sealer *sealer, const struct slab *slab)
{
    return slab->kind == SLAB_GAP && slab->last_sequence && sealer->has_hole[slab->session] &&
           sealer->settings.losses && losses_comes_again(sealer->settings.losses, slab->session);
}

static enum spool_origin origin_of(const struct sealer *sealer, const struct slab *slab)
{
    if (slab->kind != SLAB_RECORDS) {
        return SPOOL_OWN;
    }
    const struct sealer_session *session = &sealer->settings.sessions[slab->session];
    return session->replayable || session->waits ? SPOOL_REPLAYED : SPOOL_LIVE;
}

/* Seal what is parked, in order. Holds the mutex but while waiting for room. */
static void work_off(struct sealer *sealer)
{
    struct spool *spool = sealer->settings.spool;
    struct slab *slab;
    sealer->busy = true;
    while ((slab = sealer->ring[sealer->next_ticket % sealer->ring_size])) {
        sealer->ring[sealer->next_ticket % sealer->ring_size] = NULL;
        plat_mutex_unlock(&sealer->mutex);
        enum spool_room room = spool->ops->wait_room(spool, origin_of(sealer, slab));
        plat_mutex_lock(&sealer->mutex);
        if (room == SPOOL_CANCELLED) {
            atomic_store(&sealer->cancelled, true);
        }
        /* Events of the agent itself are small, and bounded in number. */
        bool taken = room == SPOOL_ROOM || slab->kind != SLAB_RECORDS;
        if (taken && !slab->undecoded && !comes_again(sealer, slab)) {
            if (sealer->has_hole[slab->session]) {
                slab->last_sequence = 0; /* its number would take the session across the hole */
            }
            add_slab(sealer, slab);
            ledger_add_session(sealer->settings.ledger, slab->session, &slab->counts);
        } else {
            drop_slab(sealer, slab, taken ? SPOOL_CANCELLED : room);
        }
        slab_destroy(slab);
        sealer->next_ticket++;
        plat_cond_broadcast(&sealer->turn);
    }
    sealer->busy = false;
    plat_cond_broadcast(&sealer->turn);
}

void sealer_finish(struct sealer *sealer, struct slab *slab)
{
    plat_mutex_lock(&sealer->mutex);
    while (slab->ticket >= sealer->next_ticket + sealer->ring_size) {
        plat_cond_wait(&sealer->turn, &sealer->mutex);
    }
    sealer->ring[slab->ticket % sealer->ring_size] = slab;
    if (!sealer->busy) {
        work_off(sealer);
    }
    plat_mutex_unlock(&sealer->mutex);
}

bool sealer_take(struct sealer *sealer, struct slab *slab)
{
    struct spool *spool = sealer->settings.spool;
    plat_mutex_lock(&sealer->mutex);
    while (slab->ticket != sealer->next_ticket || sealer->busy) {
        plat_cond_wait(&sealer->turn, &sealer->mutex);
    }
    sealer->busy = true;
    plat_mutex_unlock(&sealer->mutex);
    bool ok = spool->ops->wait_room(spool, SPOOL_OWN) == SPOOL_ROOM;
    plat_mutex_lock(&sealer->mutex);
    if (ok) {
        add_slab(sealer, slab);
        slab->taken = slab->counts;
    } else {
        atomic_store(&sealer->cancelled, true);
    }
    sealer->busy = false;
    plat_cond_broadcast(&sealer->turn);
    plat_mutex_unlock(&sealer->mutex);
    const struct sealer_session *session = &sealer->settings.sessions[slab->session];
    for (size_t i = 0; ok && i < slab->piece_count; i++) {
        const struct sealer_stream *stream = &sealer->settings.streams[session->streams[i]];
        piece_fini(&slab->pieces[i]);
        roll_list_destroy(slab->rolls[i]);
        slab->rolls[i] = NULL;
        while (!piece_init(&slab->pieces[i], stream->route_count, sealer->settings.pool)) {
            sealer_wait_for_memory();
        }
    }
    return ok;
}

bool sealer_is_cancelled(const struct sealer *sealer)
{
    return atomic_load_explicit(&sealer->cancelled, memory_order_relaxed);
}

/* ---- age ------------------------------------------------------------------------------------- */

/* Ship and seal what is old enough; returns when there will be more. */
static uint64_t seal_old(struct sealer *sealer, uint64_t now)
{
    sealer_close_windows(sealer, 0, now);
    uint64_t next = sealer_next_window(sealer);
    for (size_t i = 0; i < sealer->settings.stream_count; i++) {
        if (sealer_due(&sealer->streams[i]) <= now) {
            sealer_seal(sealer, i);
        }
        next = earlier(next, sealer_due(&sealer->streams[i]));
    }
    return next;
}

/* Memory that is not used any more goes back to the system. Returns when there is more to do: as
 * long as any is kept. Lets go of the mutex. */
static uint64_t trim(struct sealer *sealer)
{
    plat_mutex_unlock(&sealer->mutex);
    bool any = sealer->settings.pool && block_pool_trim(sealer->settings.pool);
    plat_mutex_lock(&sealer->mutex);
    return any ? plat_monotonic_ns() + trim_every_ns : UINT64_MAX;
}

static void run_clock(void *self)
{
    struct sealer *sealer = self;
    uint64_t trim_ns = UINT64_MAX;
    plat_mutex_lock(&sealer->mutex);
    while (!sealer->over) {
        uint64_t now = plat_monotonic_ns();
        if (trim_ns <= now) {
            trim_ns = trim(sealer);
            continue;
        }
        uint64_t next = seal_old(sealer, now);
        sealer->clock_ns = earlier(trim_ns, next);
        plat_cond_wait_until(&sealer->opened, &sealer->mutex, sealer->clock_ns);
        if (trim_ns == UINT64_MAX) { /* there was a slab */
            trim_ns = plat_monotonic_ns() + trim_every_ns;
        }
    }
    plat_mutex_unlock(&sealer->mutex);
}

void sealer_wait(struct sealer *sealer, uint64_t ticket)
{
    plat_mutex_lock(&sealer->mutex);
    while (sealer->next_ticket < ticket) {
        plat_cond_wait(&sealer->turn, &sealer->mutex);
    }
    plat_mutex_unlock(&sealer->mutex);
}

void sealer_flush(struct sealer *sealer)
{
    plat_mutex_lock(&sealer->mutex);
    sealer_close_windows(sealer, UINT64_MAX, UINT64_MAX);
    for (size_t i = 0; i < sealer->settings.stream_count; i++) {
        sealer_seal(sealer, i);
    }
    plat_mutex_unlock(&sealer->mutex);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct sealer *sealer_create(const struct sealer_settings *settings, struct error *err)
{
    struct sealer *sealer = calloc(1, sizeof(*sealer));
    if (!sealer) {
        error_set(err, ERR_MEMORY, "out of memory for batches");
        return NULL;
    }
    plat_mutex_init(&sealer->mutex);
    plat_cond_init(&sealer->turn);
    plat_cond_init(&sealer->opened);
    atomic_init(&sealer->cancelled, false);
    sealer->settings = *settings;
    sealer->ring_size = 2 * settings->worker_count;
    sealer->ring = calloc(sealer->ring_size, sizeof(struct slab *));
    sealer->streams = calloc(settings->stream_count + 1, sizeof(*sealer->streams));
    sealer->last_resume = calloc(settings->session_count + 1, sizeof(*sealer->last_resume));
    sealer->done = calloc(settings->session_count + 1, sizeof(*sealer->done));
    sealer->has_hole = calloc(settings->session_count + 1, sizeof(*sealer->has_hole));
    sealer->rollups = rollups_create(settings->session_count, settings->stream_count, err);
    if (!sealer->rollups || !sealer->ring || !sealer->streams || !sealer->last_resume ||
        !sealer->done || !sealer->has_hole) {
        sealer_destroy(sealer);
        error_set(err, ERR_MEMORY, "out of memory for batches");
        return NULL;
    }
    for (size_t i = 0; i < settings->stream_count; i++) {
        sealer->streams[i].settings = &settings->streams[i];
    }
    for (uint32_t s = 0; s < settings->session_count; s++) {
        for (size_t o = 0; o < settings->output_count; o++) {
            uint64_t resume = resume_of(sealer, s, o);
            sealer->last_resume[s] = resume > sealer->last_resume[s] ? resume
                                                                     : sealer->last_resume[s];
        }
    }
    sealer->clock = plat_thread_start("seal", run_clock, sealer, err);
    if (!sealer->clock) {
        sealer_destroy(sealer);
        return NULL;
    }
    return sealer;
}

void sealer_destroy(struct sealer *sealer)
{
    if (!sealer) {
        return;
    }
    plat_mutex_lock(&sealer->mutex);
    sealer->over = true;
    plat_cond_signal(&sealer->opened);
    plat_mutex_unlock(&sealer->mutex);
    plat_thread_join(sealer->clock);
    for (size_t i = 0; sealer->streams && i < sealer->settings.stream_count; i++) {
        batch_destroy(sealer->streams[i].open);
    }
    for (size_t i = 0; sealer->ring && i < sealer->ring_size; i++) {
        slab_destroy(sealer->ring[i]);
    }
    free(sealer->streams);
    free(sealer->ring);
    free(sealer->last_resume);
    free(sealer->done);
    free(sealer->has_hole);
    rollups_destroy(sealer->rollups);
    plat_cond_fini(&sealer->turn);
    plat_cond_fini(&sealer->opened);
    plat_mutex_fini(&sealer->mutex);
    free(sealer);
}
