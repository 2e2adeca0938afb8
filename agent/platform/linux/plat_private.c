#define _GNU_SOURCE

#include "platform/plat_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool plat_file_is_private(const char *path, bool *ret_private, struct error *err)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return error_set_os(err, errno, strerror(errno), "%s: cannot open", path);
    }
    *ret_private = (status.st_mode & S_IRWXO) == 0;
    return true;
}
