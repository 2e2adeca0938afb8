#include "store/restore.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"

enum { PATH_BYTES = FOLDER_PATH_BYTES + 16 };

/* Set aside the files in the catalogue's place; above all a log, which must not be used with
 * another catalogue. */
static bool clear_place(const char *path, struct damaged *damaged, struct error *err)
{
    char log_path[PATH_BYTES];
    char shared_path[PATH_BYTES];
    char aside[64];
    snprintf(log_path, sizeof(log_path), "%s-wal", path);
    snprintf(shared_path, sizeof(shared_path), "%s-shm", path);
    if (plat_path_kind(path) == PLAT_PATH_NONE && plat_path_kind(log_path) == PLAT_PATH_NONE) {
        return plat_path_remove(shared_path, err);
    }
    return damaged_catalogue(damaged, aside, sizeof(aside), err);
}

struct catalogue *restore_catalogue(struct catalogue *catalogue, const struct folder *folder,
    struct damaged *damaged, struct error *err)
{
    const char *path = folder_catalogue(folder);
    char fresh[PATH_BYTES];
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    folder_make(folder);
    if (!plat_path_remove(fresh, err) || !catalogue_copy(catalogue, fresh, err) ||
        !clear_place(path, damaged, err) || !plat_path_rename(fresh, path, err) ||
        !plat_path_sync_folder(folder_path(folder), err)) {
        plat_path_remove(fresh, NULL);
        return NULL;
    }
    return catalogue_open(path, CATALOGUE_WRITE, err);
}
