/*
 * A commit, in this order: batches are written and synced; one transaction tells of them and of all
 * else; store_tidy deletes files that it has given up, and the next transaction removes their rows.
 * So the catalogue never tells of bytes that are not durable, and a file goes only when the
 * catalogue has done with it; one that was decided on stays in it as such until it has gone, over
 * any number of runs.
 *
 * Whatever fails, memory is changed only by a transaction that was committed.
 */
#include "store/store_own.h"

#include "store/commit_own.h"
#include "store/orphans.h"
#include "store/restore.h"
#include "store/state/stage.h"
#include "store/state/streams.h"

static bool is_full(const struct error *err)
{
    return err->code == ERR_FULL;
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
        if (!store_has_lost(why)) {
            return false;
        }
    }
    folder_make(store->folder);
    catalogue_close(store->catalogue);
    store->catalogue = NULL; /* also for those whom the rebuild calls */
    store->catalogue = rebuild_running(store->rebuild, numbers_last_id(store->numbers), why);
    if (!store->catalogue) {
        return false;
    }
    numbers_unwritten(store->numbers);
    unneeded_forget(store->unneeded);
    return true;
}

/* ---- the transaction ------------------------------------------------------------------------- */

static bool put_all(struct store *store, struct commit *commit, struct error *err)
{
    struct catalogue *catalogue = store->catalogue;
    const struct report *report = store->report;
    const struct catalogue_counters next = {
        .stream = streams_next_id(store->streams), .output = chains_next_id(store->chains)};
    report_step(report, "commit begin");
    if (!catalogue_begin(catalogue, err)) {
        return false;
    }
    if (!ages_write(store->ages, catalogue, err) ||
        !streams_write(store->streams, catalogue, err) ||
        (commit->has_batches && !commit_put_batches(commit, err))) {
        return false;
    }
    report_step(report, "commit cursors");
    if ((commit->is_due && !chains_trim(store->chains, catalogue, commit->last_id, err)) ||
        !chains_write(store->chains, catalogue, err)) {
        return false;
    }
    report_step(report, "commit rest");
    if (!commit_put_stage(commit, err)) {
        return false;
    }
    report_step(report, "commit remove");
    if (commit->is_due &&
        (!commit_remove_settled(commit, err) ||
            !unneeded_write(store->unneeded, catalogue, store->segments, store->pending, err))) {
        return false;
    }
    /* Rows that may hold the position of a session are removed together with their replacement,
     * which may depend on batches. */
    if (commit->is_due && commit->has_batches && !commit_remove_streams(commit, err)) {
        return false;
    }
    report_step(report, "commit");
    return catalogue_raise(catalogue, &next, err) && catalogue_commit(catalogue, err);
}

/* It is true: memory follows. */
static void take_over(
    struct store *store, const struct commit *commit, struct store_committed *committed)
{
    size_t count = pending_count(store->pending);
    if (commit->has_batches && count) {
        committed->batches = count;
        committed->bytes = commit->bytes;
        numbers_committed(store->numbers, pending_row(store->pending, count - 1)->id);
        pending_clear(store->pending);
        disk_room_set_full(store->room, false);
    }
    stage_clear(store->stage, commit->has_batches ? NULL : commit_put_is_bound);
    streams_written(store->streams);
    chains_written(store->chains);
    ages_written(store->ages);
    if (commit->is_due) {
        streams_settled(store->streams);
        unneeded_written(store->unneeded, commit->is_more);
    }
}

static bool run_transaction(
    struct store *store, bool has_batches, struct store_committed *committed, struct error *err)
{
    struct commit commit = {.catalogue = store->catalogue,
        .streams = store->streams,
        .chains = store->chains,
        .pending = store->pending,
        .stage = store->stage,
        .last_id = numbers_last_id(store->numbers),
        .has_batches = has_batches,
        .is_due = unneeded_is_due(store->unneeded)};
    if (!put_all(store, &commit, err)) {
        catalogue_rollback(store->catalogue);
        return false;
    }
    report_step(store->report, "committed");
    take_over(store, &commit, committed);
    return true;
}

/* Run the transaction; give a full disk the ballast, and rebuild a catalogue that cannot be used
 * any more. */
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
    } else if (store_has_lost(&why)) {
        again = remake_catalogue(store, &why);
    }
    if (again && run_transaction(store, has_batches, committed, &why)) {
        return true;
    }
    return error_set(err, why.code, "%s", why.text);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Numbers for what is pending, and the epoch, are the catalogue's before they stand in a file. */
static bool reserve(struct store *store, struct error *err)
{
    if (numbers_are_reserved(store->numbers)) {
        return true;
    }
    if (!store_catalogue(store, err)) {
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
    bool ok = pending_place(store->pending, store->segments, err);
    uint64_t segment = pending_segment(store->pending);
    if (segment) {
        unneeded_written_to(store->unneeded, segment);
    }
    if (ok) {
        report_step(store->report, "appended");
        ok = pending_sync(store->pending, store->segments, err);
    }
    return ok;
}

static bool write_batches(struct store *store, struct error *err)
{
    if (pending_count(store->pending) == 0) {
        return true;
    }
    report_step(store->report, "append");
    if (!reserve(store, err) &&
        !(store_has_lost(err) && remake_catalogue(store, err) && reserve(store, err))) {
        return false;
    }
    if (write_files(store, err)) {
        return true;
    }
    if (is_full(err)) {
        return false;
    }
    /* Another program has removed the file, or the folder, or cut it: then it goes into another
     * one. */
    folder_make(store->folder);
    return store_has_lost(err) && write_files(store, err);
}

static bool has_work(const struct store *store)
{
    return pending_count(store->pending) || stage_at(store->stage, 0) ||
           unneeded_is_due(store->unneeded) || ages_are_changed(store->ages) ||
           chains_are_changed(store->chains);
}

bool store_commit(struct store *store, struct store_committed *ret_committed, struct error *err)
{
    struct store_committed committed = {0};
    struct error why = {.code = ERR_NONE};
    ages_now(store->ages);
    store_remove_absent(store);
    if (orphans_claim(store->chains, store->ages)) {
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
        pending_undo(store->pending, store->segments);
        segments_release_ballast(store->segments);
        /* Without batches nothing is bound to any. */
        store->has_committed_rest = transact(
            store, pending_count(store->pending) == 0, &committed, NULL);
        ok = store->has_committed_rest && pending_count(store->pending) == 0;
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
