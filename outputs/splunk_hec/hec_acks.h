#ifndef ETWSHIP_OUTPUTS_HEC_ACKS_H
#define ETWSHIP_OUTPUTS_HEC_ACKS_H

#include "base/guid.h"
#include "outputs/http/http_response.h"

/*
 * Requests that Splunk has accepted but not indexed yet. Splunk drops an acknowledgement when it
 * was read, and an unused channel after a while; so only `true` in a complete answer counts, and
 * never an error.
 *
 * A number belongs to a channel. If it occurs twice (Splunk has restarted, or several indexers
 * share an address), an answer is ambiguous and acknowledges neither request. The numbers of a
 * channel are stored to notice this, and a channel is used for at most that many requests.
 */
enum { HEC_ACKS_REMEMBERED = 4096 };

struct hec_pending {
    size_t first; /* range of the delivery's piece */
    size_t count;
    size_t records; /* number of its records */
    size_t host;    /* index in `urls` of the collector that accepted them */
    uint64_t ack_id;
    bool acked;
    bool ambiguous; /* another request had the same number */
};

struct hec_ack_number {
    size_t host;
    uint64_t id;
};

struct hec_acks {
    char channel[GUID_TEXT_SIZE + 1];
    struct hec_ack_number *numbers; /* numbers of this channel */
    size_t number_count;
    struct hec_pending *items;
    size_t count;
    size_t capacity;
};

/* False: no random numbers, or out of memory; ${acks} is unchanged. */
bool hec_acks_new_channel(struct hec_acks *acks, struct error *err);

/* If another request has this number, neither is queried. */
bool hec_acks_add(struct hec_acks *acks, const struct hec_pending *pending);
void hec_acks_fini(struct hec_acks *acks);

enum hec_ask_result {
    HEC_ASKED,       /* acknowledged requests are marked */
    HEC_NOT_ASKED,   /* no usable answer; see ${err} */
    HEC_ASK_OFF,     /* the token does not acknowledge */
    HEC_ASK_GONE,    /* Splunk does not know the channel any more */
    HEC_ASK_REFUSED, /* another fault of the set-up */
};

/* Query ${url}, number ${host} of `urls`, for all its pending requests. */
enum hec_ask_result hec_acks_ask(struct hec_acks *acks, struct http_client *client, size_t host,
    const char *url, struct http_response *response, struct error *err);

/* Test whether ${url} acknowledges, on a separate channel, since Splunk gives each answer only
 * once. */
enum hec_ask_result hec_acks_try(
    struct http_client *client, const char *url, struct http_response *response, struct error *err);

/* Number of requests at ${host} that can still be acknowledged; SIZE_MAX: of all hosts. */
size_t hec_acks_left(const struct hec_acks *acks, size_t host);

/* True if all requests are acknowledged. */
bool hec_acks_all(const struct hec_acks *acks);

/* True if the channel must be replaced, as no more numbers fit. */
bool hec_acks_is_full(const struct hec_acks *acks);

#endif
