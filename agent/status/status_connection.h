#ifndef ETWSHIP_STATUS_STATUS_CONNECTION_H
#define ETWSHIP_STATUS_STATUS_CONNECTION_H

#include "status/status_channel.h"
#include "status/status_server.h"

/* One connection of the status server: a request, a reply, the end. On the server's thread. */
enum status_phase {
    STATUS_PHASE_READING,
    STATUS_PHASE_WRITING, /* also between two parts of a stream */
    STATUS_PHASE_ENDING,  /* everything is written: wait for the client to close, or for a moment */
    STATUS_PHASE_OVER,
};

struct status_connection {
    struct status_channel channel; /* no socket: this connection is free */
    enum status_phase phase;
    bool is_local; /* over the file system */
    uint64_t began;
    uint64_t deadline_ns; /* UINT64_MAX: none */
    uint64_t end_ns;      /* total time of the reply; UINT64_MAX: none */
    uint8_t in[STATUS_REQUEST_MAX_BYTES];
    size_t in_size;
    struct buf out;
    size_t out_at;
    const struct status_stream_ops *stream;
    void *stream_self;
};

/* The connection takes over ${channel}. */
void status_connection_begin(struct status_connection *connection, struct status_channel channel,
    bool is_local, uint64_t now);

/* Read available bytes; true: ${ret_request} is complete, or invalid (${ret_parse}). */
bool status_connection_read(struct status_connection *connection,
    struct status_request *ret_request, enum status_parse *ret_parse);

/* Send ${reply}; the connection takes over its body and stream. */
void status_connection_reply(
    struct status_connection *connection, struct status_reply *reply, uint64_t now);

/* Write as much as the socket takes, and get more from the stream. */
void status_connection_write(struct status_connection *connection, uint64_t now);

/* True while bytes wait to be written. While the request is still read,
 * TLS may have bytes of its handshake. */
bool status_connection_has_more(const struct status_connection *connection);

void status_connection_end(struct status_connection *connection);

#endif
