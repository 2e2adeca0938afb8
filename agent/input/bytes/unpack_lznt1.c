#include "input/bytes/unpack_own.h"

/*
 * [MS-XCA] 2.5, LZNT1: independent chunks of up to 4096 output bytes. A chunk is a 16-bit header
 * (size, signature 3, compressed or not) followed by plain bytes or by groups of a flag byte,
 * lowest bit first. Each flag stands for a literal byte (0) or a 16-bit match (1); the number of
 * its distance bits depends on the chunk's output so far. A header of 0 or the end of the input
 * ends the stream.
 */
enum {
    CHUNK_BYTES = 4096, /* decompressed, maximum */
    SIZE_MASK = 0x0fff, /* input bytes after the header, minus one */
    SIGNATURE_MASK = 0x7000,
    SIGNATURE = 0x3000,
    COMPRESSED = 0x8000,
    NO_FLAGS = 1, /* `flags` contains only the guard bit */
    MIN_MATCH = 3,
};

static bool step_header(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why)
{
    size_t left = unpack_in_left(io);
    if (left == 0) {
        return unpack_stop(io->last ? UNPACK_END : UNPACK_MORE_INPUT, ret_why);
    }
    if (left < 2) {
        return unpack_stop(unpack_cut_off(io), ret_why);
    }
    uint32_t header = load_le16(io->in);
    if (header == 0) {
        io->in += 2;
        return unpack_stop(UNPACK_END, ret_why);
    }
    if ((header & SIGNATURE_MASK) != SIGNATURE) {
        return unpack_stop(UNPACK_CORRUPT, ret_why);
    }
    io->in += 2;
    unpack->chunk_left = (header & SIZE_MASK) + 1;
    unpack->chunk_made = 0;
    unpack->chunk_raw = !(header & COMPRESSED);
    unpack->flags = NO_FLAGS;
    return true;
}

static void step_raw(struct unpack *unpack, struct unpack_io *io)
{
    size_t size = unpack->chunk_left;
    size = size < unpack_in_left(io) ? size : unpack_in_left(io);
    size = size < unpack_room(io) ? size : unpack_room(io);
    memcpy(io->at, io->in, size);
    io->in += size;
    io->at += size;
    unpack->chunk_left -= (uint32_t)size;
}

static bool step_match(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why)
{
    if (unpack->chunk_left < 2) {
        return unpack_stop(UNPACK_CORRUPT, ret_why);
    }
    if (unpack_in_left(io) < 2) {
        return unpack_stop(unpack_cut_off(io), ret_why);
    }
    unsigned distance_bits = 4;
    while (distance_bits < 12 && (1u << distance_bits) < unpack->chunk_made) {
        distance_bits++;
    }
    uint32_t word = load_le16(io->in);
    uint32_t distance = (word >> (16 - distance_bits)) + 1;
    uint32_t length = (word & (0xffffu >> distance_bits)) + MIN_MATCH;
    if (distance > unpack->chunk_made || length > CHUNK_BYTES - unpack->chunk_made ||
        !unpack_begin_match(unpack, io, distance, length)) {
        return unpack_stop(UNPACK_CORRUPT, ret_why);
    }
    io->in += 2;
    unpack->chunk_left -= 2;
    unpack->chunk_made += length;
    unpack->flags >>= 1;
    return true;
}

bool unpack_lznt1_step(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why)
{
    if (unpack->chunk_left == 0) {
        return step_header(unpack, io, ret_why);
    }
    if (io->at == io->limit) {
        return unpack_stop(UNPACK_FULL, ret_why);
    }
    if (io->in == io->in_end) {
        return unpack_stop(unpack_cut_off(io), ret_why);
    }
    if (unpack->chunk_raw) {
        step_raw(unpack, io);
        return true;
    }
    if (unpack->flags == NO_FLAGS) {
        unpack->flags = *io->in++ | 0x100u;
        unpack->chunk_left--;
        return true;
    }
    if (unpack->flags & 1) {
        return step_match(unpack, io, ret_why);
    }
    if (unpack->chunk_made == CHUNK_BYTES) {
        return unpack_stop(UNPACK_CORRUPT, ret_why);
    }
    *io->at++ = *io->in++;
    unpack->chunk_left--;
    unpack->chunk_made++;
    unpack->flags >>= 1;
    return true;
}
