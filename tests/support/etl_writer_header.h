#ifndef ETWSHIP_TESTS_SUPPORT_ETL_WRITER_HEADER_H
#define ETWSHIP_TESTS_SUPPORT_ETL_WRITER_HEADER_H

#include "support/etl_writer.h"

/* What the header record tells only once the session has ended. */
struct etl_counts {
    uint64_t end_time; /* FILETIME; 0: never closed */
    uint32_t buffers_written;
    uint32_t events_lost;
    uint32_t buffers_lost;
};

/* Append the header record of a trace, not padded. ${options} are complete: no zero defaults. */
void etl_writer_header_record(
    const struct etl_options *options, const struct etl_counts *counts, struct buf *out);

/* An address as the kernel leaves them in buffers and headers: every reader has to ignore it. */
uint64_t etl_writer_header_junk(uint64_t seed);

#endif
