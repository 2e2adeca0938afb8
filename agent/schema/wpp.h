#ifndef ETWSHIP_SCHEMA_WPP_H
#define ETWSHIP_SCHEMA_WPP_H

#include <stdbool.h>

#include "base/error.h"
#include "base/guid.h"

/*
 * Whose messages a file of trace message formats describes, or those below a folder: records hold the
 * GUID of their messages, not that of the provider which was switched on ("Trace Message Format File"
 * on learn.microsoft.com). Immutable; any threads.
 */
struct wpp_guids;

/* What cannot be read is left out: the source `wpp` tells of it. NULL: ERR_MEMORY. */
struct wpp_guids *wpp_guids_read(const char *path, struct error *err);
void wpp_guids_destroy(struct wpp_guids *guids); /* NULL is fine */

bool wpp_guids_has(const struct wpp_guids *guids, const struct guid *guid);

#endif
