#include "platform/windows/plat_wide.h"

#include <stdlib.h>
#include <string.h>
#include <windows.h>

static wchar_t *no_memory(struct error *err, const char *text)
{
    error_set(err, ERR_MEMORY, "%s: out of memory", text);
    return NULL;
}

wchar_t *plat_wide_text(const char *text, struct error *err)
{
    int units = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    if (units <= 0) {
        error_set(err, ERR_CONFIG, "%s: not UTF-8", text);
        return NULL;
    }
    wchar_t *wide = malloc((size_t)units * sizeof(*wide));
    if (!wide) {
        return no_memory(err, text);
    }
    MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, units);
    return wide;
}

/* "Naming Files, Paths, and Namespaces": \\?\C:\x for C:\x, \\?\UNC\host\share for \\host\share;
 * paths that begin with \\?\ or \\.\ are unchanged. */
static wchar_t *with_prefix(const wchar_t *full)
{
    const wchar_t *prefix = L"\\\\?\\";
    if (wcsncmp(full, L"\\\\?\\", 4) == 0 || wcsncmp(full, L"\\\\.\\", 4) == 0) {
        prefix = L"";
    } else if (wcsncmp(full, L"\\\\", 2) == 0) {
        prefix = L"\\\\?\\UNC\\";
        full += 2;
    }
    size_t prefix_units = wcslen(prefix);
    size_t full_units = wcslen(full);
    wchar_t *path = malloc((prefix_units + full_units + 1) * sizeof(*path));
    if (path) {
        memcpy(path, prefix, prefix_units * sizeof(*path));
        memcpy(path + prefix_units, full, (full_units + 1) * sizeof(*path));
    }
    return path;
}

wchar_t *plat_wide_path(const char *path, struct error *err)
{
    if (!*path) {
        error_set(err, ERR_CONFIG, "a path is empty");
        return NULL;
    }
    wchar_t *wide = plat_wide_text(path, err);
    if (!wide) {
        return NULL;
    }
    wchar_t *full = NULL;
    wchar_t *result = NULL;
    DWORD room = GetFullPathNameW(wide, 0, NULL, NULL);
    if (room == 0) {
        plat_wide_error(err, GetLastError(), path, "not a valid path");
        goto done;
    }
    full = malloc(room * sizeof(*full));
    if (!full) {
        no_memory(err, path);
        goto done;
    }
    DWORD units = GetFullPathNameW(wide, room, full, NULL);
    if (units == 0 || units >= room) {
        plat_wide_error(err, GetLastError(), path, "not a valid path");
        goto done;
    }
    result = with_prefix(full);
    if (!result) {
        no_memory(err, path);
    }

done:
    free(full);
    free(wide);
    return result;
}

char *plat_wide_to_utf8(const wchar_t *wide)
{
    int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    if (bytes <= 0) {
        return NULL;
    }
    char *text = malloc((size_t)bytes);
    if (text) {
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, bytes, NULL, NULL);
    }
    return text;
}

bool plat_wide_error(struct error *err, unsigned long code, const char *what, const char *doing)
{
    wchar_t wide[256];
    DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                  FORMAT_MESSAGE_MAX_WIDTH_MASK; /* on one line */
    DWORD units = FormatMessageW(
        flags, NULL, code, 0, wide, (DWORD)(sizeof(wide) / sizeof(wide[0])), NULL);
    while (units > 0 && (wide[units - 1] == L' ' || wide[units - 1] == L'.')) {
        units--;
    }
    char reason[sizeof(wide) / sizeof(wide[0]) * 3 + 1];
    int bytes = WideCharToMultiByte(
        CP_UTF8, 0, wide, (int)units, reason, (int)sizeof(reason) - 1, NULL, NULL);
    reason[bytes > 0 ? bytes : 0] = '\0';
    if (!*reason) {
        return error_set_os(err, (int64_t)code, "system error", "%s: %s", what, doing);
    }
    return error_set_os(err, (int64_t)code, reason, "%s: %s", what, doing);
}
