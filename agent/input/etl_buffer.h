#ifndef ETWSHIP_INPUT_ETL_BUFFER_H
#define ETWSHIP_INPUT_ETL_BUFFER_H

#include "input/etl_format.h"

#include <stdbool.h>
#include <stdint.h>

/* One buffer of a trace, as its WMI_BUFFER_HEADER (ntwmi.h) tells. */
struct etl_buffer {
    uint64_t offset;   /* in the file, bytes */
    uint32_t size;     /* it takes in the file, header included, compressed or not */
    uint32_t end;      /* of its records, bytes from the start of the unpacked buffer */
    int64_t time_raw;  /* when it was flushed, session clock; FILETIME in relogged files */
    uint64_t sequence; /* over all processors of the session */
    uint32_t state;
    uint16_t cpu;
    uint16_t logger_id;
    uint16_t flags; /* enum etl_buffer_flag */
    uint16_t type;
    bool empty;     /* holds no record */
    bool truncated; /* the file ends inside it */
};

/*
 * Parse the ETL_BUFFER_HEADER_SIZE bytes at ${header}, found at ${offset} of the file. False if
 * the size cannot be one: then nothing is known of where the next buffer starts. A header whose
 * size is possible but which contradicts itself is parsed as well, and ${*ret_problem} says what
 * is wrong with it (static text), else it is NULL.
 */
bool etl_buffer_parse(const uint8_t *header, uint64_t offset, struct etl_buffer *ret_buffer,
    const char **ret_problem);

/* Are these, taken from an arbitrary place, the first bytes of a buffer? Stricter than parsing:
 * for finding the way back after damage. */
bool etl_buffer_plausible(const uint8_t *header);

#endif
