#include <stdlib.h>

#include "base/text/base64.h"
#include "fuzz/fuzz.h"

/* Encoded bytes decode to the same bytes; a text that can be decoded is the encoding of its
 * bytes. */

enum { MAX_BYTES = 1 << 20 };

static void check_bytes(struct span input)
{
    struct buf text;
    struct buf bytes;
    buf_init(&text, MAX_BYTES);
    buf_init(&bytes, MAX_BYTES);
    base64_write(&text, input);
    if (!text.failed &&
        (!base64_read(buf_span(&text), &bytes) || !span_equal(buf_span(&bytes), input))) {
        abort();
    }
    buf_fini(&text);
    buf_fini(&bytes);
}

static void check_text(struct span input)
{
    struct buf text;
    struct buf bytes;
    buf_init(&text, MAX_BYTES);
    buf_init(&bytes, MAX_BYTES);
    if (base64_read(input, &bytes) && !bytes.failed) {
        base64_write(&text, buf_span(&bytes));
        if (!text.failed && !span_equal(buf_span(&text), input)) {
            abort();
        }
    }
    buf_fini(&text);
    buf_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_bytes(span_make(data, size));
    check_text(span_make(data, size));
    return 0;
}

static const char *const seeds[] = {
    "Zm9vYmFy", "Zm9vYg==", "Zm9vYmE=", "AQAAANCMnd8BFdERjHoAwE/Cl+s="};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
