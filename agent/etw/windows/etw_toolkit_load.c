#include <string.h>
#include <windows.h>

#include "etw/etw_toolkit.h"

/*
 * The registry has the SDK's folder. It must be below Program Files, since an administrator may
 * have installed it where others can write.
 */
static bool read_text(const wchar_t *key, const wchar_t *name, wchar_t text[MAX_PATH])
{
    static const DWORD views[] = {RRF_SUBKEY_WOW6464KEY, RRF_SUBKEY_WOW6432KEY};
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
        DWORD bytes = MAX_PATH * sizeof(*text);
        if (RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ | views[i], NULL, text,
                &bytes) == ERROR_SUCCESS) {
            return true;
        }
    }
    return false;
}

/* True if ${path} is below the folder in the value ${name} of CurrentVersion, and not outside it by
 * `..`. */
static bool is_in(const wchar_t *path, const wchar_t *name)
{
    wchar_t folder[MAX_PATH];
    if (!read_text(L"SOFTWARE\\Microsoft\\Windows\\CurrentVersion", name, folder)) {
        return false;
    }
    size_t size = wcslen(folder);
    return size > 3 && _wcsnicmp(path, folder, size) == 0 && path[size] == L'\\' &&
           !wcsstr(path, L"..");
}

static bool find(wchar_t path[MAX_PATH])
{
    static const wchar_t file[] = L"Windows Performance Toolkit\\KernelTraceControl.dll";
    if (!read_text(L"SOFTWARE\\Microsoft\\Windows Kits\\Installed Roots", L"KitsRoot10", path)) {
        return false;
    }
    size_t size = wcslen(path);
    bool has_end = size && path[size - 1] == L'\\';
    if (size + 1 + sizeof(file) / sizeof(file[0]) > MAX_PATH) {
        return false;
    }
    wcscat(path, has_end ? file : L"\\");
    if (!has_end) {
        wcscat(path, file);
    }
    return is_in(path, L"ProgramFilesDir") || is_in(path, L"ProgramFilesDir (x86)");
}

void etw_toolkit_load(struct etw_toolkit_api *api)
{
    wchar_t path[MAX_PATH];
    HMODULE module = find(path)
                         ? LoadLibraryExW(path, NULL,
                               LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32)
                         : NULL;
    FARPROC start = module ? GetProcAddress(module, "StartHeapTrace") : NULL;
    FARPROC update = module ? GetProcAddress(module, "UpdateHeapTrace") : NULL;
    memcpy(&api->StartHeapTrace, &start, sizeof(start));
    memcpy(&api->UpdateHeapTrace, &update, sizeof(update));
}
