/*
 * A commit, in this order: batches are written and synced; one transaction tells of them and of all
 * else; store_tidy deletes files that it has given up, and the next transaction forgets them. So the
 * catalogue never tells of bytes that are not durable, and a file goes only when the catalogue has done
 * with it; one that was decided on stays in it as such until it has gone, over any number of runs.
 *
 * Whatever fails, memory is changed only by a transaction that was committed.
 */
#include "store/store_own.h"

#include "store/catalogue_batches.h"
#include "store/catalogue_letters.h"
#include "store/catalogue_sources.h"
#include "store/rebuild.h"
#include "store/restore.h"

enum {
    ID_BLOCK = 1 << 16,     /* numbers that a run takes at a time */
    RECORD_BLOCK = 1 << 24, /* the same */
    MAX_REMOVED = 5000,     /* batches in a transaction; the next one goes on */
    MAX_STREAMS = 16,       /* that are looked at, the same */
    MAX_FREED_PAGES = 64,
    SOME_ROOM_BYTES = 1 << 20,
};

/* What a transaction is about. */
struct commit {
    struct store *store;
    bool has_batches;    /* those that are pending, and what depends on them */
    bool is_more;        /* left to be removed */
    bool has_forgotten;  /* files that have gone */
    struct ids deleting; /* segments that it gives up */
    struct ids streams;  /* that it forgets */
    uint64_t evicted;
    uint64_t bytes;
};

static bool is_full(const struct error *err)
{
    return err->code == ERR_FULL;
}

static bool is_lost(const struct error *err)
{
    return err->code == ERR_DAMAGED || err->code == ERR_MISSING;
}

/* ${why} says what was found, and on failure why not. What is still open is given up only where it is no
 * good itself: that the disk is full, as when people delete files, passes. */
static bool remake_catalogue(struct store *store, struct error *why)
{
    if (why->code == ERR_MISSING && store->catalogue) {
        if (restore_catalogue(store, why)) {
            return true;
        }
        if (!is_lost(why)) {
            return false;
        }
    }
    restore_folder(store);
    return rebuild_running(store, why);
}

/* ---- what is written ---------------------------------------------------------------------------------- */

static bool put_source(struct catalogue *catalogue, struct span session, uint64_t stream,
    uint64_t sequence, bool may_fall, struct error *err)
{
    const struct catalogue_source source = {
        .session = session, .stream = stream, .sequence = sequence};
    bool found;
    uint64_t old = 0;
    return catalogue_find_source(catalogue, session, stream, &old, &found, err) &&
           ((found && old >= sequence && !may_fall) ||
               catalogue_put_source(catalogue, &source, err));
}

/* Batches of one file follow each other: its row is put with the last of them in mind. */
static bool put_segments(const struct store *store, struct error *err)
{
    const struct pending *pending = &store->pending;
    for (size_t i = 0; i < pending->count; i++) {
        const struct store_row *row = &pending->batches[i]->row;
        bool is_last = i + 1 == pending->count ||
                       pending->batches[i + 1]->row.segment != row->segment;
        bool is_first = i == 0 || pending->batches[i - 1]->row.segment != row->segment;
        const struct catalogue_segment segment = {
            .id = row->segment, .bytes = row->offset + row->disk_bytes};
        if ((is_first || is_last) && !catalogue_put_segment(store->catalogue, &segment, err)) {
            return false;
        }
    }
    return true;
}

static bool put_batch(
    struct catalogue *catalogue, const struct pending_batch *batch, struct error *err)
{
    const struct store_row *from = &batch->row;
    const struct catalogue_batch row = {.id = from->id,
        .stream = from->stream,
        .segment = from->segment,
        .offset = from->offset,
        .bytes = from->disk_bytes,
        .raw_bytes = from->body_bytes,
        .epoch = from->epoch,
        .first_record = from->first_record,
        .records = from->records,
        .first_time = from->first_time,
        .last_time = from->last_time,
        .entered = from->entered};
    bool ok = catalogue_put_batch(catalogue, &row, err);
    for (size_t i = 0; ok && i < batch->source_count; i++) {
        const struct frame_source *source = &batch->sources[i];
        ok = put_source(catalogue, source->session, from->stream, source->sequence, false, err);
    }
    return ok;
}

static bool put_batches(struct commit *commit, struct error *err)
{
    const struct store *store = commit->store;
    bool ok = put_segments(store, err);
    for (size_t i = 0; ok && i < store->pending.count; i++) {
        ok = put_batch(store->catalogue, store->pending.batches[i], err);
        commit->bytes += store->pending.batches[i]->row.disk_bytes;
    }
    return ok;
}

static bool put_gap(struct catalogue *catalogue, const struct stage_entry *entry, struct error *err)
{
    const struct catalogue_gap gap = {.session = entry->texts[0],
        .output = entry->texts[1],
        .stage = entry->texts[2],
        .reason = entry->texts[3],
        .unit = entry->texts[4],
        .count = entry->numbers[0],
        .exact = entry->numbers[1] != 0,
        .from = entry->numbers[2],
        .to = entry->numbers[3]};
    return gap.count ? catalogue_put_gap(catalogue, &gap, err)
                     : catalogue_remove_gap(catalogue, &gap, err);
}

static bool put_letter(struct commit *commit, const struct stage_entry *entry, struct error *err)
{
    const struct catalogue_letter letter = {.time = entry->numbers[1],
        .status = (int64_t)entry->numbers[2],
        .output = entry->texts[0],
        .type = entry->texts[1],
        .reason = entry->texts[2],
        .index = entry->texts[3],
        .route = entry->texts[4],
        .document_id = entry->texts[5],
        .document = entry->texts[6]};
    uint64_t evicted = 0;
    bool ok = catalogue_put_letters(commit->store->catalogue, &letter, 1,
        commit->store->settings.letters_max_bytes, NULL, &evicted, err);
    commit->evicted += evicted;
    return ok;
}

static bool put_done(
    struct catalogue *catalogue, const struct stage_entry *entry, struct error *err)
{
    struct catalogue_done done = {.session = entry->texts[0], .sequence = entry->numbers[0]};
    memcpy(done.file_id, entry->texts[1].data, sizeof(done.file_id));
    return catalogue_put_done(catalogue, &done, err);
}

/* Not of what is settled, or of an output that was forgotten meanwhile. */
static bool put_leftover(
    const struct store *store, const struct stage_entry *entry, struct error *err)
{
    const struct chain *chain = chains_by_id(&store->chains, entry->numbers[0]);
    const struct catalogue_leftover leftover = {
        .output = entry->numbers[0], .batch = entry->numbers[1], .left = entry->texts[0]};
    return !chain || leftover.batch <= chain->position ||
           catalogue_put_leftover(store->catalogue, &leftover, err);
}

static bool put_entry(struct commit *commit, const struct stage_entry *entry, struct error *err)
{
    struct catalogue *catalogue = commit->store->catalogue;
    switch (entry->kind) {
    case STAGE_SOURCE:
        return put_source(catalogue, entry->texts[0], entry->numbers[0], entry->numbers[1],
            entry->numbers[2] != 0, err);
    case STAGE_STATE:
        return catalogue_put_state(catalogue, entry->texts[0], entry->texts[1], err);
    case STAGE_LIVE:
        return catalogue_put_live(catalogue, entry->texts[0], entry->numbers[0], err);
    case STAGE_DONE:
        return put_done(catalogue, entry, err);
    case STAGE_GAP:
        return put_gap(catalogue, entry, err);
    case STAGE_LEFTOVER:
        return put_leftover(commit->store, entry, err);
    case STAGE_LETTER:
        return put_letter(commit, entry, err);
    case STAGE_REMOVED:
        return catalogue_remove_batch(catalogue, entry->numbers[0], err);
    case STAGE_KINDS:
        break;
    }
    return true;
}

/* Does it say how far something is that is in the pending batches? */
static bool is_bound(const struct stage_entry *entry)
{
    return entry->kind == STAGE_SOURCE || entry->kind == STAGE_STATE || entry->kind == STAGE_LIVE ||
           entry->kind == STAGE_DONE || (entry->kind == STAGE_GAP && entry->numbers[0] == 0);
}

static bool put_stage(struct commit *commit, struct error *err)
{
    const struct stage *stage = &commit->store->stage;
    bool ok = true;
    for (size_t i = 0; ok && i < stage->count; i++) {
        const struct stage_entry *entry = stage_at(stage, i);
        ok = (!commit->has_batches && is_bound(entry)) || put_entry(commit, entry, err);
    }
    return ok;
}

/* ---- what goes ---------------------------------------------------------------------------------------- */

/* Batches that no output wants any more. */
static bool remove_settled(struct commit *commit, struct error *err)
{
    struct store *store = commit->store;
    size_t left = MAX_REMOVED;
    for (size_t i = 0; i < store->streams.count; i++) {
        struct stream_entry *stream = &store->streams.entries[i];
        uint64_t floor = chains_floor(&store->chains, stream->id, store->last_id);
        size_t removed = 0;
        stream->settling = stream->settled;
        if (floor <= stream->settled || left == 0) {
            commit->is_more = commit->is_more || floor > stream->settled;
            continue;
        }
        if (!catalogue_remove_batches(store->catalogue, stream->id, floor, left, &removed, err)) {
            return false;
        }
        left -= removed;
        if (left) {
            stream->settling = floor;
        } else {
            commit->is_more = true;
        }
    }
    return true;
}

/* Streams of earlier runs that nothing refers to any more, of which some are looked at each time. */
static bool remove_streams(struct commit *commit, struct error *err)
{
    struct store *store = commit->store;
    for (size_t i = 0; i < MAX_STREAMS && i < store->streams.count; i++) {
        store->stream_looked_at = (store->stream_looked_at + 1) % store->streams.count;
        const struct stream_entry *stream = &store->streams.entries[store->stream_looked_at];
        bool is_needed = stream->is_described || !stream->is_written;
        if (!is_needed &&
            !catalogue_stream_is_needed(store->catalogue, stream->id, &is_needed, err)) {
            return false;
        }
        if (!is_needed && (!catalogue_remove_stream(store->catalogue, stream->id, err) ||
                              !ids_add(&commit->streams, stream->id, err))) {
            return false;
        }
    }
    return true;
}

struct finding {
    struct commit *commit;
    struct error *err;
    bool ok;
};

static bool each_segment(void *self, const struct catalogue_segment *segment)
{
    struct finding *finding = self;
    const struct store *store = finding->commit->store;
    bool is_written_to = segment->id == store->last_segment && !store->is_in_need;
    if (segment->state == CATALOGUE_SEGMENT_LIVE && segment->batches == 0 && !is_written_to &&
        !pending_uses(&store->pending, segment->id)) {
        finding->ok = ids_add(&finding->commit->deleting, segment->id, finding->err);
    }
    return finding->ok;
}

/* That a file has gone is forgotten only when no loss of power brings it back: nobody would know any more
 * that it was settled. */
static bool forget_gone(struct commit *commit, struct error *err)
{
    const struct store *store = commit->store;
    struct disk *disk = store->settings.disk;
    if (store->gone.count == 0 || !disk->ops->sync_folder(disk, store->settings.folder, NULL)) {
        return true;
    }
    commit->has_forgotten = true;
    for (size_t i = 0; i < store->gone.count; i++) {
        if (!catalogue_remove_segment(store->catalogue, store->gone.at[i], err)) {
            return false;
        }
    }
    return catalogue_shrink(store->catalogue, MAX_FREED_PAGES, err);
}

/* Files without batches are given up; those that have gone are forgotten. */
static bool remove_segments(struct commit *commit, struct error *err)
{
    const struct store *store = commit->store;
    struct finding finding = {.commit = commit, .err = err, .ok = true};
    bool ok = catalogue_segments(store->catalogue, each_segment, &finding, err) && finding.ok;
    for (size_t i = 0; ok && i < commit->deleting.count; i++) {
        const struct catalogue_segment segment = {
            .id = commit->deleting.at[i], .state = CATALOGUE_SEGMENT_DELETING};
        ok = catalogue_put_segment(store->catalogue, &segment, err);
    }
    return ok && forget_gone(commit, err);
}

/* ---- the transaction ------------------------------------------------------------------------------------ */

static bool put_all(struct commit *commit, struct error *err)
{
    struct store *store = commit->store;
    const struct catalogue_counters next = {
        .stream = store->streams.next_id, .output = store->chains.next_id};
    store_step(store, "commit begin");
    if (!catalogue_begin(store->catalogue, err)) {
        return false;
    }
    if (!store_shift_ages(store, err) || !streams_write(&store->streams, store->catalogue, err) ||
        (commit->has_batches && !put_batches(commit, err))) {
        return false;
    }
    store_step(store, "commit cursors");
    if ((store->has_settled &&
            !chains_trim(&store->chains, store->catalogue, store->last_id, err)) ||
        !chains_write(&store->chains, store->catalogue, err)) {
        return false;
    }
    store_step(store, "commit rest");
    if (!put_stage(commit, err)) {
        return false;
    }
    store_step(store, "commit remove");
    if (store->has_settled && (!remove_settled(commit, err) || !remove_segments(commit, err))) {
        return false;
    }
    /* What may say how far a session is goes with what takes its place, which may be bound to batches. */
    if (store->has_settled && commit->has_batches && !remove_streams(commit, err)) {
        return false;
    }
    store_step(store, "commit");
    return catalogue_raise(store->catalogue, &next, err) && catalogue_commit(store->catalogue, err);
}

/* It is true: memory follows. */
static void take_over(struct commit *commit, struct store_committed *committed)
{
    struct store *store = commit->store;
    if (commit->has_batches && store->pending.count) {
        const struct store_row *last = &store->pending.batches[store->pending.count - 1]->row;
        committed->batches = store->pending.count;
        committed->bytes = commit->bytes;
        store->last_id = last->id;
        pending_clear(&store->pending);
        store->is_disk_full = false;
    }
    committed->evicted_letters += commit->evicted;
    stage_clear(&store->stage, commit->has_batches ? NULL : is_bound);
    streams_written(&store->streams);
    chains_written(&store->chains);
    store->is_clock_set = false;
    store->moved_forward = 0;
    if (store->has_settled) {
        for (size_t i = 0; i < store->streams.count; i++) {
            store->streams.entries[i].settled = store->streams.entries[i].settling;
        }
        store->has_settled = commit->is_more;
        if (commit->has_forgotten) {
            store->gone.count = 0;
        }
        for (size_t i = 0; i < commit->streams.count; i++) {
            streams_remove(&store->streams, commit->streams.at[i]);
        }
    }
}

static bool run_transaction(
    struct store *store, bool has_batches, struct store_committed *committed, struct error *err)
{
    struct commit commit = {.store = store, .has_batches = has_batches};
    bool ok = put_all(&commit, err);
    if (!ok) {
        catalogue_rollback(store->catalogue);
    } else {
        store_step(store, "committed");
        take_over(&commit, committed);
        for (size_t i = 0; i < commit.deleting.count; i++) {
            /* Without memory the row says it to the next run. */
            ids_add(&store->deleting, commit.deleting.at[i], NULL);
        }
    }
    ids_fini(&commit.deleting);
    ids_fini(&commit.streams);
    return ok;
}

/* The same; a full disk gets the ballast, and a catalogue that is no good any more is made anew. */
static bool transact(
    struct store *store, bool has_batches, struct store_committed *committed, struct error *err)
{
    struct error why = {.code = ERR_MISSING};
    if (store->catalogue && run_transaction(store, has_batches, committed, &why)) {
        return true;
    }
    bool again = false;
    if (why.code == ERR_FULL) {
        again = segments_release_ballast(store->segments);
        catalogue_checkpoint(store->catalogue, NULL);
    } else if (is_lost(&why)) {
        again = remake_catalogue(store, &why);
    }
    if (again && run_transaction(store, has_batches, committed, &why)) {
        return true;
    }
    return error_set(err, why.code, "%s", why.text);
}

/* ---- files ----------------------------------------------------------------------------------------------- */

static void delete_files(struct store *store)
{
    size_t kept = 0;
    struct error why;
    for (size_t i = 0; i < store->deleting.count; i++) {
        uint64_t id = store->deleting.at[i];
        if (segments_unlink(store->segments, id, &why)) {
            ids_add(&store->gone, id, NULL); /* else the next run tries again, in vain */
            continue;
        }
        store->deleting.at[kept++] = id;
        if (!store->is_lingering) {
            store_tell(store, STORE_NEWS_LINGERING, "%s: it is tried again", why.text);
            store->is_lingering = true;
        }
    }
    store->deleting.count = kept;
    store->is_lingering = kept != 0;
}

/* Numbers for what is pending, and the epoch, are the catalogue's before they stand in a file. */
static bool reserve(struct store *store, struct error *err)
{
    if (store->is_announced && store->next_id <= store->reserved_id &&
        store->next_record <= store->reserved_record) {
        return true;
    }
    const struct catalogue_counters next = {
        .batch = store->next_id + ID_BLOCK, .record = store->next_record + RECORD_BLOCK};
    const struct span earlier = span_make(store->epochs.bytes, store->epochs.size);
    if (!store_is_whole(store, err)) {
        return false;
    }
    store_step(store, "reserve");
    if (!catalogue_begin(store->catalogue, err) ||
        !catalogue_set_epochs(store->catalogue, store->epoch, earlier, err) ||
        !catalogue_raise(store->catalogue, &next, err) ||
        !catalogue_commit(store->catalogue, err)) {
        catalogue_rollback(store->catalogue);
        return false;
    }
    store_step(store, "reserved");
    store->reserved_id = next.batch;
    store->reserved_record = next.record;
    store->is_announced = true;
    return true;
}

static bool write_files(struct store *store, struct error *err)
{
    bool ok = pending_place(&store->pending, store->segments, err);
    for (size_t i = 0; i < store->pending.count; i++) {
        const struct pending_batch *batch = store->pending.batches[i];
        store->last_segment = batch->is_placed ? batch->row.segment : store->last_segment;
    }
    if (ok) {
        store_step(store, "appended");
        ok = pending_sync(&store->pending, store->segments, err);
    }
    return ok;
}

static bool write_batches(struct store *store, struct error *err)
{
    if (store->pending.count == 0) {
        return true;
    }
    store_step(store, "append");
    if (!reserve(store, err) &&
        !(is_lost(err) && remake_catalogue(store, err) && reserve(store, err))) {
        return false;
    }
    if (write_files(store, err)) {
        return true;
    }
    if (is_full(err)) {
        return false;
    }
    /* Somebody has removed the file, or the folder, or cut it: then it goes into another one. */
    restore_folder(store);
    return is_lost(err) && write_files(store, err);
}

/* For batches, and for the ballast where that was given up. */
static bool has_room_again(const struct store *store)
{
    struct segments_usage usage;
    uint64_t free_bytes;
    segments_usage(store->segments, &usage);
    return segments_free_bytes(store->segments, &free_bytes, NULL) &&
           free_bytes >= SOME_ROOM_BYTES + (usage.ballast ? 0 : (uint64_t)STORE_BALLAST_BYTES);
}

static bool has_work(const struct store *store)
{
    return store->pending.count || store->stage.count || store->has_settled ||
           store->is_clock_set || chains_are_changed(&store->chains);
}

bool store_commit(struct store *store, struct store_committed *ret_committed, struct error *err)
{
    struct store_committed committed = {0};
    struct error why = {.code = ERR_NONE};
    store_now(store);
    store_forget_absent(store);
    rebuild_claim(store);
    bool written = write_batches(store, &why);
    bool ok = written;
    store->is_rest_true = false;
    if (written && has_work(store)) {
        ok = transact(store, true, &committed, &why);
    }
    if (!ok && is_full(&why)) {
        store->is_disk_full = true;
        store->is_in_need = true;
        pending_undo(&store->pending, store->segments);
        segments_release_ballast(store->segments);
        /* Without batches nothing is bound to any. */
        store->is_rest_true = transact(store, store->pending.count == 0, &committed, NULL);
        ok = store->is_rest_true && store->pending.count == 0;
    }
    if (!ok) {
        store->is_unclean = true;
        return error_set(err, why.code, "%s", why.text);
    }
    if (store->is_epoch_due && store_begin_epoch(store, NULL)) {
        store->is_epoch_due = false;
    }
    store->is_rest_true = true;
    store->is_disk_full = store->is_disk_full && !has_room_again(store);
    committed.last_id = store->last_id;
    *ret_committed = committed;
    return true;
}

bool store_rest_is_true(const struct store *store)
{
    return store->is_rest_true;
}

bool store_tidy(struct store *store)
{
    size_t before = store->deleting.count;
    delete_files(store);
    if (!store->is_disk_full) {
        store_look_at_disk(store);
    }
    return store->deleting.count < before;
}
