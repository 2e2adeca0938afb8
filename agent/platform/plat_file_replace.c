#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"

static bool write_all(const char *path, struct span bytes, struct error *err)
{
    struct plat_file *file = plat_file_open(path, PLAT_FILE_CREATE_NEW, err);
    bool good = file && plat_file_write(file, bytes, err) && plat_file_sync(file, err);
    plat_file_close(file);
    return good;
}

bool plat_file_replace(const char *path, struct span bytes, struct error *err)
{
    size_t size = strlen(path) + sizeof(".new");
    char *fresh = malloc(size);
    if (!fresh) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", path);
    }
    snprintf(fresh, size, "%s.new", path);
    /* a file or link of that name must not be written into */
    bool good = plat_path_remove(fresh, err) && write_all(fresh, bytes, err) &&
                plat_path_rename(fresh, path, err);
    if (!good) {
        plat_path_remove(fresh, NULL);
    }
    free(fresh);
    return good && plat_path_sync_name(path, err);
}
