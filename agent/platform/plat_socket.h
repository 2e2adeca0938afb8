#ifndef ETWSHIP_PLATFORM_PLAT_SOCKET_H
#define ETWSHIP_PLATFORM_PLAT_SOCKET_H

#include "base/error.h"
#include "base/ip.h"
#include "base/span.h"

/*
 * Stream sockets of this machine: TCP, and sockets of the file system where the system has them (not on
 * Windows: ERR_UNSUPPORTED). None of the functions waits but plat_socket_wait and plat_socket_connect_*. A socket
 * belongs to one thread; only plat_waker_wake may be called from others.
 */
struct plat_socket;

enum plat_socket_result {
    PLAT_SOCKET_DONE,  /* at least one byte went over */
    PLAT_SOCKET_LATER, /* nothing can for the moment */
    PLAT_SOCKET_END,   /* the other side is gone */
};

/* NULL with ${err} set. */
struct plat_socket *plat_socket_listen_tcp(
    const struct ip_address *address, uint16_t port, struct error *err);

/* At ${path}, for this account and root alone. A socket that is left there by who is gone is removed; one that
 * somebody listens at, and what is no socket, is an error. */
struct plat_socket *plat_socket_listen_unix(const char *path, struct error *err);

/* The port that it listens at, for one that was made with port 0. */
uint16_t plat_socket_port(const struct plat_socket *listener);

/* The next connection that waits; NULL: none does. */
struct plat_socket *plat_socket_accept(struct plat_socket *listener);

/* May the other side of a connection over the file system be told everything: is it root or this account?
 * False of TCP, which does not say. */
bool plat_socket_is_ours(const struct plat_socket *socket);

/* Connect, and wait for ${timeout_ms} at most. NULL with ${err} set; ERR_MISSING: nobody listens there. */
struct plat_socket *plat_socket_connect_tcp(
    const struct ip_address *address, uint16_t port, unsigned timeout_ms, struct error *err);
struct plat_socket *plat_socket_connect_unix(
    const char *path, unsigned timeout_ms, struct error *err);

enum plat_socket_result plat_socket_read(
    struct plat_socket *socket, void *data, size_t size, size_t *ret_read);
enum plat_socket_result plat_socket_write(
    struct plat_socket *socket, struct span bytes, size_t *ret_written);

/* Nothing more will be written; the other side may still be read from. */
void plat_socket_finish(struct plat_socket *socket);

/* Of a listener over the file system: its path is removed. NULL is fine. */
void plat_socket_close(struct plat_socket *socket);

/* What to wait for, and what has come. A socket that has failed is both readable and writable. */
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

enum { PLAT_SOCKET_WAIT_MAX = 128 };

/* Wait until one of ${count} sockets is ready, ${waker} (NULL: none) was woken, or ${timeout_ms} are over; negative:
 * for ever. ${count} is at most PLAT_SOCKET_WAIT_MAX. */
void plat_socket_wait(
    struct plat_socket_wait *waits, size_t count, struct plat_waker *waker, int timeout_ms);

#endif
