#ifndef ETWSHIP_BASE_HMAC_H
#define ETWSHIP_BASE_HMAC_H

#include "base/sha256.h"

/* HMAC-SHA-256 (RFC 2104, FIPS 198-1). The key is processed once; a short text then costs two
 * blocks. */
struct hmac_key {
    struct sha256 inner;
    struct sha256 outer;
};

/* ${secret} may have any size and is not kept. */
void hmac_key_init(struct hmac_key *key, struct span secret);

/* Thread-safe for a shared key. */
void hmac_of(const struct hmac_key *key, struct span text, uint8_t digest[SHA256_SIZE]);

#endif
