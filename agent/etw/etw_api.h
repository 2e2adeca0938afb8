#ifndef ETWSHIP_ETW_ETW_API_H
#define ETWSHIP_ETW_ETW_API_H

#include "base/error.h"
#include "etw/etw_types.h"

/*
 * ETW and TDH as one table of functions, filled when it is first asked for: what a system lacks
 * (an older Windows, Wine, Linux) is NULL, and degrades what needs it instead of ending the agent.
 * Tests put a table of their own in its place.
 */
struct etw_api {
#define ETW_CALL(result, name, parameters) result(*name) parameters;
#include "etw/etw_calls.def"
#undef ETW_CALL

    /* GetLastError(), right after a call of the table that failed. */
    uint32_t (*last_error)(void);

    /* QueryPerformanceCounter and GetSystemTimePreciseAsFileTime, as near to each other as can be:
     * what time a stamp of the counter stands for. */
    void (*now)(int64_t *ret_counter, uint64_t *ret_filetime);

    /* QueryPerformanceFrequency: how often that counter counts in a second. */
    uint64_t (*frequency)(void);
};

/* What windows/ and linux/ give: fill ${api} with what this system has. */
void etw_load(struct etw_api *api);

/* The table of this process. Static, never NULL. Any thread. */
const struct etw_api *etw_api_get(void);

/* Use ${api} instead, which outlives its use; NULL: the system's again. Before anything else runs. */
void etw_api_use(const struct etw_api *api);

/* Can sessions be started and read here at all? */
bool etw_api_has_sessions(void);

/* What the Win32 error ${code} means for tracing, "why. what to do", in plain words. Static. */
const char *etw_api_reason(uint32_t code);

/* ERR_IO with ${code} as its os_code: what was tried (${format}), then its reason. Always false. */
bool etw_api_fail(struct error *err, uint32_t code, const char *format, ...) ETWSHIP_PRINTF(3, 4);

/* The same for a function that this system does not have. Always false. */
bool etw_api_missing(struct error *err, const char *function);

#endif
