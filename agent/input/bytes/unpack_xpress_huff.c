#include "input/bytes/unpack_own.h"

/*
 * [MS-XCA] 2.2, LZ77+Huffman: blocks of 64 KB of output (a match may extend a block). A block is a
 * table of 512 code lengths of 4 bits, then codes, packed into 16-bit words from the top. Symbols
 * below 256 are literals. The others are matches: 4 bits give the number of distance bits after the
 * code, 4 bits the length, which long matches continue in whole bytes. A decoder reads a word ahead
 * whenever it has less than 16 bits, and the whole bytes come from its current read position: so it
 * must read exactly as the writer assumes, never more.
 *
 * Codes are canonical: ordered by length, then by symbol. Short ones are found in `lookup`, long
 * ones by counting through `code_counts`. Only complete codes are accepted, so every bit pattern is
 * valid.
 *
 * The stream ends with its input at the end of a block, or after symbol 256, which is also the
 * match of 3 bytes at distance 1. Only the expected size distinguishes them; the window's limit
 * represents it. If a caller left space beyond that size, 256 counts as the end if only zero bits
 * follow and it does not consist of zero bits itself.
 */
enum {
    TABLE_BYTES = 256,
    AHEAD_BYTES = 4,
    BLOCK_BYTES = 65536,
    MAX_BITS = UNPACK_HUFF_MAX_BITS,
    LOOKUP_BITS = UNPACK_HUFF_LOOKUP_BITS,
    SYMBOLS = UNPACK_HUFF_SYMBOLS,
    FIRST_MATCH = 256,
    END_MARK = 256,
    MIN_MATCH = 3,
    LONG_4_BITS = 15,
    LONG_8_BITS = 255,
};

/* A read position. It is copied for a token and kept if the token is complete. */
struct bits {
    const uint8_t *in;
    const uint8_t *end;
    uint32_t ahead; /* from the top, followed by zeros */
    uint32_t count;
    bool failed; /* the input ended */
};

static inline unsigned code_length(const uint8_t *table, unsigned symbol)
{
    return symbol & 1 ? table[symbol / 2] >> 4 : table[symbol / 2] & 15;
}

/* False unless the code is complete. */
static bool read_table(struct unpack *unpack, const uint8_t *table)
{
    uint16_t counts[MAX_BITS + 1] = {0};
    for (unsigned symbol = 0; symbol < SYMBOLS; symbol++) {
        counts[code_length(table, symbol)]++;
    }
    counts[0] = 0;
    uint32_t used = 0;
    uint16_t next[MAX_BITS + 1] = {0};
    for (unsigned length = 1; length <= MAX_BITS; length++) {
        used += (uint32_t)counts[length] << (MAX_BITS - length);
        next[length] = (uint16_t)(next[length - 1] + counts[length - 1]);
    }
    if (used != 1u << MAX_BITS) {
        return false;
    }
    for (unsigned symbol = 0; symbol < SYMBOLS; symbol++) {
        unsigned length = code_length(table, symbol);
        if (length > 0) {
            unpack->code_symbols[next[length]++] = (uint16_t)symbol;
        }
    }
    memcpy(unpack->code_counts, counts, sizeof(counts));

    /* Codes in order fill the lookup table from its start; the rest are prefixes of long codes. */
    memset(unpack->lookup, 0, sizeof(unpack->lookup));
    uint32_t at = 0;
    uint32_t index = 0;
    for (unsigned length = 1; length <= LOOKUP_BITS; length++) {
        for (uint32_t i = 0; i < counts[length]; i++) {
            uint16_t entry = (uint16_t)((uint32_t)unpack->code_symbols[index++] << 4 | length);
            for (uint32_t end = at + (1u << (LOOKUP_BITS - length)); at < end; at++) {
                unpack->lookup[at] = entry;
            }
        }
    }
    return true;
}

static void bits_skip(struct bits *bits, uint32_t count)
{
    if (count > bits->count) {
        bits->failed = true;
        return;
    }
    bits->ahead <<= count;
    bits->count -= count;
    if (bits->count >= 16 || bits->in == bits->end) {
        return; /* at the very end the remaining bits may suffice */
    }
    if (bits->end - bits->in < 2) {
        bits->failed = true;
        return;
    }
    bits->ahead |= (uint32_t)load_le16(bits->in) << (16 - bits->count);
    bits->count += 16;
    bits->in += 2;
}

static uint32_t bits_bytes(struct bits *bits, unsigned size)
{
    uint32_t value = 0;
    if (bits->failed || (size_t)(bits->end - bits->in) < size) {
        bits->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++) {
        value |= (uint32_t)*bits->in++ << (8 * i);
    }
    return value;
}

/* The symbol at the front and the length of its code. */
static unsigned find_symbol(const struct unpack *unpack, uint32_t ahead, unsigned *ret_length)
{
    unsigned entry = unpack->lookup[ahead >> (32 - LOOKUP_BITS)];
    if (entry != 0) {
        *ret_length = entry & 15;
        return entry >> 4;
    }
    uint32_t first = 0;
    uint32_t index = 0;
    for (unsigned length = 1; length < MAX_BITS; length++) {
        uint32_t code = ahead >> (32 - length);
        uint32_t count = unpack->code_counts[length];
        if (code - first < count) {
            *ret_length = length;
            return unpack->code_symbols[index + code - first];
        }
        index += count;
        first = (first + count) << 1;
    }
    *ret_length = MAX_BITS;
    return unpack->code_symbols[index + (ahead >> (32 - MAX_BITS)) - first];
}

static bool step_block(struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why)
{
    size_t left = unpack_in_left(io);
    if (left == 0) {
        return unpack_stop(io->last ? UNPACK_END : UNPACK_MORE_INPUT, ret_why);
    }
    if (io->at == io->limit) {
        return unpack_stop(UNPACK_FULL, ret_why);
    }
    if (left < TABLE_BYTES + AHEAD_BYTES) {
        return unpack_stop(unpack_cut_off(io), ret_why);
    }
    if (!read_table(unpack, io->in)) {
        return unpack_stop(UNPACK_CORRUPT, ret_why);
    }
    const uint8_t *words = io->in + TABLE_BYTES;
    unpack->bits = (uint32_t)load_le16(words) << 16 | load_le16(words + 2);
    unpack->bit_count = 32;
    unpack->block_left = BLOCK_BYTES;
    io->in += TABLE_BYTES + AHEAD_BYTES;
    return true;
}

/* Read the rest of a match after its symbol's code. */
static void read_match(
    struct bits *bits, unsigned symbol, uint32_t *ret_distance, uint64_t *ret_length)
{
    unsigned distance_bits = (symbol - FIRST_MATCH) >> 4;
    uint64_t length = symbol & 15;
    if (length == LONG_4_BITS) {
        length += bits_bytes(bits, 1);
        if (length == LONG_4_BITS + LONG_8_BITS) {
            length = bits_bytes(bits, 2);
            if (length == 0) {
                length = bits_bytes(bits, 4);
            }
        }
    }
    uint32_t low = distance_bits ? bits->ahead >> (32 - distance_bits) : 0;
    *ret_distance = (1u << distance_bits) + low;
    *ret_length = length + MIN_MATCH;
    bits_skip(bits, distance_bits);
}

bool unpack_xpress_huff_step(
    struct unpack *unpack, struct unpack_io *io, enum unpack_status *ret_why)
{
    if (unpack->block_left == 0) {
        return step_block(unpack, io, ret_why);
    }
    if (io->at == io->limit) {
        return unpack_stop(UNPACK_FULL, ret_why);
    }
    struct bits bits = {
        .in = io->in, .end = io->in_end, .ahead = unpack->bits, .count = unpack->bit_count};
    unsigned code_bits;
    unsigned symbol = find_symbol(unpack, bits.ahead, &code_bits);
    bool zeros = bits.ahead >> (32 - code_bits) == 0;
    uint32_t distance = 0;
    uint64_t length = 1;
    bits_skip(&bits, code_bits);
    if (symbol >= FIRST_MATCH) {
        read_match(&bits, symbol, &distance, &length);
    }
    bool dry = bits.count < 16 || bits.in == bits.end;
    if (bits.failed || (dry && !io->last)) {
        return unpack_stop(unpack_cut_off(io), ret_why);
    }
    if (symbol == END_MARK && dry && bits.ahead == 0 && !zeros) {
        io->in = bits.in;
        return unpack_stop(UNPACK_END, ret_why);
    }
    if (symbol < FIRST_MATCH) {
        *io->at++ = (uint8_t)symbol;
    } else if (!unpack_begin_match(unpack, io, distance, length)) {
        return unpack_stop(UNPACK_CORRUPT, ret_why);
    }
    io->in = bits.in;
    unpack->bits = bits.ahead;
    unpack->bit_count = bits.count;
    unpack->block_left -= length < unpack->block_left ? (uint32_t)length : unpack->block_left;
    return true;
}
