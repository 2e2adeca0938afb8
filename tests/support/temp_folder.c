#include "support/temp_folder.h"

#include "platform/plat_file.h"

bool temp_file_cut(const char *path, uint64_t bytes)
{
    if (!temp_file_is_there(path)) {
        return false;
    }
    struct plat_file *file = plat_file_open(path, PLAT_FILE_APPEND, NULL);
    bool good = file && plat_file_truncate(file, bytes, NULL);
    plat_file_close(file);
    return good;
}

bool temp_file_is_there(const char *path)
{
    return plat_path_kind(path) != PLAT_PATH_NONE;
}
