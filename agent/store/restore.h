#ifndef ETWSHIP_STORE_RESTORE_H
#define ETWSHIP_STORE_RESTORE_H

#include "store/damaged.h"

/*
 * The catalogue's file or log was removed or replaced while the store had it open: write a copy of
 * the open one, so nothing committed is lost, and open that. The file in its place is set aside.
 * NULL with ${err} set: that cannot be done, and the store keeps the catalogue that it had.
 */
struct catalogue *restore_catalogue(struct catalogue *catalogue, const struct folder *folder,
    struct damaged *damaged, struct error *err);

#endif
