#ifndef ETWSHIP_OUTPUTS_HTTP_FRAME_H
#define ETWSHIP_OUTPUTS_HTTP_FRAME_H

#include "outputs/event_memo.h"
#include "outputs/output.h"

/*
 * The framing of events in the body of a request. Their JSON is copied unchanged.
 */
enum http_framing {
    HTTP_FRAMING_NDJSON,     /* one event per line */
    HTTP_FRAMING_JSON_ARRAY, /* one array of all */
    HTTP_FRAMING_MESSAGE, /* the text of each message as one line; an event without: its JSON. Only
                                such a line begins with a brace */
    HTTP_FRAMING_SPLUNK_HEC, /* objects of Splunk's HTTP Event Collector, one after the other */
};

/* Metadata for Splunk beside the event; NULL: none, and its token decides. */
struct http_frame_hec {
    const char *source;
    const char *sourcetype;
    const char *index;
};

struct http_frame {
    enum http_framing framing;
    struct buf constants; /* of a HEC object: members common to all events */
    struct event_memo memo;
};

/* ${hec} is copied. False: out of memory. */
bool http_frame_init(
    struct http_frame *frame, enum http_framing framing, const struct http_frame_hec *hec);
void http_frame_fini(struct http_frame *frame);

/* Static. */
const char *http_frame_content_type(enum http_framing framing);

/*
 * The body of ${count} records of ${delivery} from ${first} on. A view into the delivery or into
 * ${room}, whose content is replaced. False: the maximum of ${room} is too small.
 */
bool http_frame_body(struct http_frame *frame, const struct delivery *delivery, size_t first,
    size_t count, struct buf *room, struct span *ret_body);

/* Record ${index} of ${delivery}, without the line break at its end. */
struct span http_frame_record(const struct delivery *delivery, size_t index);

/* Append `"${name}":"${value}",`; nothing if it is empty. */
void http_frame_add_member(struct buf *out, const char *name, struct span value);

/* Append the HEC object of ${record}, with ${members} before its event: JSON members, each with its
 * comma. ${with_host}: `host` is host.name of the event. ${memo}: values of earlier records,
 * updated for later ones. */
void http_frame_add_hec(struct event_memo *memo, struct span record, struct span members,
    bool with_host, struct buf *out);

#endif
