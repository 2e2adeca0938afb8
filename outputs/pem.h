#ifndef ETWSHIP_OUTPUTS_PEM_H
#define ETWSHIP_OUTPUTS_PEM_H

#include "base/buf.h"

/* Append the bytes of the first block of ${pem} (RFC 7468) whose label ends with ${label}. False:
 * there is none, it has no end, or it is not base64. */
bool pem_read(struct span pem, const char *label, struct buf *out);

#endif
