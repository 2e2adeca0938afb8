#include "platform/plat_socket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <winsock2.h>
#include <ws2tcpip.h>

#include "platform/windows/plat_pipe.h"
#include "platform/windows/plat_wide.h"

enum { BACKLOG = 512 };

struct plat_socket {
    SOCKET handle;          /* INVALID_SOCKET: a pipe */
    struct plat_pipe *pipe; /* NULL: TCP */
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Windows counts these calls; this one is never reversed. */
static bool begin(struct error *err)
{
    WSADATA data;
    int code = WSAStartup(MAKEWORD(2, 2), &data);
    return code == 0 ||
           plat_wide_error(err, (unsigned long)code, "Windows Sockets", "cannot begin");
}

/* Take over ${handle}. On failure it is closed, and WSAGetLastError says why. */
static struct plat_socket *make(SOCKET handle)
{
    u_long on = 1;
    if (handle == INVALID_SOCKET) {
        return NULL;
    }
    struct plat_socket *made = calloc(1, sizeof(*made));
    int code = !made                                          ? WSA_NOT_ENOUGH_MEMORY
               : ioctlsocket(handle, (long)FIONBIO, &on) != 0 ? WSAGetLastError()
                                                              : 0;
    if (code != 0) {
        closesocket(handle);
        free(made);
        WSASetLastError(code);
        return NULL;
    }
    made->handle = handle;
    return made;
}

static struct plat_socket *open_socket(int family, int type, int protocol, struct error *err)
{
    if (!begin(err)) {
        return NULL;
    }
    struct plat_socket *made = make(WSASocketW(
        family, type, protocol, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT));
    if (!made) {
        plat_wide_error(err, (unsigned long)WSAGetLastError(), "a socket", "cannot be made");
    }
    return made;
}

static int ip_of(const struct ip_address *address, uint16_t port, union address *ret_address)
{
    memset(ret_address, 0, sizeof(*ret_address));
    if (address->size == 4) {
        ret_address->v4.sin_family = AF_INET;
        ret_address->v4.sin_port = htons(port);
        memcpy(&ret_address->v4.sin_addr, address->bytes, 4);
        return sizeof(ret_address->v4);
    }
    ret_address->v6.sin6_family = AF_INET6;
    ret_address->v6.sin6_port = htons(port);
    memcpy(&ret_address->v6.sin6_addr, address->bytes, 16);
    return sizeof(ret_address->v6);
}

struct plat_socket *plat_socket_listen_tcp(
    const struct ip_address *address, uint16_t port, struct error *err)
{
    union address at;
    int size = ip_of(address, port, &at);
    struct plat_socket *listener = open_socket(at.any.sa_family, SOCK_STREAM, IPPROTO_TCP, err);
    BOOL on = TRUE;
    if (!listener) {
        return NULL;
    }
    /* otherwise another program could listen at the port and receive the requests */
    setsockopt(listener->handle, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&on, sizeof(on));
    if (bind(listener->handle, &at.any, size) != 0 || listen(listener->handle, BACKLOG) != 0) {
        char what[32];
        unsigned long code = (unsigned long)WSAGetLastError();
        snprintf(what, sizeof(what), "port %u", (unsigned)port);
        plat_wide_error(err, code, what, "cannot listen there");
        plat_socket_close(listener);
        return NULL;
    }
    return listener;
}

/* Take over ${pipe}. NULL if it is NULL or there is no memory. */
static struct plat_socket *make_of_pipe(struct plat_pipe *pipe, struct error *err)
{
    struct plat_socket *made = pipe ? calloc(1, sizeof(*made)) : NULL;
    if (made) {
        made->handle = INVALID_SOCKET;
        made->pipe = pipe;
    } else if (pipe) {
        plat_pipe_close(pipe);
        error_set(err, ERR_MEMORY, "out of memory");
    }
    return made;
}

struct plat_socket *plat_socket_listen_local(const char *name, struct error *err)
{
    return make_of_pipe(plat_pipe_listen(name, err), err);
}

uint16_t plat_socket_port(const struct plat_socket *listener)
{
    union address at;
    int size = sizeof(at);
    if (listener->pipe || getsockname(listener->handle, &at.any, &size) != 0) {
        return 0;
    }
    return ntohs(at.any.sa_family == AF_INET ? at.v4.sin_port : at.v6.sin6_port);
}

struct plat_socket *plat_socket_accept(struct plat_socket *listener)
{
    return listener->pipe ? make_of_pipe(plat_pipe_accept(listener->pipe), NULL)
                          : make(accept(listener->handle, NULL, NULL));
}

bool plat_socket_is_ours(const struct plat_socket *socket)
{
    return socket->pipe != NULL;
}

/* WSAPoll does not report refused connections before Windows 10 2004; select does. */
static bool wait_connected(SOCKET handle, unsigned timeout_ms)
{
    fd_set done;
    fd_set failed;
    struct timeval until = {
        .tv_sec = (long)(timeout_ms / 1000), .tv_usec = (long)(timeout_ms % 1000) * 1000};
    FD_ZERO(&done);
    FD_ZERO(&failed);
    FD_SET(handle, &done);
    FD_SET(handle, &failed);
    int ready = select(0, NULL, &done, &failed, &until);
    int code = ready > 0 ? 0 : WSAETIMEDOUT;
    int size = sizeof(code);
    if (ready > 0) {
        getsockopt(handle, SOL_SOCKET, SO_ERROR, (char *)&code, &size);
    }
    WSASetLastError(code);
    return code == 0;
}

struct plat_socket *plat_socket_connect_tcp(
    const struct ip_address *address, uint16_t port, unsigned timeout_ms, struct error *err)
{
    union address at;
    int size = ip_of(address, port, &at);
    struct plat_socket *made = open_socket(at.any.sa_family, SOCK_STREAM, IPPROTO_TCP, err);
    if (!made) {
        return NULL;
    }
    bool ok = connect(made->handle, &at.any, size) == 0 ||
              (WSAGetLastError() == WSAEWOULDBLOCK && wait_connected(made->handle, timeout_ms));
    if (!ok) {
        int code = WSAGetLastError();
        plat_wide_error(err, (unsigned long)code, "the agent", "cannot connect");
        if (err && (code == WSAECONNREFUSED || code == WSAETIMEDOUT)) {
            err->code = ERR_MISSING;
        }
        plat_socket_close(made);
        return NULL;
    }
    return made;
}

struct plat_socket *plat_socket_connect_local(
    const char *name, unsigned timeout_ms, struct error *err)
{
    return make_of_pipe(plat_pipe_connect(name, timeout_ms, err), err);
}

static enum plat_socket_result result_of(int done, size_t *ret_done)
{
    *ret_done = done > 0 ? (size_t)done : 0;
    if (done > 0) {
        return PLAT_SOCKET_DONE;
    }
    return done < 0 && WSAGetLastError() == WSAEWOULDBLOCK ? PLAT_SOCKET_LATER : PLAT_SOCKET_END;
}

static int bounded(size_t size)
{
    return size > (1 << 20) ? 1 << 20 : (int)size;
}

enum plat_socket_result plat_socket_read(
    struct plat_socket *socket, void *data, size_t size, size_t *ret_read)
{
    return socket->pipe ? plat_pipe_read(socket->pipe, data, size, ret_read)
                        : result_of(recv(socket->handle, data, bounded(size), 0), ret_read);
}

enum plat_socket_result plat_socket_write(
    struct plat_socket *socket, struct span bytes, size_t *ret_written)
{
    return socket->pipe
               ? plat_pipe_write(socket->pipe, bytes, ret_written)
               : result_of(send(socket->handle, (const char *)bytes.data, bounded(bytes.size), 0),
                     ret_written);
}

bool plat_socket_has_output(const struct plat_socket *socket)
{
    return socket->pipe && plat_pipe_has_output(socket->pipe);
}

void plat_socket_finish(struct plat_socket *socket)
{
    if (!socket->pipe) {
        shutdown(socket->handle, SD_SEND);
    }
}

void plat_socket_close(struct plat_socket *socket)
{
    if (socket) {
        if (socket->pipe) {
            plat_pipe_close(socket->pipe);
        } else {
            closesocket(socket->handle);
        }
        free(socket);
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

/*
 * A socket wakes the thread up by a datagram to itself. WSAPoll waits for sockets only, other
 * functions wait for events only. So if there is a pipe, all sockets set one event during the wait.
 */
struct plat_waker {
    struct plat_socket *datagrams;
};

struct plat_waker *plat_waker_create(struct error *err)
{
    struct plat_waker *waker = calloc(1, sizeof(*waker));
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int size = sizeof(at);
    if (!waker) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    waker->datagrams = open_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP, err);
    if (!waker->datagrams) {
        free(waker);
        return NULL;
    }
    SOCKET handle = waker->datagrams->handle;
    if (bind(handle, (struct sockaddr *)&at, size) != 0 ||
        getsockname(handle, (struct sockaddr *)&at, &size) != 0 ||
        connect(handle, (struct sockaddr *)&at, size) != 0) {
        plat_wide_error(
            err, (unsigned long)WSAGetLastError(), "an event to wake a thread", "cannot be made");
        plat_waker_destroy(waker);
        return NULL;
    }
    return waker;
}

void plat_waker_destroy(struct plat_waker *waker)
{
    if (waker) {
        plat_socket_close(waker->datagrams);
        free(waker);
    }
}

void plat_waker_wake(struct plat_waker *waker)
{
    send(waker->datagrams->handle, "", 1, 0);
}

static bool has_pipe(const struct plat_socket_wait *waits, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        found = found || waits[i].socket->pipe;
    }
    return found;
}

/* Set the results of ${waits}; wait for TCP sockets up to ${timeout_ms}. True: one of them is
 * ready. */
static bool look(
    struct plat_socket_wait *waits, size_t count, struct plat_waker *waker, int timeout_ms)
{
    WSAPOLLFD list[PLAT_SOCKET_WAIT_MAX + 1];
    ULONG all = 0;
    for (size_t i = 0; i < count; i++) {
        if (!waits[i].socket->pipe) {
            list[all++] = (WSAPOLLFD){.fd = waits[i].socket->handle,
                .events = (SHORT)((waits[i].read ? POLLRDNORM : 0) |
                                  (waits[i].write ? POLLWRNORM : 0))};
        }
    }
    if (waker) {
        list[all++] = (WSAPOLLFD){.fd = waker->datagrams->handle, .events = POLLRDNORM};
    }
    bool polled = all ? WSAPoll(list, all, timeout_ms) > 0 : false;
    bool any = polled;
    for (size_t i = 0, k = 0; i < count; i++) {
        struct plat_socket_wait *wait = &waits[i];
        if (wait->socket->pipe) {
            plat_pipe_look(wait->socket->pipe, wait->read, &wait->ret_read, &wait->ret_write);
            any = any || (wait->read && wait->ret_read) || (wait->write && wait->ret_write);
            continue;
        }
        SHORT events = polled ? list[k].revents : 0;
        bool failed = events & (POLLERR | POLLHUP | POLLNVAL);
        wait->ret_read = failed || (events & POLLRDNORM);
        wait->ret_write = failed || (events & POLLWRNORM);
        k++;
    }
    char byte;
    while (polled && waker && recv(waker->datagrams->handle, &byte, 1, 0) > 0) {}
    return any;
}

/* Let each TCP socket set ${event} when it becomes ready, or if it already is; NULL: end that. */
static void select_event(const struct plat_socket_wait *waits, size_t count,
    const struct plat_waker *waker, WSAEVENT event)
{
    for (size_t i = 0; i < count; i++) {
        long events = FD_CLOSE | (waits[i].read ? FD_READ | FD_ACCEPT : 0) |
                      (waits[i].write ? FD_WRITE : 0);
        if (!waits[i].socket->pipe) {
            WSAEventSelect(waits[i].socket->handle, event, event ? events : 0);
        }
    }
    if (waker) {
        WSAEventSelect(waker->datagrams->handle, event, event ? FD_READ : 0);
    }
}

/* Wait until the thread should check again; may return early. */
static void wait_for_events(const struct plat_socket_wait *waits, size_t count,
    const struct plat_waker *waker, int timeout_ms)
{
    HANDLE events[PLAT_SOCKET_WAIT_MAX + 1];
    DWORD all = 0;
    WSAEVENT event = WSACreateEvent();
    if (event == WSA_INVALID_EVENT) {
        Sleep(timeout_ms < 0 || timeout_ms > 100 ? 100 : (DWORD)timeout_ms);
        return;
    }
    events[all++] = event;
    for (size_t i = 0; i < count; i++) {
        if (waits[i].socket->pipe) {
            events[all++] = plat_pipe_event(waits[i].socket->pipe);
        }
    }
    select_event(waits, count, waker, event);
    WaitForMultipleObjects(all, events, FALSE, timeout_ms < 0 ? INFINITE : (DWORD)timeout_ms);
    select_event(waits, count, waker, NULL);
    WSACloseEvent(event);
}

void plat_socket_wait(
    struct plat_socket_wait *waits, size_t count, struct plat_waker *waker, int timeout_ms)
{
    if (!has_pipe(waits, count)) {
        look(waits, count, waker, timeout_ms);
    } else if (!look(waits, count, waker, 0) && timeout_ms != 0) {
        wait_for_events(waits, count, waker, timeout_ms);
        look(waits, count, waker, 0);
    }
}
