#include <stdlib.h>
#include <windows.h>

#include "platform/plat_file.h"
#include "platform/windows/plat_wide.h"

bool plat_disk_free(const char *path, uint64_t *ret_bytes, struct error *err)
{
    wchar_t *wide = plat_wide_path(path, err);
    if (!wide) {
        return false;
    }
    ULARGE_INTEGER left; /* of the quota, if there is one */
    bool good = GetDiskFreeSpaceExW(wide, &left, NULL, NULL);
    DWORD code = GetLastError();
    free(wide);
    if (!good) {
        return plat_wide_error(err, code, path, "cannot ask for free space");
    }
    *ret_bytes = left.QuadPart;
    return true;
}

/* ERROR_DISK_QUOTA_EXCEEDED of winerror.h, which mingw-w64 lacks. */
enum { QUOTA_EXCEEDED = 1295 };

bool plat_disk_is_full(const struct error *err)
{
    return err->code == ERR_IO &&
           (err->os_code == ERROR_DISK_FULL || err->os_code == ERROR_HANDLE_DISK_FULL ||
               err->os_code == QUOTA_EXCEEDED);
}
