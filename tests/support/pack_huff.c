#include "support/pack.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "support/pack_finder.h"

/* [MS-XCA] 2.1.4. The tokens of a block are collected first, since the code comes before them. */

enum {
    HUFF_SYMBOLS = 512,
    HUFF_MAX_BITS = 15,
    HUFF_BLOCK = 65536,
    HUFF_END = 256,
    HUFF_MAX_DISTANCE = 65535,
};

struct token {
    uint16_t symbol;
    uint16_t distance_low;
    uint32_t length; /* less PACK_MIN_MATCH */
};

/* One Huffman tree over ${counts}, the two lightest nodes joined again and again. Returns the
 * longest code. */
static unsigned huff_tree(const uint32_t *counts, uint8_t *lengths)
{
    uint64_t weights[2 * HUFF_SYMBOLS];
    int parents[2 * HUFF_SYMBOLS] = {0};
    bool open[2 * HUFF_SYMBOLS] = {false};
    int nodes = HUFF_SYMBOLS;
    for (int i = 0; i < HUFF_SYMBOLS; i++) {
        weights[i] = counts[i];
        open[i] = counts[i] > 0;
    }
    for (;;) {
        int first = -1;
        int second = -1;
        for (int i = 0; i < nodes; i++) {
            if (!open[i]) {
                continue;
            }
            if (first < 0 || weights[i] < weights[first]) {
                second = first;
                first = i;
            } else if (second < 0 || weights[i] < weights[second]) {
                second = i;
            }
        }
        if (second < 0) {
            break;
        }
        weights[nodes] = weights[first] + weights[second];
        parents[first] = parents[second] = nodes;
        open[first] = open[second] = false;
        open[nodes++] = true;
    }
    unsigned longest = 0;
    for (int i = 0; i < HUFF_SYMBOLS; i++) {
        unsigned length = 0;
        for (int node = i; parents[node] != 0; node = parents[node]) {
            length++;
        }
        lengths[i] = (uint8_t)length;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Complete code lengths of at most 15 bits: flatter counts until the tree is flat enough. */
static void huff_lengths(uint32_t *counts, uint8_t *lengths)
{
    while (huff_tree(counts, lengths) > HUFF_MAX_BITS) {
        for (int i = 0; i < HUFF_SYMBOLS; i++) {
            counts[i] = counts[i] ? counts[i] / 2 + 1 : 0;
        }
    }
}

static void huff_codes(const uint8_t *lengths, uint16_t *codes)
{
    uint32_t code = 0;
    for (unsigned length = 1; length <= HUFF_MAX_BITS; length++) {
        for (int i = 0; i < HUFF_SYMBOLS; i++) {
            if (lengths[i] == length) {
                codes[i] = (uint16_t)code++;
            }
        }
        code <<= 1;
    }
}

/* Two words are always reserved: the one that bits go to and the one after it, since a decoder
 * reads that far ahead of the length bytes between the words. */
struct bit_writer {
    struct buf *out;
    size_t words_at[2];
    uint32_t bits;
    unsigned count;
};

static void bits_reserve(struct bit_writer *w)
{
    w->words_at[0] = w->words_at[1];
    w->words_at[1] = w->out->size;
    pack_le16(w->out, 0);
}

static void bits_put(struct bit_writer *w, uint32_t value, unsigned count)
{
    w->bits = w->bits << count | value;
    w->count += count;
    if (w->count > 16 && !w->out->failed) {
        w->count -= 16;
        store_le16(w->out->data + w->words_at[0], (uint16_t)(w->bits >> w->count));
        bits_reserve(w);
    }
}

static void bits_finish(struct bit_writer *w)
{
    if (!w->out->failed) {
        store_le16(w->out->data + w->words_at[0], (uint16_t)(w->bits << (16 - w->count)));
    }
}

static void huff_put_token(
    struct bit_writer *w, const struct token *token, const uint8_t *lengths, const uint16_t *codes)
{
    bits_put(w, codes[token->symbol], lengths[token->symbol]);
    if (token->symbol < 256) {
        return;
    }
    if (token->length >= 15) {
        uint32_t rest = token->length - 15;
        buf_add_byte(w->out, rest < 255 ? (uint8_t)rest : 255);
        if (rest >= 255) {
            pack_le16(w->out, token->length);
        }
    }
    bits_put(w, token->distance_low, (token->symbol - 256u) >> 4);
}

static void huff_write(
    const struct token *tokens, size_t count, uint32_t *counts, bool mark, struct buf *out)
{
    uint8_t lengths[HUFF_SYMBOLS];
    uint16_t codes[HUFF_SYMBOLS] = {0};
    huff_lengths(counts, lengths);
    huff_codes(lengths, codes);
    for (int i = 0; i < HUFF_SYMBOLS; i += 2) {
        buf_add_byte(out, (uint8_t)(lengths[i] | lengths[i + 1] << 4));
    }
    struct bit_writer w = {.out = out};
    bits_reserve(&w);
    bits_reserve(&w);
    for (size_t i = 0; i < count; i++) {
        huff_put_token(&w, &tokens[i], lengths, codes);
    }
    if (mark) {
        bits_put(&w, codes[HUFF_END], lengths[HUFF_END]);
    }
    bits_finish(&w);
}

static struct token huff_match(struct pack_match match)
{
    unsigned bits = 0;
    while (match.distance >> (bits + 1)) {
        bits++;
    }
    size_t length = match.length - PACK_MIN_MATCH;
    return (struct token){
        .symbol = (uint16_t)(256 + (bits << 4) + (length < 15 ? length : 15)),
        .distance_low = (uint16_t)(match.distance - ((size_t)1 << bits)),
        .length = (uint32_t)length,
    };
}

static void huff_block(
    struct pack_finder *finder, struct token *tokens, size_t start, size_t end, struct buf *out)
{
    uint32_t counts[HUFF_SYMBOLS] = {0};
    size_t count = 0;
    for (size_t at = start; at < end; count++) {
        struct pack_match match = pack_finder_find(finder, at, end, 0);
        if (match.length == 0) {
            tokens[count] = (struct token){.symbol = finder->in.data[at++]};
        } else {
            tokens[count] = huff_match(match);
            at += match.length;
        }
        counts[tokens[count].symbol]++;
    }
    /* Behind a full block, an end mark could be taken for the start of another block. A code needs
     * two symbols in any case. */
    bool mark = end - start < HUFF_BLOCK;
    counts[HUFF_END]++;
    if (counts[HUFF_END] == count + 1) {
        counts[0]++;
    }
    huff_write(tokens, count, counts, mark, out);
}

bool pack_xpress_huff(struct span in, struct buf *out)
{
    struct pack_finder finder;
    struct token *tokens = malloc(HUFF_BLOCK * sizeof(*tokens));
    bool ready = pack_finder_init(&finder, in, HUFF_MAX_DISTANCE) && tokens;
    for (size_t start = 0; ready && start < in.size && !out->failed;) {
        size_t size = in.size - start < HUFF_BLOCK ? in.size - start : HUFF_BLOCK;
        huff_block(&finder, tokens, start, start + size, out);
        start += size;
    }
    pack_finder_fini(&finder);
    free(tokens);
    return ready && !out->failed;
}
