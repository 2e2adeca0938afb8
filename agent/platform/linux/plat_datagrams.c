#define _GNU_SOURCE

#include "platform/plat_datagrams.h"

#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct plat_datagrams {
    int socket;
};

/* tcp(7), SIOCOUTQ */
bool plat_datagrams_unacked(intptr_t socket, uint64_t *ret_bytes)
{
    int bytes = 0;
    bool good = ioctl((int)socket, SIOCOUTQ, &bytes) == 0 && bytes >= 0;
    *ret_bytes = good ? (uint64_t)bytes : 0;
    return good;
}

/* After an end, recv(2) no longer reports a reset, but it leaves an error (socket(7), SO_ERROR).
 * The state of the connection does not tell: it is TCP_CLOSE, too, when both sides have ended. */
bool plat_datagrams_was_reset(intptr_t socket, unsigned wait_ms)
{
    struct pollfd fd = {.fd = (int)socket, .events = 0};
    int reason = 0;
    socklen_t size = sizeof(reason);
    poll(&fd, 1, (int)wait_ms);
    return getsockopt((int)socket, SOL_SOCKET, SO_ERROR, &reason, &size) == 0 && reason != 0;
}

/* Stays in effect until the system changes it (tcp(7), TCP_QUICKACK). */
void plat_datagrams_confirm(intptr_t socket)
{
    int on = 1;
    setsockopt((int)socket, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

/* poll(2) reports a socket as readable once SO_RCVLOWAT bytes are there, or at its end
 * (socket(7)). */
void plat_datagrams_await(intptr_t socket, size_t bytes, unsigned wait_ms)
{
    struct pollfd fd = {.fd = (int)socket, .events = POLLIN};
    int least = bytes > INT_MAX ? INT_MAX : (int)bytes;
    if (setsockopt((int)socket, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) == 0) {
        poll(&fd, 1, (int)wait_ms);
        least = 1;
        setsockopt((int)socket, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least));
    }
}

void plat_datagrams_end(intptr_t socket)
{
    shutdown((int)socket, SHUT_WR);
}

/* Open a socket for the first address that allows it. */
static int open_first(const struct addrinfo *list)
{
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
        }
    }
    return -1;
}

struct plat_datagrams *plat_datagrams_open(const char *host, const char *port, struct error *err)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(host, port, &hints, &list);
    if (code) {
        error_set(err, ERR_IO, "%s: cannot resolve the name (%s)", host, gai_strerror(code));
        return NULL;
    }
    int fd = open_first(list);
    int reason = errno;
    freeaddrinfo(list);
    struct plat_datagrams *datagrams = fd >= 0 ? malloc(sizeof(*datagrams)) : NULL;
    if (datagrams) {
        datagrams->socket = fd;
    } else if (fd >= 0) {
        close(fd);
        error_set(err, ERR_MEMORY, "out of memory");
    } else {
        error_set_os(err, reason, strerror(reason), "%s port %s: cannot send there", host, port);
    }
    return datagrams;
}

void plat_datagrams_close(struct plat_datagrams *datagrams)
{
    if (datagrams) {
        close(datagrams->socket);
        free(datagrams);
    }
}

bool plat_datagrams_send(struct plat_datagrams *datagrams, struct span bytes, struct error *err)
{
    ssize_t sent;
    do {
        sent = send(datagrams->socket, bytes.data, bytes.size, 0);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) {
        return true;
    }
    int reason = errno;
    error_set_os(err, reason, strerror(reason), "cannot send a datagram of %zu bytes", bytes.size);
    if (reason == EMSGSIZE && err) {
        err->code = ERR_LIMIT;
    }
    return false;
}
