#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

#include "app/positions_state.h"
#include "fuzz/fuzz.h"

/* The input is what stands between the first line and the checksum, which is made to fit, so that
 * the lines are read. What is read is written, and reads back to the same text. */

enum { MAX_TEXT = 1 << 22 };

static void frame(struct span lines, struct buf *out)
{
    buf_add_text(out, "etwship-state 1\n");
    buf_add_span(out, lines);
    buf_printf(out, "end %016" PRIx64 "\n", XXH3_64bits(out->data, out->size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err;
    struct buf first;
    struct buf second;
    struct buf third;
    struct state state;
    struct state again;
    buf_init(&first, MAX_TEXT);
    buf_init(&second, MAX_TEXT);
    buf_init(&third, MAX_TEXT);
    frame(span_make(data, size), &first);
    if (state_read(buf_span(&first), &state, &err)) {
        state_write(&state, &second);
        if (second.failed || !state_read(buf_span(&second), &again, &err)) {
            abort();
        }
        state_write(&again, &third);
        if (!span_equal(buf_span(&second), buf_span(&third))) {
            abort();
        }
        state_fini(&again);
        state_fini(&state);
    } else if (err.text[0] == '\0') {
        abort();
    }
    /* As it comes, without a frame. */
    if (state_read(span_make(data, size), &state, NULL)) {
        state_fini(&state);
    }
    buf_fini(&first);
    buf_fini(&second);
    buf_fini(&third);
    return 0;
}

static const char *const seeds[] = {
    "output a -\noutput b%20c 00ff\nsession s 0102\ndone 000102030405060708090a0b0c0d0e0f 12\n"
    "at a 1 000102030405060708090a0b0c0d0e0f 65536 72\n"
    "at b%20c 18446744073709551615 ffffffffffffffffffffffffffffffff 0 4294967295\nsession t -\n",
    "session s -\noutput a -\nat a 0 00000000000000000000000000000000 0 0\n",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
