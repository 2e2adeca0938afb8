#define _GNU_SOURCE

#include "platform/plat_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 512 };

struct plat_socket {
    int fd;
    bool is_unix;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* path of a listener; "": none */
};

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static struct plat_socket *make(int fd, bool is_unix)
{
    struct plat_socket *made = fd < 0 ? NULL : calloc(1, sizeof(*made));
    if (!made) {
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    made->fd = fd;
    made->is_unix = is_unix;
    return made;
}

static struct plat_socket *open_socket(int family, struct error *err)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct plat_socket *made = make(fd, family == AF_UNIX);
    if (!made) {
        error_set_os(err, errno, strerror(errno), "cannot make a socket");
    }
    return made;
}

static socklen_t ip_of(const struct ip_address *address, uint16_t port, union address *ret_address)
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

static bool path_of(const char *path, union address *ret_address, struct error *err)
{
    memset(ret_address, 0, sizeof(*ret_address));
    ret_address->local.sun_family = AF_UNIX;
    size_t size = strlen(path);
    if (size == 0 || size >= sizeof(ret_address->local.sun_path)) {
        return error_set(err, ERR_LIMIT,
            "%s is too long for a socket: at most %zu bytes are possible. choose a shorter path",
            path, sizeof(ret_address->local.sun_path) - 1);
    }
    memcpy(ret_address->local.sun_path, path, size);
    return true;
}

struct plat_socket *plat_socket_listen_tcp(
    const struct ip_address *address, uint16_t port, struct error *err)
{
    union address at;
    socklen_t size = ip_of(address, port, &at);
    struct plat_socket *listener = open_socket(at.any.sa_family, err);
    int on = 1;
    if (!listener) {
        return NULL;
    }
    /* connections of the previous process may linger after a restart */
    setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(listener->fd, &at.any, size) != 0 || listen(listener->fd, BACKLOG) != 0) {
        error_set_os(err, errno, strerror(errno), "cannot listen at port %u", (unsigned)port);
        plat_socket_close(listener);
        return NULL;
    }
    return listener;
}

/* True if ${path} is a socket without a listener. */
static bool is_left_over(const char *path, const union address *at)
{
    struct stat facts;
    if (lstat(path, &facts) != 0 || !S_ISSOCK(facts.st_mode)) {
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 && connect(fd, &at->any, sizeof(at->local)) != 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    return refused;
}

/* bind gives the path the mode of the socket (unix_bind_bsd in net/unix/af_unix.c of Linux). A
 * umask would affect all threads, which create files and folders at the same time. */
static bool bind_at(struct plat_socket *listener, const char *path, const union address *at)
{
    if (fchmod(listener->fd, 0600) != 0 || bind(listener->fd, &at->any, sizeof(at->local)) != 0) {
        return false;
    }
    memcpy(listener->path, path, strlen(path) + 1);
    return listen(listener->fd, BACKLOG) == 0;
}

struct plat_socket *plat_socket_listen_local(const char *name, struct error *err)
{
    union address at;
    struct plat_socket *listener = path_of(name, &at, err) ? open_socket(AF_UNIX, err) : NULL;
    if (!listener) {
        return NULL;
    }
    if (is_left_over(name, &at)) {
        unlink(name);
    }
    if (!bind_at(listener, name, &at)) {
        error_set_os(err, errno, strerror(errno), "cannot listen at %s", name);
        plat_socket_close(listener);
        return NULL;
    }
    return listener;
}

uint16_t plat_socket_port(const struct plat_socket *listener)
{
    union address at;
    socklen_t size = sizeof(at);
    if (getsockname(listener->fd, &at.any, &size) != 0) {
        return 0;
    }
    return at.any.sa_family == AF_INET    ? ntohs(at.v4.sin_port)
           : at.any.sa_family == AF_INET6 ? ntohs(at.v6.sin6_port)
                                          : 0;
}

struct plat_socket *plat_socket_accept(struct plat_socket *listener)
{
    return make(accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), listener->is_unix);
}

bool plat_socket_is_ours(const struct plat_socket *socket)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return socket->is_unix && getsockopt(socket->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

static bool wait_connected(int fd, unsigned timeout_ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int code = 0;
    socklen_t size = sizeof(code);
    if (poll(&wait, 1, (int)timeout_ms) != 1) {
        errno = ETIMEDOUT;
        return false;
    }
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size);
    errno = code;
    return code == 0;
}

static struct plat_socket *connect_to(
    const union address *at, socklen_t size, unsigned timeout_ms, struct error *err)
{
    struct plat_socket *made = open_socket(at->any.sa_family, err);
    if (!made) {
        return NULL;
    }
    bool ok = connect(made->fd, &at->any, size) == 0 ||
              (errno == EINPROGRESS && wait_connected(made->fd, timeout_ms));
    if (!ok) {
        bool no_listener = errno == ECONNREFUSED || errno == ENOENT;
        error_set_os(err, errno, strerror(errno), "cannot connect");
        if (err && no_listener) {
            err->code = ERR_MISSING;
        }
        plat_socket_close(made);
        return NULL;
    }
    return made;
}

struct plat_socket *plat_socket_connect_tcp(
    const struct ip_address *address, uint16_t port, unsigned timeout_ms, struct error *err)
{
    union address at;
    socklen_t size = ip_of(address, port, &at);
    return connect_to(&at, size, timeout_ms, err);
}

struct plat_socket *plat_socket_connect_local(
    const char *name, unsigned timeout_ms, struct error *err)
{
    union address at;
    return path_of(name, &at, err) ? connect_to(&at, sizeof(at.local), timeout_ms, err) : NULL;
}

static enum plat_socket_result result_of(ssize_t done, size_t *ret_done)
{
    *ret_done = done > 0 ? (size_t)done : 0;
    if (done > 0) {
        return PLAT_SOCKET_DONE;
    }
    bool later = done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return later ? PLAT_SOCKET_LATER : PLAT_SOCKET_END;
}

enum plat_socket_result plat_socket_read(
    struct plat_socket *socket, void *data, size_t size, size_t *ret_read)
{
    return result_of(recv(socket->fd, data, size, MSG_DONTWAIT), ret_read);
}

enum plat_socket_result plat_socket_write(
    struct plat_socket *socket, struct span bytes, size_t *ret_written)
{
    return result_of(
        send(socket->fd, bytes.data, bytes.size, MSG_DONTWAIT | MSG_NOSIGNAL), ret_written);
}

bool plat_socket_has_output(const struct plat_socket *socket)
{
    (void)socket;
    return false; /* the system takes written bytes at once */
}

void plat_socket_finish(struct plat_socket *socket)
{
    shutdown(socket->fd, SHUT_WR);
}

void plat_socket_close(struct plat_socket *socket)
{
    if (socket) {
        if (socket->path[0]) {
            unlink(socket->path);
        }
        close(socket->fd);
        free(socket);
    }
}

/* ---- waiting --------------------------------------------------------------------------------- */

struct plat_waker {
    int fd;
};

struct plat_waker *plat_waker_create(struct error *err)
{
    struct plat_waker *waker = calloc(1, sizeof(*waker));
    int fd = waker ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    if (fd < 0) {
        free(waker);
        error_set_os(err, errno, strerror(errno), "cannot create an event to wake a thread");
        return NULL;
    }
    waker->fd = fd;
    return waker;
}

void plat_waker_destroy(struct plat_waker *waker)
{
    if (waker) {
        close(waker->fd);
        free(waker);
    }
}

void plat_waker_wake(struct plat_waker *waker)
{
    ssize_t written = write(waker->fd, &(uint64_t){1}, sizeof(uint64_t));
    (void)written; /* fails only if the counter is full: the thread wakes up anyway */
}

void plat_socket_wait(
    struct plat_socket_wait *waits, size_t count, struct plat_waker *waker, int timeout_ms)
{
    struct pollfd list[PLAT_SOCKET_WAIT_MAX + 1];
    for (size_t i = 0; i < count; i++) {
        list[i] = (struct pollfd){.fd = waits[i].socket->fd,
            .events = (short)((waits[i].read ? POLLIN : 0) | (waits[i].write ? POLLOUT : 0))};
    }
    list[count] = (struct pollfd){.fd = waker ? waker->fd : -1, .events = POLLIN};
    bool any = poll(list, count + 1, timeout_ms) > 0;
    for (size_t i = 0; i < count; i++) {
        short events = any ? list[i].revents : 0;
        bool failed = events & (POLLERR | POLLHUP | POLLNVAL);
        waits[i].ret_read = failed || (events & POLLIN);
        waits[i].ret_write = failed || (events & POLLOUT);
    }
    if (any && waker && list[count].revents) {
        uint64_t woken;
        ssize_t got = read(waker->fd, &woken, sizeof(woken));
        (void)got;
    }
}
