#include "event/model/event_rollup.h"

#include <inttypes.h>

#include "base/put.h"

enum { MOST_BYTES = 256 };

static void add_time(const char *before, uint64_t time, const char *behind, struct buf *out)
{
    uint8_t text[PUT_MAX];
    buf_add_text(out, before);
    buf_add(out, text, (size_t)(put_filetime_or_hex(text, time) - text));
    buf_add_text(out, behind);
}

void event_rollup_json(const struct event_rollup *rollup, struct buf *out)
{
    static const char end[] = "}\n";
    if (!buf_reserve(out, MOST_BYTES)) { /* all of it or none */
        return;
    }
    if (out->size < sizeof(end) - 1) {
        return;
    }
    out->size -= sizeof(end) - 1;
    buf_printf(out, ",\"rollup\":{\"count\":%" PRIu64, rollup->count);
    add_time(",\"first\":\"", rollup->first, "\"", out);
    add_time(",\"last\":\"", rollup->last, "\"}}\n", out);
}

void event_rollup_pretty(const struct event_rollup *rollup, struct buf *out)
{
    if (!buf_reserve(out, MOST_BYTES)) {
        return;
    }
    buf_printf(out, "    rollup  %" PRIu64 " events", rollup->count);
    add_time(" from ", rollup->first, "", out);
    add_time(" to ", rollup->last, "\n", out);
}
