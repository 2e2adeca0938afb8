#ifndef ETWSHIP_OUTPUTS_HEC_ACKS_H
#define ETWSHIP_OUTPUTS_HEC_ACKS_H

#include "base/guid.h"
#include "outputs/http/http_said.h"

/*
 * Requests that Splunk has taken, and not indexed yet. Splunk forgets an acknowledgement once it was read, and
 * a channel that was not used for a while; so an answer counts only if it is `true`, and only a whole one. No
 * error of any kind counts as an acknowledgement.
 *
 * A number belongs to a channel. If it comes twice (Splunk has restarted, or several indexers share an address), an
 * answer does not say which request it is about, so it acknowledges neither. The numbers of a channel are remembered to
 * notice this, and a channel serves at most as many requests.
 */
enum { HEC_ACKS_REMEMBERED = 4096 };

struct hec_pending {
    size_t first; /* stretch of the piece of the delivery */
    size_t count;
    size_t records; /* how many that holds */
    size_t host;    /* which of `urls` took them: only that one knows */
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
    struct hec_ack_number *numbers; /* that this channel has given */
    size_t number_count;
    struct hec_pending *items;
    size_t count;
    size_t capacity;
};

/* False: there are no random numbers, or no memory; ${acks} is as it was. */
bool hec_acks_new_channel(struct hec_acks *acks, struct error *err);

/* If another request has the same number, neither is asked for. */
bool hec_acks_add(struct hec_acks *acks, const struct hec_pending *pending);
void hec_acks_fini(struct hec_acks *acks);

enum hec_ask_result {
    HEC_ASKED,       /* and what is acknowledged is noted */
    HEC_NOT_ASKED,   /* no answer that says anything; ${err} says why */
    HEC_ASK_OFF,     /* the token does not acknowledge */
    HEC_ASK_GONE,    /* Splunk does not know the channel any more */
    HEC_ASK_REFUSED, /* another fault of the set-up */
};

/* Ask ${url}, number ${host} of `urls`, for all that is pending there. */
enum hec_ask_result hec_acks_ask(struct hec_acks *acks, struct http_client *client, size_t host,
    const char *url, struct http_said *said, struct error *err);

/* Does ${url} acknowledge at all? Asked on a channel of its own, since each answer is given once: no request that
 * waits for it can lose its own. */
enum hec_ask_result hec_acks_try(
    struct http_client *client, const char *url, struct http_said *said, struct error *err);

/* How many requests can still be acknowledged, of those at ${host}; SIZE_MAX: of all. */
size_t hec_acks_left(const struct hec_acks *acks, size_t host);

/* Are all requests acknowledged, so that none is sent again? */
bool hec_acks_all(const struct hec_acks *acks);

/* Is it time for a new channel, as no more numbers are remembered? */
bool hec_acks_is_full(const struct hec_acks *acks);

#endif
