#include "platform/plat_system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* After windows.h, on which it depends. */
#include <psapi.h>

#include "platform/windows/plat_cng.h"
#include "platform/windows/plat_wide.h"

static uint64_t ticks_of(FILETIME time)
{
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

uint64_t plat_now_filetime(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    return ticks_of(now);
}

int32_t plat_local_offset(uint64_t filetime)
{
    const FILETIME when = {
        .dwLowDateTime = (DWORD)filetime, .dwHighDateTime = (DWORD)(filetime >> 32)};
    SYSTEMTIME utc;
    SYSTEMTIME local;
    FILETIME moved;
    if (!FileTimeToSystemTime(&when, &utc) ||
        !SystemTimeToTzSpecificLocalTime(NULL, &utc, &local) ||
        !SystemTimeToFileTime(&local, &moved)) {
        return 0;
    }
    /* SYSTEMTIME has milliseconds, so both are converted */
    FILETIME whole;
    SystemTimeToFileTime(&utc, &whole);
    return (int32_t)(((int64_t)ticks_of(moved) - (int64_t)ticks_of(whole)) / 10000000);
}

uint64_t plat_monotonic_ns(void)
{
    LARGE_INTEGER frequency; /* fixed at boot */
    LARGE_INTEGER count;
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&count);
    uint64_t f = (uint64_t)frequency.QuadPart;
    uint64_t c = (uint64_t)count.QuadPart;
    return c / f * 1000000000 + c % f * 1000000000 / f;
}

uint64_t plat_cpu_ns(void)
{
    FILETIME created;
    FILETIME ended;
    FILETIME kernel;
    FILETIME user;
    if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &kernel, &user)) {
        return 0;
    }
    return (ticks_of(kernel) + ticks_of(user)) * 100;
}

uint64_t plat_peak_rss_bytes(void)
{
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof(counters)};
    if (!GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters))) {
        return 0;
    }
    return counters.PeakWorkingSetSize;
}

uint32_t plat_process_id(void)
{
    return GetCurrentProcessId();
}

bool plat_process_runs(uint32_t pid)
{
    HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, pid);
    if (!process) {
        return GetLastError() == ERROR_ACCESS_DENIED;
    }
    bool runs = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
    CloseHandle(process);
    return runs;
}

bool plat_process_image(uint32_t pid, uint64_t time, char *path, size_t size)
{
    FILETIME started = {0};
    FILETIME unused;
    wchar_t wide[1024];
    DWORD length = sizeof(wide) / sizeof(wide[0]);
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, pid);
    if (!process) {
        return false;
    }
    bool known = GetProcessTimes(process, &started, &unused, &unused, &unused) &&
                 ((uint64_t)started.dwHighDateTime << 32 | started.dwLowDateTime) <= time &&
                 QueryFullProcessImageNameW(process, 0, wide, &length);
    CloseHandle(process);
    char *text = known ? plat_wide_to_utf8(wide) : NULL;
    known = text && snprintf(path, size, "%s", text) < (int)size;
    free(text);
    return known;
}

void plat_host_name(char *name, size_t size)
{
    if (size == 0) {
        return;
    }
    name[0] = '\0';
    DWORD units = 0;
    GetComputerNameExW(ComputerNameDnsHostname, NULL, &units);
    wchar_t *wide = units ? malloc(units * sizeof(*wide)) : NULL;
    char *text = NULL;
    if (wide && GetComputerNameExW(ComputerNameDnsHostname, wide, &units)) {
        text = plat_wide_to_utf8(wide);
    }
    if (text) {
        struct span cut = span_first(span_text(text), size - 1);
        memcpy(name, cut.data, cut.size);
        name[cut.size] = '\0';
    }
    free(text);
    free(wide);
}

bool plat_random(void *data, size_t size, struct error *err)
{
    enum { MAX_CALL_BYTES = 65536, SYSTEM_PREFERRED = 2 };
    LONG(WINAPI * random)(void *algorithm, UCHAR *data, ULONG size, ULONG flags);
    const struct plat_cng_function function = {"BCryptGenRandom", &random};
    if (!plat_cng_find(&function, 1, err)) {
        return false;
    }
    while (size) {
        ULONG want = size < MAX_CALL_BYTES ? (ULONG)size : MAX_CALL_BYTES;
        LONG status = random(NULL, data, want, SYSTEM_PREFERRED);
        if (status < 0) {
            return error_set_os(err, status, "BCryptGenRandom failed",
                "cannot get random numbers (0x%08lx)", status);
        }
        data = (uint8_t *)data + want;
        size -= want;
    }
    return true;
}

static HANDLE console_of(int stream)
{
    return GetStdHandle(stream == 2 ? STD_ERROR_HANDLE : STD_OUTPUT_HANDLE);
}

bool plat_has_etw(void)
{
    return true;
}

bool plat_is_terminal(int stream)
{
    DWORD mode;
    return GetConsoleMode(console_of(stream), &mode);
}

void plat_sleep_ms(unsigned milliseconds)
{
    Sleep(milliseconds);
}

bool plat_no_color(void)
{
    const wchar_t *value = _wgetenv(L"NO_COLOR");
    return value && *value;
}

/* The ProgramData folder followed by ${below}. */
static const char *below_program_data(char *path, size_t size, struct span below)
{
    const wchar_t *value = _wgetenv(L"ProgramData");
    char *folder = plat_wide_to_utf8(value && *value ? value : L"C:\\ProgramData");
    struct span cut = span_first(span_text(folder), size - below.size - 1);
    if (cut.size) {
        memcpy(path, cut.data, cut.size);
    }
    memcpy(path + cut.size, below.data, below.size);
    path[cut.size + below.size] = 0;
    free(folder);
    return path;
}

enum { DEFAULT_PATH_BYTES = MAX_PATH * 3 + 64 };

const char *plat_default_config_path(void)
{
    static char path[DEFAULT_PATH_BYTES];
    return below_program_data(path, sizeof(path), span_text("\\etwship\\config\\etwship.yaml"));
}

const char *plat_default_data_folder(void)
{
    static char path[DEFAULT_PATH_BYTES];
    return below_program_data(path, sizeof(path), span_text("\\etwship"));
}
