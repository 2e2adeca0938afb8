#ifndef ETWSHIP_TESTS_SUPPORT_PACK_FINDER_H
#define ETWSHIP_TESTS_SUPPORT_PACK_FINDER_H

#include "base/buf.h"

/* Between the compressors of pack.h: finds matches, by a hash chain of 3-byte prefixes. */
enum { PACK_MIN_MATCH = 3 };

struct pack_finder {
    struct span in;
    size_t max_distance;
    size_t added;   /* in[0, added) is in the chains */
    size_t *latest; /* by hash; position + 1, 0 is none */
    size_t *before; /* by position */
};

struct pack_match {
    size_t length; /* 0: none */
    size_t distance;
};

/* False if memory ran out; pack_finder_fini in any case. */
bool pack_finder_init(struct pack_finder *finder, struct span in, size_t max_distance);
void pack_finder_fini(struct pack_finder *finder);

/* The longest match for in[at, end) that starts at ${lowest} or later. ${at} never goes back. */
struct pack_match pack_finder_find(
    struct pack_finder *finder, size_t at, size_t end, size_t lowest);

static inline void pack_le16(struct buf *out, size_t value)
{
    buf_add_byte(out, (uint8_t)value);
    buf_add_byte(out, (uint8_t)(value >> 8));
}

static inline void pack_le32(struct buf *out, size_t value)
{
    pack_le16(out, value & 0xffff);
    pack_le16(out, value >> 16 & 0xffff);
}

#endif
