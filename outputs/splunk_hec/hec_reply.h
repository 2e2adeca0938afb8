#ifndef ETWSHIP_OUTPUTS_HEC_REPLY_H
#define ETWSHIP_OUTPUTS_HEC_REPLY_H

#include "outputs/http/http_pieces.h"
#include "outputs/http/http_response.h"

/* Replies of Splunk's HTTP Event Collector. Its codes are more precise than HTTP statuses: one
 * table, which is also in the reference. */
enum {
    HEC_SUCCESS = 0,
    HEC_NO_DATA = 5,
    HEC_NO_CHANNEL = 10,
    HEC_BAD_CHANNEL = 11,
    HEC_ACK_DISABLED = 14,
    HEC_HEALTHY = 17,
    HEC_NO_CODE = -1, /* not a collector's reply */
};

struct hec_reply {
    int code;        /* HEC_NO_CODE: none */
    bool has_ack_id; /* indexer acknowledgement is on */
    uint64_t ack_id;
    bool has_event_number;
    uint64_t event_number; /* invalid-event-number: index of the event in the request, from 0 */
};

void hec_reply_read(const struct http_response *response, struct hec_reply *ret_reply);

/* The result of this reply for the events of its request. */
enum http_piece_verdict hec_reply_verdict(const struct hec_reply *reply, int status);

/* Text for the administrator: "the token is disabled. enable it in Splunk". Static. */
const char *hec_reply_words(const struct hec_reply *reply, int status);

/* True if ${response}, the reply to a query for acknowledgements, confirms ${ack_id}. */
bool hec_reply_is_acked(const struct http_response *response, uint64_t ack_id);

/* Append the table as a section of a page in Markdown (output_ops.reference). */
void hec_reply_write_reference(struct buf *out);

#endif
