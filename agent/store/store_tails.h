#ifndef ETWSHIP_STORE_STORE_TAILS_H
#define ETWSHIP_STORE_STORE_TAILS_H

#include "base/error.h"

struct catalogue_info;
struct store;

/*
 * At the start: reconcile files and catalogue. ${info}: the catalogue's state when it was opened;
 * ${log_is_lost}: its log was missing. Uncommitted frames are cut off. Frames that a newer
 * catalogue must have known, because they are of a later run than its last one or have numbers
 * above its own, are put back into it. False with ${err} set: the disk or the catalogue failed.
 */
bool store_tails_settle(
    struct store *store, const struct catalogue_info *info, bool log_is_lost, struct error *err);

#endif
