#ifndef ETWSHIP_BASE_BYTES_H
#define ETWSHIP_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Little-endian loads and stores on unaligned memory: one instruction each on little-endian
 * machines. The caller checks bounds first: untrusted bytes go through struct reader (reader.h).
 */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BYTES_FROM_LE(bits, v) __builtin_bswap##bits(v)
#else
#define BYTES_FROM_LE(bits, v) (v)
#endif

static inline uint16_t load_le16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return BYTES_FROM_LE(16, v);
}

static inline uint32_t load_le32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return BYTES_FROM_LE(32, v);
}

static inline uint64_t load_le64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return BYTES_FROM_LE(64, v);
}

/* An unsigned integer of 1, 2, 4 or 8 bytes. */
static inline uint64_t load_le(const uint8_t *p, size_t size)
{
    switch (size) {
    case 1:
        return p[0];
    case 2:
        return load_le16(p);
    case 4:
        return load_le32(p);
    default:
        return load_le64(p);
    }
}

static inline uint16_t load_be16(const uint8_t *p)
{
    return (uint16_t)((uint32_t)p[0] << 8 | p[1]);
}

static inline uint32_t load_be32(const uint8_t *p)
{
    return (uint32_t)load_be16(p) << 16 | load_be16(p + 2);
}

static inline void store_le16(uint8_t *p, uint16_t v)
{
    v = BYTES_FROM_LE(16, v);
    memcpy(p, &v, sizeof(v));
}

static inline void store_le32(uint8_t *p, uint32_t v)
{
    v = BYTES_FROM_LE(32, v);
    memcpy(p, &v, sizeof(v));
}

static inline void store_le64(uint8_t *p, uint64_t v)
{
    v = BYTES_FROM_LE(64, v);
    memcpy(p, &v, sizeof(v));
}

/* Compilers make one instruction of it. */
static inline void store_be64(uint8_t *p, uint64_t v)
{
    p[0] = (uint8_t)(v >> 56);
    p[1] = (uint8_t)(v >> 48);
    p[2] = (uint8_t)(v >> 40);
    p[3] = (uint8_t)(v >> 32);
    p[4] = (uint8_t)(v >> 24);
    p[5] = (uint8_t)(v >> 16);
    p[6] = (uint8_t)(v >> 8);
    p[7] = (uint8_t)v;
}

#undef BYTES_FROM_LE

#endif
