#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_PATH_OWN_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_PATH_OWN_H

#include <stdbool.h>
#include <windows.h>

/*
 * What plat_path_rename (${replacing}: MOVEFILE_REPLACE_EXISTING) and plat_path_rename_new (0) do.
 * False: ${ret_code} has the reason.
 *
 * Virus scanners and indexers open a file when it was written, without sharing, and close it soon.
 * So two errors may be gone a moment later (github.com/golang/go/issues/16882,
 * github.com/Icinga/icinga2/pull/8691). The call tries again after each of five pauses, a third of
 * a second together. ${pause} is Sleep, or a test's own.
 */
bool plat_path_rename_with(const wchar_t *from, const wchar_t *to, DWORD replacing,
    void(WINAPI *pause)(DWORD ms), DWORD *ret_code);

#endif
