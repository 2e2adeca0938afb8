#ifndef ETWSHIP_SCHEMA_WPP_H
#define ETWSHIP_SCHEMA_WPP_H

#include <stdbool.h>

#include "base/error.h"
#include "base/guid.h"

/*
 * The message GUIDs that a file or folder of trace message formats describes. Records carry the
 * GUID of their messages, not that of the enabled provider ("Trace Message Format File" on
 * learn.microsoft.com). Immutable; thread-safe.
 */
struct wpp_guids;

/* Unreadable files are left out; the source `wpp` reports them. NULL: ERR_MEMORY. */
struct wpp_guids *wpp_guids_read(const char *path, struct error *err);
void wpp_guids_destroy(struct wpp_guids *guids); /* NULL is fine */

bool wpp_guids_has(const struct wpp_guids *guids, const struct guid *guid);

#endif
