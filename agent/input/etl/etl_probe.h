#ifndef ETWSHIP_INPUT_ETL_PROBE_H
#define ETWSHIP_INPUT_ETL_PROBE_H

#include "input/bytes/etl_bytes.h"
#include "input/record/etl_buffer.h"
#include "input/record/etl_header.h"

/* State of a trace that may just be created. */
enum etl_probe {
    ETL_PROBE_WAIT, /* no trace yet: empty, or its first data buffer is not written */
    /* a trace with a data buffer whose session is running or whose copy is in progress */
    ETL_PROBE_GROWING,
    ETL_PROBE_WHOLE,    /* closed by its session, and complete */
    ETL_PROBE_NO_TRACE, /* not a trace, or unreadable: the error has the reason */
};

enum etl_probe etl_probe_path(const char *path, struct error *err);

enum etl_header_state {
    ETL_HEADER_FOUND,
    ETL_HEADER_MISSING, /* not written yet: the file ends before it, or has zeros there */
    ETL_HEADER_WRONG,   /* there are other bytes */
    ETL_HEADER_FAILED,  /* the file cannot be read, or memory is short */
};

struct etl_probe_header {
    struct etl_buffer buffer;
    struct span record; /* the header record */
    struct etl_info info;
};

/* Read the header buffer at ${offset}; names and the record are allocated from ${arena}. The error
 * is set unless the header was found or is missing. */
enum etl_header_state etl_probe_header(struct etl_bytes *bytes, uint64_t offset,
    struct arena *arena, struct etl_probe_header *ret_header, struct error *err);

#endif
