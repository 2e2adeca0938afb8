#ifndef ETWSHIP_BASE_HMAC_H
#define ETWSHIP_BASE_HMAC_H

#include "base/sha256.h"

/* HMAC-SHA-256 (RFC 2104, FIPS 198-1). The key is taken in once; a short text then costs two blocks. */
struct hmac_key {
    struct sha256 inner;
    struct sha256 outer;
};

/* ${secret} may have any size; it is not needed afterwards. */
void hmac_key_init(struct hmac_key *key, struct span secret);

/* Any number of threads may use one key. */
void hmac_of(const struct hmac_key *key, struct span text, uint8_t digest[SHA256_SIZE]);

#endif
