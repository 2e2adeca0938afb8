#ifndef ETWSHIP_BASE_BASE64_H
#define ETWSHIP_BASE_BASE64_H

#include "base/buf.h"

/* RFC 4648, 4: the standard alphabet, with padding, without line breaks. */

void base64_write(struct buf *out, struct span bytes);

/* Append the bytes that ${text} encodes. False if it is not base64, or unused bits of its last
 * digit are set (3.5); ${out} may then contain a part. Check out->failed as usual. */
bool base64_read(struct span text, struct buf *out);

#endif
