#include "outputs/event_memo.h"

#include "base/text/rfc3339.h"

enum { TAIL_MAX_BYTES = 64 * 1024, TIME_BYTES = 28 };

void event_memo_init(struct event_memo *memo)
{
    *memo = (struct event_memo){.second_filetime = 0};
    buf_init(&memo->tail, TAIL_MAX_BYTES);
    buf_init(&memo->name, TAIL_MAX_BYTES);
}

void event_memo_fini(struct event_memo *memo)
{
    buf_fini(&memo->tail);
    buf_fini(&memo->name);
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Read seven digits and a Z. False: there is something else. */
static bool read_ticks(const uint8_t *text, uint32_t *ret_ticks)
{
    enum { DIGITS = TIME_BYTES - EVENT_MEMO_SECOND - 1 };
    uint32_t ticks = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        uint32_t digit = text[i] - (uint32_t)'0';
        if (digit > 9) {
            return false;
        }
        ticks = ticks * 10 + digit;
    }
    *ret_ticks = ticks;
    return text[DIGITS] == 'Z';
}

bool event_memo_time(struct event_memo *memo, struct span text, uint64_t *ret_filetime)
{
    uint32_t ticks = 0;
    bool whole = text.size == TIME_BYTES && read_ticks(text.data + EVENT_MEMO_SECOND, &ticks);
    if (whole && memo->second[0] && memcmp(text.data, memo->second, EVENT_MEMO_SECOND) == 0) {
        *ret_filetime = memo->second_filetime + ticks;
        return true;
    }
    if (!rfc3339_parse(text, ret_filetime)) {
        return false;
    }
    if (whole) {
        memcpy(memo->second, text.data, EVENT_MEMO_SECOND);
        memo->second_filetime = *ret_filetime - ticks;
    }
    return true;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* The tail begins with a comma and a key, and closes one bracket more than it opens. So its members
 * belong to the event itself. */
bool event_memo_host(const struct event_memo *memo, struct span record, struct span *ret_name)
{
    struct span tail = buf_span(&memo->tail);
    *ret_name = buf_span(&memo->name);
    return tail.size && record.size >= tail.size &&
           memcmp(record.data + record.size - tail.size, tail.data, tail.size) == 0;
}

void event_memo_keep_host(
    struct event_memo *memo, struct span record, struct span host, struct span name)
{
    static const char key[] = ",\"host\":";
    enum { KEY_SIZE = sizeof(key) - 1 };
    buf_reset(&memo->tail);
    buf_reset(&memo->name);
    if (!host.size) {
        return;
    }
    size_t start = (size_t)(host.data - record.data);
    if (start > KEY_SIZE && record.size - start < TAIL_MAX_BYTES - KEY_SIZE &&
        memcmp(host.data - KEY_SIZE, key, KEY_SIZE) == 0) {
        buf_add_span(&memo->name, name);
        buf_add_span(&memo->tail, span_from(record, start - KEY_SIZE));
    }
    if (memo->name.failed || memo->tail.failed) {
        buf_reset(&memo->tail);
    }
}
