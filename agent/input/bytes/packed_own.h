#ifndef ETWSHIP_INPUT_PACKED_OWN_H
#define ETWSHIP_INPUT_PACKED_OWN_H

#include "input/bytes/packed.h"

/* Shared by the readers of the formats. */
enum { PACKED_WINDOW_BYTES = 64 * 1024 };

struct packed_walk {
    struct etl_bytes *bytes;
    const struct packed_limits *limits;
    const struct packed_visitor *visitor;
    uint64_t given; /* unpacked bytes so far */
    uint32_t members;
    struct error *err;
};

/* Each returns like packed_walk. */
bool packed_gzip_walk(struct packed_walk *walk);
bool packed_zstd_walk(struct packed_walk *walk);
bool packed_archive_walk(struct packed_walk *walk, enum packed_kind kind);

/* Read packed bytes; false: the walk fails. */
bool packed_read(
    struct packed_walk *walk, uint64_t offset, void *data, size_t size, size_t *ret_read);

/* Count another member. False: the walk fails. */
bool packed_count(struct packed_walk *walk);

/* Pass on bytes of a member. False: the walk fails. */
bool packed_give(struct packed_walk *walk, struct span bytes, enum packed_step *ret_step);

void packed_damage(struct packed_walk *walk, uint64_t offset, const char *what);

/* False with ERR_STOPPED if the visitor wants to stop. */
bool packed_goes_on(struct packed_walk *walk);

#endif
