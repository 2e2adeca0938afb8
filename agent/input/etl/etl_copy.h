#ifndef ETWSHIP_INPUT_ETL_COPY_H
#define ETWSHIP_INPUT_ETL_COPY_H

#include "input/bytes/etl_bytes.h"

/* Location of a trace. */
struct etl_place {
    const char *path;
    const struct etl_part *part; /* NULL: the file at the path */
};

/*
 * True if two traces of one identity (etl_file.h) hold identical records as far as both go. The
 * identity covers only the beginning. Headers are ignored because they change when a session ends.
 * Data that one of the two lacks so far is ignored, whether the file ends there or contains zeros.
 *
 * Also false if this is unknown: for circular files, which are overwritten, and for unreadable
 * files.
 */
bool etl_copy_is(const struct etl_place *a, const struct etl_place *b);

#endif
