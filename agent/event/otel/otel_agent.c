#include "base/protobuf.h"
#include "base/put.h"
#include "event/otel/otel_event.h"
#include "event/otel/otel_head.h"

/*
 * Events of the agent: gaps, reports of the guard and of the agent's state. The scope is `etwship`,
 * the body is the sentence for people, and the attributes begin with `etwship.`.
 */

/* The record being written. */
struct line {
    struct event_writer *writer;
    const struct otel_codec *codec;
    struct buf *out;
    struct otel_frame frame;
    struct span file; /* attributes of the trace */
};

static void text(const struct line *line, const char *key, struct span value)
{
    otel_codec_text(line->codec, line->out, OTEL_RECORD, key, value);
}

static void number(const struct line *line, const char *key, uint64_t value)
{
    otel_codec_number(line->codec, line->out, OTEL_RECORD, key, value);
}

/* Write everything up to the body. False: out of memory. */
static bool begin(struct line *line, const char *name, uint8_t level,
    const struct trace_info *trace_info, uint64_t time)
{
    struct event_writer *writer = line->writer;
    writer->codec = line->codec;
    const struct event_trace_text *trace = event_trace_get_as(writer, trace_info, otel_head_trace);
    line->out->failed |= !trace->valid;
    line->file = trace->file;
    line->frame.start = line->out->size;
    buf_add_span(line->out, trace->start);
    line->frame.scope_logs = line->out->size - PROTOBUF_MAX_WIDTH;
    line->codec->scope(line->out, span_text("etwship"),
        writer->agent ? writer->agent->version : span_make(NULL, 0));
    line->frame.record = line->out->size - PROTOBUF_MAX_WIDTH;
    line->codec->times(line->out, otel_event_nanos(time), otel_event_nanos(time));
    line->codec->severity(
        line->out, otel_head_severity(level), otel_head_severity_text(level, span_make(NULL, 0)));
    line->codec->event_name(line->out, span_text(name));
    return !line->out->failed;
}

/* A text of unknown length follows, JSON-escaped. */
static bool open_body(const struct line *line, struct otel_open *ret_open)
{
    return line->codec->open_text(line->out, OTEL_BODY, span_make(NULL, 0), SIZE_MAX, 0, ret_open);
}

static void open_attributes(struct line *line, uint64_t time, uint64_t sequence)
{
    line->codec->open_attributes(line->out, &line->frame);
    text(line, "etw.provider.id", span_text("5db7de6b-6094-54a0-e757-044329f62f6d"));
    text(line, "etw.provider.kind", span_text("agent"));
    buf_add_span(line->out, line->file);
    if (sequence) {
        number(line, "etw.sequence", sequence);
    }
    if (otel_event_nanos(time) == 0) {
        otel_event_add_time(line->writer, "etw.timestamp", time, line->out);
    }
}

void otel_agent_gap(struct event_writer *writer, const struct otel_codec *codec,
    const struct gap *gap, uint64_t now, uint64_t sequence, struct buf *out)
{
    enum { WARNING = 3 };
    struct line line = {.writer = writer, .codec = codec, .out = out};
    struct otel_open open;
    if (!begin(&line, "etwship.gap", WARNING, gap->trace, now) || !open_body(&line, &open)) {
        return;
    }
    event_gap_message(writer, gap, out);
    codec->close_text(out, &open);
    open_attributes(&line, now, sequence);
    text(&line, "etwship.gap.stage", span_text(gap->stage));
    text(&line, "etwship.gap.reason", span_text(gap->reason));
    text(&line, "etwship.gap.unit", span_text(gap->unit));
    text(&line, "etwship.gap.output", span_text(gap->output));
    text(&line, "etwship.gap.provider", span_text(gap->provider));
    number(&line, "etwship.gap.count", gap->count);
    codec->truth(out, OTEL_RECORD, span_text("etwship.gap.exact"), gap->exact);
    if (gap->from) {
        otel_event_add_time(writer, "etwship.gap.from", gap->from, out);
    }
    if (gap->to) {
        otel_event_add_time(writer, "etwship.gap.to", gap->to, out);
    }
    codec->end(out, &line.frame);
}

static void add_guid(const struct line *line, const char *key, const struct guid *guid)
{
    if (!guid_is_zero(guid)) {
        otel_codec_guid(line->codec, line->out, OTEL_RECORD, key, guid->bytes);
    }
}

void otel_agent_guard(struct event_writer *writer, const struct otel_codec *codec,
    const struct guard_report *report, struct buf *out)
{
    struct line line = {.writer = writer, .codec = codec, .out = out};
    struct otel_open open;
    if (!begin(&line, "etwship.guard", event_guard_level(report), report->trace, report->time) ||
        !open_body(&line, &open)) {
        return;
    }
    event_guard_message(report, out);
    codec->close_text(out, &open);
    open_attributes(&line, report->time, 0);
    text(&line, "etwship.guard.kind", span_text(report->kind));
    text(&line, "etwship.guard.action", span_text(event_guard_action_name(report->action)));
    text(&line, "etwship.guard.session", report->session);
    text(&line, "etwship.guard.provider", report->provider);
    add_guid(&line, "etwship.guard.provider_guid", &report->provider_guid);
    number(&line, "etwship.guard.repairs", report->repairs);
    text(&line, "etwship.guard.detail", report->detail);
    if (report->shift_ms) {
        codec->number(out, OTEL_RECORD, span_text("etwship.guard.shift_ms"), report->shift_ms);
    }
    if (report->by_pid) {
        number(&line, "etwship.guard.by.pid", report->by_pid);
        text(&line, "etwship.guard.by.image", report->by_image);
        text(&line, "etwship.guard.by.user", report->by_user);
    }
    codec->end(out, &line.frame);
}

void otel_agent_status(struct event_writer *writer, const struct otel_codec *codec,
    const struct status *status, uint64_t now, uint64_t sequence, struct buf *out)
{
    enum { INFORMATION = 4 };
    struct line line = {.writer = writer, .codec = codec, .out = out};
    struct otel_open open;
    if (!begin(&line, "etwship.status", INFORMATION, NULL, now)) {
        return;
    }
    if (status->message.size && open_body(&line, &open)) {
        buf_add_json(out, status->message);
        codec->close_text(out, &open);
    }
    open_attributes(&line, now, sequence);
    text(&line, "etwship.status", status->counters);
    codec->end(out, &line.frame);
}
