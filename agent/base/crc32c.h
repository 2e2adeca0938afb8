#ifndef ETWSHIP_BASE_CRC32C_H
#define ETWSHIP_BASE_CRC32C_H

#include "base/span.h"

/*
 * CRC-32C (Castagnoli; RFC 3720, section 12.1 and appendix B.4), which ISA-L computes where the
 * build has it. ${before} is the CRC of the preceding bytes, 0 at the start. Thread-safe.
 */
uint32_t crc32c_add(uint32_t before, struct span bytes);

/* CRC-32C without ISA-L: for builds that have none, and for comparison in tests. */
uint32_t crc32c_add_plain(uint32_t before, struct span bytes);

#endif
