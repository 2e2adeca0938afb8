#ifndef ETWSHIP_BASE_CRC32C_H
#define ETWSHIP_BASE_CRC32C_H

#include "base/span.h"

/*
 * CRC-32C (Castagnoli; RFC 3720, section 12.1 and appendix B.4), which processors compute by an
 * instruction of their own: SSE 4.2, and PCLMULQDQ, where they are there, which is asked at run time.
 * ${before} is the CRC of the bytes before, 0 at the beginning. Any thread.
 */
uint32_t crc32c_add(uint32_t before, struct span bytes);

/* The same without such an instruction. For tests, which compare the two. */
uint32_t crc32c_add_plain(uint32_t before, struct span bytes);

#endif
