#ifndef ETWSHIP_STORE_TAILS_H
#define ETWSHIP_STORE_TAILS_H

#include "store/rebuild.h"
#include "store/unneeded.h"

struct tails_parts {
    struct catalogue *catalogue; /* as it was opened */
    struct segments *segments;
    struct unneeded *unneeded; /* gets what earlier runs have given up */
    struct rebuild *rebuild;
    const struct report *report;
};

/*
 * At the start: reconcile files and catalogue. ${log_is_lost}: the catalogue's log was missing.
 * Uncommitted frames are cut off. Frames that a newer catalogue must have known, because they are
 * of a later run than its last one or have numbers above its own, are put back into it. False with
 * ${err} set: the disk or the catalogue failed.
 */
bool tails_settle(const struct tails_parts *parts, bool log_is_lost, struct error *err);

#endif
