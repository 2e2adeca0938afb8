#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_FILETIME_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_FILETIME_H

#include <stdint.h>
#include <windows.h>

/* FILETIMEs of Windows as numbers. Only for folders named windows. */

static inline uint64_t plat_filetime_of(FILETIME time)
{
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

/* When the process began; 0: the handle does not tell. */
static inline uint64_t plat_filetime_began(HANDLE process)
{
    FILETIME began;
    FILETIME unused[3];
    return GetProcessTimes(process, &began, &unused[0], &unused[1], &unused[2])
               ? plat_filetime_of(began)
               : 0;
}

#endif
