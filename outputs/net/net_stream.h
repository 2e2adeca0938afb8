#ifndef ETWSHIP_OUTPUTS_NET_STREAM_H
#define ETWSHIP_OUTPUTS_NET_STREAM_H

#include "outputs/http/http_options.h"

/*
 * A TCP connection, with or without TLS, as a stream of bytes. It uses libcurl, so certificates,
 * pins and checks work as for outputs over HTTP on every system. One thread at a time.
 */
struct net_stream;

/* Rows of a settings struct that has a `struct http_options http`. */
#define NET_STREAM_ROWS(s)                                                        \
    {CONFIG_STRUCT_ROW("tls", s, http.tls, http_tls_fields),                      \
        .help = "how the receiver's certificate is checked"},                     \
    {                                                                             \
        CONFIG_ROW("connect_timeout", DURATION, s, http.connect_timeout_ns),      \
            .default_text = "10s", .min = 1000000, .max = INT64_C(3600000000000), \
            .help = "longest wait for a connection, including TLS"                \
    }

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
    NET_STREAM_CLOSED,  /* the other side has closed it gracefully */
    NET_STREAM_BROKEN,  /* anything else */
};

/* Read at most ${room} bytes. Waits for them up to ${wait_ms}, or until `stopping`. ${err} is set
 * with the last two results. */
enum net_stream_read net_stream_read(struct net_stream *stream, void *to, size_t room,
    unsigned wait_ms, size_t *ret_size, struct error *err);

/* Write all of ${bytes}; ${ret_size}: how many the system accepted, also after a failure. Fails
 * after the timeout of the options without progress, on `stopping`, or if the other side is
 * gone. */
bool net_stream_write(
    struct net_stream *stream, struct span bytes, size_t *ret_size, struct error *err);

/* Number of written bytes that the other system has not confirmed. False: unknown. */
bool net_stream_unacked(const struct net_stream *stream, uint64_t *ret_bytes);

/* Acknowledge received bytes at once, as the other system may wait for that before it sends
 * more. */
void net_stream_confirm(const struct net_stream *stream);

/* Wait until ${bytes} have arrived, the connection has ended, or ${wait_ms} are over. Returns at
 * once over TLS, which may have read a part of them already, and if the system does not support
 * it. */
void net_stream_await(const struct net_stream *stream, size_t bytes, unsigned wait_ms);

/* True if a gracefully closed connection was reset since, or is within ${wait_ms}. */
bool net_stream_was_reset(const struct net_stream *stream, unsigned wait_ms);

/* Shut down writing: over TCP the other side is notified, over TLS only by net_stream_disconnect.
 * Reading still works. */
void net_stream_end(struct net_stream *stream);

/* Check that ${address} is a host and a port; reports errors. */
void net_stream_check_address(
    struct config_check *check, const char *key, const char *const *address);

#endif
