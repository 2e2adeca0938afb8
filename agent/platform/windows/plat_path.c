#include "platform/plat_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include "platform/windows/plat_file_own.h"
#include "platform/windows/plat_filetime.h"
#include "platform/windows/plat_path_own.h"
#include "platform/windows/plat_wide.h"

/* Windows locks are mandatory: the locked byte lies beyond the text of the file, so that others can
 * read the holder. */
enum { LOCKED_BYTE = 0x40000000 };

struct plat_lock {
    HANDLE handle;
};

struct plat_stamp plat_path_stamp(const char *path)
{
    BY_HANDLE_FILE_INFORMATION info;
    struct plat_stamp stamp = {.id = 0};
    /* NTFS reports stale data by name for a file that is being written, so it is opened */
    HANDLE handle = plat_file_look(path, FILE_FLAG_BACKUP_SEMANTICS);
    if (handle == INVALID_HANDLE_VALUE) {
        return stamp;
    }
    if (GetFileInformationByHandle(handle, &info)) {
        stamp.id = (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow;
        stamp.size = (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
        stamp.modified = plat_filetime_of(info.ftLastWriteTime);
    }
    CloseHandle(handle);
    return stamp;
}

bool plat_path_find(const char *path, bool *ret_there, uint64_t *ret_bytes, struct error *err)
{
    wchar_t *wide = plat_wide_path(path, err);
    if (!wide) {
        return false;
    }
    /* opened, because NTFS reports stale data by name for a file that is being written */
    HANDLE handle = CreateFileW(wide, FILE_READ_ATTRIBUTES,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
        FILE_FLAG_BACKUP_SEMANTICS, NULL);
    DWORD code = GetLastError();
    free(wide);
    if (handle == INVALID_HANDLE_VALUE) {
        if (code != ERROR_FILE_NOT_FOUND && code != ERROR_PATH_NOT_FOUND) {
            return plat_wide_error(err, code, path, "cannot read its attributes");
        }
        *ret_there = false;
        *ret_bytes = 0;
        return true;
    }
    BY_HANDLE_FILE_INFORMATION info;
    bool good = GetFileInformationByHandle(handle, &info);
    code = GetLastError();
    CloseHandle(handle);
    if (!good) {
        return plat_wide_error(err, code, path, "cannot read its attributes");
    }
    *ret_there = !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY);
    *ret_bytes = *ret_there ? (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow : 0;
    return true;
}

/* FILE_RENAME_FLAG_* and FileRenameInfoEx of winbase.h, which mingw-w64 lacks. */
enum { REPLACE_IF_EXISTS = 1, POSIX_SEMANTICS = 2, RENAME_INFO_EX = 22 };

/* MoveFileEx does not replace an open file. Windows 10 1709 and later do if asked in this way and
 * if the file was opened with sharing of deletion. NTFS writes the new name to the disk before the
 * call returns if the handle is one for writing through (createfilew, "Caching Behavior"). */
static bool rename_over_open(const wchar_t *from, const wchar_t *to)
{
    size_t name_bytes = wcslen(to) * sizeof(*to);
    size_t size = sizeof(FILE_RENAME_INFO) + name_bytes;
    FILE_RENAME_INFO *info = calloc(1, size);
    HANDLE handle = CreateFileW(from, DELETE | SYNCHRONIZE,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
        FILE_FLAG_WRITE_THROUGH, NULL);
    bool good = false;
    if (info && handle != INVALID_HANDLE_VALUE) {
        DWORD flags = REPLACE_IF_EXISTS | POSIX_SEMANTICS;
        memcpy(info, &flags, sizeof(flags)); /* a union; its older member is one byte */
        info->FileNameLength = (DWORD)name_bytes;
        memcpy(info->FileName, to, name_bytes);
        good = SetFileInformationByHandle(
            handle, (FILE_INFO_BY_HANDLE_CLASS)RENAME_INFO_EX, info, (DWORD)size);
    }
    if (handle != INVALID_HANDLE_VALUE) {
        CloseHandle(handle);
    }
    free(info);
    return good;
}

bool plat_path_rename_with(const wchar_t *from, const wchar_t *to, DWORD replacing,
    void(WINAPI *pause)(DWORD ms), DWORD *ret_code)
{
    const DWORD longest_ms = 160;
    for (DWORD pause_ms = 10;; pause_ms *= 2) {
        if (MoveFileExW(from, to, replacing | MOVEFILE_WRITE_THROUGH)) {
            return true;
        }
        DWORD code = GetLastError();
        if (replacing && code == ERROR_ACCESS_DENIED && rename_over_open(from, to)) {
            return true;
        }
        bool is_held = code == ERROR_ACCESS_DENIED || code == ERROR_SHARING_VIOLATION;
        if (!is_held || pause_ms > longest_ms) {
            *ret_code = code;
            return false;
        }
        pause(pause_ms);
    }
}

bool plat_path_rename(const char *from, const char *to, struct error *err)
{
    wchar_t *old_name = plat_wide_path(from, err);
    wchar_t *new_name = old_name ? plat_wide_path(to, err) : NULL;
    bool good = false;
    if (new_name) {
        DWORD code = 0;
        good = plat_path_rename_with(old_name, new_name, MOVEFILE_REPLACE_EXISTING, Sleep, &code) ||
               plat_wide_error(err, code, from, "cannot be renamed");
    }
    free(new_name);
    free(old_name);
    return good;
}

bool plat_path_rename_new(const char *from, const char *to, struct error *err)
{
    wchar_t *old_name = plat_wide_path(from, err);
    wchar_t *new_name = old_name ? plat_wide_path(to, err) : NULL;
    bool good = false;
    if (new_name) {
        DWORD code = 0;
        good = plat_path_rename_with(old_name, new_name, 0, Sleep, &code);
        if (!good && (code == ERROR_ALREADY_EXISTS || code == ERROR_FILE_EXISTS)) {
            error_set(err, ERR_BUSY, "%s: cannot be renamed to %s, which already exists", from, to);
        } else if (!good) {
            plat_wide_error(err, code, from, "cannot be renamed");
        }
    }
    free(new_name);
    free(old_name);
    return good;
}

bool plat_path_remove(const char *path, struct error *err)
{
    wchar_t *wide = plat_wide_path(path, err);
    if (!wide) {
        return false;
    }
    bool good = DeleteFileW(wide);
    DWORD code = GetLastError();
    free(wide);
    return good || code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND ||
           plat_wide_error(err, code, path, "cannot be removed");
}

bool plat_path_absolute(const char *path, char *ret_path, size_t capacity, struct error *err)
{
    wchar_t *wide = plat_wide_text(path, err);
    DWORD room = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
    wchar_t *full = room ? malloc(room * sizeof(*full)) : NULL;
    DWORD units = full ? GetFullPathNameW(wide, room, full, NULL) : 0;
    char *text = units && units < room ? plat_wide_to_utf8(full) : NULL;
    bool good = text && strlen(text) < capacity;
    if (good) {
        memcpy(ret_path, text, strlen(text) + 1);
    } else if (wide) {
        error_set(err, ERR_LIMIT, "%.200s: the path is too long or invalid", path);
    }
    free(text);
    free(full);
    free(wide);
    return good;
}

bool plat_path_sync_folder(const char *folder, struct error *err)
{
    (void)folder;
    (void)err;
    return true; /* NTFS journals names; renaming above writes through */
}

static uint64_t read_holder(HANDLE handle)
{
    char text[32];
    DWORD got = 0;
    if (!ReadFile(handle, text, sizeof(text) - 1, &got, NULL)) {
        return 0;
    }
    text[got] = '\0';
    return strtoull(text, NULL, 10);
}

static bool write_holder(HANDLE handle)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%lu\r\n", GetCurrentProcessId());
    DWORD written = 0;
    return SetEndOfFile(handle) && WriteFile(handle, text, (DWORD)size, &written, NULL);
}

static struct plat_lock *take(
    HANDLE handle, const char *path, uint64_t *ret_holder, struct error *err)
{
    OVERLAPPED at = {.Offset = LOCKED_BYTE};
    if (!LockFileEx(handle, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)) {
        DWORD code = GetLastError();
        if (code == ERROR_LOCK_VIOLATION || code == ERROR_IO_PENDING) {
            *ret_holder = read_holder(handle);
            error_set(err, ERR_STOPPED, "%s: held by another process", path);
        } else {
            plat_wide_error(err, code, path, "cannot lock");
        }
        return NULL;
    }
    struct plat_lock *lock = malloc(sizeof(*lock));
    if (!lock) {
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    if (!write_holder(handle)) {
        plat_wide_error(err, GetLastError(), path, "cannot write");
        free(lock);
        return NULL;
    }
    lock->handle = handle;
    return lock;
}

struct plat_lock *plat_lock_take(const char *path, uint64_t *ret_holder, struct error *err)
{
    wchar_t *wide = plat_wide_path(path, err);
    if (!wide) {
        return NULL;
    }
    HANDLE handle = CreateFileW(wide, GENERIC_READ | GENERIC_WRITE,
        FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    DWORD code = GetLastError();
    free(wide);
    if (handle == INVALID_HANDLE_VALUE) {
        plat_wide_error(err, code, path, "cannot open");
        return NULL;
    }
    struct plat_lock *lock = take(handle, path, ret_holder, err);
    if (!lock) {
        CloseHandle(handle);
    }
    return lock;
}

void plat_lock_drop(struct plat_lock *lock)
{
    if (lock) {
        CloseHandle(lock->handle);
        free(lock);
    }
}
