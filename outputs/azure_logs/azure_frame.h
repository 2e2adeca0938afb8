#ifndef ETWSHIP_OUTPUTS_AZURE_FRAME_H
#define ETWSHIP_OUTPUTS_AZURE_FRAME_H

#include "outputs/http/http_pieces.h"
#include "outputs/output.h"

/*
 * The body of a request: an array of events. Each event gets `TimeGenerated`, which every table of
 * a workspace has, and `etwship_id`, which stays the same when the event is sent again. The service
 * accepts 1 MB per request, before compression, and cuts each value at 64 KB.
 */
enum { AZURE_FRAME_MAX_BYTES = 1000000 };

/* Replace ${out} by the records of ${piece} that are to be sent. False: out of memory. */
bool azure_frame_write(const struct http_piece *piece, struct buf *out);

/* The table and the rule for these events, for `etwship setup`. ${format}: native or ecs. */
bool azure_frame_setup(const void *settings, const struct output_talk *talk);

#endif
