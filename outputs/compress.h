#ifndef ETWSHIP_OUTPUTS_COMPRESS_H
#define ETWSHIP_OUTPUTS_COMPRESS_H

#include "base/buf.h"

/* The codings of a body, as http_compression_names has them. */
enum http_compression { HTTP_PLAIN, HTTP_GZIP, HTTP_ZSTD };

/* Bodies of requests, each compressed as a whole and fast (level 1). Memory is allocated once. One
 * thread at a time. */
struct compress;

/* ${kind}: HTTP_GZIP (RFC 1952) or HTTP_ZSTD (RFC 8878). NULL with ${err} set. */
struct compress *compress_create(enum http_compression kind, struct error *err);

/* As compress_create, and NULL in ${ret_compress} for HTTP_PLAIN. False with ${err} set. */
bool compress_open(enum http_compression kind, struct compress **ret_compress, struct error *err);

void compress_destroy(struct compress *compress); /* NULL is fine */

/* Replace the content of ${out} by ${in}, compressed. False: the maximum of ${out} is too small
 * (ERR_LIMIT), or out of memory. */
bool compress_whole(struct compress *compress, struct span in, struct buf *out, struct error *err);

/* Compress ${count} ${parts}, back to back. */
bool compress_parts(struct compress *compress, const struct span *parts, size_t count,
    struct buf *out, struct error *err);

#endif
