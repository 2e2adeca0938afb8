#define _GNU_SOURCE

#include "support/relp_fake.h"

#include "support/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "platform/plat_thread.h"

enum { DRIP_MS = 20, PIECE_BYTES = 65536, MAX_BYTES = 64 * 1024 * 1024 };

struct relp_fake {
    int listener;
    unsigned port;
    struct plat_thread *thread;
    struct plat_mutex mutex;
    bool over;
    int fd; /* -1: none */
    size_t takes;
    const char *to_message;
    const char *to_open;
    const char *raw;
    bool drips;
    size_t connections;
    size_t closes;
    struct buf bodies;
};

static void answer(struct relp_fake *fake, int fd, unsigned long txnr, const char *data)
{
    char frame[512];
    int size = fake->raw
                   ? snprintf(frame, sizeof(frame), "%s", fake->raw)
                   : snprintf(frame, sizeof(frame), "%lu rsp %zu %s\n", txnr, strlen(data), data);
    (void)!send(fd, frame, (size_t)size, MSG_NOSIGNAL);
    struct pollfd end = {.fd = fd, .events = POLLRDHUP};
    while (fake->drips && poll(&end, 1, DRIP_MS) == 0) {
        (void)!send(fd, "x", 1, MSG_NOSIGNAL);
    }
}

/* Behind seven spaces. */
static void keep(struct relp_fake *fake, struct span message)
{
    for (int spaces = 0; spaces < 7; spaces++) {
        const uint8_t *space = memchr(message.data, ' ', message.size);
        message = space ? span_from(message, (size_t)(space - message.data) + 1) : message;
    }
    buf_add_span(&fake->bodies, message);
    buf_add_byte(&fake->bodies, '\n');
}

/* False: the connection is over. Holds the mutex. */
static bool obey(
    struct relp_fake *fake, int fd, unsigned long txnr, const char *command, struct span data)
{
    if (strcmp(command, "open") == 0) {
        answer(fake, fd, txnr,
            fake->to_open ? fake->to_open
                          : "200 OK\nrelp_version=0\nrelp_software=x\ncommands=eventlog,syslog");
        return true;
    }
    if (strcmp(command, "close") == 0) {
        fake->closes++;
        answer(fake, fd, txnr, "200");
        return false;
    }
    if (fake->to_message) {
        answer(fake, fd, txnr, fake->to_message);
        return true;
    }
    if (fake->takes == 0) {
        return false;
    }
    fake->takes -= fake->takes != SIZE_MAX;
    keep(fake, data);
    answer(fake, fd, txnr, "200 OK");
    return true;
}

/* The whole frames in ${bytes}. How many bytes they have; SIZE_MAX: the connection is over. */
static size_t obey_all(struct relp_fake *fake, int fd, struct span bytes)
{
    size_t used = 0;
    for (;;) {
        char command[16];
        char *end;
        int behind = 0;
        const char *at = (const char *)bytes.data + used;
        size_t left = bytes.size - used;
        if (!left || !memchr(at, '\n', left)) {
            return used;
        }
        unsigned long txnr = strtoul(at, &end, 10);
        unsigned long size = 0;
        assert_int_equal(sscanf(end, " %15s %lu%n", command, &size, &behind), 2);
        size_t head = (size_t)(end - at) + (size_t)behind + (size ? 1 : 0);
        if (left < head + size + 1) {
            return used;
        }
        assert_int_equal(at[head + size], '\n');
        if (!obey(fake, fd, txnr, command, span_make(at + head, size))) {
            return SIZE_MAX;
        }
        used += head + size + 1;
    }
}

static void serve(struct relp_fake *fake, int fd)
{
    struct buf in;
    buf_init(&in, MAX_BYTES);
    for (bool good = true; good;) {
        assert_true(buf_reserve(&in, PIECE_BYTES + 1));
        ssize_t size = recv(fd, in.data + in.size, PIECE_BYTES, 0);
        good = size > 0;
        in.size += good ? (size_t)size : 0;
        in.data[in.size] = '\0';
        plat_mutex_lock(&fake->mutex);
        size_t used = good ? obey_all(fake, fd, buf_span(&in)) : SIZE_MAX;
        plat_mutex_unlock(&fake->mutex);
        good = used != SIZE_MAX;
        if (good) {
            in.size -= used;
            memmove(in.data, in.data + used, in.size);
        }
    }
    buf_fini(&in);
}

static void run(void *fake_)
{
    struct relp_fake *fake = fake_;
    for (bool over = false; !over;) {
        int fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);
        plat_mutex_lock(&fake->mutex);
        fake->fd = fd;
        over = fake->over;
        fake->connections += fd >= 0;
        plat_mutex_unlock(&fake->mutex);
        if (fd >= 0 && !over) {
            serve(fake, fd);
        }
        plat_mutex_lock(&fake->mutex);
        fake->fd = -1;
        over = fake->over;
        plat_mutex_unlock(&fake->mutex);
        if (fd >= 0) {
            close(fd);
        }
    }
}

struct relp_fake *relp_fake_start(void)
{
    struct error err;
    struct relp_fake *fake = calloc(1, sizeof(*fake));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    assert_non_null(fake);
    fake->takes = SIZE_MAX;
    fake->fd = -1;
    buf_init(&fake->bodies, MAX_BYTES);
    plat_mutex_init(&fake->mutex);
    fake->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fake->listener >= 0);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fake->listener, 16), 0);
    assert_int_equal(getsockname(fake->listener, (struct sockaddr *)&address, &size), 0);
    fake->port = ntohs(address.sin_port);
    fake->thread = plat_thread_start("relp-fake", run, fake, &err);
    assert_non_null(fake->thread);
    return fake;
}

void relp_fake_stop(struct relp_fake *fake)
{
    if (!fake) {
        return;
    }
    plat_mutex_lock(&fake->mutex);
    fake->over = true;
    if (fake->fd >= 0) {
        shutdown(fake->fd, SHUT_RDWR);
    }
    plat_mutex_unlock(&fake->mutex);
    shutdown(fake->listener, SHUT_RDWR);
    plat_thread_join(fake->thread);
    close(fake->listener);
    plat_mutex_fini(&fake->mutex);
    buf_fini(&fake->bodies);
    free(fake);
}

unsigned relp_fake_port(const struct relp_fake *fake)
{
    return fake->port;
}

void relp_fake_takes(struct relp_fake *fake, size_t count)
{
    plat_mutex_lock(&fake->mutex);
    fake->takes = count;
    plat_mutex_unlock(&fake->mutex);
}

void relp_fake_answers(struct relp_fake *fake, const char *to_message, const char *to_open)
{
    plat_mutex_lock(&fake->mutex);
    fake->to_message = to_message;
    fake->to_open = to_open;
    plat_mutex_unlock(&fake->mutex);
}

void relp_fake_raw(struct relp_fake *fake, const char *raw)
{
    plat_mutex_lock(&fake->mutex);
    fake->raw = raw;
    plat_mutex_unlock(&fake->mutex);
}

void relp_fake_drips(struct relp_fake *fake)
{
    plat_mutex_lock(&fake->mutex);
    fake->drips = true;
    plat_mutex_unlock(&fake->mutex);
}

void relp_fake_bodies(struct relp_fake *fake, char *to, size_t room)
{
    plat_mutex_lock(&fake->mutex);
    snprintf(to, room, "%.*s", SPAN_ARG(buf_span(&fake->bodies)));
    plat_mutex_unlock(&fake->mutex);
}

size_t relp_fake_connections(struct relp_fake *fake)
{
    plat_mutex_lock(&fake->mutex);
    size_t count = fake->connections;
    plat_mutex_unlock(&fake->mutex);
    return count;
}

size_t relp_fake_closes(struct relp_fake *fake)
{
    plat_mutex_lock(&fake->mutex);
    size_t count = fake->closes;
    plat_mutex_unlock(&fake->mutex);
    return count;
}
