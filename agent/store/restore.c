#include "store/restore.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "store/damaged.h"
#include "store/store_own.h"

enum { PATH_BYTES = STORE_PATH_BYTES + 16 };

/* Set aside the files in the catalogue's place; above all a log, which must not be used with
 * another catalogue. */
static bool clear_place(struct store *store, struct error *err)
{
    char log_path[PATH_BYTES];
    char shared_path[PATH_BYTES];
    char aside[64];
    snprintf(log_path, sizeof(log_path), "%s-wal", store->catalogue_path);
    snprintf(shared_path, sizeof(shared_path), "%s-shm", store->catalogue_path);
    if (plat_path_kind(store->catalogue_path) == PLAT_PATH_NONE &&
        plat_path_kind(log_path) == PLAT_PATH_NONE) {
        return plat_path_remove(shared_path, err);
    }
    return damaged_catalogue(store, aside, sizeof(aside), err);
}

bool restore_catalogue(struct store *store, struct error *err)
{
    char fresh[PATH_BYTES];
    if (!store->catalogue) {
        return error_set(err, ERR_MISSING, "%s was lost", store->catalogue_path);
    }
    snprintf(fresh, sizeof(fresh), "%s.new", store->catalogue_path);
    restore_folder(store);
    if (!plat_path_remove(fresh, err) || !catalogue_copy(store->catalogue, fresh, err) ||
        !clear_place(store, err) || !plat_path_rename(fresh, store->catalogue_path, err) ||
        !plat_path_sync_folder(store->settings.folder, err)) {
        plat_path_remove(fresh, NULL);
        return false;
    }
    struct catalogue *restored = catalogue_open(store->catalogue_path, CATALOGUE_WRITE, err);
    if (!restored) {
        return false;
    }
    catalogue_close(store->catalogue);
    store->catalogue = restored;
    store_let_go(store);
    store_tell(store, STORE_NEWS_DAMAGED,
        "%s was removed or replaced while the agent used it: the agent has written it again",
        store->catalogue_path);
    return true;
}

void restore_folder(const struct store *store)
{
    struct disk *disk = store->settings.disk;
    plat_dir_create_private(store->settings.folder, NULL);
    disk->ops->make_folder(disk, store->settings.folder, NULL);
}
