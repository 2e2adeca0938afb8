#ifndef ETWSHIP_TESTS_SUPPORT_PACKED_PUT_H
#define ETWSHIP_TESTS_SUPPORT_PACKED_PUT_H

#include "base/buf.h"

/* Packed files in their simplest forms, from their specifications. Each appends to ${out}. */

/* A gzip member (RFC 1952) of stored blocks (RFC 1951, 3.2.4). */
void packed_put_gzip(struct buf *out, struct span bytes);

/* A zstd frame (RFC 8878) of raw blocks. */
void packed_put_zstd(struct buf *out, struct span bytes);

/* One that becomes ${count} times ${byte}. */
void packed_put_zstd_run(struct buf *out, uint8_t byte, uint64_t count);

struct packed_put_member {
    const char *name;
    struct span bytes;
    uint16_t flags;  /* of the zip: 1 encrypted, 0x800 the name is UTF-8 */
    uint16_t method; /* of the zip: 0 stored; others are only said */
};

/* A zip (APPNOTE.TXT 4.3) of stored members. */
void packed_put_zip(struct buf *out, const struct packed_put_member *members, size_t count);

/* A cabinet (MS-CAB) of one folder that is not compressed, without checksums. */
void packed_put_cab(struct buf *out, const struct packed_put_member *members, size_t count);

#endif
