#ifndef ETWSHIP_OUTPUTS_DELIVERY_ID_H
#define ETWSHIP_OUTPUTS_DELIVERY_ID_H

#include "outputs/output.h"

/*
 * Names of records that stay the same over retries and restarts and never meet by accident.
 *
 * A live record: epoch of the spool, 16 hex digits, and its number in the spool, 16. The epoch is
 * drawn at random with every new spool, and one count runs over all streams of a spool.
 * A record of a file: identity of the file, 32 hex digits, offset of the buffer, 12, of the record
 * in the buffer, 8, and a hash of the stream, 8: reading a file again gives the same names.
 */
struct delivery_place {
    const uint8_t *file_id; /* 16 bytes; NULL: not from a file */
    uint64_t buffer_offset; /* bytes; below 2^48 */
    uint32_t record_offset; /* bytes */
};

struct delivery_ids {
    uint64_t epoch;
    uint64_t first_number; /* in the spool, of place 0 of the batch */
    uint32_t stream_hash;
    const struct delivery_place *places; /* by place in the batch; NULL: none is from a file */
};

enum { DELIVERY_ID_MAX = 60 };

/* The id of record ${index} of ${delivery}, whose ids are not NULL: lower case hex, no NUL. Returns
 * its length. */
size_t delivery_id_write(
    const struct delivery *delivery, size_t index, char ret_id[static DELIVERY_ID_MAX]);

/* Does the id of record ${index} name a place in a file? Then the destination may have it from an
 * earlier reading. */
bool delivery_id_is_replayed(const struct delivery *delivery, size_t index);

#endif
