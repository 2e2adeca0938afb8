#ifndef ETWSHIP_STORE_STORE_TAILS_H
#define ETWSHIP_STORE_STORE_TAILS_H

#include "store/store_own.h"

/*
 * At the start: bring files and catalogue together. ${info} is what the catalogue said when it was
 * opened, ${log_is_lost} that its log was not there. What was written but never committed is cut off;
 * what the catalogue must have known, since it is of a later run than its last one, or has numbers that
 * were not given out yet, is put back into it. False with ${err} set: the disk or the catalogue failed.
 */
bool store_tails_settle(
    struct store *store, const struct catalogue_info *info, bool log_is_lost, struct error *err);

#endif
