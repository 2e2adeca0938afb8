#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "outputs/http/http_frame.h"
#include "outputs/json_member.h"

/* An event of any bytes in every framing: members that are found lie within it, and a message is
 * one line. */
enum { MAX_OUT = 1 << 22 };

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static void check_framing(struct span event, enum http_framing framing)
{
    static const struct http_frame_hec hec = {.source = "s"};
    struct http_frame frame;
    struct buf room;
    struct span body;
    uint32_t end = (uint32_t)event.size;
    const struct delivery delivery = {.bytes = event, .record_ends = &end, .record_count = 1};
    buf_init(&room, MAX_OUT);
    check(http_frame_init(&frame, framing, &hec));
    if (http_frame_body(&frame, &delivery, 0, 1, &room, &body) && framing == HTTP_FRAMING_MESSAGE) {
        check(body.size && memchr(body.data, '\n', body.size) == body.data + body.size - 1);
    }
    http_frame_fini(&frame);
    buf_fini(&room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"@timestamp", "host", "name", "message", ""};
    struct span event = span_make(data, size < MAX_OUT / 8 ? size : MAX_OUT / 8);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct span value = json_member_find(event, names[i]);
        check(value.size == 0 ||
              (value.data >= data && value.data + value.size <= data + event.size));
    }
    for (int framing = HTTP_FRAMING_NDJSON; framing <= HTTP_FRAMING_SPLUNK_HEC; framing++) {
        check_framing(event, (enum http_framing)framing);
    }
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const seeds[] = {
        "{\"@timestamp\":\"2026-11-21T09:30:00.1234567Z\",\"host\":{\"name\":\"PC\"},\"message\":"
        "\"a\\nb\"}\n",
        "{\"message\":\"\\ud83d\\ude00 \\\"x\\\" \\\\\",\"l\":[1,{\"host\":2},\"]\"]}\n",
    };
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
