#include "etw/etw_api.h"

#include <string.h>
#include <windows.h>

/*
 * Functions are looked up when the process first needs them, by name, so that one missing function
 * never keeps the agent from starting. Sessions and consumers live in sechost since Windows 8, where
 * advapi32 only hands on; providers are in advapi32 alone, and schemas in tdh.
 *
 * Wine exports functions that it does not have, too: calling one ends the process. Those that are
 * known are left out where they are Wine's.
 */
static const char *const dlls[] = {"sechost.dll", "advapi32.dll", "tdh.dll"};

/* Wine marks the DLLs that are its own after their DOS header (its dlls/ntdll/loader.c). */
static bool is_of_wine(HMODULE module)
{
    static const char mark[] = "Wine builtin DLL";
    return memcmp((const char *)module + sizeof(IMAGE_DOS_HEADER), mark, sizeof(mark)) == 0;
}

/* Wine 8: advapi32.spec, sechost.spec, tdh.spec. */
static bool is_trap_of_wine(const char *name)
{
    return strncmp(name, "Tdh", 3) == 0 || strcmp(name, "EnumerateTraceGuidsEx") == 0 ||
           strcmp(name, "TraceQueryInformation") == 0;
}

static FARPROC find(HMODULE *modules, const char *name)
{
    for (size_t i = 0; i < sizeof(dlls) / sizeof(dlls[0]); i++) {
        FARPROC function = modules[i] ? GetProcAddress(modules[i], name) : NULL;
        if (function && !(is_of_wine(modules[i]) && is_trap_of_wine(name))) {
            return function;
        }
    }
    return NULL;
}

static uint32_t last_error(void)
{
    return GetLastError();
}

/* The time between two looks at the counter, of the closest pair of a few. */
static void now(int64_t *ret_counter, uint64_t *ret_filetime)
{
    enum { TRIES = 5 };
    int64_t closest = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        LARGE_INTEGER before;
        LARGE_INTEGER after;
        FILETIME time;
        QueryPerformanceCounter(&before);
        GetSystemTimePreciseAsFileTime(&time);
        QueryPerformanceCounter(&after);
        if (after.QuadPart - before.QuadPart < closest) {
            closest = after.QuadPart - before.QuadPart;
            *ret_counter = before.QuadPart + closest / 2;
            *ret_filetime = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
        }
    }
}

static uint64_t frequency(void)
{
    LARGE_INTEGER frequency;
    return QueryPerformanceFrequency(&frequency) ? (uint64_t)frequency.QuadPart : 0;
}

void etw_load(struct etw_api *api)
{
    HMODULE modules[sizeof(dlls) / sizeof(dlls[0])];
    for (size_t i = 0; i < sizeof(dlls) / sizeof(dlls[0]); i++) {
        modules[i] = LoadLibraryExA(dlls[i], NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    }
#define ETW_CALL(result, name, parameters) \
    api->name = (result(*) parameters)(void (*)(void))find(modules, #name);
#include "etw/etw_calls.def"
#undef ETW_CALL
    api->last_error = last_error;
    api->now = now;
    api->frequency = frequency;
}
