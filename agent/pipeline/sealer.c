#include "pipeline/sealer.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat_system.h"
#include "platform/plat_thread.h"

/*
 * Workers finish slabs in any order. A finished slab is parked in a small ring at its ticket; the
 * worker that finds the next ticket there takes the role of the sealer (`busy`), and keeps it until
 * the ring has a hole. So slabs are sealed in order without a thread of their own, and a worker
 * waits only when the ring is full.
 *
 * The mutex guards the ring and the open batches. It is let go of while the spool has no room:
 * `busy` keeps the order then. The thread that seals by age takes the mutex, not the role: sealing
 * an open batch does not change the order of anything. Lock order: sealer, then books or spool.
 *
 * Bytes are not copied where a whole piece fits: the piece becomes the batch.
 */
enum {
    RETRY_MS = 50,
    SMALL_SHARE = 8, /* of a batch */
    MAX_SEGMENTS =
        4096, /* sessions that take turns with few events for it must not fill the memory */
};

static const uint64_t trim_every_ns = UINT64_C(10000000000);

struct stream {
    const struct sealer_stream *settings;
    struct batch *open; /* NULL: none */
};

struct sealer {
    struct sealer_settings settings;
    struct stream *streams;
    uint64_t *last_resume; /* by session: the highest of its outputs' */
    uint64_t *done;        /* by session: the sequence that its slabs have come to */
    bool *has_hole;        /* by session: events behind `done` were dropped */

    struct plat_mutex mutex;
    struct plat_cond turn;   /* workers wait for their ticket, or for the ring */
    struct plat_cond opened; /* the clock waits for a batch to grow old */
    struct slab **ring;
    size_t ring_size;
    uint64_t next_ticket;
    bool busy;
    bool over;
    atomic_bool cancelled;
    struct plat_thread *clock;
};

/* ---- batches ---------------------------------------------------------------------------------- */

static void seal(struct sealer *sealer, size_t index)
{
    struct stream *stream = &sealer->streams[index];
    struct batch *batch = stream->open;
    if (batch) {
        stream->open = NULL;
        piece_trim(&batch->piece);
        sealer->settings.spool->ops->append(sealer->settings.spool, index, batch);
    }
}

/* There is no memory. Nothing is given up for that: outputs are going to free some, and they never
 * need the mutex, which is held on to: half of a piece in a batch that is sealed would be lost. */
static void wait_for_memory(void)
{
    plat_sleep_ms(RETRY_MS);
}

static struct batch *open_batch(struct sealer *sealer, size_t index)
{
    struct stream *stream = &sealer->streams[index];
    while (!stream->open) {
        stream->open = batch_create(
            stream->settings->route_count, sealer->settings.pool, plat_monotonic_ns());
        if (!stream->open) {
            wait_for_memory();
        } else {
            plat_cond_signal(&sealer->opened);
        }
    }
    return stream->open;
}

static bool is_full(const struct stream *stream)
{
    if (!stream->open) {
        return false;
    }
    const struct piece *piece = &stream->open->piece;
    return piece->bytes.size >= stream->settings->max_bytes ||
           piece->count >= stream->settings->max_events ||
           stream->open->segment_count >= MAX_SEGMENTS;
}

/* Records that fill much of a batch make the next one, uncopied, rather than fill up one that is
 * half full. */
static bool is_better_alone(
    const struct stream *stream, const struct piece *open, size_t count, size_t bytes)
{
    const struct sealer_stream *settings = stream->settings;
    bool is_half_full = open->bytes.size >= settings->max_bytes / 2 ||
                        open->count >= settings->max_events / 2;
    return open->count && is_half_full && count <= settings->max_events &&
           bytes <= settings->max_bytes && bytes >= settings->max_bytes / 4;
}

/* How many of the piece's records from ${first} on fit into the open batch; at least one if it is
 * empty. */
static size_t count_fitting(const struct stream *stream, const struct batch *batch,
    const struct piece *piece, size_t first, size_t end)
{
    const struct piece *open = &batch->piece;
    size_t room = stream->settings->max_bytes > open->bytes.size
                      ? stream->settings->max_bytes - open->bytes.size
                      : 0;
    size_t most = stream->settings->max_events - open->count;
    uint32_t start = piece_start(piece, first);
    size_t wanted = end;
    end = end - first > most ? first + most : end;
    if (end > first && piece->ends[end - 1] - start <= room && end == wanted) {
        return end - first;
    }
    if (is_better_alone(stream, open, wanted - first, piece_start(piece, wanted) - start)) {
        return 0;
    }
    size_t count = 0;
    while (first + count < end && piece->ends[first + count] - start <= room) {
        count++;
    }
    return count == 0 && open->count == 0 && end > first ? 1 : count;
}

/* A batch that becomes more than a small one gets all of its room at once. */
static void make_room(struct sealer *sealer, size_t index, size_t more)
{
    struct piece *piece = &open_batch(sealer, index)->piece;
    size_t most = sealer->streams[index].settings->max_bytes;
    size_t needed = piece->bytes.size + more;
    if (needed > piece->bytes.capacity && needed <= most && needed >= most / SMALL_SHARE) {
        piece_reserve(piece, most);
    }
}

/* Records of a piece to the open batch. All of them become the batch where that is empty. */
static void move_records(
    struct sealer *sealer, size_t index, struct piece *piece, size_t first, size_t count)
{
    struct batch *batch = open_batch(sealer, index);
    if (first == 0 && count == piece->count && batch->piece.count == 0) {
        struct piece empty = batch->piece;
        batch->piece = *piece;
        *piece = empty;
        return;
    }
    make_room(sealer, index, piece_start(piece, first + count) - piece_start(piece, first));
    while (!piece_append(&open_batch(sealer, index)->piece, piece, first, count)) {
        wait_for_memory();
    }
}

static void mark(struct sealer *sealer, size_t index, const struct batch_segment *segment)
{
    while (!batch_mark(open_batch(sealer, index), segment)) {
        wait_for_memory();
    }
}

/* ---- where outputs go on after a restart -------------------------------------------------------- */

static uint64_t resume_of(const struct sealer *sealer, uint32_t session, size_t output)
{
    const struct sealer_settings *settings = &sealer->settings;
    return settings->resume ? settings->resume[session * settings->output_count + output] : 0;
}

/* The first sequence from ${sequence} on behind which an output of the stream goes on. */
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

/* ---- slabs ------------------------------------------------------------------------------------ */

/* Index behind the last record from ${first} on that is numbered up to ${sequence}. */
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
        size_t count = count_fitting(stream, open_batch(sealer, index), piece, first, end);
        bool last = first + count == end;
        /* The sequence up to here, taken before the piece may become the batch. */
        uint64_t sequence = is_cut ? cut : slab->done_sequence;
        if (!last) { /* with no room for any of them, what comes next is as before */
            sequence = count ? piece->sequences[first + count - 1] : from - 1;
        }
        if (count) {
            move_records(sealer, index, piece, first, count);
        }
        if (count || last) {
            struct batch_segment segment = {.session = slab->session,
                .cut = last && is_cut,
                .last_sequence = sequence,
                .times = slab->times};
            mark(sealer, index, &segment);
        }
        first = piece->count ? first + count : 0;
        if (!last || is_full(stream)) {
            seal(sealer, index);
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
    seal(sealer, index);
    open_batch(sealer, index)->own = true;
    if (slab->last_sequence) {
        add_piece(sealer, index, slab, piece);
    } else if (piece->count) {
        move_records(sealer, index, piece, 0, piece->count);
    }
    seal(sealer, index);
}

/* How many of a stream's events an output is offered: what it had before a restart, it is not. */
static void offer(
    struct sealer *sealer, const struct slab *slab, const struct piece *piece, size_t output)
{
    bool own = slab->kind != SLAB_RECORDS;
    if (own && slab->last_sequence == 0) {
        books_offer(sealer->settings.books, output, piece->count, 0, true);
        return;
    }
    uint64_t resume = resume_of(sealer, slab->session, output);
    if (piece->count == 0 || piece->sequences[0] > resume) {
        if (resume < slab->done_sequence) {
            books_offer(sealer->settings.books, output, own ? piece->count : piece->seen,
                piece->filtered, own);
        }
        return;
    }
    uint64_t count = piece->count - end_of(piece, 0, resume);
    books_offer(sealer->settings.books, output, count, 0, own);
}

static void add_slab(struct sealer *sealer, struct slab *slab)
{
    const struct sealer_session *session = &sealer->settings.sessions[slab->session];
    for (size_t i = 0; i < slab->piece_count; i++) {
        size_t index = session->streams[i];
        const struct sealer_stream *stream = &sealer->settings.streams[index];
        for (size_t k = 0; k < stream->output_count; k++) {
            offer(sealer, slab, &slab->pieces[i], stream->outputs[k]);
        }
        if (slab->kind == SLAB_RECORDS) {
            add_piece(sealer, index, slab, &slab->pieces[i]);
        } else {
            add_own_piece(sealer, index, slab, &slab->pieces[i]);
        }
    }
    if (slab->kind == SLAB_RECORDS || slab->last_sequence) {
        sealer->done[slab->session] = slab->done_sequence;
    }
}

/* How people are told that there was no room. */
static const struct {
    enum session_drop session;
    enum output_drop loss;
} drops[] = {
    [SPOOL_NO_ROOM_FULL] = {SESSION_DROP_SPOOL_FULL, OUTPUT_DROP_SPOOL_FULL},
    [SPOOL_NO_ROOM_DISK] = {SESSION_DROP_SPOOL_DISK, OUTPUT_DROP_SPOOL_DISK},
    [SPOOL_CANCELLED] = {SESSION_DROP_STOPPED, OUTPUT_DROP_STOPPED},
};

/* There is no room: the slab's events are lost to the agent. Where it stops, so that some of them may
 * come again, the session has a hole. */
static void drop_slab(struct sealer *sealer, struct slab *slab, enum spool_room why)
{
    struct session_counts *tally = &slab->tally;
    sealer->has_hole[slab->session] |= why == SPOOL_CANCELLED;
    tally->filtered = slab->taken.filtered;
    tally->accepted = slab->taken.accepted;
    tally->decode = slab->taken.decode;
    uint64_t counted = tally->metadata + tally->joined + tally->filtered + tally->accepted;
    for (size_t i = 0; i < SESSION_DROP_COUNT; i++) {
        counted += tally->dropped[i];
    }
    tally->dropped[drops[why].session] += tally->received - counted;
    struct loss loss = {.session = slab->session,
        .output = SIZE_MAX,
        .reason = drops[why].loss,
        .count = tally->received - counted,
        .times = slab->times};
    if (sealer->settings.losses) {
        losses_add(sealer->settings.losses, &loss);
    }
    books_add_session(sealer->settings.books, slab->session, tally);
}

/* Is it a gap that the next run finds again, with the dropped events before it? */
static bool comes_again(const struct sealer *sealer, const struct slab *slab)
{
    return slab->kind == SLAB_GAP && slab->last_sequence && sealer->has_hole[slab->session] &&
           sealer->settings.losses && losses_comes_again(sealer->settings.losses, slab->session);
}

static enum spool_guest guest_of(const struct sealer *sealer, const struct slab *slab)
{
    if (slab->kind != SLAB_RECORDS) {
        return SPOOL_OWN;
    }
    return sealer->settings.sessions[slab->session].replayable ? SPOOL_REPLAYED : SPOOL_LIVE;
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
        enum spool_room room = spool->ops->wait_room(spool, guest_of(sealer, slab));
        plat_mutex_lock(&sealer->mutex);
        if (room == SPOOL_CANCELLED) {
            atomic_store(&sealer->cancelled, true);
        }
        /* What the agent has to say of itself is small, and bounded in number. */
        bool taken = room == SPOOL_ROOM || slab->kind != SLAB_RECORDS;
        if (taken && !slab->undecoded && !comes_again(sealer, slab)) {
            if (sealer->has_hole[slab->session]) {
                slab->last_sequence = 0; /* its number would take the session across the hole */
            }
            add_slab(sealer, slab);
            books_add_session(sealer->settings.books, slab->session, &slab->tally);
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
        slab->taken = slab->tally;
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
        while (!piece_init(&slab->pieces[i], stream->route_count, sealer->settings.pool)) {
            wait_for_memory();
        }
    }
    return ok;
}

bool sealer_is_cancelled(const struct sealer *sealer)
{
    return atomic_load_explicit(&sealer->cancelled, memory_order_relaxed);
}

/* ---- age ------------------------------------------------------------------------------------- */

/* Seal what is old enough; returns when the next batch will be. */
static uint64_t seal_old(struct sealer *sealer, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < sealer->settings.stream_count; i++) {
        const struct batch *open = sealer->streams[i].open;
        if (!open) {
            continue;
        }
        uint64_t due = open->opened_ns + sealer->streams[i].settings->max_age_ns;
        if (due <= now) {
            seal(sealer, i);
        } else if (due < next) {
            next = due;
        }
    }
    return next;
}

/* Memory that is not used any more goes back to the system. Returns when there is more to do: as long
 * as any is kept. Lets go of the mutex. */
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
        next = trim_ns < next ? trim_ns : next;
        plat_cond_wait_until(&sealer->opened, &sealer->mutex, next);
        if (trim_ns == UINT64_MAX) { /* a batch was opened */
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
    for (size_t i = 0; i < sealer->settings.stream_count; i++) {
        seal(sealer, i);
    }
    plat_mutex_unlock(&sealer->mutex);
}

/* ---- life ------------------------------------------------------------------------------------- */

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
    if (!sealer->ring || !sealer->streams || !sealer->last_resume || !sealer->done ||
        !sealer->has_hole) {
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
    plat_cond_fini(&sealer->turn);
    plat_cond_fini(&sealer->opened);
    plat_mutex_fini(&sealer->mutex);
    free(sealer);
}
