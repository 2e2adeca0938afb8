#include "platform/plat_tree.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "platform/windows/plat_wide.h"

enum { MAX_UNITS = 32768, MAX_DEPTH = 128 };

struct walk {
    wchar_t path[MAX_UNITS]; /* current path; names are appended and removed */
    size_t units;
    struct error *err;
    bool good;
};

static void note(struct walk *walk, DWORD code)
{
    if (walk->good) {
        char *path = plat_wide_to_utf8(walk->path);
        walk->good = plat_wide_error(walk->err, code, path ? path : "?", "cannot be removed");
        free(path);
    }
}

static bool is_gone(DWORD code)
{
    return code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
}

static void remove_here(struct walk *walk, DWORD attributes)
{
    if (attributes & FILE_ATTRIBUTE_READONLY) {
        SetFileAttributesW(walk->path, attributes & ~(DWORD)FILE_ATTRIBUTE_READONLY);
    }
    /* a link to a folder is an empty folder */
    BOOL done = attributes & FILE_ATTRIBUTE_DIRECTORY ? RemoveDirectoryW(walk->path)
                                                      : DeleteFileW(walk->path);
    DWORD code = GetLastError();
    if (!done && !is_gone(code)) {
        note(walk, code);
    }
}

static bool enter(struct walk *walk, const wchar_t *name)
{
    size_t length = wcslen(name);
    if (walk->units + 1 + length >= MAX_UNITS) {
        note(walk, ERROR_FILENAME_EXCED_RANGE);
        return false;
    }
    walk->path[walk->units] = L'\\';
    memcpy(walk->path + walk->units + 1, name, (length + 1) * sizeof(*name));
    walk->units += 1 + length;
    return true;
}

static void leave(struct walk *walk, size_t units)
{
    walk->units = units;
    walk->path[units] = L'\0';
}

static void remove_tree(struct walk *walk, DWORD attributes, int depth);

static void empty_folder(struct walk *walk, int depth)
{
    size_t units = walk->units;
    WIN32_FIND_DATAW found;
    if (!enter(walk, L"*")) {
        return;
    }
    HANDLE search = FindFirstFileW(walk->path, &found);
    DWORD code = GetLastError();
    leave(walk, units);
    if (search == INVALID_HANDLE_VALUE) {
        if (!is_gone(code)) {
            note(walk, code);
        }
        return;
    }
    do {
        bool is_dots = wcscmp(found.cFileName, L".") == 0 || wcscmp(found.cFileName, L"..") == 0;
        if (!is_dots && enter(walk, found.cFileName)) {
            remove_tree(walk, found.dwFileAttributes, depth + 1);
            leave(walk, units);
        }
    } while (FindNextFileW(search, &found));
    FindClose(search);
}

/* Our folders are never deeper; deeper ones are reported instead of removed. */
// NOLINTNEXTLINE(misc-no-recursion)
static void remove_tree(struct walk *walk, DWORD attributes, int depth)
{
    bool is_folder = attributes & FILE_ATTRIBUTE_DIRECTORY;
    bool is_link = attributes & FILE_ATTRIBUTE_REPARSE_POINT;
    if (is_folder && !is_link && depth < MAX_DEPTH) {
        empty_folder(walk, depth);
    }
    remove_here(walk, attributes);
}

bool plat_tree_remove(const char *path, struct error *err)
{
    wchar_t *wide = plat_wide_path(path, err);
    struct walk *walk = wide ? malloc(sizeof(*walk)) : NULL;
    if (!walk) {
        free(wide);
        return wide ? error_set(err, ERR_MEMORY, "%s: out of memory", path) : false;
    }
    walk->units = wcslen(wide);
    walk->err = err;
    walk->good = walk->units < MAX_UNITS;
    if (walk->good) {
        memcpy(walk->path, wide, (walk->units + 1) * sizeof(*wide));
        DWORD attributes = GetFileAttributesW(wide);
        if (attributes != INVALID_FILE_ATTRIBUTES) {
            remove_tree(walk, attributes, 0);
        } else if (!is_gone(GetLastError())) {
            note(walk, GetLastError());
        }
    } else {
        error_set(err, ERR_LIMIT, "%.200s: the path is too long", path);
    }
    bool good = walk->good;
    free(walk);
    free(wide);
    return good;
}
