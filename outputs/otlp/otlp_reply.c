#include "outputs/otlp/otlp_reply.h"

#include "base/protobuf.h"
#include "outputs/http/http_status.h"
#include "outputs/json_scan.h"
#include "outputs/json_value.h"

/* ---- statuses -------------------------------------------------------------------------------- */

/* The first row with a status decides; for others http_status.c tells whether the set-up is
 * wrong. */
static const struct row {
    int first;
    int last;
    enum otlp_verdict verdict;
    const char *leads_to;
} rows[] = {
    {200, 299, OTLP_TAKEN,
        "delivered; after a partial success all are kept as dead letters and not sent again, as "
        "the server does not say which it rejected"},
    {429, 429, OTLP_LATER, "sent again, after `Retry-After` or a growing wait"},
    {502, 504, OTLP_LATER, "sent again, after `Retry-After` or a growing wait"},
    {413, 413, OTLP_TOO_BIG, "sent in halves; a single event goes to the dead letters"},
    {400, 400, OTLP_REFUSED,
        "sent in halves until the refused one is alone, which goes to the dead letters"},
    {422, 422, OTLP_REFUSED, "the same"},
    {408, 408, OTLP_NEVER,
        "dead letters, all of the request: the protocol forbids to send it again; with a web page, "
        "which a proxy has sent: sent again"},
    {421, 425, OTLP_NEVER, "the same"},
    {500, 500, OTLP_NEVER, "the same"},
    {506, 510, OTLP_NEVER, "the same"},
    {512, 599, OTLP_NEVER, "the same"},
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

enum otlp_verdict otlp_reply_verdict(int status)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (status >= rows[i].first && status <= rows[i].last) {
            return rows[i].verdict;
        }
    }
    switch (http_status_verdict(status)) {
    case HTTP_MEND:
        return OTLP_MEND;
    case HTTP_REFUSED:
        return OTLP_REFUSED;
    default:
        return OTLP_LATER; /* no status of HTTP */
    }
}

const char *otlp_reply_words(int status)
{
    return otlp_reply_verdict(status) == OTLP_NEVER
               ? "the server has a fault, and the protocol forbids to send the request again"
               : http_status_words(status);
}

void otlp_reply_write_reference(struct buf *out)
{
    buf_add_text(out,
        "\n## What a status leads to with `otlp`\n\nThe first row that holds it counts. No "
        "reply, or only part of one: sent again.\n\n| Status | The events are |\n|---|---|\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        buf_printf(out, rows[i].first == rows[i].last ? "| %d" : "| %d to %d", rows[i].first,
            rows[i].last);
        buf_printf(out, " | %s |\n", rows[i].leads_to);
    }
    buf_add_text(out, "| others of 3xx, 4xx and 5xx | as with `http` |\n");
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void keep_message(struct span text, struct otlp_reply *reply)
{
    size_t size = text.size < sizeof(reply->message) - 1 ? text.size : sizeof(reply->message) - 1;
    for (size_t i = 0; i < size; i++) {
        uint8_t c = text.data[i];
        reply->message[i] = (char)(c < ' ' || c >= 0x7f ? ' ' : c);
    }
    reply->message[size] = '\0';
}

static void keep_count(uint64_t value, struct otlp_reply *reply)
{
    reply->rejected = value <= INT64_MAX ? value : 0;
}

/* ExportLogsPartialSuccess */
static void read_partial(struct span message, struct otlp_reply *reply)
{
    enum { REJECTED = 1, MESSAGE = 2 };
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        if (field.number == REJECTED && field.wire == PROTOBUF_VARINT) {
            keep_count(field.value, reply);
        } else if (field.number == MESSAGE && field.wire == PROTOBUF_BYTES) {
            keep_message(field.bytes, reply);
        }
    }
    reply->broken = reply->broken || message.size;
}

/* ExportLogsServiceResponse, or a google.rpc.Status. */
static void read_proto(struct span body, int status, struct otlp_reply *reply)
{
    enum { PARTIAL_SUCCESS = 1, STATUS_MESSAGE = 2 };
    bool taken = status < 300;
    struct protobuf_field field;
    while (protobuf_next(&body, &field)) {
        if (field.wire == PROTOBUF_BYTES && taken && field.number == PARTIAL_SUCCESS) {
            read_partial(field.bytes, reply);
        } else if (field.wire == PROTOBUF_BYTES && !taken && field.number == STATUS_MESSAGE) {
            keep_message(field.bytes, reply);
        }
    }
    reply->broken = reply->broken || body.size;
}

/* Read the value at one of the ${paths}: the JSON of proto3 also allows the original names of
 * fields. */
static struct span read_value(struct span body, const char *const paths[2], char *text, size_t room)
{
    size_t size = json_value_find(body, paths[0], text, room);
    size = size ? size : json_value_find(body, paths[1], text, room);
    return span_make((const uint8_t *)text, size);
}

static void read_json_message(
    struct span body, const char *const paths[2], struct otlp_reply *reply)
{
    char text[OTLP_REPLY_MESSAGE_BYTES];
    struct span message = read_value(body, paths, text, sizeof(text));
    if (message.size) {
        keep_message(message, reply);
    }
}

/* A 64-bit number is a string in the JSON of proto3; a number is accepted, too. */
static void read_json_count(struct span body, const char *const paths[2], struct otlp_reply *reply)
{
    char text[32];
    struct span digits = read_value(body, paths, text, sizeof(text));
    uint64_t count = 0;
    for (size_t i = 0; i < digits.size; i++) {
        uint8_t digit = (uint8_t)(digits.data[i] - '0');
        if (digit > 9 || count > (UINT64_MAX - digit) / 10) {
            return;
        }
        count = count * 10 + digit;
    }
    if (digits.size) {
        keep_count(count, reply);
    }
}

static void read_json(struct span body, int status, struct otlp_reply *reply)
{
    static const char *const refusal[] = {"message", "message"};
    static const char *const message[] = {
        "partialSuccess.errorMessage", "partial_success.error_message"};
    static const char *const records[] = {
        "partialSuccess.rejectedLogRecords", "partial_success.rejected_log_records"};
    static const char *const points[] = {
        "partialSuccess.rejectedDataPoints", "partial_success.rejected_data_points"};
    if (status >= 300) {
        read_json_message(body, refusal, reply);
        return;
    }
    read_json_count(body, records, reply);
    read_json_count(body, points, reply);
    read_json_message(body, message, reply);
}

static bool take_token(void *self, enum json_token token, struct span text)
{
    (void)self;
    (void)token;
    (void)text;
    return true;
}

static bool is_whole_json(struct span body)
{
    struct json_scan scan;
    json_scan_init(&scan, take_token, NULL);
    return json_scan_feed(&scan, body) && json_scan_is_whole(&scan);
}

static bool is_proto(struct span body)
{
    struct protobuf_field field;
    while (protobuf_next(&body, &field)) {}
    return body.size == 0;
}

void otlp_reply_read(
    struct span body, int status, enum otlp_protocol protocol, struct otlp_reply *ret_reply)
{
    struct span text = span_trim(body);
    bool is_object = text.size && text.data[0] == '{';
    *ret_reply = (struct otlp_reply){.rejected = 0};
    if (protocol == OTLP_JSON || (is_object && !is_proto(body))) {
        ret_reply->broken = text.size && (!is_object || !is_whole_json(text));
        read_json(text, status, ret_reply);
    } else {
        read_proto(body, status, ret_reply);
    }
}
