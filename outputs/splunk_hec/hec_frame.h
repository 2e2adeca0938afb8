#ifndef ETWSHIP_OUTPUTS_HEC_FRAME_H
#define ETWSHIP_OUTPUTS_HEC_FRAME_H

#include "outputs/event_memo.h"
#include "outputs/http/http_pieces.h"
#include "outputs/splunk_hec/hec_settings.h"

/*
 * Request of a piece of a delivery: the body, and the path with its query. Metadata of an event
 * (index, sourcetype, source, host) is in each object, or for raw events in the query.
 */
struct hec_frame {
    bool raw;
    bool ids;
    bool has_host;
    struct span places[HEC_PLACE_COUNT]; /* without routes */
    struct buf constants;                /* memory of `places` */
    struct event_memo memo;
    struct buf members;
    struct buf body;
    struct buf path; /* ends with a NUL */
};

/* Copies what it keeps. False: out of memory. */
bool hec_frame_init(struct hec_frame *frame, const struct hec_settings *settings);
void hec_frame_fini(struct hec_frame *frame);

/* Write the records of ${piece} that are to be sent. False: the memory does not suffice; a smaller
 * piece may fit. */
bool hec_frame_write(struct hec_frame *frame, const struct http_piece *piece);

#endif
