#include "support/pack.h"

#include "base/bytes.h"
#include "support/pack_finder.h"

/* Plain LZ77, 2.3.4 */

struct xpress {
    struct buf *out;
    size_t flags_at;
    uint32_t flags;
    unsigned flag_count;
    size_t nibble_at; /* 0: none is waiting, the first bytes are flags */
};

static void xpress_flags(struct xpress *x)
{
    x->flags_at = x->out->size;
    x->flags = 0;
    x->flag_count = 0;
    pack_le32(x->out, 0);
}

static void xpress_flag(struct xpress *x, unsigned flag)
{
    x->flags = x->flags << 1 | flag;
    if (++x->flag_count == 32 && !x->out->failed) {
        store_le32(x->out->data + x->flags_at, x->flags);
        xpress_flags(x);
    }
}

static void xpress_long(struct xpress *x, size_t length)
{
    size_t rest = length - PACK_MIN_MATCH - 7;
    uint8_t nibble = rest < 15 ? (uint8_t)rest : 15;
    if (x->nibble_at == 0) {
        x->nibble_at = x->out->size;
        buf_add_byte(x->out, nibble);
    } else if (!x->out->failed) {
        x->out->data[x->nibble_at] |= (uint8_t)(nibble << 4);
        x->nibble_at = 0;
    }
    if (nibble < 15) {
        return;
    }
    rest -= 15;
    buf_add_byte(x->out, rest < 255 ? (uint8_t)rest : 255);
    if (rest < 255) {
        return;
    }
    if (length - PACK_MIN_MATCH <= UINT16_MAX) {
        pack_le16(x->out, length - PACK_MIN_MATCH);
    } else {
        pack_le16(x->out, 0);
        pack_le32(x->out, length - PACK_MIN_MATCH);
    }
}

bool pack_xpress(struct span in, struct buf *out)
{
    struct pack_finder finder;
    struct xpress x = {.out = out};
    bool ready = pack_finder_init(&finder, in, 8192);
    xpress_flags(&x);
    for (size_t at = 0; ready && at < in.size;) {
        struct pack_match match = pack_finder_find(&finder, at, in.size, 0);
        if (match.length == 0) {
            buf_add_byte(out, in.data[at++]);
            xpress_flag(&x, 0);
            continue;
        }
        size_t low = match.length - PACK_MIN_MATCH < 7 ? match.length - PACK_MIN_MATCH : 7;
        pack_le16(out, (match.distance - 1) << 3 | low);
        if (low == 7) {
            xpress_long(&x, match.length);
        }
        xpress_flag(&x, 1);
        at += match.length;
    }
    if (!out->failed) {
        unsigned unused = 32 - x.flag_count;
        uint64_t flags = (uint64_t)x.flags << unused | ((UINT64_C(1) << unused) - 1);
        store_le32(out->data + x.flags_at, (uint32_t)flags);
    }
    pack_finder_fini(&finder);
    return ready && !out->failed;
}

/* LZNT1, 2.5.1 */

enum { LZNT1_CHUNK = 4096 };

/* in[start, end) as flag groups. */
static void lznt1_groups(struct pack_finder *finder, size_t start, size_t end, struct buf *out)
{
    size_t flags_at = 0;
    unsigned flag_count = 8;
    for (size_t at = start; at < end && !out->failed; flag_count++) {
        if (flag_count == 8) {
            flag_count = 0;
            flags_at = out->size;
            buf_add_byte(out, 0);
        }
        unsigned bits = 4;
        while (bits < 12 && ((size_t)1 << bits) < at - start) {
            bits++;
        }
        struct pack_match match = pack_finder_find(finder, at, end, start);
        size_t longest = ((size_t)0xffff >> bits) + PACK_MIN_MATCH;
        match.length = match.length < longest ? match.length : longest;
        if (match.length == 0) {
            buf_add_byte(out, finder->in.data[at++]);
        } else {
            pack_le16(out, (match.distance - 1) << (16 - bits) | (match.length - PACK_MIN_MATCH));
            at += match.length;
            if (!out->failed) {
                out->data[flags_at] |= (uint8_t)(1u << flag_count);
            }
        }
    }
}

bool pack_lznt1(struct span in, struct buf *out)
{
    struct pack_finder finder;
    bool ready = pack_finder_init(&finder, in, LZNT1_CHUNK);
    for (size_t start = 0; ready && start < in.size && !out->failed;) {
        size_t size = in.size - start < LZNT1_CHUNK ? in.size - start : LZNT1_CHUNK;
        size_t header_at = out->size;
        pack_le16(out, 0);
        lznt1_groups(&finder, start, start + size, out);
        if (out->failed) {
            break;
        }
        size_t packed = out->size - header_at - 2;
        bool raw = packed >= size;
        if (raw) {
            out->size = header_at + 2;
            buf_add(out, in.data + start, size);
            packed = size;
        }
        store_le16(out->data + header_at, (uint16_t)((raw ? 0x3000 : 0xb000) | (packed - 1)));
        start += size;
    }
    pack_finder_fini(&finder);
    return ready && !out->failed;
}
