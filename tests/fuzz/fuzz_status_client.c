#include <stdlib.h>
#include <string.h>

#include "cli/text/top_text.h"
#include "fuzz/fuzz.h"
#include "status/metric_read.h"
#include "status/status_client.h"

/* Any bytes as an agent's answer: views lie within them, and each answer gives a table. */
enum { MAX_OUT = 1 << 22 };

static void check(bool good)
{
    if (!good) {
        abort();
    }
}

static void check_head(struct span bytes)
{
    struct span rest = bytes;
    unsigned status;
    size_t length;
    bool bad;
    if (status_client_head(&rest, &status, &length, &bad)) {
        check(!bad && status >= 100 && status <= 999 && rest.size < bytes.size);
        check(!rest.size || rest.data + rest.size == bytes.data + bytes.size);
    }
}

static void check_metrics(struct span bytes)
{
    struct span rest = bytes;
    struct metric_line line;
    struct buf text;
    buf_init(&text, MAX_OUT);
    while (metric_read_next(&rest, &line)) {
        check(line.name.size && line.name.data >= bytes.data);
        check(line.labels.data + line.labels.size <= bytes.data + bytes.size);
        metric_read_label(&line, "session", &text);
    }
    buf_fini(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct top_look *look;
    struct span bytes = span_make(data, size);
    look = look ? look : top_text_create();
    check_head(bytes);
    check_metrics(bytes);
    if (look && top_text_read(bytes, 1, look, NULL)) {
        struct buf out;
        buf_init(&out, MAX_OUT);
        top_text_write(look, look, false, &out);
        buf_fini(&out);
    }
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const seeds[] = {
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n",
        "# TYPE etwship_session_events_total counter\n"
        "etwship_session_events_total{session=\"a\\\"b\\n\"} 12\n"
        "etwship_session_lost_events_total{session=\"x\",stage=\"etw\",reason=\"events_lost\"} 1\n"
        "etwship_output_latency_seconds_bucket{output=\"siem\",le=\"+Inf\"} 6\n"
        "etwship_cpu_seconds_total 1.250\n",
    };
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
