#include <stdlib.h>
#include <string.h>

#include "platform/plat_path.h"

bool plat_path_sync_name(const char *path, struct error *err)
{
    const char *name = strrchr(path, '/');
    size_t size = name ? (size_t)(name - path) + 1 : 0;
    char *folder = calloc(1, size + 2);
    if (!folder) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", path);
    }
    memcpy(folder, name ? path : ".", name ? size : 1);
    bool good = plat_path_sync_folder(folder, err);
    free(folder);
    return good;
}
