#ifndef ETWSHIP_PLATFORM_PLAT_PROCESSES_H
#define ETWSHIP_PLATFORM_PLAT_PROCESSES_H

#include "base/error.h"
#include "base/span.h"

/* Other processes: one by its id, and all that run on this Windows. */

/* True if a process with the id ${pid} exists now. */
bool plat_process_runs(uint32_t pid);

/* Path of the program of process ${pid} if it already ran at FILETIME ${time}. False: it has ended,
 * or the system does not support this (Linux). */
bool plat_process_image(uint32_t pid, uint64_t time, char *path, size_t size);

enum { PLAT_INTEGRITY_UNKNOWN = -1 };

/*
 * A process. Values are empty or 0 if the system lacks them or does not let the process be opened.
 * All views are valid during the call only.
 */
struct plat_process {
    uint32_t pid;
    uint32_t parent_pid; /* of its creator, which may have ended; its id may be reused */
    uint32_t session_id;
    /* last number of its label's SID ([MS-DTYP] 2.4.2.4), such as 0x2000 for medium;
     * PLAT_INTEGRITY_UNKNOWN */
    int32_t integrity;
    uint64_t start;           /* FILETIME */
    uint64_t sequence_number; /* of processes since the machine started */
    uint64_t start_key;       /* as in events: that number combined with the boot id */
    struct span name;         /* file name of the image, UTF-8 */
    /* path in kernel form, \Device\HarddiskVolume3\… (see plat_volumes.h), or with a drive;
     * UTF-8 */
    struct span executable;
    struct span command_line; /* UTF-8, complete: Windows allows at most 32,767 UTF-16 units */
    struct span user_sid;     /* bytes ([MS-DTYP] 2.4.2.2) */
};

/*
 * Call ${each} for every running process, in any order. A process that cannot be opened, or ends
 * meanwhile, is reported with what the process list contains: ids, start, name and usually the
 * path. Neither the processes themselves nor the files or machines of their images are accessed.
 *
 * False with ${err} set if there is no list: ERR_UNSUPPORTED on systems without ETW (Linux),
 * ERR_LIMIT beyond about 100,000 processes.
 *
 * Source: NtQuerySystemInformation, PROCESS_TELEMETRY_ID_INFORMATION_TYPE, GetTokenInformation on
 * learn.microsoft.com.
 */
bool plat_processes_each(
    void (*each)(void *self, const struct plat_process *process), void *self, struct error *err);

#endif
