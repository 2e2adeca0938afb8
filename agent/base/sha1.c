#include "base/sha1.h"

#include "base/bytes.h"

static uint32_t rotate(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32 - bits);
}

void sha1_init(struct sha1 *sha)
{
    *sha = (struct sha1){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}};
}

/* RFC 3174 section 6.1. */
static void compress(struct sha1 *sha)
{
    uint32_t w[80];
    for (size_t i = 0; i < 16; i++) {
        w[i] = load_be32(sha->block + i * 4);
    }
    for (size_t i = 16; i < 80; i++) {
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    uint32_t a = sha->state[0];
    uint32_t b = sha->state[1];
    uint32_t c = sha->state[2];
    uint32_t d = sha->state[3];
    uint32_t e = sha->state[4];
    for (size_t i = 0; i < 80; i++) {
        uint32_t mix;
        if (i < 20) {
            mix = ((b & c) | (~b & d)) + 0x5a827999;
        } else if (i < 40) {
            mix = (b ^ c ^ d) + 0x6ed9eba1;
        } else if (i < 60) {
            mix = ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
        } else {
            mix = (b ^ c ^ d) + 0xca62c1d6;
        }
        uint32_t next = rotate(a, 5) + mix + e + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    sha->state[0] += a;
    sha->state[1] += b;
    sha->state[2] += c;
    sha->state[3] += d;
    sha->state[4] += e;
}

void sha1_update(struct sha1 *sha, struct span bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        sha->block[sha->size_bytes++ % 64] = bytes.data[i];
        if (sha->size_bytes % 64 == 0) {
            compress(sha);
        }
    }
}

void sha1_final(struct sha1 *sha, uint8_t digest[SHA1_SIZE])
{
    uint64_t bits = sha->size_bytes * 8;
    static const uint8_t mark = 0x80;
    static const uint8_t zero = 0;
    sha1_update(sha, span_make(&mark, 1));
    while (sha->size_bytes % 64 != 56) {
        sha1_update(sha, span_make(&zero, 1));
    }
    uint8_t length[8];
    for (size_t i = 0; i < 8; i++) {
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    }
    sha1_update(sha, span_make(length, sizeof(length)));
    for (size_t i = 0; i < 5; i++) {
        for (size_t k = 0; k < 4; k++) {
            digest[i * 4 + k] = (uint8_t)(sha->state[i] >> (24 - 8 * k));
        }
    }
}
