#include "store/rebuild.h"

#include <inttypes.h>
#include <stdio.h>

#include "platform/plat_file.h"
#include "platform/plat_system.h"
#include "store/catalogue/catalogue_batches.h"
#include "store/catalogue/catalogue_sources.h"
#include "store/damaged.h"
#include "store/state/ids.h"
#include "store/store_own.h"

void rebuild_init(struct rebuild *rebuild, struct store *store)
{
    *rebuild = (struct rebuild){.store = store, .last_id = UINT64_MAX};
    buf_init(&rebuild->room, STORE_READ_ROOM_BYTES);
    for (size_t i = 0; i < store->streams.count; i++) {
        store->streams.entries[i].found = 0;
    }
}

void rebuild_fini(struct rebuild *rebuild)
{
    buf_fini(&rebuild->room);
}

/* ---- all of them --------------------------------------------------------------------------------------------- */

/* In a running store another program may have removed it. */
static bool is_missing(const struct rebuild *rebuild, uint64_t id)
{
    if (!segments_is_missing(rebuild->store->segments, id)) {
        return false;
    }
    report_news(rebuild->store->report, STORE_NEWS_MISSING,
        "segment %016" PRIx64 " is not there any more: what was in it is lost", id);
    return true;
}

static bool scan_all(struct rebuild *rebuild, struct error *err)
{
    struct store *store = rebuild->store;
    struct ids ids = {.at = NULL};
    struct segment_info info;
    bool ok = true;
    for (size_t i = 0; ok && segments_get(store->segments, i, &info); i++) {
        ok = ids_add(&ids, info.id, err); /* files that are set aside leave the list */
    }
    for (size_t i = 0; ok && i < ids.count; i++) {
        ok = is_missing(rebuild, ids.at[i]) || rebuild_segment(rebuild, ids.at[i], 0, err);
    }
    ids_fini(&ids);
    return ok && rebuild_finish(rebuild, err);
}

static bool create(struct store *store, struct rebuild *rebuild, struct error *err)
{
    uint64_t epoch = 0;
    /* Deleted files stay deleted: a file that reappeared later would have an unknown epoch. */
    segments_sync_folder(store->segments, NULL);
    while (epoch == 0) {
        if (!plat_random(&epoch, sizeof(epoch), err)) {
            return false;
        }
    }
    store->catalogue = catalogue_create(
        folder_catalogue(store->folder), epoch, span_make(NULL, 0), err);
    if (!store->catalogue) {
        return false;
    }
    if (!rebuild_put_streams(store, err) || !scan_all(rebuild, err) ||
        !rebuild_letters(store, err)) {
        return false;
    }
    report_step(store->report, "rebuild commit");
    if (!catalogue_commit(store->catalogue, err)) {
        return false;
    }
    report_step(store->report, "rebuilt");
    return true;
}

static void tell(
    struct store *store, const struct rebuild *rebuild, const char *aside, const char *why)
{
    report_news(store->report, STORE_NEWS_REBUILT,
        "the agent rebuilt the catalogue of the spool from its files (%s): %" PRIu64
        " batches with %" PRIu64 " records were found, and are delivered (again); %" PRIu64
        " batches and %" PRIu64 " other bytes cannot be read%s%s%s",
        why, rebuild->batches, rebuild->records, rebuild->damaged, rebuild->skipped_bytes,
        rebuild->damaged || rebuild->skipped_bytes ? ", see the folder 'damaged'" : "",
        aside[0] ? "; the old catalogue is now called " : "", aside);
}

/* Out of the way: a catalogue that cannot be read, another one in its place, or a log without one. An
 * empty one was about to be made, and can be. */
static bool set_aside(
    struct store *store, bool is_missing, char *ret_name, size_t size, struct error *err)
{
    char log_path[FOLDER_PATH_BYTES + 8];
    bool is_there = plat_path_kind(folder_catalogue(store->folder)) != PLAT_PATH_NONE;
    snprintf(log_path, sizeof(log_path), "%s-wal", folder_catalogue(store->folder));
    if (is_there ? is_missing : plat_path_kind(log_path) == PLAT_PATH_NONE) {
        return true;
    }
    return damaged_catalogue(store->damaged, ret_name, size, err);
}

static bool remake(
    struct store *store, uint64_t last_id, bool is_missing, const char *why, struct error *err)
{
    char aside[64] = "";
    struct rebuild rebuild;
    catalogue_close(store->catalogue);
    store->catalogue = NULL;
    report_close_readers(store->report);
    if (!set_aside(store, is_missing, aside, sizeof(aside), err)) {
        return false;
    }
    for (size_t i = 0; i < store->streams.count; i++) {
        store->streams.entries[i].is_written = false;
        store->streams.entries[i].settled = 0;
    }
    chains_unwritten(&store->chains);
    rebuild_init(&rebuild, store);
    rebuild.last_id = last_id;
    bool ok = create(store, &rebuild, err);
    if (ok) {
        report_close_readers(
            store
                ->report); /* another program may have opened the old one again before it was out of the way */
        chains_written(&store->chains);
        if (!store->is_fresh) {
            tell(store, &rebuild, aside, why);
        }
    } else {
        catalogue_close(store->catalogue); /* of which nothing was committed */
        store->catalogue = NULL;
    }
    rebuild_fini(&rebuild);
    return ok;
}

bool rebuild_all(struct store *store, const struct error *why, struct error *err)
{
    return remake(store, UINT64_MAX, why->code == ERR_MISSING, why->text, err);
}

bool rebuild_running(struct store *store, struct error *why)
{
    const struct error reason = *why;
    if (!remake(store, numbers_last_id(store->numbers), false, reason.text, why)) {
        return false;
    }
    numbers_unwritten(store->numbers);
    unneeded_forget(store->unneeded);
    return true;
}
