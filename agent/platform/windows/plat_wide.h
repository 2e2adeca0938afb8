#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_WIDE_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_WIDE_H

#include "base/error.h"

#include <wchar.h>

/* Between the UTF-8 of the agent and the UTF-16 of Windows. Only for folders named windows. */

/* ${text} as UTF-16; the caller frees it. NULL if it is not UTF-8 or there is no memory. */
wchar_t *plat_wide_text(const char *text, struct error *err);

/* A path in the form that is not limited to 260 units: made absolute, with \\?\ before it. The
 * caller frees it. Names such as NUL and \\.\pipe\x stay what they are. */
wchar_t *plat_wide_path(const char *path, struct error *err);

/* ${wide} as UTF-8; the caller frees it. NULL if there is no memory. An unpaired surrogate, which
 * file names may hold, becomes U+FFFD. */
char *plat_wide_to_utf8(const wchar_t *wide);

/* Fill ${err} for a failed call with the system's text for ${code} (GetLastError); false. */
bool plat_wide_error(struct error *err, unsigned long code, const char *what, const char *doing);

#endif
