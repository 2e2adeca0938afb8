#ifndef ETWSHIP_EVT_EVT_API_H
#define ETWSHIP_EVT_EVT_API_H

#include <stdbool.h>

#include "base/error.h"
#include "evt/evt_types.h"

/*
 * The functions of the Windows Event Log as one table, filled at the first use. Functions that the
 * system lacks (Linux, Wine) are NULL. Tests use a table of their own instead.
 */
struct evt_api {
#define EVT_CALL(result, name, parameters) result(*name) parameters;
#include "evt/evt_calls.def"
#undef EVT_CALL

    /* GetLastError(), directly after a failed call. */
    uint32_t (*last_error)(void);

    /* LocaleNameToLCID: the number of a language such as en-US; 0: unknown. */
    uint32_t (*locale)(const evt_char *name);

    /* An auto-reset event object, which EvtSubscribe raises. NULL on failure. */
    evt_handle (*make_signal)(void);
    void (*raise_signal)(evt_handle signal);
    void (*wait_signal)(evt_handle signal, uint32_t timeout_ms);
    void (*close_signal)(evt_handle signal);
};

/* Fill ${api} with the functions of this system. Implemented in windows/ and linux/. */
void evt_load(struct evt_api *api);

/* The table of this process. Static, never NULL. Any thread. */
const struct evt_api *evt_api_get(void);

/* Use ${api} instead; it must outlive its use. NULL: the system's again.
 * Call before other threads start. */
void evt_api_use(const struct evt_api *api);

/* True if this system can read channels. */
bool evt_api_is_there(void);

/* The meaning of Win32 error ${code} for event logs, as "why. what to do". Static. */
const char *evt_api_reason(uint32_t code);

/* Set ${err} to ERR_IO with os_code ${code}: the failed action (${format}),
 * then the reason. Always false. */
bool evt_api_fail(struct error *err, uint32_t code, const char *format, ...) ETWSHIP_PRINTF(3, 4);

#endif
