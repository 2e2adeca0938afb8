#ifndef ETWSHIP_BASE_BYTES_H
#define ETWSHIP_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Little-endian loads and stores on unaligned memory. Compilers turn each into one instruction.
 * The caller has checked the bounds: untrusted bytes go through struct reader (reader.h) first.
 */
static inline uint16_t load_le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (uint32_t)p[1] << 8);
}

static inline uint32_t load_le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t load_le64(const uint8_t *p)
{
    return load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
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
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void store_le32(uint8_t *p, uint32_t v)
{
    store_le16(p, (uint16_t)v);
    store_le16(p + 2, (uint16_t)(v >> 16));
}

static inline void store_le64(uint8_t *p, uint64_t v)
{
    store_le32(p, (uint32_t)v);
    store_le32(p + 4, (uint32_t)(v >> 32));
}

#endif
