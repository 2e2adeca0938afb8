#ifndef ETWSHIP_STORE_CHAIN_H
#define ETWSHIP_STORE_CHAIN_H

#include "base/buf.h"
#include "store/store.h"

/*
 * What one output reads: a chain of ranges of batch ids, each of one stream, and the output's
 * position. Ids run over all streams, so one position is enough for the whole chain: everything
 * before it, in any range, is settled. The chain holds only changes that the catalogue does not
 * have yet. One thread at a time.
 */

struct chain;

uint64_t chain_id(const struct chain *chain); /* of the output in the catalogue */
struct span chain_name(const struct chain *chain);
uint64_t chain_position(const struct chain *chain);
uint64_t chain_seen(const struct chain *chain); /* FILETIME, when it was open last */

/* Has it still to take batch ${id} of ${stream}? */
bool chain_wants(const struct chain *chain, uint64_t stream, uint64_t id);

bool chain_is_early(const struct chain *chain, uint64_t id);
bool chain_has_left(const struct chain *chain, uint64_t id);
bool chain_set_left(struct chain *chain, uint64_t id, bool is_left, struct error *err);

/* As store_progress. ERR_FORMAT: it does not ascend. */
bool chain_move(struct chain *chain, uint64_t position, const uint64_t *early, size_t early_count,
    const struct span *checkpoint, struct error *err);

#endif
