#ifndef ETWSHIP_INPUT_UNPACK_H
#define ETWSHIP_INPUT_UNPACK_H

#include "base/span.h"

/*
 * Streaming decompression of ETW buffers: no allocation, input in pieces of any size, output into
 * a window that the caller slides. A buffer of 16 MB passes through some 100 KB.
 *
 * Sources: [MS-XCA] 2.4 (plain LZ77: XPRESS), 2.2 (LZ77+Huffman: XPRESS_HUFF), 2.5 (LZNT1).
 */
enum unpack_format { /* COMPRESSION_FORMAT_*, ntifs.h */
    UNPACK_LZNT1 = 2,
    UNPACK_XPRESS = 3,
    UNPACK_XPRESS_HUFF = 4,
};

enum unpack_status {
    UNPACK_MORE_INPUT, /* the input is used up as far as whole tokens go */
    UNPACK_FULL,       /* the window is full */
    UNPACK_END,        /* the stream has ended (end of input with `last`, or an end mark) */
    UNPACK_CORRUPT,    /* a match reaches before the start, a table is impossible, the last token is
                          cut off, … */
};

/* How far back a match may reach: the bytes before `at` that the caller must keep. */
enum { UNPACK_MAX_HISTORY = 65536 };
size_t unpack_history(enum unpack_format format);

/* Output: bytes base[0, at) are what this stream gave before (history), base[at, limit) is free and
 * may be written to beyond the new `at`. */
struct unpack_window {
    uint8_t *base;
    size_t at;
    size_t limit;
};

enum { UNPACK_HUFF_LOOKUP_BITS = 10, UNPACK_HUFF_SYMBOLS = 512, UNPACK_HUFF_MAX_BITS = 15 };

/* State between two calls: some 3 KB of plain data, to embed; no fini. The members are private. */
struct unpack {
    enum unpack_format format;
    enum unpack_status ended; /* UNPACK_END or UNPACK_CORRUPT, once said, are said for ever */
    uint64_t match_left;      /* what the window had no room for */
    uint32_t match_distance;

    uint64_t flags; /* XPRESS, LZNT1: the flags not yet used, and a guard bit behind them */
    uint8_t nibble; /* XPRESS: the half byte of a length for the next long match */

    bool chunk_raw;      /* LZNT1 */
    uint32_t chunk_left; /* LZNT1: input bytes of the chunk to come */
    uint32_t chunk_made; /* LZNT1: output bytes of the chunk so far */

    uint32_t bits; /* XPRESS_HUFF: bits read ahead, from the top */
    uint32_t bit_count;
    uint32_t block_left; /* XPRESS_HUFF: output bytes until the next table */
    uint16_t code_counts[UNPACK_HUFF_MAX_BITS + 1];
    uint16_t code_symbols[UNPACK_HUFF_SYMBOLS];
    uint16_t lookup[1 << UNPACK_HUFF_LOOKUP_BITS];
};

void unpack_init(struct unpack *unpack, enum unpack_format format);

/*
 * Decompress from ${in} into ${window} until one of them ends. ${ret_used} is how much input was
 * consumed: the caller passes the rest again, followed by more. A call with at least
 * UNPACK_MIN_INPUT bytes, or with ${last}, always makes progress. Matches longer than the window
 * continue in the next call. After UNPACK_CORRUPT, `at` and ${ret_used} say how far all was well.
 *
 * No format says how long its output is, ETW's buffer header does: `limit` must not go beyond that
 * size. UNPACK_END before it is a truncated stream. In XPRESS_HUFF the end mark is also a valid
 * match, and only the size tells them apart ([MS-XCA] 2.2.4): with a `limit` beyond the real end, a
 * few bytes too many may come out.
 */
enum { UNPACK_MIN_INPUT = 1024 };
enum unpack_status unpack_run(struct unpack *unpack, struct span in, bool last,
    struct unpack_window *window, size_t *ret_used);

#endif
