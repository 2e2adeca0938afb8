#ifndef ETWSHIP_ETW_ETW_IMAGE_FLAGS_H
#define ETWSHIP_ETW_ETW_IMAGE_FLAGS_H

#include "base/error.h"

/*
 * TracingFlags of the Image File Execution Options: with them Windows traces the heaps of every
 * process with a name (`app.exe`) from its first instruction on. They affect the whole machine and
 * outlive the process that set them; so the earlier value is first saved in the registry, below
 * SOFTWARE\etwship\TracingFlags, and the next process restores it after a kill.
 *
 * Errors are those of etw/etw_registry.h. Any thread, one at a time for an image.
 */

/* True if ${image} is a program's name without a folder, as a part of a key must be. */
bool etw_image_flags_is_name(const char *image);

/* Enable heap tracing of ${image} for ${session}. Flags that are already set stay, and are not
 * restored later. */
bool etw_image_flags_set(const char *image, const char *session, struct error *err);

/* Restore what etw_image_flags_set changed, except for later changes by others. Nothing to restore
 * is no failure. */
bool etw_image_flags_restore(const char *image, struct error *err);

/*
 * Restore all notes of sessions for which ${is_abandoned} is true, left by killed processes.
 * ${tell} is called for each image with the error, or NULL for success.
 */
void etw_image_flags_clean(bool (*is_abandoned)(void *self, const char *session),
    void (*tell)(void *self, const char *image, const struct error *err), void *self);

#endif
