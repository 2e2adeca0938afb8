#ifndef ETWSHIP_STATUS_STATUS_SERVER_H
#define ETWSHIP_STATUS_STATUS_SERVER_H

#include "base/text/ip.h"
#include "status/status_request.h"

/*
 * Answers GET requests on a thread of its own. Clients cannot use more than its connections, its
 * replies and one thread; it holds no lock of the agent while it waits for them.
 */
enum {
    STATUS_SERVER_MAX_CONNECTIONS = 32,
    STATUS_SERVER_MAX_LOCAL = 8, /* of them, over the file system; the others are of TCP */
    STATUS_SERVER_MAX_STREAMS = 4,
    STATUS_SERVER_MAX_REPLY_BYTES = 16 * 1024 * 1024, /* of all replies together */
    STATUS_SERVER_READ_MS = 5000,   /* from the connection to the end of the head */
    STATUS_SERVER_WRITE_MS = 10000, /* without progress of the client */
    STATUS_SERVER_REPLY_MS =
        30000, /* from the connection to the end of a reply that is no stream */
};

/* A reply without a fixed end. Called on the server's thread. */
struct status_stream_ops {
    bool (*more)(void *self, struct buf *out); /* append available data; false: the end */
    void (*end)(void *self);
};

/* Counters of requests. */
struct status_server_counts {
    uint64_t answered;
    uint64_t refused; /* unknown page, no permission, not HTTP */
    uint64_t dropped; /* too slow, or there were too many */
};

struct status_reply {
    struct status_server_counts counts; /* of the requests before this one; set by the server */
    unsigned status;                    /* of HTTP */
    const char *type;                   /* Content-Type */
    const char *headers;                /* further lines, each with its CRLF; "" */
    struct buf body;
    const struct status_stream_ops *stream; /* NULL: only the body */
    void *stream_self;
};

struct status_server_settings {
    struct ip_address address; /* size 0: no TCP */
    uint16_t port;             /* 0: any */
    const char *local_name;    /* see plat_socket_listen_local; NULL: none. Copied */
    const char *token;         /* required over TCP; NULL: none. Copied */
    const char *tls_cert;      /* for TCP, a file in PEM; NULL: no TLS. Read at the start */
    const char *tls_key;       /* the same */
    const char *open_path;     /* path of a page without token; NULL: none. Static */

    /* Fill ${reply}, which is empty. ${trusted}: the request has the token, or came over the file
     * system. On the server's thread. */
    void (*answer)(
        void *self, const struct status_request *request, bool trusted, struct status_reply *reply);
    /* Called every ${tick_ms} on the server's thread; may be NULL. */
    void (*tick)(void *self);
    unsigned tick_ms;
    /* A line for each request; may be NULL. */
    void (*log)(void *self, const char *line);
    void *self;
};

struct status_server;

/* NULL with ${err} set: it cannot listen. */
struct status_server *status_server_start(
    const struct status_server_settings *settings, struct error *err);
void status_server_stop(struct status_server *server); /* NULL is fine */

uint16_t status_server_port(const struct status_server *server);

#endif
