#define _GNU_SOURCE

#include "support/tcp_fake.h"

#include "support/test.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

enum { MAX_CONNECTIONS = 64, PIECE_BYTES = 65536, MAX_BYTES = 256 * 1024 * 1024 };

struct tcp_fake {
    int listener;
    unsigned port;
    int fds[MAX_CONNECTIONS]; /* -1: closed */
    size_t count;
    struct buf bytes;
};

struct tcp_fake *tcp_fake_start(void)
{
    struct tcp_fake *fake = calloc(1, sizeof(*fake));
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    assert_non_null(fake);
    buf_init(&fake->bytes, MAX_BYTES);
    fake->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fake->listener >= 0);
    assert_int_equal(bind(fake->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(fake->listener, MAX_CONNECTIONS), 0);
    assert_int_equal(getsockname(fake->listener, (struct sockaddr *)&address, &size), 0);
    fake->port = ntohs(address.sin_port);
    return fake;
}

static void take_connections(struct tcp_fake *fake)
{
    int fd;
    while (fake->count < MAX_CONNECTIONS &&
           (fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        fake->fds[fake->count++] = fd;
    }
}

static void take_bytes(struct tcp_fake *fake)
{
    take_connections(fake);
    for (size_t i = 0; i < fake->count; i++) {
        for (ssize_t size = 1; fake->fds[i] >= 0 && size > 0;) {
            assert_true(buf_reserve(&fake->bytes, PIECE_BYTES));
            size = recv(fake->fds[i], fake->bytes.data + fake->bytes.size, PIECE_BYTES, 0);
            fake->bytes.size += size > 0 ? (size_t)size : 0;
        }
    }
}

void tcp_fake_stop(struct tcp_fake *fake)
{
    if (fake) {
        tcp_fake_close(fake, false);
        close(fake->listener);
        buf_fini(&fake->bytes);
        free(fake);
    }
}

unsigned tcp_fake_port(const struct tcp_fake *fake)
{
    return fake->port;
}

struct span tcp_fake_bytes(struct tcp_fake *fake)
{
    take_bytes(fake);
    buf_add_byte(&fake->bytes, '\0');
    fake->bytes.size--;
    return buf_span(&fake->bytes);
}

size_t tcp_fake_connections(struct tcp_fake *fake)
{
    take_connections(fake);
    return fake->count;
}

void tcp_fake_end(struct tcp_fake *fake)
{
    take_connections(fake);
    for (size_t i = 0; i < fake->count; i++) {
        if (fake->fds[i] >= 0) {
            shutdown(fake->fds[i], SHUT_WR);
        }
    }
}

void tcp_fake_close(struct tcp_fake *fake, bool unread)
{
    if (unread) {
        take_connections(fake);
    } else {
        take_bytes(fake);
    }
    for (size_t i = 0; i < fake->count; i++) {
        if (fake->fds[i] >= 0) {
            close(fake->fds[i]);
        }
        fake->fds[i] = -1;
    }
}
