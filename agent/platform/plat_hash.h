#ifndef ETWSHIP_PLATFORM_PLAT_HASH_H
#define ETWSHIP_PLATFORM_PLAT_HASH_H

#include "base/error.h"
#include "base/span.h"

/*
 * SHA-256 (FIPS 180-4, 6.2) and HMAC-SHA-256 (RFC 2104) by the system's cryptography: libcrypto, or
 * CNG on Windows.
 *
 * The HMAC objects of both libraries belong to one key and one thread, and libcrypto allocates
 * memory whenever it starts one. Hashing the padded key again avoids both: a key is plain memory
 * for any number of threads, and each thread has a struct plat_hash.
 */
enum { PLAT_HASH_BYTES = 32, PLAT_HASH_BLOCK_BYTES = 64 };

struct plat_hash; /* for one thread at a time */

/* NULL with ${err} set: the library refuses SHA-256, or memory is short. */
struct plat_hash *plat_hash_create(struct error *err);
void plat_hash_destroy(struct plat_hash *hash); /* NULL is fine */

/* The digest of ${first} and ${second} together; allocates nothing. False: the library failed, and
 * ${ret_digest} is not set. */
bool plat_hash_pair(struct plat_hash *hash, struct span first, struct span second,
    uint8_t ret_digest[PLAT_HASH_BYTES]);

/* The digest of ${bytes}. Any thread. */
bool plat_hash_of(struct span bytes, uint8_t ret_digest[PLAT_HASH_BYTES], struct error *err);

/* A key of HMAC, padded. It is as secret as the key. */
struct plat_hash_key {
    uint8_t inner[PLAT_HASH_BLOCK_BYTES];
    uint8_t outer[PLAT_HASH_BLOCK_BYTES];
};

/* ${secret} may have any size. */
bool plat_hash_key_init(struct plat_hash_key *key, struct span secret, struct error *err);

/* The HMAC of ${text}; as plat_hash_pair. Threads may share the key. */
bool plat_hash_keyed(struct plat_hash *hash, const struct plat_hash_key *key, struct span text,
    uint8_t ret_digest[PLAT_HASH_BYTES]);

#endif
