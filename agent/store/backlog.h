#ifndef ETWSHIP_STORE_BACKLOG_H
#define ETWSHIP_STORE_BACKLOG_H

#include "store/catalogue/catalogue.h"
#include "store/chain.h"

/* Count what waits for the output of ${chain}, from the catalogue and without batches settled
 * early. Constant time. False with ${err} set: the catalogue cannot be read. */
bool backlog_measure(struct catalogue *catalogue, const struct chain *chain,
    struct store_backlog *ret_backlog, struct error *err);

#endif
