#ifndef ETWSHIP_OUTPUTS_RELP_FRAME_H
#define ETWSHIP_OUTPUTS_RELP_FRAME_H

#include "base/buf.h"

/*
 * Frames of RELP, the Reliable Event Logging Protocol (relp.txt of librelp, version 0):
 *
 *   TXNR SP COMMAND SP DATALEN [SP DATA] LF
 */
enum {
    RELP_MAX_TXNR = 999999999,
    RELP_MAX_COMMAND = 32,
    RELP_MAX_DATA = 128 * 1024, /* of a received frame */
};

struct relp_frame {
    uint32_t txnr; /* 0: a hint without a request */
    struct span command;
    struct span data;
};

enum relp_read {
    RELP_FRAME,
    RELP_MORE, /* incomplete */
    RELP_BAD,  /* malformed */
};

/* Parse the frame at the start of ${bytes}, as views. ${ret_size}: its size. */
enum relp_read relp_frame_read(struct span bytes, struct relp_frame *ret_frame, size_t *ret_size);

/* Append the beginning of a frame with ${data_size} bytes; after the data comes a line feed. */
void relp_frame_begin(struct buf *out, uint32_t txnr, const char *command, size_t data_size);

/* The code at the start of a response's data; 0: none. */
int relp_frame_code(struct span data);

/* True if ${data}, the answer to `open`, offers ${command}. */
bool relp_frame_offers(struct span data, const char *command);

#endif
