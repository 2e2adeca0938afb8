#ifndef ETWSHIP_OUTPUTS_NET_STREAM_H
#define ETWSHIP_OUTPUTS_NET_STREAM_H

#include "outputs/http/http_options.h"

/*
 * A connection over TCP, with or without TLS, as a stream of bytes. It is libcurl's, so certificates, pins and
 * checks are those of the outputs over HTTP on every system. One thread at a time.
 */
struct net_stream;

struct net_stream_setup {
    const char *address; /* host:port, [ipv6]:port; copied */
    bool tls;
    const struct http_options *options; /* tls and the timeouts; copied */
    bool (*stopping)(void *host);       /* ends every wait; NULL: never */
    void *host;
};

/* Connects to nothing. NULL with ${err} set. */
struct net_stream *net_stream_create(const struct net_stream_setup *setup, struct error *err);
void net_stream_destroy(struct net_stream *stream); /* NULL is fine */

/* False with ${err} set. ${ret_lasts}: it is a fault of the set-up. */
bool net_stream_connect(struct net_stream *stream, bool *ret_lasts, struct error *err);
void net_stream_disconnect(struct net_stream *stream);
bool net_stream_is_connected(const struct net_stream *stream);

/* "tls://host:port", for people. */
const char *net_stream_name(const struct net_stream *stream);

enum net_stream_read {
    NET_STREAM_READ,    /* ${ret_size} bytes */
    NET_STREAM_NOTHING, /* none are there, after ${wait_ms} */
    NET_STREAM_CLOSED,  /* the other side has closed it in an orderly way */
    NET_STREAM_BROKEN,  /* anything else */
};

/* What has come, at most ${room} bytes. Waits for it up to ${wait_ms}, or until it is time to stop. ${err} is set
 * with the last two. */
enum net_stream_read net_stream_read(struct net_stream *stream, void *to, size_t room,
    unsigned wait_ms, size_t *ret_size, struct error *err);

/* Write all of ${bytes}; ${ret_size}: how many were taken by the system, also where it fails. Ends after the
 * timeout of the options without progress, when it is time to stop, or when the other side is gone. */
bool net_stream_write(
    struct net_stream *stream, struct span bytes, size_t *ret_size, struct error *err);

/* How much of what was written has the other system not confirmed? False: unknown. */
bool net_stream_unacked(const struct net_stream *stream, uint64_t *ret_bytes);

/* Confirm at once what has come: the other system may wait for that before it sends more. */
void net_stream_confirm(const struct net_stream *stream);

/* Wait until ${bytes} have come, the connection has ended, or ${wait_ms} are over. Over TLS, where a part of them may
 * have been read already, and where the system cannot do so, it returns at once. */
void net_stream_await(const struct net_stream *stream, size_t bytes, unsigned wait_ms);

/* Was a connection that the other side has closed in an orderly way reset since, or within ${wait_ms}? */
bool net_stream_was_reset(const struct net_stream *stream, unsigned wait_ms);

/* Nothing more will be written: over TCP the other side is told so. What comes can still be read. Over TLS nothing
 * is told before net_stream_disconnect. */
void net_stream_end(struct net_stream *stream);

/* Is ${address} a host and a port? Reports what is wrong. */
void net_stream_check_address(
    struct config_check *check, const char *key, const char *const *address);

#endif
