#ifndef ETWSHIP_INPUT_UNPACK_H
#define ETWSHIP_INPUT_UNPACK_H

#include "base/span.h"

/*
 * Streaming decompression of ETW buffers: no allocation, input in pieces of any size, output into a
 * window that the caller slides. A buffer of 16 MB needs about 100 KB.
 *
 * Sources: [MS-XCA] 2.4 (plain LZ77: XPRESS), 2.2 (LZ77+Huffman: XPRESS_HUFF), 2.5 (LZNT1).
 */
enum unpack_format { /* COMPRESSION_FORMAT_*, ntifs.h */
    UNPACK_LZNT1 = 2,
    UNPACK_XPRESS = 3,
    UNPACK_XPRESS_HUFF = 4,
};

enum unpack_status {
    UNPACK_MORE_INPUT, /* all whole tokens of the input are used */
    UNPACK_FULL,       /* the window is full */
    UNPACK_END,        /* end of the stream: end of input with `last`, or an end mark */
    /* invalid data: a match reaches before the start, an impossible table, a truncated last token,
     * … */
    UNPACK_CORRUPT,
};

/* Maximum distance of a match: bytes before `at` that the caller must keep. */
enum { UNPACK_MAX_HISTORY = 65536 };
size_t unpack_history(enum unpack_format format);

/* Output: bytes base[0, at) are earlier output (history); base[at, limit) is free. Bytes after the
 * new `at` may be overwritten. */
struct unpack_window {
    uint8_t *base;
    size_t at;
    size_t limit;
};

enum { UNPACK_HUFF_LOOKUP_BITS = 10, UNPACK_HUFF_SYMBOLS = 512, UNPACK_HUFF_MAX_BITS = 15 };

/* State between two calls: about 3 KB of plain data, to embed; no fini. Members are private. */
struct unpack {
    enum unpack_format format;
    /* once UNPACK_END or UNPACK_CORRUPT was returned, every later call returns it */
    enum unpack_status ended;
    uint64_t match_left; /* rest of a match that did not fit */
    uint32_t match_distance;

    uint64_t flags; /* XPRESS, LZNT1: unused flags, followed by a guard bit */
    uint8_t nibble; /* XPRESS: half byte of a length for the next long match */

    bool chunk_raw;      /* LZNT1 */
    uint32_t chunk_left; /* LZNT1: remaining input bytes of the chunk */
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
 * Decompress from ${in} into ${window} until one of them ends. ${ret_used} is the input consumed:
 * the caller passes the rest again, followed by more. A call with at least UNPACK_MIN_INPUT bytes,
 * or with ${last}, always makes progress. Matches longer than the window continue in the next call.
 * After UNPACK_CORRUPT, `at` and ${ret_used} are the end of the valid part.
 *
 * No format contains the size of its output; ETW's buffer header does, and `limit` must not exceed
 * it. UNPACK_END before that size means a truncated stream. In XPRESS_HUFF the end mark is also a
 * valid match, and only the size distinguishes them ([MS-XCA] 2.2.4): with a larger `limit`, a few
 * extra bytes may be produced.
 */
enum { UNPACK_MIN_INPUT = 1024 };
enum unpack_status unpack_run(struct unpack *unpack, struct span in, bool last,
    struct unpack_window *window, size_t *ret_used);

#endif
