#include "fuzz/fuzz.h"

#include <stdlib.h>

#include "input/bytes/unpack.h"
#include "support/pack.h"

/*
 * The first byte chooses the format, the second how input and output are split; the rest is the
 * stream. The target unpacks it twice: at once, and in small pieces with a window that keeps only
 * the history. Both outputs must be equal.
 */
enum {
    MAX_OUT = 1 << 17, /* a stream may ask for 4 GB */
    MAX_ROOM = 1000,
    MAX_HELD = UNPACK_MAX_HISTORY + 65536,
};

static const enum unpack_format formats[] = {UNPACK_LZNT1, UNPACK_XPRESS, UNPACK_XPRESS_HUFF};

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

/* 1 to ${max}, mostly small; one ${split} always gives one sequence. */
static size_t vary(uint32_t *split, size_t max)
{
    *split = *split * 1664525u + 1013904223u;
    size_t small = 1 + (*split >> 24) % 8;
    return *split >> 30 ? small : 1 + (*split >> 8) % max;
}

/* The window of the streaming side: `sent` bytes have left it and are in ${out}. */
static enum unpack_status unpack_small(
    enum unpack_format format, struct span in, uint32_t split, uint8_t *out, size_t *ret_size)
{
    static uint8_t held[MAX_HELD];
    size_t history = unpack_history(format);
    struct unpack unpack;
    struct unpack_window window = {.base = held};
    size_t given = 0;
    size_t consumed = 0;
    size_t size = 0;
    enum unpack_status status = UNPACK_MORE_INPUT;
    unpack_init(&unpack, format);
    for (;;) {
        if (status == UNPACK_MORE_INPUT) {
            check(given < in.size || given == 0);
            size_t piece = vary(&split, 300);
            given = in.size - given < piece ? in.size : given + piece;
        } else if (status == UNPACK_FULL && size < MAX_OUT) {
            if (MAX_HELD - window.at < MAX_ROOM) {
                memmove(held, held + window.at - history, history);
                window.at = history;
            }
            size_t room = vary(&split, MAX_ROOM);
            window.limit = window.at + (MAX_OUT - size < room ? MAX_OUT - size : room);
        } else {
            break;
        }
        size_t before = window.at;
        size_t used = 0;
        struct span piece = span_make(in.data + consumed, given - consumed);
        status = unpack_run(&unpack, piece, given == in.size, &window, &used);
        check(used <= piece.size && window.at >= before && window.at <= window.limit);
        check(piece.size < UNPACK_MIN_INPUT || status != UNPACK_MORE_INPUT || used > 0);
        memcpy(out + size, held + before, window.at - before);
        size += window.at - before;
        consumed += used;
    }
    *ret_size = size;
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t small[MAX_OUT];
    if (size < 2) {
        return 0;
    }
    enum unpack_format format = formats[data[0] % 3];
    struct span in = span_make(data + 2, size - 2);

    uint8_t *whole = malloc(MAX_OUT); /* of its exact size, for AddressSanitizer */
    check(whole != NULL);
    struct unpack unpack;
    struct unpack_window window = {.base = whole, .limit = MAX_OUT};
    size_t used = 0;
    unpack_init(&unpack, format);
    enum unpack_status at_once = unpack_run(&unpack, in, true, &window, &used);
    check(at_once != UNPACK_MORE_INPUT && used <= in.size);

    size_t small_size = 0;
    enum unpack_status in_pieces = unpack_small(format, in, data[1], small, &small_size);
    check(in_pieces == at_once && small_size == window.at);
    check(memcmp(small, whole, small_size) == 0);
    free(whole);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const size_t sizes[] = {40, 700, 5000};
    static uint8_t text[5000];
    if (index >= 3 * sizeof(sizes) / sizeof(sizes[0])) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(text); i++) {
        static const char word[] = "event";
        size_t kind = i / 50 % 3; /* silence, repeats, noise */
        text[i] = kind == 0 ? 0 : kind == 1 ? (uint8_t)word[i % 5] : (uint8_t)(i * i / 7);
    }
    struct span in = span_make(text, sizes[index / 3]);
    struct buf packed;
    buf_init(&packed, max - 2);
    bool good = index % 3 == 0   ? pack_lznt1(in, &packed)
                : index % 3 == 1 ? pack_xpress(in, &packed)
                                 : pack_xpress_huff(in, &packed);
    size_t size = 0;
    if (good) {
        out[0] = (uint8_t)(index % 3);
        out[1] = (uint8_t)(index * 37);
        memcpy(out + 2, packed.data, packed.size);
        size = 2 + packed.size;
    }
    buf_fini(&packed);
    return size;
}
