#ifndef ETWSHIP_OUTPUTS_KAFKA_POSITION_H
#define ETWSHIP_OUTPUTS_KAFKA_POSITION_H

#include "base/buf.h"

/*
 * What a transaction delivered, as the text of messages in the topic of positions:
 *
 *     etwship 1 <number of the transaction>\n
 *     <letter><rest of an id>\n ...
 *
 * The letter says how many bytes an id has in common with the one before, '0' for none, then '1', ':' and so on
 * in the order of ASCII. Neighbours share most of their ids (delivery_id.h), so a live event takes three bytes.
 */
struct kafka_position_writer {
    struct buf *out;
    uint8_t last[64]; /* the id before */
    size_t last_size;
};

/* Append the head to ${out}. */
void kafka_position_begin(
    struct kafka_position_writer *writer, struct buf *out, uint64_t transaction);

/* Append ${id}, at most 60 bytes without line breaks. */
void kafka_position_add(struct kafka_position_writer *writer, struct span id);

/*
 * Read ${text}, which anybody may have written. ${take} gets each id, valid during the call; false ends the reading.
 * ${take} NULL: only the head is read. False: it is no position, or ends amid a line; what was taken before stands.
 */
bool kafka_position_read(struct span text, uint64_t *ret_transaction,
    bool (*take)(void *self, struct span id), void *self);

#endif
