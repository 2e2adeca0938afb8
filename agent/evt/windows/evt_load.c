#include <string.h>
#include <windows.h>

#include "evt/evt_api.h"

/*
 * Functions are looked up by name at the first use, so that a missing one never keeps the agent
 * from starting. The functions of Wine's wevtapi.dll are stubs without results, so none is looked
 * up there.
 */

/* Wine writes a mark after the DOS header of its own DLLs (its dlls/ntdll/loader.c). */
static bool is_of_wine(HMODULE module)
{
    static const char mark[] = "Wine builtin DLL";
    return memcmp((const char *)module + sizeof(IMAGE_DOS_HEADER), mark, sizeof(mark)) == 0;
}

static uint32_t last_error(void)
{
    return GetLastError();
}

static uint32_t locale(const evt_char *name)
{
    return LocaleNameToLCID((const wchar_t *)name, 0);
}

static evt_handle make_signal(void)
{
    return CreateEventW(NULL, FALSE, FALSE, NULL);
}

static void raise_signal(evt_handle signal)
{
    SetEvent(signal);
}

static void wait_signal(evt_handle signal, uint32_t timeout_ms)
{
    WaitForSingleObject(signal, timeout_ms);
}

static void close_signal(evt_handle signal)
{
    CloseHandle(signal);
}

void evt_load(struct evt_api *api)
{
    HMODULE module = LoadLibraryExA("wevtapi.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (!module || is_of_wine(module)) {
        return;
    }
#define EVT_CALL(result, name, parameters) \
    api->name = (result(*) parameters)(void (*)(void))GetProcAddress(module, #name);
#include "evt/evt_calls.def"
#undef EVT_CALL
    api->last_error = last_error;
    api->locale = locale;
    api->make_signal = make_signal;
    api->raise_signal = raise_signal;
    api->wait_signal = wait_signal;
    api->close_signal = close_signal;
}
