#ifndef ETWSHIP_OUTPUTS_COMPRESS_H
#define ETWSHIP_OUTPUTS_COMPRESS_H

#include "base/buf.h"
#include "outputs/http/http_options.h"

/* Bodies of requests, each compressed as one whole and fast (level 1). Makes its memory once. One thread
 * at a time. */
struct compress;

/* ${kind}: HTTP_GZIP (RFC 1952) or HTTP_ZSTD (RFC 8878), named http_compression_names[${kind}] as a
 * content coding. NULL with ${err} set. */
struct compress *compress_create(enum http_compression kind, struct error *err);
void compress_destroy(struct compress *compress); /* NULL is fine */

/* Replace what ${out} holds by ${in}, compressed. False: the maximum of ${out} is too small (ERR_LIMIT), or
 * out of memory. */
bool compress_whole(struct compress *compress, struct span in, struct buf *out, struct error *err);

#endif
