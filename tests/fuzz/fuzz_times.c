#include <stdlib.h>
#include <string.h>

#include "base/put.h"
#include "base/text/calendar.h"
#include "base/text/rfc3339.h"
#include "base/utf.h"
#include "base/visible.h"
#include "event/model/event_zone.h"
#include "fuzz/fuzz.h"

/*
 * Texts of times, time zones of traces, and texts for terminals. A time that is read, written and
 * read again is the same time. A zone is at most a day from UTC, and local times lead back to
 * moments at most a day away. A shown text contains nothing that controls a terminal.
 */

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_time(struct span text)
{
    uint64_t time = 0;
    uint64_t again = 0;
    bool has_zone = false;
    if (!rfc3339_parse_start(text, &time, &has_zone)) {
        require(!rfc3339_parse(text, &again));
        return;
    }
    if (rfc3339_parse(text, &again)) {
        require(again == time && has_zone);
    }
    uint8_t written[PUT_MAX];
    uint8_t *end = written;
    if (put_filetime(&end, time)) { /* a zone may lead beyond the year 9999 */
        struct span whole = span_make(written, (size_t)(end - written));
        require(rfc3339_parse(whole, &again) && again == time);
    }
}

static void check_zone(struct span bytes)
{
    static const int32_t day = CALENDAR_SECONDS_PER_DAY;
    static const uint64_t step = UINT64_C(60000000000000); /* some 70 days */
    const struct trace_info trace = {.zone = time_zone_read(bytes)};
    const struct event_zone zone = {.kind = EVENT_ZONE_TRACE};
    for (uint64_t time = 0; time < UINT64_C(1) << 62; time = time * 2 + step) {
        int32_t offset = event_zone_offset(&zone, &trace, time);
        require(offset >= -day && offset <= day && (trace.zone.is_known || offset == 0));
        uint64_t utc = event_zone_to_utc(&zone, &trace, time);
        uint64_t away = utc > time ? utc - time : time - utc;
        require(away <= (uint64_t)day * CALENDAR_TICKS_PER_SECOND);
    }
}

static void check_shown(struct span text)
{
    struct buf out;
    buf_init(&out, 64 * text.size + 64);
    visible_add(&out, text);
    struct span shown = buf_span(&out);
    require(!out.failed && shown.size >= text.size);
    for (size_t at = 0; at < shown.size;) {
        uint32_t c = utf8_next(shown, &at);
        require(c >= 0x20 && (c < 0x7f || c >= 0xa0) && (c < 0x2028 || c > 0x202e) &&
                (c < 0x2066 || c > 0x2069) && c != 0x200e && c != 0x200f && c != 0x061c);
    }
    size_t size = out.size;
    visible_make_line(&out, 0);
    require(out.size == size); /* showing it again changes nothing */
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_make(data, size);
    int64_t seconds;
    check_time(text);
    rfc3339_parse_zone(text, &seconds);
    check_zone(text);
    check_shown(text);
    return 0;
}

size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    static const char *const texts[] = {"2026-11-21T09:30:00.1234567+01:00", "2026-11-21", "2026",
        "2026-11-21T09:30Z", "+05:30", "a\x1b[31m\xe2\x80\xae\xc2\x9b\xd8\x9c\xff\n"};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    if (index < TEXTS) {
        memcpy(out, texts[index], strlen(texts[index]));
        return strlen(texts[index]);
    }
    if (index > TEXTS || max < TIME_ZONE_INFORMATION_SIZE) {
        return 0;
    }
    /* Berlin. */
    memset(out, 0, TIME_ZONE_INFORMATION_SIZE);
    memset(out, 0xff, 4);
    out[0] = 0xc4;
    out[70] = 10;
    out[74] = 5;
    out[76] = 3;
    out[154] = 3;
    out[158] = 5;
    out[160] = 2;
    memset(out + 168, 0xff, 4);
    out[168] = 0xc4;
    return TIME_ZONE_INFORMATION_SIZE;
}
