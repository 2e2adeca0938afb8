/*
 * A commit, in this order: batches are written and synced; one transaction tells of them and of all
 * else; store_tidy deletes files that it has given up, and the next transaction removes their rows. So the
 * catalogue never tells of bytes that are not durable, and a file goes only when the catalogue has done
 * with it; one that was decided on stays in it as such until it has gone, over any number of runs.
 *
 * Whatever fails, memory is changed only by a transaction that was committed.
 */
#include "store/commit.h"
#include "store/rebuild.h"
#include "store/restore.h"
#include "store/store_own.h"

enum {
    ID_BLOCK = 1 << 16,     /* numbers that a run takes at a time */
    RECORD_BLOCK = 1 << 24, /* the same */
};

static bool is_full(const struct error *err)
{
    return err->code == ERR_FULL;
}

static bool is_lost(const struct error *err)
{
    return err->code == ERR_DAMAGED || err->code == ERR_MISSING;
}

/* ${why}: what was found, or on failure the reason. The open catalogue is given up only if it is
 * damaged itself: a full disk, as when people delete files, is temporary. */
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
        (commit->has_batches && !commit_put_batches(commit, err))) {
        return false;
    }
    store_step(store, "commit cursors");
    if ((store->has_settled &&
            !chains_trim(&store->chains, store->catalogue, store->last_id, err)) ||
        !chains_write(&store->chains, store->catalogue, err)) {
        return false;
    }
    store_step(store, "commit rest");
    if (!commit_put_stage(commit, err)) {
        return false;
    }
    store_step(store, "commit remove");
    if (store->has_settled &&
        (!commit_remove_settled(commit, err) || !commit_remove_segments(commit, err))) {
        return false;
    }
    /* Rows that may hold the position of a session are removed together with their replacement,
     * which may depend on batches. */
    if (store->has_settled && commit->has_batches && !commit_remove_streams(commit, err)) {
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
    stage_clear(&store->stage, commit->has_batches ? NULL : commit_put_is_bound);
    streams_written(&store->streams);
    chains_written(&store->chains);
    store->is_clock_set = false;
    store->moved_forward = 0;
    if (store->has_settled) {
        for (size_t i = 0; i < store->streams.count; i++) {
            store->streams.entries[i].settled = store->streams.entries[i].settling;
        }
        store->has_settled = commit->is_more;
        if (commit->has_removed_files) {
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

/* Run the transaction; give a full disk the ballast, and rebuild a catalogue that cannot be used any more. */
static bool transact(
    struct store *store, bool has_batches, struct store_committed *committed, struct error *err)
{
    struct error why = {.code = ERR_MISSING};
    if (store->catalogue && run_transaction(store, has_batches, committed, &why)) {
        return true;
    }
    bool again = false;
    if (why.code == ERR_FULL) {
        bool has_room = segments_release_ballast(store->segments);
        again = catalogue_rewind_log(store->catalogue) || has_room;
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
            ids_add(&store->gone, id, NULL); /* else the next run would try again without success */
            continue;
        }
        store->deleting.at[kept++] = id;
        if (!store->is_lingering) {
            store_tell(store, STORE_NEWS_LINGERING, "%s: the agent tries again", why.text);
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
    /* Another program has removed the file, or the folder, or cut it: then it goes into another one. */
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
           free_bytes >=
               STORE_SOME_ROOM_BYTES + (usage.ballast ? 0 : (uint64_t)STORE_BALLAST_BYTES);
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
    store_remove_absent(store);
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
    segments_remove_void(store->segments);
    if (!store->is_disk_full) {
        store_look_at_disk(store);
    }
    return store->deleting.count < before;
}
