#ifndef ETWSHIP_PLATFORM_PLAT_SOCKET_H
#define ETWSHIP_PLATFORM_PLAT_SOCKET_H

#include "base/error.h"
#include "base/span.h"
#include "base/text/ip.h"

/*
 * Streams of bytes: TCP, and local connections, which are sockets of the file system or named pipes
 * of Windows. Only plat_socket_wait and plat_socket_connect_* wait. A socket belongs to one thread;
 * only plat_waker_wake may be called from others.
 */
struct plat_socket;

enum plat_socket_result {
    PLAT_SOCKET_DONE,  /* at least one byte was transferred */
    PLAT_SOCKET_LATER, /* nothing can be transferred now */
    PLAT_SOCKET_END,   /* the other side is gone */
};

/* NULL with ${err} set. */
struct plat_socket *plat_socket_listen_tcp(
    const struct ip_address *address, uint16_t port, struct error *err);

/*
 * ${name}: a path, for this account and root only. A socket left there by an ended process is
 * removed; fails if a process listens there, or it is not a socket. On Windows the name of a pipe
 * (\\.\pipe\name), for this account, the system and local administrators only; fails if another
 * program has the pipe.
 */
struct plat_socket *plat_socket_listen_local(const char *name, struct error *err);

/* The port of a listener, also if it was made with port 0. */
uint16_t plat_socket_port(const struct plat_socket *listener);

/* The next waiting connection; NULL: none. */
struct plat_socket *plat_socket_accept(struct plat_socket *listener);

/* True if the peer of a local connection is root or this account, and so may see everything.
 * Windows checks that when a client opens a pipe. False for TCP. */
bool plat_socket_is_ours(const struct plat_socket *socket);

/* Connect, and wait for ${timeout_ms} at most. NULL with ${err} set; ERR_MISSING: no process
 * listens there. */
struct plat_socket *plat_socket_connect_tcp(
    const struct ip_address *address, uint16_t port, unsigned timeout_ms, struct error *err);
struct plat_socket *plat_socket_connect_local(
    const char *name, unsigned timeout_ms, struct error *err);

enum plat_socket_result plat_socket_read(
    struct plat_socket *socket, void *data, size_t size, size_t *ret_read);
enum plat_socket_result plat_socket_write(
    struct plat_socket *socket, struct span bytes, size_t *ret_written);

/* True while written bytes wait in this process; closing loses them. Always false except for
 * pipes. */
bool plat_socket_has_output(const struct plat_socket *socket);

/* Shut down writing; reading continues. A pipe cannot report that to the peer. */
void plat_socket_finish(struct plat_socket *socket);

/* For a local listener, also remove its path. NULL is fine. */
void plat_socket_close(struct plat_socket *socket);

/* What to wait for, and the result. A failed socket is both readable and writable. */
struct plat_socket_wait {
    const struct plat_socket *socket;
    bool read;
    bool write;
    bool ret_read;
    bool ret_write;
};

/* Wakes a thread that is in plat_socket_wait. */
struct plat_waker;
struct plat_waker *plat_waker_create(struct error *err);
void plat_waker_destroy(struct plat_waker *waker); /* NULL is fine */
void plat_waker_wake(struct plat_waker *waker);    /* any thread */

enum { PLAT_SOCKET_WAIT_MAX = 60 };

/* Wait until one of ${count} sockets is ready, ${waker} (NULL: none) was woken, or ${timeout_ms}
 * are over; negative: for ever. ${count} is at most PLAT_SOCKET_WAIT_MAX. */
void plat_socket_wait(
    struct plat_socket_wait *waits, size_t count, struct plat_waker *waker, int timeout_ms);

#endif
