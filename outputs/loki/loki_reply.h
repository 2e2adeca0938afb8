#ifndef ETWSHIP_OUTPUTS_LOKI_REPLY_H
#define ETWSHIP_OUTPUTS_LOKI_REPLY_H

#include "base/span.h"

/*
 * Loki's reply (400) if it refused some lines of a stream and stored the others:
 *
 *     entry with timestamp 2021-11-07 13:16:59.995248574 +0000 UTC ignored, reason:
 *     'entry too far behind', user 'fake', total ignored: 1 out of 3 for stream: {job="etwship"}
 *
 * It names ten at most (max_returned_stream_errors). The text is not trusted.
 */
enum { LOKI_REPLY_MAX_NAMED = 64 };

struct loki_named {
    int64_t nanos;      /* since 1970 */
    struct span reason; /* without its quotes; a view */
};

struct loki_reply {
    bool is_partial; /* it has the counts */
    uint64_t ignored;
    uint64_t total;
    struct loki_named named[LOKI_REPLY_MAX_NAMED];
    size_t named_count;
    bool is_rate_limited; /* of those: one at least came too early, and may come again */
};

void loki_reply_read(struct span body, struct loki_reply *ret_reply);

#endif
