#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "outputs/loki/loki_reply.h"

/* Any bytes as Loki's reply: reasons lie within them, and no more entries are refused than were
 * sent. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct loki_reply *reply = malloc(sizeof(*reply));
    if (copy && reply) {
        memcpy(copy, data, size);
        loki_reply_read(span_make(copy, size), reply);
        if (reply->named_count > LOKI_REPLY_MAX_NAMED ||
            (reply->is_partial && reply->ignored > reply->total)) {
            abort();
        }
        for (size_t i = 0; i < reply->named_count; i++) {
            struct span reason = reply->named[i].reason;
            bool inside = reason.data >= copy && reason.data + reason.size <= copy + size;
            if (!inside || reply->named[i].nanos < 0) {
                abort();
            }
        }
    }
    free(reply);
    free(copy);
    return 0;
}

static const char *const seeds[] = {
    "entry with timestamp 2021-11-07 13:16:59.995248574 +0000 UTC ignored, reason: 'entry too far "
    "behind',\nuser 'fake', total ignored: 1 out of 3 for stream: {job=\"etwship\"}",
    "entry with timestamp 9999-12-31 23:59:59 +0000 UTC ignored, reason: 'x', total ignored: 9 out "
    "of 8",
    "total ignored: 99999999999999999999 out of 1", "entry with timestamp entry with timestamp "};

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index >= sizeof(seeds) / sizeof(seeds[0]) || strlen(seeds[index]) > max) {
        return 0;
    }
    memcpy(out, seeds[index], strlen(seeds[index]));
    return strlen(seeds[index]);
}
