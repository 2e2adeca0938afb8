#ifndef ETWSHIP_OUTPUTS_DELIVERY_ID_H
#define ETWSHIP_OUTPUTS_DELIVERY_ID_H

#include "event/model/record.h"
#include "outputs/output.h"

/*
 * Ids of records: stable over retries and restarts, and unique.
 *
 * A live record: epoch of the spool, 16 hex digits, and its number in the spool, 16. The epoch is
 * drawn at random with every new spool, and one count runs over all streams of a spool. Events of
 * the agent itself, including gaps of a file, are live records. A record of a file: identity of the
 * file, 32 hex digits, offset of the buffer, 12, of the record in the buffer, 8, and a hash of the
 * stream, 8: reading a file again yields equal ids. The hash distinguishes streams of different
 * shape, so that each has its own record of an event.
 */
struct delivery_ids {
    uint64_t epoch;
    uint64_t first_number; /* number in the spool of place 0 of the batch */
    uint32_t stream_hash;
    /* By place in the batch, unset for live records; NULL: none is from a file. */
    const struct record_position *positions;
    /* By place: ids assigned earlier, which are kept. NULL: none. */
    const struct span *names;
};

enum { DELIVERY_ID_MAX = 60 };

/* Write the id of record ${index} of ${delivery}, which has ids: lower case hex, no NUL. Returns
 * its length. */
size_t delivery_id_write(
    const struct delivery *delivery, size_t index, char ret_id[DELIVERY_ID_MAX]);

/* True if the id of record ${index} is a position in a file. Then the destination may have it from
 * an earlier reading. */
bool delivery_id_is_replayed(const struct delivery *delivery, size_t index);

/* output_ops.ids of an output that needs them with any settings. */
bool delivery_id_always(const void *settings);

#endif
