#ifndef ETWSHIP_PLATFORM_WINDOWS_PLAT_WIDE_H
#define ETWSHIP_PLATFORM_WINDOWS_PLAT_WIDE_H

#include "base/error.h"

#include <wchar.h>

/* Conversions between the agent's UTF-8 and UTF-16 of Windows. Only for folders named windows. */

/* ${text} as UTF-16; the caller frees it. NULL if it is not UTF-8 or memory is short. */
wchar_t *plat_wide_text(const char *text, struct error *err);

/* The absolute form of a path with \\?\ prefix, which is not limited to 260 units. The caller frees
 * it. Names such as NUL and \\.\pipe\x are unchanged. */
wchar_t *plat_wide_path(const char *path, struct error *err);

/* ${wide} as UTF-8; the caller frees it. NULL if memory is short. An unpaired surrogate, possible
 * in file names, becomes U+FFFD. */
char *plat_wide_to_utf8(const wchar_t *wide);

/* Fill ${err} for a failed call with the system's text for ${code} (GetLastError). Always false. */
bool plat_wide_error(struct error *err, unsigned long code, const char *what, const char *doing);

#endif
