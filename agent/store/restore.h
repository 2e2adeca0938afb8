#ifndef ETWSHIP_STORE_RESTORE_H
#define ETWSHIP_STORE_RESTORE_H

#include "base/error.h"

struct store;

/*
 * The catalogue's file or log was removed or replaced while the store had it open: write a copy of
 * the open one, so nothing committed is lost. The file in its place is set aside. False: that
 * cannot be done, and the store keeps the catalogue that it had.
 */
bool restore_catalogue(struct store *store, struct error *err);

#endif
