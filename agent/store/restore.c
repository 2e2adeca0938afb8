#include "store/restore.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/damaged.h"
#include "store/store_own.h"

enum { PATH_BYTES = FOLDER_PATH_BYTES + 16 };

/* Set aside the files in the catalogue's place; above all a log, which must not be used with
 * another catalogue. */
static bool clear_place(struct store *store, struct error *err)
{
    char log_path[PATH_BYTES];
    char shared_path[PATH_BYTES];
    char aside[64];
    snprintf(log_path, sizeof(log_path), "%s-wal", folder_catalogue(store->folder));
    snprintf(shared_path, sizeof(shared_path), "%s-shm", folder_catalogue(store->folder));
    if (plat_path_kind(folder_catalogue(store->folder)) == PLAT_PATH_NONE &&
        plat_path_kind(log_path) == PLAT_PATH_NONE) {
        return plat_path_remove(shared_path, err);
    }
    return damaged_catalogue(store->damaged, aside, sizeof(aside), err);
}

bool restore_catalogue(struct store *store, struct error *err)
{
    char fresh[PATH_BYTES];
    if (!store->catalogue) {
        return error_set(err, ERR_MISSING, "%s was lost", folder_catalogue(store->folder));
    }
    snprintf(fresh, sizeof(fresh), "%s.new", folder_catalogue(store->folder));
    folder_make(store->folder);
    if (!plat_path_remove(fresh, err) || !catalogue_copy(store->catalogue, fresh, err) ||
        !clear_place(store, err) ||
        !plat_path_rename(fresh, folder_catalogue(store->folder), err) ||
        !plat_path_sync_folder(folder_path(store->folder), err)) {
        plat_path_remove(fresh, NULL);
        return false;
    }
    struct catalogue *restored = catalogue_open(
        folder_catalogue(store->folder), CATALOGUE_WRITE, err);
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
