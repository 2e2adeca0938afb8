#ifndef ETWSHIP_BASE_SHA256_H
#define ETWSHIP_BASE_SHA256_H

#include "base/span.h"

/* SHA-256 (FIPS 180-4, 6.2): fingerprints of certificates. */
enum { SHA256_SIZE = 32 };

struct sha256 {
    uint32_t state[8];
    uint64_t size_bytes;
    uint8_t block[64];
};

void sha256_init(struct sha256 *sha);
void sha256_update(struct sha256 *sha, struct span bytes);
void sha256_final(struct sha256 *sha, uint8_t digest[SHA256_SIZE]);

#endif
