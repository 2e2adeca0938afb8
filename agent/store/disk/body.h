#ifndef ETWSHIP_STORE_BODY_H
#define ETWSHIP_STORE_BODY_H

#include "base/error.h"
#include "base/span.h"

/* Bodies of frames packed with zstd, at its fastest level. One thread at a time. */
struct body_packer;

/* NULL: out of memory */
struct body_packer *body_packer_create(struct error *err);
void body_packer_destroy(struct body_packer *packer); /* NULL is fine */

/* Pack ${raw}. The view is valid until the next call. False if that does not make it smaller, or
 * there is no memory for it: it goes as it is. */
bool body_pack(struct body_packer *packer, struct span raw, struct span *ret_packed);

/* Unpack into ${out}, exactly ${raw_bytes}. False: it is not what was packed. Any thread. */
bool body_unpack(struct span packed, uint8_t *out, size_t raw_bytes);

#endif
