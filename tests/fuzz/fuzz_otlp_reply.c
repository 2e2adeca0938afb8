#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "outputs/otlp/otlp_reply.h"

/* Any bytes as the reply of a collector, in either encoding: reading stays within them, a negative
 * number rejects nothing, and the shown text is one line of ASCII. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 400, 503};
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        return 0;
    }
    memcpy(copy, data, size);
    for (size_t i = 0; i < 2 * sizeof(statuses) / sizeof(statuses[0]); i++) {
        struct otlp_reply reply;
        int status = statuses[i / 2];
        otlp_reply_read(span_make(copy, size), status, i % 2 ? OTLP_JSON : OTLP_PROTOBUF, &reply);
        bool is_line = memchr(reply.message, 0, sizeof(reply.message)) != NULL;
        for (const char *c = reply.message; is_line && *c; c++) {
            is_line = *c >= ' ' && *c < 0x7f;
        }
        if (!is_line || reply.rejected > INT64_MAX || (status != 200 && reply.rejected)) {
            abort();
        }
    }
    free(copy);
    return 0;
}

static const char *const seeds[] = {"\x0a\x06\x08\x01\x12\x02no", "\x12\x03not",
    "{\"partialSuccess\":{\"rejectedLogRecords\":\"5\",\"errorMessage\":\"a\\u00e4\\n\"}}",
    "{\"partial_success\":{\"rejected_log_records\":-5}}", "{\"code\":3,\"message\":\"no\"}",
    "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\n\n {}", "<html>"};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
