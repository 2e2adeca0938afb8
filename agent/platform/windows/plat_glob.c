#include <windows.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text/glob.h"
#include "platform/plat_dir_list.h"
#include "platform/windows/plat_file_own.h"
#include "platform/windows/plat_wide.h"

static bool is_separator(wchar_t c)
{
    return c == L'\\' || c == L'/';
}

static bool is_folder(const wchar_t *path)
{
    DWORD attributes = GetFileAttributesW(path);
    return attributes != INVALID_FILE_ATTRIBUTES && attributes & FILE_ATTRIBUTE_DIRECTORY;
}

/* Create ${path} and its missing parents with ${attributes}, which may be NULL. */
static bool create(const char *path, SECURITY_ATTRIBUTES *attributes, struct error *err)
{
    wchar_t *wide = plat_wide_path(path, err);
    if (!wide) {
        return false;
    }
    bool good = true;
    size_t units = wcslen(wide);
    for (size_t i = 4; good && i <= units; i++) {
        if (wide[i] && !is_separator(wide[i])) {
            continue;
        }
        wchar_t kept = wide[i];
        wide[i] = L'\0';
        /* the first parts, \\?\C: and \\?\UNC\host, cannot be created and need not be: only the
         * last part decides */
        bool made = CreateDirectoryW(wide, attributes);
        DWORD code = GetLastError();
        if (!made && i == units && !is_folder(wide)) {
            good = plat_wide_error(err, code, path, "cannot make this folder");
        }
        wide[i] = kept;
    }
    /* "x\": the last part was empty, so the one before it decides */
    if (good && !is_folder(wide)) {
        good = plat_wide_error(err, ERROR_PATH_NOT_FOUND, path, "cannot make this folder");
    }
    free(wide);
    return good;
}

bool plat_dir_create(const char *path, struct error *err)
{
    return create(path, NULL, err);
}

bool plat_dir_create_private(const char *path, struct error *err)
{
    SECURITY_ATTRIBUTES attributes = {
        .nLength = sizeof(attributes), .lpSecurityDescriptor = plat_file_private()};
    if (!attributes.lpSecurityDescriptor) {
        return error_set(err, ERR_IO, "%s: cannot determine the owner of this folder", path);
    }
    bool good = create(path, &attributes, err);
    LocalFree(attributes.lpSecurityDescriptor);
    return good;
}

enum plat_path_kind plat_path_kind(const char *path)
{
    wchar_t *wide = plat_wide_path(path, NULL);
    if (!wide) {
        return PLAT_PATH_NONE;
    }
    DWORD attributes = GetFileAttributesW(wide);
    free(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        return PLAT_PATH_NONE;
    }
    return attributes & FILE_ATTRIBUTE_DIRECTORY ? PLAT_PATH_DIR : PLAT_PATH_FILE;
}

static enum glob_kind kind_of_entry(const WIN32_FIND_DATAW *entry)
{
    if (!(entry->dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)) {
        return GLOB_FILE;
    }
    /* only links among the reparse points lead elsewhere: OneDrive folders have one, too */
    bool is_link = entry->dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT &&
                   (entry->dwReserved0 == IO_REPARSE_TAG_SYMLINK ||
                       entry->dwReserved0 == IO_REPARSE_TAG_MOUNT_POINT);
    return is_link ? GLOB_DIR_LINK : GLOB_DIR;
}

/* ${folder}\* for FindFirstFile; the caller frees it. */
static wchar_t *everything_in(const char *folder, struct error *err)
{
    wchar_t *wide = plat_wide_path(folder, err);
    if (!wide) {
        return NULL;
    }
    size_t units = wcslen(wide);
    wchar_t *longer = realloc(wide, (units + 3) * sizeof(*wide));
    if (!longer) {
        free(wide);
        error_set(err, ERR_MEMORY, "%s: out of memory", folder);
        return NULL;
    }
    if (units && !is_separator(longer[units - 1])) {
        longer[units++] = L'\\';
    }
    memcpy(longer + units, L"*", 2 * sizeof(*longer));
    return longer;
}

/* False to stop, or with ${*ret_good} false if memory is short. */
static bool give(const WIN32_FIND_DATAW *entry, glob_entry_fn *each, void *self, bool *ret_good)
{
    if (wcscmp(entry->cFileName, L".") == 0 || wcscmp(entry->cFileName, L"..") == 0) {
        return true;
    }
    char *name = plat_wide_to_utf8(entry->cFileName);
    if (!name) {
        *ret_good = false;
        return false;
    }
    bool more = each(self, name, kind_of_entry(entry));
    free(name);
    return more;
}

bool plat_dir_list(const char *folder, glob_entry_fn *each, void *self, struct error *err)
{
    wchar_t *all = everything_in(folder, err);
    if (!all) {
        return false;
    }
    WIN32_FIND_DATAW entry;
    HANDLE find = FindFirstFileExW(all, FindExInfoBasic, &entry, FindExSearchNameMatch, NULL, 0);
    DWORD code = GetLastError();
    free(all);
    if (find == INVALID_HANDLE_VALUE) {
        /* the root of an empty drive lacks even "." */
        return code == ERROR_FILE_NOT_FOUND ||
               plat_wide_error(err, code, folder, "cannot read this folder");
    }
    bool good = true;
    while (give(&entry, each, self, &good)) {
        if (!FindNextFileW(find, &entry)) {
            code = GetLastError();
            good = code == ERROR_NO_MORE_FILES ||
                   plat_wide_error(err, code, folder, "cannot read this folder");
            FindClose(find);
            return good;
        }
    }
    FindClose(find);
    return good || error_set(err, ERR_MEMORY, "%s: out of memory", folder);
}

bool plat_glob(
    const char *pattern, bool (*each)(void *self, const char *path), void *self, struct error *err)
{
    static const struct glob_fs fs = {
        .separators = "\\/", .fold_case = true, .kind = plat_dir_kind, .list = plat_dir_list};
    return glob_run(pattern, &fs, each, self, err);
}
