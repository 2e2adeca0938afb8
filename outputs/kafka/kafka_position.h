#ifndef ETWSHIP_OUTPUTS_KAFKA_POSITION_H
#define ETWSHIP_OUTPUTS_KAFKA_POSITION_H

#include "base/buf.h"

/*
 * What a transaction delivered, as the text of messages in the topic of positions:
 *
 *     etwship 1 <number of the transaction>\n
 *     <letter><rest of an id>\n ...
 *
 * An id begins with some bytes of the previous id. The letter is their number: '0' is none, '1' one
 * byte, ':' ten, and so on in the order of ASCII. Neighbours share most of their ids
 * (delivery_id.h), so a live event takes three bytes.
 */
struct kafka_position_writer {
    struct buf *out;
    uint8_t last[64]; /* the previous id */
    size_t last_size;
};

/* Append the head to ${out}. */
void kafka_position_begin(
    struct kafka_position_writer *writer, struct buf *out, uint64_t transaction);

/* Append ${id}, at most 60 bytes without line breaks. */
void kafka_position_add(struct kafka_position_writer *writer, struct span id);

/*
 * Read ${text}, which is untrusted. ${take} gets each id, valid during the call; false ends the
 * reading. ${take} NULL: only the head is read. False: the text is not a position, or ends within a
 * line; ${take} may have got some of its ids before.
 */
bool kafka_position_read(struct span text, uint64_t *ret_transaction,
    bool (*take)(void *self, struct span id), void *self);

#endif
