#ifndef ETWSHIP_INPUT_ETL_BUFFER_H
#define ETWSHIP_INPUT_ETL_BUFFER_H

#include "input/record/etl_format.h"

#include <stdbool.h>
#include <stdint.h>

/* A buffer of a trace, as described by its WMI_BUFFER_HEADER (ntwmi.h). */
struct etl_buffer {
    uint64_t offset;   /* in the file, bytes */
    uint32_t size;     /* bytes in the file, including the header, possibly compressed */
    uint32_t end;      /* end of the records, in bytes from the start of the unpacked buffer */
    int64_t time_raw;  /* flush time, session clock; FILETIME in relogged files */
    uint64_t sequence; /* across all processors of the session */
    uint32_t state;
    uint16_t cpu;
    uint16_t logger_id;
    uint16_t flags; /* enum etl_buffer_flag */
    uint16_t type;
    bool empty;     /* contains no record */
    bool truncated; /* the file ends inside it */
    bool leftover;  /* of an event log: the bytes after the records of a chunk, from `end` on */
};

/*
 * Parse the ETL_BUFFER_HEADER_SIZE bytes at ${header}, found at ${offset} of the file. False if the
 * size is impossible; the start of the next buffer is then unknown. If the size is possible but the
 * header contradicts itself, it is parsed and ${*ret_problem} describes the problem (static text);
 * otherwise it is NULL.
 */
bool etl_buffer_parse(const uint8_t *header, uint64_t offset, struct etl_buffer *ret_buffer,
    const char **ret_problem);

/* True if these bytes look like the start of a buffer. Stricter than parsing; used to find the next
 * buffer after damage. */
bool etl_buffer_plausible(const uint8_t *header);

#endif
