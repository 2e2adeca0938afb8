#ifndef ETWSHIP_STORE_EPOCHS_H
#define ETWSHIP_STORE_EPOCHS_H

#include "store/catalogue/catalogue.h"

/*
 * The epochs of a run before the one in force, as the catalogue keeps them: 8 bytes each, little
 * endian, the last one first. Of a run with more than fit, as where the clock is set all day, the
 * first ones are removed.
 */
struct epochs {
    uint8_t bytes[CATALOGUE_EPOCHS_MAX_BYTES];
    size_t size;
};

/* Draw an epoch: a random number that is not 0. */
bool epochs_draw(uint64_t *ret_epoch, struct error *err);

void epochs_add(struct epochs *epochs, uint64_t epoch);
bool epochs_has(struct span epochs, uint64_t epoch);

#endif
