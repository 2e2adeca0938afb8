#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "platform/windows/plat_wide.h"
#include "service/windows/service_own.h"

/* ---- the source of events (learn.microsoft.com, "Adding a Source to the Registry") ----------- */

static const wchar_t sources[] = L"SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application";

static uint32_t set_source(HKEY key, const wchar_t *program)
{
    static const DWORD types = EVENTLOG_ERROR_TYPE | EVENTLOG_WARNING_TYPE |
                               EVENTLOG_INFORMATION_TYPE;
    LONG code = RegSetValueExW(key, L"EventMessageFile", 0, REG_EXPAND_SZ, (const BYTE *)program,
        (DWORD)((wcslen(program) + 1) * sizeof(*program)));
    return (uint32_t)(code ? code
                           : RegSetValueExW(key, L"TypesSupported", 0, REG_DWORD,
                                 (const BYTE *)&types, sizeof(types)));
}

static uint32_t add_source(const char *name, const char *program)
{
    wchar_t *wide_name = plat_wide_text(name, NULL);
    wchar_t *wide_program = plat_wide_text(program, NULL);
    HKEY all = NULL;
    HKEY key = NULL;
    LONG code = ERROR_NOT_ENOUGH_MEMORY;
    if (wide_name && wide_program) {
        code = RegOpenKeyExW(HKEY_LOCAL_MACHINE, sources, 0, KEY_CREATE_SUB_KEY, &all);
    }
    if (!code) {
        code = RegCreateKeyExW(all, wide_name, 0, NULL, 0, KEY_SET_VALUE, NULL, &key, NULL);
        RegCloseKey(all);
    }
    if (!code) {
        code = (LONG)set_source(key, wide_program);
        RegCloseKey(key);
    }
    free(wide_program);
    free(wide_name);
    return (uint32_t)code;
}

static uint32_t remove_source(const char *name)
{
    wchar_t *wide_name = plat_wide_text(name, NULL);
    HKEY all;
    LONG code = ERROR_NOT_ENOUGH_MEMORY;
    if (wide_name) {
        code = RegOpenKeyExW(HKEY_LOCAL_MACHINE, sources, 0, KEY_WRITE, &all);
    }
    if (!code) {
        code = RegDeleteKeyW(all, wide_name);
        RegCloseKey(all);
    }
    free(wide_name);
    return code == ERROR_FILE_NOT_FOUND ? ERROR_SUCCESS : (uint32_t)code;
}

/* ---- the note of installations --------------------------------------------------------------- */

/* Only administrators may write there. */
static const wchar_t note_key[] = L"SOFTWARE\\etwship";
static const wchar_t note_value[] = L"SetupNote";

static uint32_t write_note(const wchar_t *text)
{
    HKEY key;
    LONG code = RegCreateKeyExW(
        HKEY_LOCAL_MACHINE, note_key, 0, NULL, 0, KEY_SET_VALUE, NULL, &key, NULL);
    if (!code) {
        code = RegSetValueExW(key, note_value, 0, REG_SZ, (const BYTE *)text,
            (DWORD)((wcslen(text) + 1) * sizeof(*text)));
        RegCloseKey(key);
    }
    return (uint32_t)code;
}

static uint32_t set_note(const char *text)
{
    if (!text) {
        LONG code = RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, note_key, note_value);
        return code == ERROR_FILE_NOT_FOUND ? ERROR_SUCCESS : (uint32_t)code;
    }
    wchar_t *wide = plat_wide_text(text, NULL);
    uint32_t code = wide ? write_note(wide) : ERROR_NOT_ENOUGH_MEMORY;
    free(wide);
    return code;
}

static uint32_t get_note(char **ret_text)
{
    DWORD bytes = 0;
    /* Ends with a NUL, whatever is there (RRF_RT_REG_SZ). */
    LONG code = RegGetValueW(
        HKEY_LOCAL_MACHINE, note_key, note_value, RRF_RT_REG_SZ, NULL, NULL, &bytes);
    wchar_t *wide = code ? NULL : malloc(bytes);
    if (code || !wide) {
        return code ? (uint32_t)code : ERROR_NOT_ENOUGH_MEMORY;
    }
    code = RegGetValueW(
        HKEY_LOCAL_MACHINE, note_key, note_value, RRF_RT_REG_SZ, NULL, wide, &bytes);
    *ret_text = code ? NULL : plat_wide_to_utf8(wide);
    free(wide);
    return code ? (uint32_t)code : *ret_text ? ERROR_SUCCESS : ERROR_NOT_ENOUGH_MEMORY;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static char *program(void)
{
    enum { MAX_UNITS = 32768 };
    wchar_t *wide = malloc(MAX_UNITS * sizeof(*wide));
    char *path = NULL;
    if (wide) {
        DWORD units = GetModuleFileNameW(NULL, wide, MAX_UNITS);
        path = units > 0 && units < MAX_UNITS ? plat_wide_to_utf8(wide) : NULL;
    }
    free(wide);
    return path;
}

static char *absolute(const char *path)
{
    wchar_t *wide = plat_wide_text(path, NULL);
    DWORD room = wide ? GetFullPathNameW(wide, 0, NULL, NULL) : 0;
    wchar_t *full = room ? malloc(room * sizeof(*full)) : NULL;
    char *result = NULL;
    if (full) {
        DWORD units = GetFullPathNameW(wide, room, full, NULL);
        result = units > 0 && units < room ? plat_wide_to_utf8(full) : NULL;
    }
    free(full);
    free(wide);
    return result;
}

void service_load(struct service_api *api)
{
    service_manager_load(api);
    service_process_load(api);
    api->add_source = add_source;
    api->remove_source = remove_source;
    api->set_log_user = service_group_set_log_user;
    api->set_note = set_note;
    api->get_note = get_note;
    api->program = program;
    api->absolute = absolute;
}
