#include "base/put.h"
#include "event/event_writer_internal.h"

void event_gap_object(struct event_writer *writer, const struct gap *gap, struct buf *out)
{
    buf_printf(out, "{\"stage\":\"%s\",\"reason\":\"%s\",\"unit\":\"%s\",\"count\":%llu",
        gap->stage, gap->reason, gap->unit, (unsigned long long)gap->count);
    buf_add_text(out, gap->exact ? ",\"exact\":true" : ",\"exact\":false");
    if (gap->from) {
        event_add_time(writer, ",\"from\":\"", gap->from, out);
    }
    if (gap->to) {
        event_add_time(writer, ",\"to\":\"", gap->to, out);
    }
    buf_add_byte(out, '}');
}

void event_gap_message(struct event_writer *writer, const struct gap *gap, struct buf *out)
{
    enum { CLOCK_AT = 11, CLOCK_SIZE = 16 }; /* in `2026-11-21T09:30:58.1000000Z` */
    struct span session = writer->session;
    if (session.size == 0 && gap->trace) {
        session = gap->trace->session_name;
    }
    buf_printf(out, "%llu %s lost ", (unsigned long long)gap->count, gap->unit);
    if (strcmp(gap->stage, "etw") == 0) {
        buf_add_text(out, "by ETW");
    } else {
        buf_printf(out, "at stage %s (%s)", gap->stage, gap->reason);
    }
    if (session.size && buf_reserve(out, utf8_json_bound(session.size) + 16)) {
        buf_add_text(out, " in session ");
        out->size += utf8_to_json(session, out->data + out->size);
    }
    if (gap->from && gap->to) {
        uint8_t from[PUT_MAX];
        uint8_t to[PUT_MAX];
        event_put_time(writer, from, gap->from);
        event_put_time(writer, to, gap->to);
        buf_printf(out, " between %.*s and %.*s", CLOCK_SIZE, (const char *)from + CLOCK_AT,
            CLOCK_SIZE, (const char *)to + CLOCK_AT);
    }
}
