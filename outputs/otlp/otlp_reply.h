#ifndef ETWSHIP_OUTPUTS_OTLP_REPLY_H
#define ETWSHIP_OUTPUTS_OTLP_REPLY_H

#include "base/buf.h"
#include "base/span.h"
#include "outputs/otlp/otlp_settings.h"

/*
 * A collector's reply: OTLP 1.x, "OTLP/HTTP Response". Bodies use the protocol of the request,
 * except that some gateways answer protobuf with JSON; they are not trusted.
 */
enum otlp_verdict {
    OTLP_LATER,   /* 429, 502, 503, 504: send it again; zero is the safe answer */
    OTLP_TAKEN,   /* 2xx; some of it may still be rejected */
    OTLP_MEND,    /* a fault of the set-up: retry slowly */
    OTLP_TOO_BIG, /* 413: send less at a time */
    OTLP_REFUSED, /* something in it will never be taken: less at a time, to find out what */
    OTLP_NEVER,   /* must not be sent again; the result is unknown */
};

enum otlp_verdict otlp_reply_verdict(int status);

/* A text for people. Static. */
const char *otlp_reply_words(int status);

/* Append the table as a section of a page in Markdown. */
void otlp_reply_write_reference(struct buf *out);

enum { OTLP_REPLY_MESSAGE_BYTES = 256 };

struct otlp_reply {
    uint64_t rejected; /* rejected_log_records, or rejected_data_points of metrics; below 0: 0 */
    bool broken;       /* the body could not be read to its end; none is fine */
    /* of that, or of a google.rpc.Status: ASCII, one line; "": none */
    char message[OTLP_REPLY_MESSAGE_BYTES];
};

/* Read the ${body} of a reply with ${status} to a request of ${protocol}. */
void otlp_reply_read(
    struct span body, int status, enum otlp_protocol protocol, struct otlp_reply *ret_reply);

#endif
