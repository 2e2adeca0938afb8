#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "outputs/syslog/syslog_message.h"

/* The first byte chooses the format; the rest is an event, or any bytes. A message has its header,
 * no line break in the header, and at most the allowed length; CEF and LEEF have no line break at
 * all. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct syslog_writer writer;
    struct buf out;
    if (size == 0) {
        return 0;
    }
    uint32_t end = (uint32_t)(size - 1);
    const struct syslog_options options = {.format = data[0] % 4,
        .facility = 16,
        .app_name = "etwship",
        .sd_id = data[0] & 4 ? "none" : "etw@32473",
        .bom = data[0] & 8,
        .max_bytes = data[0] & 16 ? 480 : 65536};
    const struct delivery delivery = {
        .bytes = span_make(data + 1, end), .record_ends = &end, .record_count = 1};
    buf_init(&out, 1 << 24);
    syslog_writer_init(&writer, &options, SIZE_MAX);
    struct syslog_message message;
    bool good = syslog_writer_write(&writer, &delivery, 0, &message);
    buf_add_span(&out, message.head);
    buf_add_span(&out, message.body);
    if (!good || message.size != out.size || out.failed || out.size > options.max_bytes ||
        out.size < 20 || out.data[0] != '<') {
        abort();
    }
    size_t spaces = 0;
    for (size_t i = 0; i < out.size && spaces < 6; i++) {
        spaces += out.data[i] == ' ';
        if (out.data[i] < ' ' || out.data[i] >= 0x7f) {
            abort();
        }
    }
    bool lines = options.format == SYSLOG_JSON || options.format == SYSLOG_TEXT || !(data[0] & 4);
    if (spaces < 6 || (!lines && memchr(out.data, '\n', out.size))) {
        abort();
    }
    syslog_writer_fini(&writer);
    buf_fini(&out);
    return 0;
}

static const char *const seeds[] = {
    "\x05{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"data\":{\"a=\":\"b\\n=\\\\\"}}",
    "\x05{\"provider\":{\"name\":\"a|b\"},\"event\":{\"code\":1,\"level\":2},\"message\":"
    "\"x\\ny\"}",
    "\x05{\"data\":{\"c\":{\"d\":[1,2]}}}",
    "\x06{\"event\":{\"provider\":\"p\",\"severity\":5},\"winlog\":{\"event_data\":{\"A\":\"\\t\"}}"
    "}",
    "\x10{\"message\":\"\\u00e4\\ud83d\\ude00\",\"host\":{\"name\":\"a b\"}}",
    "\x0f\n\n",
    "\x02{\"data\":{\"a\":",
};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
