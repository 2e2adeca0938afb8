#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf.h"

/* Each engine converts the input as UTF-16, UTF-8 and a code page. Its output must equal that of
 * the scalar engine, stay within the bound, and be valid UTF-8 without a control character or bare
 * quote. */
enum { MAX_IN = 4096, MAX_OUT = MAX_IN * 6 + UTF_SLACK };

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static void check_json(struct span json)
{
    size_t at = 0;
    while (at < json.size) {
        size_t before = at;
        uint32_t c = utf8_next(json, &at);
        uint8_t again[4];
        check(utf8_put(c, again) == at - before);
        check(memcmp(again, json.data + before, at - before) == 0);
        check(c >= 0x20 && c != '"');
        if (c == '\\') {
            check(at < json.size && strchr("\"\\bfnrtu", json.data[at]) && json.data[at]);
            at++;
        }
    }
}

static size_t convert(unsigned what, struct span in, uint8_t *out)
{
    switch (what) {
    case 0:
        return utf16_to_json(in, out);
    case 1:
        return utf8_to_json(in, out);
    case 2:
        return codepage_to_json(&codepage_1252, in, out);
    case 3:
        return utf16_to_utf8(in, out);
    default:
        return utf16_until_nul(in);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const engines[] = {"sse2", "ssse3", "neon"};
    static uint8_t expected[MAX_OUT];
    static uint8_t out[MAX_OUT];
    if (size > MAX_IN) {
        return 0;
    }
    struct span in = span_make(data, size);
    for (unsigned what = 0; what < 5; what++) {
        utf_set_engine("scalar");
        size_t expected_size = convert(what, in, expected);
        bool writes = what < 4;
        if (what < 3) {
            check_json(span_make(expected, expected_size));
        }
        for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
            if (!utf_set_engine(engines[i])) {
                continue;
            }
            check(convert(what, in, out) == expected_size);
            check(!writes || memcmp(out, expected, expected_size) == 0);
        }
    }
    return 0;
}
