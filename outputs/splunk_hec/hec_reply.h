#ifndef ETWSHIP_OUTPUTS_HEC_REPLY_H
#define ETWSHIP_OUTPUTS_HEC_REPLY_H

#include "outputs/http/http_pieces.h"
#include "outputs/http/http_said.h"

/* What Splunk's HTTP Event Collector answers. Its codes say more than the statuses of HTTP: one table, which
 * people read in the reference, too. */
enum {
    HEC_SUCCESS = 0,
    HEC_NO_DATA = 5,
    HEC_NO_CHANNEL = 10,
    HEC_BAD_CHANNEL = 11,
    HEC_ACK_DISABLED = 14,
    HEC_HEALTHY = 17,
    HEC_NO_CODE = -1, /* not the words of a collector */
};

struct hec_reply {
    int code;        /* HEC_NO_CODE: none */
    bool has_ack_id; /* indexer acknowledgement is on */
    uint64_t ack_id;
    bool has_culprit;
    uint64_t culprit; /* invalid-event-number: which event of the request, from 0 */
};

void hec_reply_read(const struct http_said *said, struct hec_reply *ret_reply);

/* What becomes of the events of a request that had this reply. */
enum http_piece_verdict hec_reply_verdict(const struct hec_reply *reply, int status);

/* For whoever set the output up: "the token is disabled. enable it in Splunk". Static. */
const char *hec_reply_words(const struct hec_reply *reply, int status);

/* Does ${said}, the reply to a question for acknowledgements, say that ${ack_id} is indexed? */
bool hec_reply_is_acked(const struct http_said *said, uint64_t ack_id);

/* Append the table as a section of a page in Markdown (output_ops.reference). */
void hec_reply_write_reference(struct buf *out);

#endif
