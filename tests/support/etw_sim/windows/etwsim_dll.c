#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include "support/etw_sim/sim_world_file.h"

/*
 * etwsim.dll: the simulated Windows for foreign programs (etwsim.def has the names). It is one
 * machine per process, made from the file that ETWSIM_WORLD names when a function is called for the
 * first time, and never ended: the process' end ends it. With the port of a machine in
 * ETWSIM_MACHINE it is that one's sessions that the program starts and finds.
 */
static CRITICAL_SECTION lock; /* recursive: making the world calls its functions */
static bool begun;
static atomic_bool whole;

static void set_last_error(uint32_t code)
{
    SetLastError(code);
}

static uint32_t thread_id(void)
{
    return GetCurrentThreadId();
}

static void warn(void *self, const char *text)
{
    (void)self;
    fprintf(stderr, "etwsim: %s\n", text);
}

/* The port of a machine that is shared (sim_machine.h), or 0. */
static uint16_t machine_port(void)
{
    char text[16] = "";
    DWORD size = GetEnvironmentVariableA("ETWSIM_MACHINE", text, sizeof(text));
    return size > 0 && size < sizeof(text) ? (uint16_t)strtoul(text, NULL, 10) : 0;
}

static void make_world(void)
{
    char path[4096] = "";
    DWORD size = GetEnvironmentVariableA("ETWSIM_WORLD", path, sizeof(path));
    LARGE_INTEGER frequency;
    LARGE_INTEGER counter;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&counter);
    const struct etw_sim_options base = {.own_process = GetCurrentProcessId(),
        .perf_frequency = (uint64_t)frequency.QuadPart, /* programs look at the counter, too */
        .perf_counter = (uint64_t)counter.QuadPart,
        .own_image = "client.exe",
        .machine = machine_port(),
        .set_last_error = set_last_error,
        .thread_id = thread_id};
    struct error err = {0};
    bool named = size > 0 && size < sizeof(path);
    if (!sim_world_create(named ? path : NULL, &base, warn, NULL, &err)) {
        /* A program that asked for a world must not continue in another one. */
        fprintf(stderr, "etwsim: %s\n", err.text);
        ExitProcess(1);
    }
}

/* Others wait at the lock until it is whole. */
static void make_world_once(void)
{
    if (atomic_load(&whole)) {
        return;
    }
    DWORD last = GetLastError();
    EnterCriticalSection(&lock);
    if (!begun) {
        begun = true;
        make_world();
        atomic_store(&whole, true);
    }
    LeaveCriticalSection(&lock);
    SetLastError(last);
}

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved);

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved)
{
    (void)instance;
    (void)reserved;
    if (reason == DLL_PROCESS_ATTACH) {
        InitializeCriticalSection(&lock);
        etw_sim_on_demand(make_world_once);
    }
    return TRUE;
}
