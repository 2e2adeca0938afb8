#include "bench/linux/limit_post.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum {
    HEAD_BYTES = 512,
    REPLY_BYTES = 256 * 1024,
};

void limit_die(const char *what)
{
    fprintf(stderr, "limit program: %s\n", what);
    exit(1);
}

int limit_post_open(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int opened = socket(AF_INET, SOCK_STREAM, 0);
    if (opened < 0 || connect(opened, (struct sockaddr *)&address, sizeof(address))) {
        limit_die(strerror(errno));
    }
    return opened;
}

static void send_both(int socket, char *head, size_t head_size, struct span body)
{
    struct iovec parts[2] = {{head, head_size}, {(uint8_t *)(uintptr_t)body.data, body.size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    while (parts[0].iov_len || parts[1].iov_len) {
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            limit_die(strerror(errno));
        }
        for (size_t i = 0; i < 2; i++) {
            size_t here = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            parts[i].iov_base = (uint8_t *)parts[i].iov_base + here;
            parts[i].iov_len -= here;
            sent -= (ssize_t)here;
        }
    }
}

/* The sink's reply. Only the first bytes of it are needed, so the body is skipped. */
static void await_reply(int socket)
{
    static char reply[REPLY_BYTES + 1];
    static const char good[] = "HTTP/1.1 200 ";
    size_t size = 0;
    char *body = NULL;
    while (!body) {
        ssize_t here = recv(socket, reply + size, REPLY_BYTES - size, 0);
        if (here <= 0) {
            limit_die("no reply");
        }
        size += (size_t)here;
        reply[size] = '\0';
        body = strstr(reply, "\r\n\r\n");
    }
    const char *length = strstr(reply, "Content-Length: ");
    if (strncmp(reply, good, sizeof(good) - 1) != 0 || !length) {
        limit_die("no good reply");
    }
    size_t left = strtoul(length + strlen("Content-Length: "), NULL, 10);
    left -= size - (size_t)(body + 4 - reply);
    while (left) {
        ssize_t here = recv(socket, reply, left < REPLY_BYTES ? left : REPLY_BYTES, 0);
        if (here <= 0) {
            limit_die("half a reply");
        }
        left -= (size_t)here;
    }
}

void limit_post(int socket, const char *coding, struct span body)
{
    char head[HEAD_BYTES];
    int size = snprintf(head, sizeof(head),
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
        "%sContent-Length: %zu\r\n\r\n",
        coding, body.size);
    send_both(socket, head, (size_t)size, body);
    await_reply(socket);
}
