/*
 * A commit, in this order: batches are written and synced; one transaction tells of them and of all
 * else; store_tidy deletes files that it has given up, and the next transaction removes their rows. So the
 * catalogue never tells of bytes that are not durable, and a file goes only when the catalogue has done
 * with it; one that was decided on stays in it as such until it has gone, over any number of runs.
 *
 * Whatever fails, memory is changed only by a transaction that was committed.
 */
#include "store/commit.h"
#include "store/orphans.h"
#include "store/restore.h"
#include "store/store_own.h"

static bool is_full(const struct error *err)
{
    return err->code == ERR_FULL;
}

static bool is_lost(const struct error *err)
{
    return err->code == ERR_DAMAGED || err->code == ERR_MISSING;
}

/* The file was removed or replaced: nothing is lost, as it is still open. */
static bool restore(struct store *store, struct error *err)
{
    struct catalogue *restored = restore_catalogue(
        store->catalogue, store->folder, store->damaged, err);
    if (!restored) {
        return false;
    }
    catalogue_close(store->catalogue);
    store->catalogue = restored;
    report_close_readers(store->report);
    report_news(store->report, STORE_NEWS_DAMAGED,
        "%s was removed or replaced while the agent used it: the agent has written it again",
        folder_catalogue(store->folder));
    return true;
}

/* ${why}: what was found, or on failure the reason. The open catalogue is given up only if it is
 * damaged itself: a full disk, as when people delete files, is temporary. */
static bool remake_catalogue(struct store *store, struct error *why)
{
    if (why->code == ERR_MISSING && store->catalogue) {
        if (restore(store, why)) {
            return true;
        }
        if (!is_lost(why)) {
            return false;
        }
    }
    folder_make(store->folder);
    catalogue_close(store->catalogue);
    store->catalogue = rebuild_running(store->rebuild, numbers_last_id(store->numbers), why);
    if (!store->catalogue) {
        return false;
    }
    numbers_unwritten(store->numbers);
    unneeded_forget(store->unneeded);
    return true;
}

/* ---- the transaction ------------------------------------------------------------------------------------ */

static bool put_all(struct commit *commit, struct error *err)
{
    struct store *store = commit->store;
    const struct catalogue_counters next = {
        .stream = store->streams.next_id, .output = store->chains.next_id};
    report_step(store->report, "commit begin");
    if (!catalogue_begin(store->catalogue, err)) {
        return false;
    }
    if (!ages_write(store->ages, store->catalogue, err) ||
        !streams_write(&store->streams, store->catalogue, err) ||
        (commit->has_batches && !commit_put_batches(commit, err))) {
        return false;
    }
    report_step(store->report, "commit cursors");
    if ((unneeded_is_due(store->unneeded) &&
            !chains_trim(&store->chains, store->catalogue, numbers_last_id(store->numbers), err)) ||
        !chains_write(&store->chains, store->catalogue, err)) {
        return false;
    }
    report_step(store->report, "commit rest");
    if (!commit_put_stage(commit, err)) {
        return false;
    }
    report_step(store->report, "commit remove");
    if (unneeded_is_due(store->unneeded) &&
        (!commit_remove_settled(commit, err) || !unneeded_write(store->unneeded, store->catalogue,
                                                    store->segments, &store->pending, err))) {
        return false;
    }
    /* Rows that may hold the position of a session are removed together with their replacement,
     * which may depend on batches. */
    if (unneeded_is_due(store->unneeded) && commit->has_batches &&
        !commit_remove_streams(commit, err)) {
        return false;
    }
    report_step(store->report, "commit");
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
        numbers_committed(store->numbers, last->id);
        pending_clear(&store->pending);
        disk_room_set_full(store->room, false);
    }
    stage_clear(&store->stage, commit->has_batches ? NULL : commit_put_is_bound);
    streams_written(&store->streams);
    chains_written(&store->chains);
    ages_written(store->ages);
    if (unneeded_is_due(store->unneeded)) {
        for (size_t i = 0; i < store->streams.count; i++) {
            store->streams.entries[i].settled = store->streams.entries[i].settling;
        }
        unneeded_written(store->unneeded, commit->is_more);
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
        report_step(store->report, "committed");
        take_over(&commit, committed);
    }
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

/* Numbers for what is pending, and the epoch, are the catalogue's before they stand in a file. */
static bool reserve(struct store *store, struct error *err)
{
    if (numbers_are_reserved(store->numbers)) {
        return true;
    }
    if (!store_is_whole(store, err)) {
        return false;
    }
    report_step(store->report, "reserve");
    if (!numbers_reserve(store->numbers, store->catalogue, err)) {
        return false;
    }
    report_step(store->report, "reserved");
    return true;
}

static bool write_files(struct store *store, struct error *err)
{
    bool ok = pending_place(&store->pending, store->segments, err);
    for (size_t i = 0; i < store->pending.count; i++) {
        const struct pending_batch *batch = store->pending.batches[i];
        if (batch->is_placed) {
            unneeded_written_to(store->unneeded, batch->row.segment);
        }
    }
    if (ok) {
        report_step(store->report, "appended");
        ok = pending_sync(&store->pending, store->segments, err);
    }
    return ok;
}

static bool write_batches(struct store *store, struct error *err)
{
    if (store->pending.count == 0) {
        return true;
    }
    report_step(store->report, "append");
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
    folder_make(store->folder);
    return is_lost(err) && write_files(store, err);
}

static bool has_work(const struct store *store)
{
    return store->pending.count || store->stage.count || unneeded_is_due(store->unneeded) ||
           ages_are_changed(store->ages) || chains_are_changed(&store->chains);
}

bool store_commit(struct store *store, struct store_committed *ret_committed, struct error *err)
{
    struct store_committed committed = {0};
    struct error why = {.code = ERR_NONE};
    ages_now(store->ages);
    store_remove_absent(store);
    if (orphans_claim(&store->chains, store->ages)) {
        unneeded_look(store->unneeded);
    }
    bool written = write_batches(store, &why);
    bool ok = written;
    store->has_committed_rest = false;
    if (written && has_work(store)) {
        ok = transact(store, true, &committed, &why);
    }
    if (!ok && is_full(&why)) {
        disk_room_set_full(store->room, true);
        unneeded_disk_is_full(store->unneeded);
        pending_undo(&store->pending, store->segments);
        segments_release_ballast(store->segments);
        /* Without batches nothing is bound to any. */
        store->has_committed_rest = transact(store, store->pending.count == 0, &committed, NULL);
        ok = store->has_committed_rest && store->pending.count == 0;
    }
    if (!ok) {
        store->is_unclean = true;
        return error_set(err, why.code, "%s", why.text);
    }
    numbers_turn(store->numbers, store->segments);
    store->has_committed_rest = true;
    disk_room_look_again(store->room);
    committed.last_id = numbers_last_id(store->numbers);
    *ret_committed = committed;
    return true;
}

bool store_committed_rest(const struct store *store)
{
    return store->has_committed_rest;
}

bool store_tidy(struct store *store)
{
    struct error why = {.code = ERR_NONE};
    bool has_deleted = unneeded_delete(store->unneeded, store->segments, &why);
    if (why.code) {
        report_news(store->report, STORE_NEWS_NOT_DELETED, "%s: the agent tries again", why.text);
    }
    segments_remove_void(store->segments);
    if (!disk_room_is_full(store->room)) {
        disk_room_look(store->room, store->catalogue);
    }
    return has_deleted;
}
