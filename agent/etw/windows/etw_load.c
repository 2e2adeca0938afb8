#include "etw/etw_api.h"

#include <string.h>
#include <windows.h>

/*
 * Functions are resolved by name on first use, so that a missing function never keeps the agent
 * from starting. Sessions and consumers are in sechost since Windows 8, to which advapi32 forwards;
 * providers are in advapi32 only, and schemas in tdh.
 *
 * Wine also exports functions that it lacks, which end the process when called. Known ones are left
 * out under Wine.
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

/* The time between two readings of the counter, for the closest of a few pairs. */
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
