#define _GNU_SOURCE

#include <errno.h>
#include <string.h>
#include <sys/statvfs.h>

#include "platform/plat_file.h"

bool plat_disk_free(const char *path, uint64_t *ret_bytes, struct error *err)
{
    struct statvfs fs;
    int result;
    do {
        result = statvfs(path, &fs);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        int code = errno;
        return error_set_os(err, code, strerror(code), "%s: cannot ask for free space", path);
    }
    /* without the space reserved for root */
    uint64_t block = fs.f_frsize ? fs.f_frsize : fs.f_bsize;
    *ret_bytes = block && fs.f_bavail > UINT64_MAX / block ? UINT64_MAX : fs.f_bavail * block;
    return true;
}

bool plat_disk_is_full(const struct error *err)
{
    return err->code == ERR_IO && (err->os_code == ENOSPC || err->os_code == EDQUOT);
}
