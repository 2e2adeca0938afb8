#ifndef ETWSHIP_BASE_BASE64_H
#define ETWSHIP_BASE_BASE64_H

#include "base/buf.h"

/* RFC 4648, 4: the standard alphabet, with padding, without line breaks. */

void base64_write(struct buf *out, struct span bytes);

/* Append what ${text} stands for. False: it is no base64, or something is left over in its last digit (3.5);
 * ${out} may hold a part. out->failed as ever. */
bool base64_read(struct span text, struct buf *out);

#endif
