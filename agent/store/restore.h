#ifndef ETWSHIP_STORE_RESTORE_H
#define ETWSHIP_STORE_RESTORE_H

#include "store/store_own.h"

/*
 * The catalogue's file, or its log, was removed or replaced while the store had it open: write it anew from
 * what is still open, which costs nothing that was committed. What lies in its place is set aside. False:
 * that cannot be done, and the store has the catalogue that it had.
 */
bool restore_catalogue(struct store *store, struct error *err);

/* The folder itself may be gone. */
void restore_folder(const struct store *store);

#endif
