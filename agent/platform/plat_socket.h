#ifndef ETWSHIP_PLATFORM_PLAT_SOCKET_H
#define ETWSHIP_PLATFORM_PLAT_SOCKET_H

#include "base/error.h"
#include "base/ip.h"
#include "base/span.h"

/*
 * Streams of bytes: TCP, and what reaches this machine alone: sockets of the file system, on Windows named pipes. None of
 * the functions waits but plat_socket_wait and plat_socket_connect_*. A socket belongs to one thread; only
 * plat_waker_wake may be called from others.
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

/* ${name} is a path: for this account and root alone. A socket that is left there by who is gone is removed; one that
 * somebody listens at, and what is no socket, is an error. On Windows it is the name of a pipe (of \\.\pipe\name), for
 * this account, the system and local administrators alone; one that another program has is an error. */
struct plat_socket *plat_socket_listen_local(const char *name, struct error *err);

/* The port that it listens at, for one that was made with port 0. */
uint16_t plat_socket_port(const struct plat_socket *listener);

/* The next connection that waits; NULL: none does. */
struct plat_socket *plat_socket_accept(struct plat_socket *listener);

/* May the other side of a local connection be told everything: is it root or this account? Of a pipe Windows has
 * judged when it was opened. False of TCP, which does not say. */
bool plat_socket_is_ours(const struct plat_socket *socket);

/* Connect, and wait for ${timeout_ms} at most. NULL with ${err} set; ERR_MISSING: nobody listens there. */
struct plat_socket *plat_socket_connect_tcp(
    const struct ip_address *address, uint16_t port, unsigned timeout_ms, struct error *err);
struct plat_socket *plat_socket_connect_local(
    const char *name, unsigned timeout_ms, struct error *err);

enum plat_socket_result plat_socket_read(
    struct plat_socket *socket, void *data, size_t size, size_t *ret_read);
enum plat_socket_result plat_socket_write(
    struct plat_socket *socket, struct span bytes, size_t *ret_written);

/* Was something taken that the system has not taken yet? It is lost if the socket is closed. Of pipes alone. */
bool plat_socket_has_output(const struct plat_socket *socket);

/* Nothing more will be written; the other side may still be read from. A pipe does not tell that to the other side. */
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

enum { PLAT_SOCKET_WAIT_MAX = 60 };

/* Wait until one of ${count} sockets is ready, ${waker} (NULL: none) was woken, or ${timeout_ms} are over; negative:
 * for ever. ${count} is at most PLAT_SOCKET_WAIT_MAX. */
void plat_socket_wait(
    struct plat_socket_wait *waits, size_t count, struct plat_waker *waker, int timeout_ms);

#endif
