#include "store/restore.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"

struct catalogue *restore_catalogue(struct catalogue *catalogue, const struct folder *folder,
    struct damaged *damaged, struct error *err)
{
    const char *path = folder_catalogue(folder);
    char fresh[FOLDER_PATH_BYTES + 8];
    char shared[FOLDER_PATH_BYTES + 8];
    char aside[64];
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    snprintf(shared, sizeof(shared), "%s-shm", path);
    folder_make(folder);
    /* Aside goes above all a log, which must not be used with another catalogue. */
    if (!plat_path_remove(fresh, err) || !catalogue_copy(catalogue, fresh, err) ||
        !damaged_catalogue(damaged, aside, sizeof(aside), err) || !plat_path_remove(shared, err) ||
        !plat_path_rename(fresh, path, err) || !plat_path_sync_folder(folder_path(folder), err)) {
        plat_path_remove(fresh, NULL);
        return NULL;
    }
    return catalogue_open(path, CATALOGUE_WRITE, err);
}
