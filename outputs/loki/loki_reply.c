#include "outputs/loki/loki_reply.h"

#include <string.h>

#include "base/filetime.h"
#include "base/text/rfc3339.h"

static bool starts(struct span text, const char *words)
{
    struct span wanted = span_text(words);
    return span_equal(span_first(text, wanted.size), wanted);
}

/* Move past the next ${words}. False: not found. */
static bool skip_to(struct span *text, const char *words)
{
    struct span rest = *text;
    while (rest.size) {
        const uint8_t *at = memchr(rest.data, words[0], rest.size);
        if (!at) {
            return false;
        }
        rest = span_from(rest, (size_t)(at - rest.data));
        if (starts(rest, words)) {
            *text = span_from(rest, strlen(words));
            return true;
        }
        rest = span_from(rest, 1);
    }
    return false;
}

static bool take_number(struct span *text, uint64_t *ret_number)
{
    uint64_t number = 0;
    size_t size = 0;
    for (; size < text->size && size < 18; size++) {
        uint8_t digit = (uint8_t)(text->data[size] - '0');
        if (digit > 9) {
            break;
        }
        number = number * 10 + digit;
    }
    *text = span_from(*text, size);
    *ret_number = number;
    return size > 0;
}

/* Read `2021-11-07 13:16:59.995248574 +0000 UTC`, the form in which Go prints times. Other zones
 * are not read. */
static bool take_time(struct span *text, int64_t *ret_nanos)
{
    enum { STAMP_BYTES = 19, RFC_BYTES = 20 };
    uint8_t stamp[RFC_BYTES];
    uint64_t time;
    if (text->size < STAMP_BYTES) {
        return false;
    }
    memcpy(stamp, text->data, STAMP_BYTES);
    stamp[10] = 'T';
    stamp[STAMP_BYTES] = 'Z';
    if (!rfc3339_parse(span_make(stamp, RFC_BYTES), &time) || time < FILETIME_UNIX_EPOCH) {
        return false;
    }
    *text = span_from(*text, STAMP_BYTES);
    int64_t nanos = 0;
    if (text->size && text->data[0] == '.') {
        *text = span_from(*text, 1);
        int64_t unit = 100000000;
        for (; text->size && text->data[0] >= '0' && text->data[0] <= '9'; unit /= 10) {
            nanos += unit * (text->data[0] - '0');
            *text = span_from(*text, 1);
        }
    }
    uint64_t ticks = time - FILETIME_UNIX_EPOCH;
    if (!starts(*text, " +0000 UTC ignored, reason: '") || ticks > INT64_MAX / 100 - 10000000) {
        return false;
    }
    *ret_nanos = (int64_t)(ticks * 100) + nanos;
    return skip_to(text, "'");
}

void loki_reply_read(struct span body, struct loki_reply *ret_reply)
{
    struct loki_reply reply = {.named_count = 0};
    struct span rest = body;
    while (reply.named_count < LOKI_REPLY_MAX_NAMED && skip_to(&rest, "entry with timestamp ")) {
        struct loki_named *named = &reply.named[reply.named_count];
        if (take_time(&rest, &named->nanos)) {
            struct span after = rest;
            bool ends = skip_to(&after, "'");
            named->reason = span_first(rest, ends ? rest.size - after.size - 1 : rest.size);
            reply.named_count++;
            reply.is_rate_limited = reply.is_rate_limited ||
                                    starts(named->reason, "Per stream rate limit exceeded");
        }
    }
    rest = body;
    reply.is_partial = skip_to(&rest, "total ignored: ") && take_number(&rest, &reply.ignored) &&
                       starts(rest, " out of ");
    rest = span_from(rest, sizeof(" out of ") - 1);
    reply.is_partial = reply.is_partial && take_number(&rest, &reply.total) &&
                       reply.ignored <= reply.total;
    *ret_reply = reply;
}
