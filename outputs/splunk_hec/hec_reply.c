#include "outputs/splunk_hec/hec_reply.h"

#include <stdio.h>

#include "outputs/http/http_status.h"

/* "Troubleshoot HTTP Event Collector", Splunk Enterprise 9.4: possible error codes. */
static const struct row {
    int code;
    enum http_piece_verdict verdict;
    const char *words;
} rows[] = {
    {0, HTTP_PIECE_TAKEN, "taken"},
    {1, HTTP_PIECE_MEND, "the token is disabled. enable it in Splunk"},
    {2, HTTP_PIECE_MEND, "a token is required. write token"},
    {3, HTTP_PIECE_MEND, "the authorization is invalid. check token"},
    {4, HTTP_PIECE_MEND, "Splunk does not know this token. check token"},
    {HEC_NO_DATA, HTTP_PIECE_REFUSED, "Splunk found no data in the request"},
    {6, HTTP_PIECE_REFUSED, "Splunk does not take the format of an event"},
    {7, HTTP_PIECE_BLOCKED,
        "the index does not exist, or the token may not write to it. create it, or add it to the "
        "token"},
    {8, HTTP_PIECE_LATER, "Splunk has an internal fault"},
    {9, HTTP_PIECE_LATER, "Splunk is busy"},
    {HEC_NO_CHANNEL, HTTP_PIECE_MEND,
        "the token has indexer acknowledgement, which needs a channel. write ack: {enabled: true}"},
    {HEC_BAD_CHANNEL, HTTP_PIECE_LATER, "Splunk does not know this channel any more"},
    {12, HTTP_PIECE_REFUSED, "an event lacks its field `event`"},
    {13, HTTP_PIECE_REFUSED, "an event is blank"},
    {HEC_ACK_DISABLED, HTTP_PIECE_MEND,
        "the token has no indexer acknowledgement. enable indexer acknowledgement for it in "
        "Splunk, or write ack: {enabled: false}"},
    {15, HTTP_PIECE_REFUSED, "Splunk does not take the indexed fields of an event"},
    {16, HTTP_PIECE_MEND, "the token must not be in the address. write token"},
    {HEC_HEALTHY, HTTP_PIECE_LATER, "the reply answers another kind of request"},
    {18, HTTP_PIECE_LATER, "the queues of Splunk are full"},
    {19, HTTP_PIECE_LATER, "Splunk's service for acknowledgements is not available"},
    {20, HTTP_PIECE_LATER,
        "the queues of Splunk are full, and its service for acknowledgements is not available"},
    {21, HTTP_PIECE_MEND, "Splunk does not know this token. check token"},
    {22, HTTP_PIECE_MEND, "the token is disabled. enable it in Splunk"},
    {23, HTTP_PIECE_LATER, "Splunk is shutting down"},
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static const char stranger[] =
    "this is not an answer of a Splunk collector. check the address, and proxies on the way";

static bool read_number(
    const struct http_response *response, const char *name, uint64_t *ret_number)
{
    char text[24];
    size_t size = http_response_value(response, name, text, sizeof(text));
    *ret_number = 0;
    for (size_t i = 0; i < size; i++) {
        uint8_t digit = (uint8_t)(text[i] - '0');
        if (digit > 9 || *ret_number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *ret_number = *ret_number * 10 + digit;
    }
    return size > 0;
}

void hec_reply_read(const struct http_response *response, struct hec_reply *ret_reply)
{
    uint64_t code;
    *ret_reply = (struct hec_reply){.code = HEC_NO_CODE};
    if (!response->page && read_number(response, "code", &code) && code < 1000) {
        ret_reply->code = (int)code;
        ret_reply->has_ack_id = read_number(response, "ackId", &ret_reply->ack_id);
        ret_reply->has_event_number = read_number(
            response, "invalid-event-number", &ret_reply->event_number);
    }
}

static const struct row *row_of(const struct hec_reply *reply)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].code == reply->code) {
            return &rows[i];
        }
    }
    return NULL;
}

enum http_piece_verdict hec_reply_verdict(const struct hec_reply *reply, int status)
{
    const struct row *row = row_of(reply);
    bool success = status >= 200 && status <= 299;
    if (!row || status == 413 || success != (row->verdict == HTTP_PIECE_TAKEN)) {
        return http_pieces_of_status(status); /* from a proxy, a load balancer or a later Splunk */
    }
    return row->verdict;
}

const char *hec_reply_words(const struct hec_reply *reply, int status)
{
    const struct row *row = row_of(reply);
    bool success = status >= 200 && status <= 299;
    if (success && (!row || row->verdict != HTTP_PIECE_TAKEN)) {
        return stranger;
    }
    return row && status != 413 && !success ? row->words : http_status_words(status);
}

bool hec_reply_is_acked(const struct http_response *response, uint64_t ack_id)
{
    char path[32];
    char word[8];
    snprintf(path, sizeof(path), "acks.%llu", (unsigned long long)ack_id);
    http_response_value(response, path, word, sizeof(word));
    return strcmp(word, "true") == 0;
}

static const char *outcome_of(enum http_piece_verdict verdict)
{
    switch (verdict) {
    case HTTP_PIECE_TAKEN:
        return "delivered, or with `ack` awaited";
    case HTTP_PIECE_MEND:
        return "sent again slowly until the set-up is corrected; the output is degraded";
    case HTTP_PIECE_BLOCKED:
        return "events of that index are held, all others continue; without templates the output "
               "is degraded";
    case HTTP_PIECE_REFUSED:
    case HTTP_PIECE_TOO_BIG:
        return "the event that Splunk names goes to the dead letters, all others continue";
    default:
        return "sent again, to the next of `urls` first";
    }
}

void hec_reply_write_reference(struct buf *out)
{
    buf_add_text(out, "\n## What a code of Splunk leads to with `splunk_hec`\n\n"
                      "| Code of the reply | Means | The events are |\n|---|---|---|\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        buf_printf(
            out, "| %d | %s | %s |\n", rows[i].code, rows[i].words, outcome_of(rows[i].verdict));
    }
    buf_add_text(out,
        "\nA reply without a code that is known here counts by its status, as for `http`; but "
        "success without code 0 is no answer of Splunk, and delivers nothing.\n");
}
