#ifndef ETWSHIP_STORE_BACKLOG_H
#define ETWSHIP_STORE_BACKLOG_H

#include "store/catalogue/catalogue_batches.h"
#include "store/chain.h"

/* Count what waits for the output of ${chain}, from the catalogue and without batches settled
 * early. Constant time. False with ${err} set: the catalogue cannot be read. */
bool backlog_measure(struct catalogue *catalogue, const struct chain *chain,
    struct store_backlog *ret_backlog, struct error *err);

/* Call ${each} for every batch that waits for the output of ${chain}, in its order, or with NULL
 * for every batch of the spool, until it returns false. */
bool backlog_each(struct catalogue *catalogue, const struct chain *chain,
    bool (*each)(void *self, const struct catalogue_batch *batch), void *self, struct error *err);

#endif
