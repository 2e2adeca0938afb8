#ifndef ETWSHIP_EVT_EVT_API_H
#define ETWSHIP_EVT_EVT_API_H

#include <stdbool.h>

#include "base/error.h"
#include "evt/evt_types.h"

/*
 * The Windows Event Log as one table of functions, filled when it is first asked for: what a system lacks (Linux,
 * Wine) is NULL. Tests put a table of their own in its place.
 */
struct evt_api {
#define EVT_CALL(result, name, parameters) result(*name) parameters;
#include "evt/evt_calls.def"
#undef EVT_CALL

    /* GetLastError(), right after a call of the table that failed. */
    uint32_t (*last_error)(void);

    /* LocaleNameToLCID: the number of a language, such as en-US; 0: there is none. */
    uint32_t (*locale)(const evt_char *name);

    /* An event object that resets itself, for EvtSubscribe to raise. NULL: there is none to be had. */
    evt_handle (*make_signal)(void);
    void (*raise_signal)(evt_handle signal);
    void (*wait_signal)(evt_handle signal, uint32_t timeout_ms);
    void (*close_signal)(evt_handle signal);
};

/* What windows/ and linux/ give: fill ${api} with what this system has. */
void evt_load(struct evt_api *api);

/* The table of this process. Static, never NULL. Any thread. */
const struct evt_api *evt_api_get(void);

/* Use ${api} instead, which outlives its use; NULL: the system's again. Before anything else runs. */
void evt_api_use(const struct evt_api *api);

/* Can channels be read here at all? */
bool evt_api_is_there(void);

/* What the Win32 error ${code} means for event logs, "why. what to do", in plain words. Static. */
const char *evt_api_reason(uint32_t code);

/* ERR_IO with ${code} as its os_code: what was tried (${format}), then its reason. Always false. */
bool evt_api_fail(struct error *err, uint32_t code, const char *format, ...) ETWSHIP_PRINTF(3, 4);

#endif
