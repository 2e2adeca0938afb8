#include "base/put.h"
#include "event/write/event_writer_state.h"

void event_gap_object(struct event_writer *writer, const struct gap *gap, struct buf *out)
{
    buf_printf(out, "{\"stage\":\"%s\",\"reason\":\"%s\",\"unit\":\"%s\"", gap->stage, gap->reason,
        gap->unit);
    if (gap->output) {
        buf_add_text(out, ",\"output\":");
        value_json_string(span_text(gap->output), out);
    }
    if (gap->provider) {
        buf_add_text(out, ",\"provider\":");
        value_json_string(span_text(gap->provider), out);
    }
    buf_printf(out, ",\"count\":%llu", (unsigned long long)gap->count);
    buf_add_text(out, gap->exact ? ",\"exact\":true" : ",\"exact\":false");
    if (gap->from) {
        event_add_time(writer, ",\"from\":\"", gap->from, out);
    }
    if (gap->to) {
        event_add_time(writer, ",\"to\":\"", gap->to, out);
    }
    buf_add_byte(out, '}');
}

/* A name after ${before}, within a JSON string; nothing where it is empty. */
static void add_name(struct buf *out, const char *before, struct span name)
{
    if (name.size && buf_reserve(out, utf8_json_bound(name.size) + 16)) {
        buf_add_text(out, before);
        out->size += utf8_to_json(name, out->data + out->size);
    }
}

/* The count is unknown, and so is whether later events have the lost numbers. */
static bool is_lost(const struct gap *gap)
{
    return gap->count && strcmp(gap->reason, "global_message_numbers") != 0;
}

/* The time of day of ${filetime}. A time after the year 9999 is written as `0x…`. */
static void add_clock(
    struct event_writer *writer, const char *before, uint64_t filetime, struct buf *out)
{
    enum { CLOCK_AT = 11, CLOCK_SIZE = 16 }; /* in `2026-11-21T09:30:58.1000000Z` */
    uint8_t text[PUT_MAX];
    struct span time = span_make(text, (size_t)(event_put_time(writer, text, filetime) - text));
    struct span clock = span_first(span_from(time, CLOCK_AT), CLOCK_SIZE);
    buf_add_text(out, before);
    buf_add_span(out, clock.size == CLOCK_SIZE ? clock : time);
}

void event_gap_message(struct event_writer *writer, const struct gap *gap, struct buf *out)
{
    struct span session = writer->session;
    if (session.size == 0 && gap->trace) {
        session = gap->trace->session_name;
    }
    if (gap->count) {
        buf_printf(out, "%llu ", (unsigned long long)gap->count);
    }
    buf_add_text(out, gap->unit);
    if (gap->provider) {
        add_name(out, " of provider ", span_text(gap->provider));
    }
    buf_add_text(out, is_lost(gap) ? " lost " : " may be missing ");
    if (strcmp(gap->stage, "etw") == 0) {
        buf_add_text(out, "by ETW");
    } else if (gap->output) {
        add_name(out, "at output ", span_text(gap->output));
        buf_printf(out, " (%s)", gap->reason);
    } else {
        buf_printf(out, "at stage %s (%s)", gap->stage, gap->reason);
    }
    add_name(out, " in session ", session);
    if (gap->from && gap->to) {
        add_clock(writer, " between ", gap->from, out);
        add_clock(writer, " and ", gap->to, out);
    }
}
