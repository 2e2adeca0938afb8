#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "input/bytes/unpack.h"
#include "support/pack.h"

/*
 * For tests/integration/unpack_oracle.py: streams through agent/input/bytes/unpack.h or
 * tests/support/pack.h, with another program at both ends.
 *
 *     unpack_cli pack|unpack lznt1|xpress|xpress_huff
 *
 * stdin is a row of requests: u32 size of the data, u32 expected size (unpack; pack ignores it),
 * the data. For each, stdout gets u32 status (0: whole and well), u32 size, the data.
 * All little-endian. Unpacking goes in pieces and windows of changing sizes, as from a file.
 */
enum { MAX_BYTES = 64 << 20 };

static bool read_le32(uint32_t *ret_value)
{
    uint8_t b[4];
    if (fread(b, 1, 4, stdin) != 4) {
        return false;
    }
    *ret_value = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return true;
}

static void write_le32(uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        putchar((int)(value >> (8 * i) & 0xff));
    }
}

/* A piece or window size for turn ${turn}: mostly large, sometimes tiny. */
static size_t vary(unsigned turn, size_t large)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 33, 260, 1000};
    return turn % 3 == 0 ? sizes[turn / 3 % (sizeof(sizes) / sizeof(sizes[0]))] : large;
}

/* True if exactly ${expected} bytes came out. */
static bool unpack_all(enum unpack_format format, struct span in, size_t expected, struct buf *out)
{
    struct unpack unpack;
    unpack_init(&unpack, format);
    if (!buf_reserve(out, expected + 1)) {
        return false;
    }
    struct unpack_window window = {.base = out->data};
    size_t used = 0;
    size_t given = 0;
    enum unpack_status status = UNPACK_MORE_INPUT;
    for (unsigned turn = 0; window.at < expected; turn++) {
        if (status == UNPACK_MORE_INPUT) {
            size_t more = vary(turn, 16384);
            given = in.size - given < more ? in.size : given + more;
        } else if (status == UNPACK_FULL) {
            size_t room = 1 + vary(turn, 65536);
            window.limit = expected - window.at < room ? expected : window.at + room;
        } else {
            break;
        }
        size_t step;
        struct span piece = span_make(in.data + used, given - used);
        status = unpack_run(&unpack, piece, given == in.size, &window, &step);
        used += step;
    }
    out->size = window.at;
    return window.at == expected;
}

static int serve(bool pack, enum unpack_format format)
{
    struct buf in;
    struct buf out;
    uint32_t size;
    uint32_t expected;
    buf_init(&in, MAX_BYTES);
    buf_init(&out, MAX_BYTES);
    while (read_le32(&size) && read_le32(&expected)) {
        buf_reset(&in);
        buf_reset(&out);
        if (!buf_reserve(&in, (size_t)size + 1) || fread(in.data, 1, size, stdin) != size) {
            return 2;
        }
        struct span data = span_make(in.data, size);
        bool good;
        if (!pack) {
            good = unpack_all(format, data, expected, &out);
        } else if (format == UNPACK_LZNT1) {
            good = pack_lznt1(data, &out);
        } else if (format == UNPACK_XPRESS) {
            good = pack_xpress(data, &out);
        } else {
            good = pack_xpress_huff(data, &out);
        }
        write_le32(good ? 0 : 1);
        write_le32((uint32_t)out.size);
        fwrite(out.data, 1, out.size, stdout);
        fflush(stdout);
    }
    buf_fini(&in);
    buf_fini(&out);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum unpack_format format;
    } formats[] = {
        {"lznt1", UNPACK_LZNT1},
        {"xpress", UNPACK_XPRESS},
        {"xpress_huff", UNPACK_XPRESS_HUFF},
    };
    for (size_t i = 0; argc == 3 && i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(argv[2], formats[i].name) == 0) {
            return serve(strcmp(argv[1], "pack") == 0, formats[i].format);
        }
    }
    fprintf(stderr, "usage: unpack_cli pack|unpack lznt1|xpress|xpress_huff\n");
    return 2;
}
