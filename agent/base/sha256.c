#include "base/sha256.h"

#include "base/bytes.h"

enum { ROUNDS = 64 };

/* FIPS 180-4, 4.2.2. */
static const uint32_t constants[ROUNDS] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
    0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
    0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t value, unsigned bits)
{
    return value >> bits | value << (32 - bits);
}

void sha256_init(struct sha256 *sha)
{
    *sha = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                               0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

/* 6.2.2, step 1. */
static void schedule(const uint8_t *block, uint32_t *w)
{
    for (size_t i = 0; i < 16; i++) {
        w[i] = load_be32(block + i * 4);
    }
    for (size_t i = 16; i < ROUNDS; i++) {
        uint32_t late = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        uint32_t early = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        w[i] = late + w[i - 7] + early + w[i - 16];
    }
}

/* 6.2.2, steps 2 to 4. */
static void compress(struct sha256 *sha, const uint8_t *block)
{
    uint32_t w[ROUNDS];
    uint32_t *state = sha->state;
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    schedule(block, w);
    for (size_t i = 0; i < ROUNDS; i++) {
        uint32_t choice = g ^ (e & (f ^ g));
        uint32_t majority = (a & b) | (c & (a | b));
        uint32_t one = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + constants[i] +
                       w[i];
        uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
        h = g;
        g = f;
        f = e;
        e = d + one;
        d = c;
        c = b;
        b = a;
        a = one + two;
    }
    const uint32_t worked[] = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; i++) {
        state[i] += worked[i];
    }
}

void sha256_update(struct sha256 *sha, struct span bytes)
{
    enum { BLOCK = sizeof(sha->block) };
    size_t used = sha->size_bytes % BLOCK;
    sha->size_bytes += bytes.size;
    while (bytes.size) {
        if (used == 0 && bytes.size >= BLOCK) {
            compress(sha, bytes.data);
            bytes = span_from(bytes, BLOCK);
            continue;
        }
        struct span piece = span_first(bytes, BLOCK - used);
        memcpy(sha->block + used, piece.data, piece.size);
        bytes = span_from(bytes, piece.size);
        used += piece.size;
        if (used == BLOCK) {
            compress(sha, sha->block);
            used = 0;
        }
    }
}

void sha256_final(struct sha256 *sha, uint8_t digest[SHA256_SIZE])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = sha->size_bytes * 8;
    size_t used = sha->size_bytes % 64;
    sha256_update(sha, span_make(padding, (used < 56 ? 56 : 120) - used));
    uint8_t length[8];
    for (size_t i = 0; i < sizeof(length); i++) {
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    }
    sha256_update(sha, span_make(length, sizeof(length)));
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        digest[i] = (uint8_t)(sha->state[i / 4] >> (24 - 8 * (i % 4)));
    }
}
