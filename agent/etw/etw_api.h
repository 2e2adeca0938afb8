#ifndef ETWSHIP_ETW_ETW_API_H
#define ETWSHIP_ETW_ETW_API_H

#include "base/error.h"
#include "etw/etw_types.h"

/*
 * ETW and TDH as one table of functions, filled on first use. A function that the system lacks (an
 * older Windows, Wine, Linux) is NULL, and only features that need it fail. Tests replace the
 * table.
 */
struct etw_api {
#define ETW_CALL(result, name, parameters) result(*name) parameters;
#include "etw/etw_calls.def"
#undef ETW_CALL

    /* GetLastError(), right after a call of the table that failed. */
    uint32_t (*last_error)(void);

    /* QueryPerformanceCounter and GetSystemTimePreciseAsFileTime, read as close together as
     * possible, to convert stamps of the counter to times. */
    void (*now)(int64_t *ret_counter, uint64_t *ret_filetime);

    /* QueryPerformanceFrequency: ticks of that counter per second. */
    uint64_t (*frequency)(void);
};

/* Implemented in windows/ and linux/: fill ${api} with the functions of this system. */
void etw_load(struct etw_api *api);

/* The table of this process. Static, never NULL. Any thread. */
const struct etw_api *etw_api_get(void);

/* Use ${api}, which outlives its use; NULL: the system's again. Call before anything else runs. */
void etw_api_use(const struct etw_api *api);

/* True if this system can start and read sessions. */
bool etw_api_has_sessions(void);

/* The meaning of the Win32 error ${code} for tracing, "why. what to do". Static. */
const char *etw_api_reason(uint32_t code);

/* ERR_IO with os_code ${code}: the attempt (${format}), then the reason. Always false. */
bool etw_api_fail(struct error *err, uint32_t code, const char *format, ...) ETWSHIP_PRINTF(3, 4);

/* The error for a function that this system lacks. Always false. */
bool etw_api_missing(struct error *err, const char *function);

#endif
