#ifndef ETWSHIP_STORE_BACKLOG_H
#define ETWSHIP_STORE_BACKLOG_H

#include "store/catalogue/catalogue.h"
#include "store/chain.h"

/* What waits for the output of ${chain}, as the catalogue says: what it has settled early does not. Costs
 * the same for any number of batches. False with ${err} set: the catalogue cannot be read. */
bool backlog_measure(struct catalogue *catalogue, const struct chain *chain,
    struct store_backlog *ret_backlog, struct error *err);

#endif
