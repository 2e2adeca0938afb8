#include "platform/plat_temp.h"

#include <stdlib.h>
#include <wchar.h>

#include "platform/windows/plat_file_own.h"
#include "platform/windows/plat_wide.h"

static bool fail(struct error *err, const char *name, const char *what)
{
    return plat_wide_error(err, GetLastError(), name, what);
}

enum { FOLDER_UNITS = MAX_PATH + 2 };

/* The folder of temporary files. False with GetLastError() set. */
static bool find_folder(wchar_t folder[FOLDER_UNITS])
{
    DWORD length = GetTempPathW(MAX_PATH + 1, folder);
    if (length > MAX_PATH) {
        SetLastError(ERROR_FILENAME_EXCED_RANGE);
    }
    return length && length <= MAX_PATH;
}

/* GetTempFileName would create a file that survives a kill before the next call. */
static HANDLE open_in(const wchar_t *folder, unsigned attempt)
{
    wchar_t path[MAX_PATH + 64];
    swprintf(path, sizeof(path) / sizeof(path[0]), L"%lsetwship-%lx-%llx-%x.tmp", folder,
        (unsigned long)GetCurrentProcessId(), (unsigned long long)GetTickCount64(), attempt);
    return CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE, 0, NULL, CREATE_NEW,
        FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
}

struct plat_file *plat_temp_create(struct error *err)
{
    enum { ATTEMPTS = 1000 };
    static LONG made;
    wchar_t folder[FOLDER_UNITS];
    bool found = find_folder(folder);
    HANDLE handle = INVALID_HANDLE_VALUE;
    for (int i = 0; found && i < ATTEMPTS; i++) {
        handle = open_in(folder, (unsigned)InterlockedIncrement(&made));
        if (handle != INVALID_HANDLE_VALUE || GetLastError() != ERROR_FILE_EXISTS) {
            break;
        }
    }
    if (handle == INVALID_HANDLE_VALUE) {
        fail(err, "temporary file", "cannot be made. set TMP to a folder with room");
        return NULL;
    }
    struct plat_file *file = plat_file_wrap(handle, "temporary file", err);
    if (file) {
        file->appends = true;
    }
    return file;
}

bool plat_temp_room(struct plat_file *file, struct plat_temp_room *ret_room, struct error *err)
{
    wchar_t folder[FOLDER_UNITS];
    ULARGE_INTEGER left; /* of the quota, if there is one */
    ULARGE_INTEGER size;
    if (!find_folder(folder) || !GetDiskFreeSpaceExW(folder, &left, &size, NULL)) {
        return fail(err, file->name, "cannot ask for free space");
    }
    ret_room->free_bytes = left.QuadPart;
    ret_room->disk_bytes = size.QuadPart;
    return true;
}

struct plat_file *plat_stdin_open(struct error *err)
{
    HANDLE self = GetCurrentProcess();
    HANDLE own = GetStdHandle(STD_INPUT_HANDLE);
    HANDLE handle;
    DWORD mode;
    if (GetConsoleMode(own, &mode)) {
        error_set(err, ERR_CONFIG,
            "standard input is a console. name a file, or pipe a trace into the program");
        return NULL;
    }
    /* INVALID_HANDLE_VALUE would be this process */
    own = own == INVALID_HANDLE_VALUE ? NULL : own;
    if (!DuplicateHandle(self, own, self, &handle, 0, FALSE, DUPLICATE_SAME_ACCESS)) {
        fail(err, "standard input", "cannot be read");
        return NULL;
    }
    return plat_file_wrap(handle, "standard input", err);
}

bool plat_stdin_is_file(struct plat_file *file, uint64_t *ret_offset)
{
    LARGE_INTEGER none = {.QuadPart = 0};
    LARGE_INTEGER at;
    bool is_file = GetFileType(file->handle) == FILE_TYPE_DISK &&
                   SetFilePointerEx(file->handle, none, &at, FILE_CURRENT);
    *ret_offset = is_file ? (uint64_t)at.QuadPart : 0;
    return is_file;
}

bool plat_stdin_read(
    struct plat_file *file, void *data, size_t size, size_t *ret_read, struct error *err)
{
    enum { MOST = 1 << 20 };
    DWORD got = 0;
    bool good = ReadFile(file->handle, data, (DWORD)(size < MOST ? size : MOST), &got, NULL) ||
                GetLastError() == ERROR_BROKEN_PIPE; /* the end */
    *ret_read = good ? got : 0;
    return good || fail(err, file->name, "cannot be read");
}
