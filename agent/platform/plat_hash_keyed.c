#include "platform/plat_hash.h"

#include <string.h>

bool plat_hash_of(struct span bytes, uint8_t ret_digest[PLAT_HASH_BYTES], struct error *err)
{
    struct plat_hash *hash = plat_hash_create(err);
    bool good = hash && (plat_hash_pair(hash, bytes, span_make(NULL, 0), ret_digest) ||
                            error_set(err, ERR_UNSUPPORTED, "SHA-256 failed"));
    plat_hash_destroy(hash);
    return good;
}

/* RFC 2104, 2. */
bool plat_hash_key_init(struct plat_hash_key *key, struct span secret, struct error *err)
{
    enum { INNER_PAD = 0x36, OUTER_PAD = 0x5c };
    uint8_t block[PLAT_HASH_BLOCK_BYTES] = {0};
    if (secret.size > sizeof(block)) {
        if (!plat_hash_of(secret, block, err)) {
            return false;
        }
    } else if (secret.size) {
        memcpy(block, secret.data, secret.size);
    }
    for (size_t i = 0; i < sizeof(block); i++) {
        key->inner[i] = block[i] ^ INNER_PAD;
        key->outer[i] = block[i] ^ OUTER_PAD;
    }
    return true;
}

bool plat_hash_keyed(struct plat_hash *hash, const struct plat_hash_key *key, struct span text,
    uint8_t ret_digest[PLAT_HASH_BYTES])
{
    uint8_t inner[PLAT_HASH_BYTES];
    return plat_hash_pair(hash, span_make(key->inner, sizeof(key->inner)), text, inner) &&
           plat_hash_pair(hash, span_make(key->outer, sizeof(key->outer)),
               span_make(inner, sizeof(inner)), ret_digest);
}
