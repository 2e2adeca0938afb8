#ifndef ETWSHIP_PLATFORM_PLAT_PROCESSES_H
#define ETWSHIP_PLATFORM_PLAT_PROCESSES_H

#include "base/error.h"
#include "base/span.h"

/* The processes that run on this Windows now. */

enum { PLAT_INTEGRITY_UNKNOWN = -1 };

/*
 * One of them. What the system does not tell, as it lets nobody open the process or has no such thing, is
 * empty or 0. All views are valid during the call only.
 */
struct plat_process {
    uint32_t pid;
    uint32_t parent_pid; /* of whoever started it; may have ended, and its number be another's */
    uint32_t session_id;
    int32_t integrity; /* the last number of its label's SID ([MS-DTYP] 2.4.2.4), such as 0x2000
                                 for medium; PLAT_INTEGRITY_UNKNOWN */
    uint64_t start;    /* FILETIME */
    uint64_t sequence_number; /* of processes since the machine started */
    uint64_t start_key;       /* as events have it: that number and the start of the machine's */
    struct span name;         /* of the image's file, UTF-8 */
    struct span executable;   /* its path as the kernel has it: \Device\HarddiskVolume3\… (see
                                 plat_volumes.h), or with a drive, UTF-8 */
    struct span command_line; /* UTF-8, whole: Windows has none of more than 32,767 UTF-16 units */
    struct span user_sid;     /* bytes ([MS-DTYP] 2.4.2.2) */
};

/*
 * Call ${each} for every process that runs, in no order. One that cannot be opened, or ends meanwhile, is
 * told with what the list of all has: numbers, start, name and mostly the path. Nothing is asked of
 * the processes themselves, nor of the files or machines that their images lie on.
 *
 * False with ${err} set if there is no list: ERR_UNSUPPORTED where this system has no ETW whose events
 * could be of its processes (Linux), ERR_LIMIT beyond some 100,000 processes.
 *
 * Source: NtQuerySystemInformation, PROCESS_TELEMETRY_ID_INFORMATION_TYPE, GetTokenInformation on
 * learn.microsoft.com.
 */
bool plat_processes_each(
    void (*each)(void *self, const struct plat_process *process), void *self, struct error *err);

#endif
