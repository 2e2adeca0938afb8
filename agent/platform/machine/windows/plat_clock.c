#include "platform/plat_clock.h"

#include <windows.h>

#include "base/filetime.h"
#include "platform/windows/plat_filetime.h"

uint64_t plat_now_filetime(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    return plat_filetime_of(now);
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
    return (int32_t)((int64_t)(plat_filetime_of(moved) - plat_filetime_of(whole)) /
                     (int64_t)FILETIME_PER_S);
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

void plat_sleep_ms(unsigned milliseconds)
{
    Sleep(milliseconds);
}
