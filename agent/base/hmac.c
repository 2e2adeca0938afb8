#include "base/hmac.h"

enum { INNER_PAD = 0x36, OUTER_PAD = 0x5c };

static void begin(struct sha256 *sha, const uint8_t *block, size_t size, uint8_t pad)
{
    uint8_t padded[sizeof(sha->block)];
    for (size_t i = 0; i < size; i++) {
        padded[i] = block[i] ^ pad;
    }
    sha256_init(sha);
    sha256_update(sha, span_make(padded, size));
}

void hmac_key_init(struct hmac_key *key, struct span secret)
{
    uint8_t block[sizeof(key->inner.block)] = {0};
    if (secret.size > sizeof(block)) {
        sha256_init(&key->inner);
        sha256_update(&key->inner, secret);
        sha256_final(&key->inner, block);
    } else if (secret.size) {
        memcpy(block, secret.data, secret.size);
    }
    begin(&key->inner, block, sizeof(block), INNER_PAD);
    begin(&key->outer, block, sizeof(block), OUTER_PAD);
}

void hmac_of(const struct hmac_key *key, struct span text, uint8_t digest[SHA256_SIZE])
{
    struct sha256 sha = key->inner;
    sha256_update(&sha, text);
    sha256_final(&sha, digest);
    sha = key->outer;
    sha256_update(&sha, span_make(digest, SHA256_SIZE));
    sha256_final(&sha, digest);
}
