#include "outputs/splunk_hec/hec_acks.h"

#include <stdlib.h>

#include "base/grow.h"
#include "outputs/splunk_hec/hec_reply.h"
#include "platform/plat_system.h"

enum { QUESTION_MAX_BYTES = 64 * 1024 };

static const char ack_path[] = "/services/collector/ack";

bool hec_acks_new_channel(struct hec_acks *acks, struct error *err)
{
    struct guid guid;
    if (!plat_random(guid.bytes, sizeof(guid.bytes), err)) {
        return false;
    }
    guid_write(&guid, acks->channel);
    acks->channel[GUID_TEXT_SIZE] = '\0';
    acks->number_count = 0;
    return true;
}

/* Store the number of ${pending}, and check that it is new. */
static bool is_new(struct hec_acks *acks, const struct hec_pending *pending)
{
    for (size_t i = 0; i < acks->number_count; i++) {
        if (acks->numbers[i].id == pending->ack_id && acks->numbers[i].host == pending->host) {
            return false;
        }
    }
    if (acks->number_count == HEC_ACKS_REMEMBERED) {
        return false;
    }
    acks->numbers[acks->number_count++] = (struct hec_ack_number){
        .host = pending->host, .id = pending->ack_id};
    return true;
}

bool hec_acks_add(struct hec_acks *acks, const struct hec_pending *pending)
{
    if (!grow_list(&acks->items, acks->count, &acks->capacity, sizeof(*acks->items))) {
        return false;
    }
    if (!acks->numbers) {
        acks->numbers = malloc(HEC_ACKS_REMEMBERED * sizeof(*acks->numbers));
        if (!acks->numbers) {
            return false;
        }
    }
    struct hec_pending *added = &acks->items[acks->count++];
    *added = *pending;
    added->ambiguous = !is_new(acks, pending);
    for (size_t i = 0; added->ambiguous && i + 1 < acks->count; i++) {
        struct hec_pending *other = &acks->items[i];
        other->ambiguous = other->ambiguous ||
                           (other->host == pending->host && other->ack_id == pending->ack_id);
    }
    return true;
}

void hec_acks_fini(struct hec_acks *acks)
{
    free(acks->items);
    free(acks->numbers);
    *acks = (struct hec_acks){.items = NULL};
}

static bool is_open(const struct hec_pending *item)
{
    return !item->acked && !item->ambiguous;
}

size_t hec_acks_left(const struct hec_acks *acks, size_t host)
{
    size_t left = 0;
    for (size_t i = 0; i < acks->count; i++) {
        const struct hec_pending *item = &acks->items[i];
        left += is_open(item) && (host == SIZE_MAX || item->host == host);
    }
    return left;
}

bool hec_acks_all(const struct hec_acks *acks)
{
    for (size_t i = 0; i < acks->count; i++) {
        if (!acks->items[i].acked) {
            return false;
        }
    }
    return true;
}

bool hec_acks_is_full(const struct hec_acks *acks)
{
    return acks->number_count >= HEC_ACKS_REMEMBERED / 2;
}

static bool write_question(const struct hec_acks *acks, size_t host, struct buf *out)
{
    const char *comma = "";
    buf_add_text(out, "{\"acks\":[");
    for (size_t i = 0; i < acks->count; i++) {
        const struct hec_pending *item = &acks->items[i];
        if (is_open(item) && item->host == host) {
            buf_printf(out, "%s%llu", comma, (unsigned long long)item->ack_id);
            comma = ",";
        }
    }
    buf_add_text(out, comma[0] ? "]}" : "0]}");
    return !out->failed;
}

static void note(struct hec_acks *acks, size_t host, const struct http_response *response)
{
    for (size_t i = 0; i < acks->count; i++) {
        struct hec_pending *item = &acks->items[i];
        if (item->host == host && is_open(item)) {
            item->acked = hec_reply_is_acked(response, item->ack_id);
        }
    }
}

/* True if the body has the list of acknowledgements. */
static bool is_list(const struct http_response *response)
{
    return !response->page && span_find(buf_span(&response->body), "\"acks\"") != SIZE_MAX;
}

enum hec_ask_result hec_acks_try(
    struct http_client *client, const char *url, struct http_response *response, struct error *err)
{
    struct hec_acks none = {.count = 0};
    return hec_acks_new_channel(&none, err) ? hec_acks_ask(&none, client, 0, url, response, err)
                                            : HEC_NOT_ASKED;
}

enum hec_ask_result hec_acks_ask(struct hec_acks *acks, struct http_client *client, size_t host,
    const char *url, struct http_response *response, struct error *err)
{
    struct buf question;
    struct hec_reply reply;
    buf_init(&question, QUESTION_MAX_BYTES);
    if (!write_question(acks, host, &question)) {
        buf_fini(&question);
        error_set(err, ERR_MEMORY, "out of memory");
        return HEC_NOT_ASKED;
    }
    const struct http_header headers[] = {
        {"Content-Type", "application/json"}, {"X-Splunk-Request-Channel", acks->channel}};
    struct span body = buf_span(&question);
    const struct http_request request = {.method = "POST",
        .url = url,
        .path = ack_path,
        .headers = headers,
        .header_count = sizeof(headers) / sizeof(headers[0]),
        .parts = &body,
        .part_count = 1};
    bool replied = http_response_fetch(response, client, &request, err);
    buf_fini(&question);
    if (!replied) {
        return HEC_NOT_ASKED;
    }
    int status = response->reply.status;
    if (status == 200 && is_list(response)) {
        note(acks, host, response);
        return HEC_ASKED;
    }
    hec_reply_read(response, &reply);
    http_response_error(response, url, hec_reply_words(&reply, status), err);
    if (reply.code == HEC_ACK_DISABLED) {
        return HEC_ASK_OFF;
    }
    if (reply.code == HEC_NO_CHANNEL || reply.code == HEC_BAD_CHANNEL) {
        return HEC_ASK_GONE;
    }
    return hec_reply_verdict(&reply, status) == HTTP_PIECE_MEND ? HEC_ASK_REFUSED : HEC_NOT_ASKED;
}
