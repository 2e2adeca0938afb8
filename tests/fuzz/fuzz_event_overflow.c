#include <stdlib.h>
#include <string.h>

#include "event/model/event_overflow.h"
#include "fuzz/fuzz.h"
#include "support/overflow_model.h"

/*
 * A record as an event's line might be: byte 0 is the limit for strings, the rest is JSON. The
 * result is compared with a model. If the input is not JSON, any result is right.
 */
enum { MAX_OUT_BYTES = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char start[] = "before it\n";
    if (size < 1) {
        return 0;
    }
    const struct event_overflow_limits limits = {
        .max_string_bytes = 1u + data[0], .payload = data[0] % 2 ? "data" : "a.b"};
    struct span record = span_make(data + 1, size - 1);
    struct event_overflow overflow;
    struct buf out;
    event_overflow_init(&overflow);
    buf_init(&out, MAX_OUT_BYTES);
    buf_add_text(&out, start);
    buf_add_span(&out, record);
    event_overflow_apply(&overflow, &limits, strlen(start), &out);
    if (out.failed || !span_equal(span_first(buf_span(&out), strlen(start)), span_text(start))) {
        abort();
    }
    if (overflow_model_check(record, span_from(buf_span(&out), strlen(start)), &limits)) {
        abort();
    }
    event_overflow_fini(&overflow);
    buf_fini(&out);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const records[] = {
        "\x10{\"data\":{\"A\":\"0123456789\",\"B\":[1,\"\\u00e9\xc3\xa9\",\"0123456789012\"]}}\n",
        "\x03{\"a\":{\"b\":{\"A\":\"xyz\",\"B\":{\"C\":[[],[{}],\"\\ud83d\\ude00\\\"\"]}}}}\n",
        "\x05{\"A\":\"0123456789\",\"data\":{\"A\":\"9876543210\",\"A_2\":\"55555555\"}}\n",
        "\xff{\"a\":null,\"b\":-1.5e3,\"c\":true,\"d\":{},\"e\":[]}\n",
    };
    if (index < sizeof(records) / sizeof(records[0])) {
        size_t size = strlen(records[index]);
        memcpy(out, records[index], size < max ? size : max);
        return size < max ? size : max;
    }
    enum { NAMES = 3, NAME_BYTES = 520 };
    if (index > sizeof(records) / sizeof(records[0]) || max < NAMES * (NAME_BYTES + 16)) {
        return 0;
    }
    uint8_t *p = out;
    *p++ = 0x80;
    for (int i = 0; i < NAMES; i++) {
        *p++ = i ? ',' : '{';
        *p++ = '"';
        memset(p, 'n', NAME_BYTES);
        p[NAME_BYTES - 1] = (uint8_t)('0' + i);
        p += NAME_BYTES;
        memcpy(p, "\":\"text\"", 8);
        p += 8;
    }
    *p++ = '}';
    *p++ = '\n';
    return (size_t)(p - out);
}
