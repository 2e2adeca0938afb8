#ifndef ETWSHIP_INPUT_ETL_COPY_H
#define ETWSHIP_INPUT_ETL_COPY_H

#include "input/etl_bytes.h"

/* Where a trace is. */
struct etl_place {
    const char *path;
    const struct etl_part *part; /* NULL: it is the file at the path */
};

/*
 * Do two traces of one identity (etl_file.h) hold the same records, as far as both go? The identity
 * covers the beginning alone. Headers are left out, since they change when a session ends; so is what
 * one of the two has not been given yet, be it that it ends there or that zeros stand there.
 *
 * False also where nobody can tell: circular files, whose bytes move on, and what cannot be read.
 */
bool etl_copy_is(const struct etl_place *a, const struct etl_place *b);

#endif
