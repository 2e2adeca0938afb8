#ifndef ETWSHIP_EVENT_STATUS_NAMES_H
#define ETWSHIP_EVENT_STATUS_NAMES_H

#include <stdint.h>

/* Symbolic names of the status codes that are frequent in events (ntstatus.h, winerror.h); NULL for
 * all others. */
const char *status_names_ntstatus(uint32_t code);
const char *status_names_win32(uint32_t code);

/* Own names, and HRESULT_FROM_WIN32 codes by the name of their Win32 error. */
const char *status_names_hresult(uint32_t code);

#endif
