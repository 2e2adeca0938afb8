#include "app/state/data_folder.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "platform/plat_path.h"

bool data_folder_path(
    const char *folder, const char *name, char path[DATA_FOLDER_PATH_BYTES], struct error *err)
{
    int size = snprintf(path, DATA_FOLDER_PATH_BYTES, "%s/%s", folder, name);
    return (size > 0 && size < DATA_FOLDER_PATH_BYTES) ||
           error_set(err, ERR_CONFIG, "agent.data_dir is too long");
}

struct plat_lock *data_folder_take(const char *folder, struct error *err)
{
    char path[DATA_FOLDER_PATH_BYTES];
    char process[64] = "";
    struct error why;
    uint64_t holder = 0;
    if (!data_folder_path(folder, "lock", path, err) || !plat_dir_create_private(folder, err)) {
        return NULL;
    }
    struct plat_lock *lock = plat_lock_take(path, &holder, &why);
    if (lock) {
        return lock;
    }
    if (why.code != ERR_STOPPED) {
        error_set(err, why.code, "agent.data_dir: %s", why.text);
        return NULL;
    }
    if (holder) {
        snprintf(process, sizeof(process), ", process %llu", (unsigned long long)holder);
    }
    error_set(err, ERR_STOPPED,
        "%s: used by another etwship%s. stop it, or give each its own agent.data_dir", folder,
        process);
    return NULL;
}

bool data_folder_free(const char *folder, uint64_t *ret_bytes)
{
    char path[DATA_FOLDER_PATH_BYTES];
    size_t size = strlen(folder);
    bool found = false;
    while (size && size < sizeof(path) && !found) {
        memcpy(path, folder, size);
        path[size] = 0;
        found = plat_disk_free(path, ret_bytes, NULL);
        for (size--; size > 1 && !strchr("/\\", path[size]); size--) {}
    }
    return found;
}
