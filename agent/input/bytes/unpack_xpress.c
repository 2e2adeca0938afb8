#include "input/bytes/unpack_own.h"

/*
 * [MS-XCA] 2.4, plain LZ77: a word of 32 flags, from the top; each flag stands for a literal byte
 * (0) or a match (1) with 13 bits of distance and 3 of length. Long lengths continue in a half byte
 * (the next long match uses the other half), a byte, 16 bits, 32 bits.
 *
 * The stream ends with its input. The specification pads the last flag word with ones, but some
 * writers use zeros, so flags without input are ignored.
 *
 * This is the hot path of compressed traces, so it exists twice: run_fast() while there is input
 * for any token and space for any copy to overshoot, and single checked tokens near the ends. Both
 * use the same code to read matches.
 */
enum {
    MIN_MATCH = 3,
    LONG_3_BITS = 7,
    LONG_4_BITS = 15,
    LONG_8_BITS = 255,
    MAX_MATCH_BYTES = 10, /* 2, then half of 1, 1, 2, 4 */

    FAST_IN_BYTES = 48,   /* flags, 32 literals, one match */
    FAST_OUT_BYTES = 128, /* 32 literals, one short match, OVERSHOOT */
    OVERSHOOT = 32,
};

struct match {
    size_t distance;
    uint64_t length; /* 0: impossible */
};

static inline unsigned leading_zeros(uint64_t v)
{
#if defined(__GNUC__)
    return (unsigned)__builtin_clzll(v);
#else
    unsigned count = 0;
    while (!(v >> 63)) {
        v <<= 1;
        count++;
    }
    return count;
#endif
}

static inline uint64_t make_flags(uint32_t word)
{
    return (uint64_t)word << 32 | UINT64_C(1) << 31;
}

/* Read the length of a long match, after its first two bytes. Reads at most MAX_MATCH_BYTES - 2
 * bytes from ${in} without checks; returns the position after them. */
static const uint8_t *read_long(const uint8_t *in, uint8_t *nibble, uint64_t *ret_length)
{
    uint32_t more;
    if (*nibble == UNPACK_XPRESS_NO_NIBBLE) {
        more = *in & 15;
        *nibble = *in >> 4;
        in++;
    } else {
        more = *nibble;
        *nibble = UNPACK_XPRESS_NO_NIBBLE;
    }
    if (more < LONG_4_BITS) {
        *ret_length = (uint64_t)more + LONG_3_BITS + MIN_MATCH;
        return in;
    }
    more = *in++;
    if (more < LONG_8_BITS) {
        *ret_length = (uint64_t)more + LONG_4_BITS + LONG_3_BITS + MIN_MATCH;
        return in;
    }
    more = load_le16(in);
    in += 2;
    if (more == 0) {
        more = load_le32(in);
        in += 4;
    }
    *ret_length = more < LONG_4_BITS + LONG_3_BITS ? 0 : (uint64_t)more + MIN_MATCH;
    return in;
}

static inline const uint8_t *read_match(const uint8_t *in, uint8_t *nibble, struct match *ret_match)
{
    uint32_t token = load_le16(in);
    in += 2;
    ret_match->distance = (token >> 3) + 1;
    ret_match->length = (token & 7) + MIN_MATCH;
    return (token & 7) == LONG_3_BITS ? read_long(in, nibble, &ret_match->length) : in;
}

/* Copy a match; writes up to 16 bytes beyond its end. */
static inline void copy_match(uint8_t *at, size_t distance, size_t length)
{
    const uint8_t *from = at - distance;
    const uint8_t *end = at + length;
    if (distance < 8) {
        /* The first eight bytes singly; then a multiple of the distance of at least 8 works. */
        static const uint8_t multiple[8] = {0, 8, 8, 9, 8, 10, 12, 14};
        for (int i = 0; i < 8; i++) {
            at[i] = from[i];
        }
        at += 8;
        from = at - multiple[distance];
    } else {
        memcpy(at, from, 8);
        at += 8;
        from += 8;
    }
    while (at < end) {
        memcpy(at, from, 8);
        memcpy(at + 8, from + 8, 8);
        at += 16;
        from += 16;
    }
}

/* Process tokens while no bounds checks are needed. False if one is corrupt; it is not consumed. */
static bool run_fast(struct unpack *unpack, struct unpack_io *io)
{
    const uint8_t *in = io->in;
    const uint8_t *const in_stop = io->in_end - FAST_IN_BYTES;
    uint8_t *at = io->at;
    uint8_t *const stop = io->limit - FAST_OUT_BYTES;
    uint64_t flags = unpack->flags;
    uint8_t nibble = unpack->nibble;
    bool good = true;

    while (in <= in_stop && at <= stop) {
        if (flags == UNPACK_XPRESS_NO_FLAGS) {
            flags = make_flags(load_le32(in));
            in += 4;
        }
        unsigned literals = leading_zeros(flags);
        memcpy(at, in, 8);
        if (literals > 8) {
            memcpy(at + 8, in + 8, 24);
        }
        at += literals;
        in += literals;
        flags <<= literals;
        if (flags == UNPACK_XPRESS_NO_FLAGS) {
            continue;
        }

        struct match match;
        uint8_t nibble_then = nibble;
        const uint8_t *next = read_match(in, &nibble_then, &match);
        if (match.distance > (size_t)(at - io->base) || match.length == 0) {
            good = false;
            break;
        }
        if (match.length > (size_t)(io->limit - at) - OVERSHOOT) {
            break; /* the window ends inside it */
        }
        flags <<= 1;
        in = next;
        nibble = nibble_then;
        copy_match(at, match.distance, (size_t)match.length);
        at += match.length;
    }
    io->in = in;
    io->at = at;
    unpack->flags = flags;
    unpack->nibble = nibble;
    return good;
}

static bool step_match(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why)
{
    /* zeros follow the input; a token that needs one of them is truncated */
    uint8_t token[MAX_MATCH_BYTES] = {0};
    size_t left = unpack_in_left(io);
    memcpy(token, io->in, left < sizeof(token) ? left : sizeof(token));

    struct match match;
    uint8_t nibble = unpack->nibble;
    size_t used = (size_t)(read_match(token, &nibble, &match) - token);
    if (used > left) {
        return unpack_stop(unpack_cut_off(io), ret_why);
    }
    if (match.length == 0 || !unpack_begin_match(unpack, io, match.distance, match.length)) {
        return unpack_stop(UNPACK_CORRUPT, ret_why);
    }
    io->in += used;
    unpack->nibble = nibble;
    unpack->flags <<= 1;
    return true;
}

bool unpack_xpress_step(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why)
{
    if (unpack_in_left(io) >= FAST_IN_BYTES && unpack_room(io) >= FAST_OUT_BYTES) {
        if (!run_fast(unpack, io)) {
            return unpack_stop(UNPACK_CORRUPT, ret_why);
        }
    }
    if (io->in == io->in_end) {
        return unpack_stop(io->last ? UNPACK_END : UNPACK_MORE_INPUT, ret_why);
    }
    if (unpack->flags == UNPACK_XPRESS_NO_FLAGS) {
        if (unpack_in_left(io) < 4) {
            return unpack_stop(unpack_cut_off(io), ret_why);
        }
        unpack->flags = make_flags(load_le32(io->in));
        io->in += 4;
        return true;
    }
    if (io->at == io->limit) {
        return unpack_stop(UNPACK_FULL, ret_why);
    }
    if (unpack->flags >> 63) {
        return step_match(unpack, io, ret_why);
    }
    *io->at++ = *io->in++;
    unpack->flags <<= 1;
    return true;
}
