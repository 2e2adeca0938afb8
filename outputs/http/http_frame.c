/*
 * Lines need no work: the body is the batch. An array is one copy with brackets and commas. HEC
 * puts `{"time":…,"host":…,"source":…,"event":` before each event and a brace after it ("Format
 * events for HTTP Event Collector", Splunk). `time` has the 7 digits of the event; a time before
 * 1970 is omitted, because Splunk accepts none. `host` is host.name as written in the event.
 */
#include "outputs/http/http_frame.h"

#include "base/filetime.h"
#include "base/put.h"
#include "base/utf.h"
#include "outputs/json_member.h"

enum { CONSTANTS_MAX_BYTES = 64 * 1024 };

void http_frame_add_member(struct buf *out, const char *name, struct span value)
{
    size_t size = value.size;
    if (!size || !buf_reserve(out, utf8_json_bound(size) + 64)) {
        return;
    }
    buf_printf(out, "\"%s\":\"", name);
    buf_add_json(out, value);
    buf_add_text(out, "\",");
}

bool http_frame_init(
    struct http_frame *frame, enum http_framing framing, const struct http_frame_hec *hec)
{
    frame->framing = framing;
    event_memo_init(&frame->memo);
    buf_init(&frame->constants, CONSTANTS_MAX_BYTES);
    http_frame_add_member(&frame->constants, "source", span_text(hec->source));
    http_frame_add_member(&frame->constants, "sourcetype", span_text(hec->sourcetype));
    http_frame_add_member(&frame->constants, "index", span_text(hec->index));
    return !frame->constants.failed;
}

void http_frame_fini(struct http_frame *frame)
{
    buf_fini(&frame->constants);
    event_memo_fini(&frame->memo);
}

const char *http_frame_content_type(enum http_framing framing)
{
    switch (framing) {
    case HTTP_FRAMING_NDJSON:
        return "application/x-ndjson";
    case HTTP_FRAMING_MESSAGE:
        return "text/plain; charset=utf-8";
    default:
        return "application/json";
    }
}

struct span http_frame_record(const struct delivery *delivery, size_t index)
{
    uint32_t start = index ? delivery->record_ends[index - 1] : 0;
    struct span record = span_make(
        delivery->bytes.data + start, delivery->record_ends[index] - start);
    while (record.size && record.data[record.size - 1] == '\n') {
        record.size--;
    }
    return record;
}

/* `host.name` of ${record} as written there, with its quotes. */
static struct span host_of(struct event_memo *memo, struct span record)
{
    struct span name;
    if (!event_memo_host(memo, record, &name)) {
        struct span host = json_member_find(record, "host");
        name = json_member_find(host, "name");
        event_memo_keep_host(memo, record, host, name);
    }
    return name;
}

void http_frame_add_hec(struct event_memo *memo, struct span record, struct span members,
    bool with_host, struct buf *out)
{
    struct span text;
    uint64_t time;
    buf_add_byte(out, '{');
    if (json_member_inner(json_member_find(record, "@timestamp"), &text) &&
        event_memo_time(memo, text, &time) && time >= FILETIME_UNIX_EPOCH) {
        uint8_t digits[2 * PUT_MAX];
        uint8_t *end = put_u64(digits, (time - FILETIME_UNIX_EPOCH) / FILETIME_PER_S);
        *end++ = '.';
        end = put_fraction(end, (uint32_t)((time - FILETIME_UNIX_EPOCH) % FILETIME_PER_S));
        end[-1] = ','; /* replaces the `Z` */
        buf_add_text(out, "\"time\":");
        buf_add(out, digits, (size_t)(end - digits));
    }
    struct span host = with_host ? host_of(memo, record) : span_make(NULL, 0);
    if (json_member_inner(host, &text) && text.size) {
        buf_add_text(out, "\"host\":");
        buf_add_span(out, host);
        buf_add_byte(out, ',');
    }
    buf_add_span(out, members);
    buf_add_text(out, "\"event\":");
    buf_add_span(out, record);
    buf_add_text(out, "}\n");
}

/*
 * Add one line. Its first byte distinguishes two kinds: a brace begins the JSON of an event without
 * a message. A message that begins with a brace gets a space before it; otherwise a writer of
 * messages could forge an event.
 */
static void add_message(struct span record, struct buf *out)
{
    struct span inner;
    size_t start = out->size;
    if (json_member_inner(json_member_find(record, "message"), &inner)) {
        json_member_text(inner, out);
        if (!out->failed && out->size > start && out->data[start] == '{') {
            buf_add_byte(out, 0);
            if (!out->failed) {
                memmove(out->data + start + 1, out->data + start, out->size - start - 1);
                out->data[start] = ' ';
            }
        }
    } else {
        buf_add_span(out, record);
    }
    for (size_t i = start; i < out->size; i++) {
        if (out->data[i] == '\n' || out->data[i] == '\r' || out->data[i] == '\0') {
            out->data[i] = ' ';
        }
    }
    buf_add_byte(out, '\n');
}

static void add_array(const struct delivery *delivery, size_t first, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_add_byte(out, i ? ',' : '[');
        buf_add_span(out, http_frame_record(delivery, first + i));
    }
    buf_add_text(out, count ? "]\n" : "[]\n");
}

bool http_frame_body(struct http_frame *frame, const struct delivery *delivery, size_t first,
    size_t count, struct buf *room, struct span *ret_body)
{
    uint32_t start = first ? delivery->record_ends[first - 1] : 0;
    uint32_t end = count ? delivery->record_ends[first + count - 1] : start;
    if (frame->framing == HTTP_FRAMING_NDJSON) {
        *ret_body = span_make(delivery->bytes.data + start, end - start);
        return true;
    }
    buf_reset(room);
    if (frame->framing == HTTP_FRAMING_JSON_ARRAY) {
        if (buf_reserve(room, end - start + count + 4)) {
            add_array(delivery, first, count, room);
        }
    } else {
        for (size_t i = first; i < first + count; i++) {
            if (frame->framing == HTTP_FRAMING_SPLUNK_HEC) {
                http_frame_add_hec(&frame->memo, http_frame_record(delivery, i),
                    buf_span(&frame->constants), true, room);
            } else {
                add_message(http_frame_record(delivery, i), room);
            }
        }
    }
    *ret_body = buf_span(room);
    return !room->failed;
}
