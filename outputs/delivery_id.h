#ifndef ETWSHIP_OUTPUTS_DELIVERY_ID_H
#define ETWSHIP_OUTPUTS_DELIVERY_ID_H

#include "event/model/record.h"
#include "outputs/output.h"

/*
 * Names of records that stay the same over retries and restarts and never meet by accident.
 *
 * A live record: epoch of the spool, 16 hex digits, and its number in the spool, 16. The epoch is
 * drawn at random with every new spool, and one count runs over all streams of a spool. What the
 * agent says of itself, gaps of a file among it, is live.
 * A record of a file: identity of the file, 32 hex digits, offset of the buffer, 12, of the record
 * in the buffer, 8, and a hash of the stream, 8: reading a file again gives the same names. The hash
 * tells streams of different shape apart, so that each may have its own record of one event.
 */
struct delivery_ids {
    uint64_t epoch;
    uint64_t first_number; /* in the spool, of place 0 of the batch */
    uint32_t stream_hash;
    /* By place in the batch, those of live records unknown; NULL: none is from a file. */
    const struct record_position *positions;
    /* By place: ids that were given earlier, which stand then. NULL: none were. */
    const struct span *names;
};

enum { DELIVERY_ID_MAX = 60 };

/* The id of record ${index} of ${delivery}, whose ids are not NULL: lower case hex, no NUL. Returns
 * its length. */
size_t delivery_id_write(
    const struct delivery *delivery, size_t index, char ret_id[DELIVERY_ID_MAX]);

/* Does the id of record ${index} name a place in a file? Then the destination may have it from an
 * earlier reading. */
bool delivery_id_is_replayed(const struct delivery *delivery, size_t index);

#endif
