#ifndef ETWSHIP_ETW_ETW_IMAGE_FLAGS_H
#define ETWSHIP_ETW_ETW_IMAGE_FLAGS_H

#include "base/error.h"

/*
 * TracingFlags of the Image File Execution Options: by them Windows traces the heaps of every process
 * of a name (`app.exe`) from its first instruction on. They hold for the whole machine and survive
 * whoever has set them; so what was there before is noted in the registry first, below
 * SOFTWARE\etwship\TracingFlags, and put back from there, by whoever comes after a killed process.
 *
 * Errors are those of etw/etw_registry.h. Any thread, one at a time for an image.
 */

/* Does ${image} name a program without its folder, so that it may be part of a key? */
bool etw_image_flags_is_name(const char *image);

/* Have heaps of ${image} traced, on behalf of ${session}. What is set already, by anybody, stays, and
 * will not be put back. */
bool etw_image_flags_set(const char *image, const char *session, struct error *err);

/* Put back what etw_image_flags_set has changed; what somebody else has changed since stays. Nothing
 * to put back is no failure. */
bool etw_image_flags_restore(const char *image, struct error *err);

/*
 * Put back all that is noted of sessions that ${is_abandoned} is true for: killed processes have left it.
 * ${tell}: each image, with what went wrong, NULL if all is well.
 */
void etw_image_flags_clean(bool (*is_abandoned)(void *self, const char *session),
    void (*tell)(void *self, const char *image, const struct error *err), void *self);

#endif
