/*
 * Where a benchmark of outputs sends to: takes every HTTP request on a port of the loopback, throws
 * its body away and answers 200 at once.
 *
 *   sink [--count] [--bulk]
 *
 *   --count   inflate bodies (gzip, zstd) and count their lines
 *   --bulk    answer POSTs as the _bulk API does, with one item for two lines; counts, too
 *
 * Prints its port. Then, for every line of its standard input, what came since the last one:
 * {"requests": N, "wire_bytes": N, "bytes": N, "lines": N}; the latter two are those of counted
 * bodies. Ends with its input.
 *
 * One thread per connection, which shares nothing but the four sums. Bodies must have a
 * Content-Length.
 */
#define _GNU_SOURCE /* memmem, strcasestr */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { IN_BYTES = 512 * 1024, PLAIN_BYTES = 256 * 1024, ITEM_BYTES = 128 };

static bool counting;
static bool bulk;
static _Atomic uint64_t requests, wire_bytes, bytes, lines;

enum coding { PLAIN, GZIP, ZSTD };

struct connection {
    int socket;
    char *in; /* IN_BYTES and a NUL */
    size_t in_size;
    enum coding coding;
    z_stream gzip;
    ZSTD_DStream *zstd;
    uint8_t *plain;      /* PLAIN_BYTES */
    uint64_t body_lines; /* of this request */
    char *reply;
    size_t reply_room;
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "sink: %s: %s\n", what, strerror(errno));
    exit(1);
}

static bool send_all(int socket, const char *data, size_t size)
{
    while (size) {
        ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static void count(struct connection *c, const uint8_t *data, size_t size)
{
    bytes += size;
    const uint8_t *end = data + size;
    while ((data = memchr(data, '\n', (size_t)(end - data)))) {
        c->body_lines++;
        data++;
    }
}

static void count_gzip(struct connection *c, const uint8_t *data, size_t size)
{
    c->gzip.next_in = (uint8_t *)(uintptr_t)data;
    c->gzip.avail_in = (unsigned)size;
    do {
        c->gzip.next_out = c->plain;
        c->gzip.avail_out = PLAIN_BYTES;
        int result = inflate(&c->gzip, Z_NO_FLUSH);
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
            die("a body is no gzip");
        }
        count(c, c->plain, PLAIN_BYTES - c->gzip.avail_out);
    } while (c->gzip.avail_out == 0);
}

static void count_zstd(struct connection *c, const uint8_t *data, size_t size)
{
    ZSTD_inBuffer in = {data, size, 0};
    ZSTD_outBuffer out;
    do {
        out = (ZSTD_outBuffer){c->plain, PLAIN_BYTES, 0};
        if (ZSTD_isError(ZSTD_decompressStream(c->zstd, &out, &in))) {
            die("a body is no zstd");
        }
        count(c, c->plain, out.pos);
    } while (in.pos < in.size || out.pos == out.size);
}

static void take(struct connection *c, const char *data, size_t size)
{
    wire_bytes += size;
    if (!counting || !size) {
        return;
    }
    const uint8_t *body = (const uint8_t *)data;
    switch (c->coding) {
    case PLAIN:
        count(c, body, size);
        break;
    case GZIP:
        count_gzip(c, body, size);
        break;
    case ZSTD:
        count_zstd(c, body, size);
        break;
    }
}

static void begin_body(struct connection *c, const char *headers)
{
    c->body_lines = 0;
    c->coding = strcasestr(headers, "\r\nContent-Encoding: gzip")   ? GZIP
                : strcasestr(headers, "\r\nContent-Encoding: zstd") ? ZSTD
                                                                    : PLAIN;
    inflateReset(&c->gzip);
    ZSTD_DCtx_reset(c->zstd, ZSTD_reset_session_only);
}

/* ---- replies --------------------------------------------------------------------------------- */

static bool reply_to_bulk(struct connection *c)
{
    static const char item[] =
        "{\"create\":{\"_index\":\".ds-logs-etw.bench-default-2026.01.01-000001\",\"status\":201}}";
    static const char head[] = "{\"errors\":false,\"items\":[";
    size_t items = c->body_lines / 2;
    size_t need = sizeof(head) + items * (sizeof(item) + 1) + ITEM_BYTES;
    if (need > c->reply_room) {
        c->reply = realloc(c->reply, need);
        c->reply_room = need;
        if (!c->reply) {
            die("memory");
        }
    }
    size_t body = strlen(head) + items * sizeof(item) - (items > 0) + 2;
    char *at = c->reply + sprintf(c->reply,
                              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                              "Content-Length: %zu\r\n\r\n%s",
                              body, head);
    for (size_t i = 0; i < items; i++) {
        memcpy(at, item, sizeof(item) - 1);
        at += sizeof(item) - 1;
        *at++ = ',';
    }
    at -= items > 0;
    memcpy(at, "]}", 2);
    return send_all(c->socket, c->reply, (size_t)(at + 2 - c->reply));
}

static bool reply(struct connection *c, bool post)
{
    static const char product[] =
        "HTTP/1.1 200 OK\r\nX-elastic-product: Elasticsearch\r\nContent-Type: application/json\r\n"
        "Content-Length: 61\r\n\r\n"
        "{\"version\":{\"number\":\"8.19.0\"},\"tagline\":\"a sink, no search\"}";
    static const char nothing[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    requests++;
    lines += c->body_lines;
    if (!post) {
        return send_all(c->socket, product, sizeof(product) - 1);
    }
    return bulk ? reply_to_bulk(c) : send_all(c->socket, nothing, sizeof(nothing) - 1);
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool receive(struct connection *c)
{
    ssize_t size = recv(c->socket, c->in + c->in_size, IN_BYTES - c->in_size, 0);
    if (size <= 0) {
        return false;
    }
    c->in_size += (size_t)size;
    return true;
}

static bool handle(struct connection *c)
{
    char *end;
    while (!(end = memmem(c->in, c->in_size, "\r\n\r\n", 4))) {
        if (c->in_size == IN_BYTES || !receive(c)) {
            return false;
        }
    }
    *end = '\0';
    const char *length = strcasestr(c->in, "\r\nContent-Length:");
    uint64_t left = length ? strtoull(length + strlen("\r\nContent-Length:"), NULL, 10) : 0;
    bool post = strncmp(c->in, "POST ", 5) == 0;
    begin_body(c, c->in);
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (strcasestr(c->in, "\r\nExpect: 100-continue") &&
        !send_all(c->socket, go_on, sizeof(go_on) - 1)) {
        return false;
    }
    size_t used = (size_t)(end + 4 - c->in);
    for (;;) {
        size_t here = c->in_size - used < left ? c->in_size - used : (size_t)left;
        take(c, c->in + used, here);
        left -= here;
        used += here;
        if (!left) {
            break;
        }
        c->in_size = used = 0;
        if (!receive(c)) {
            return false;
        }
    }
    c->in_size -= used;
    memmove(c->in, c->in + used, c->in_size);
    return reply(c, post);
}

static void *serve(void *argument)
{
    struct connection c = {.socket = (int)(intptr_t)argument};
    c.in = malloc(IN_BYTES + 1);
    c.plain = malloc(PLAIN_BYTES);
    c.zstd = ZSTD_createDStream();
    if (!c.in || !c.plain || !c.zstd || inflateInit2(&c.gzip, 15 + 16) != Z_OK) {
        die("memory");
    }
    while (handle(&c)) {}
    close(c.socket);
    inflateEnd(&c.gzip);
    ZSTD_freeDStream(c.zstd);
    free(c.reply);
    free(c.plain);
    free(c.in);
    return NULL;
}

static void *accept_all(void *argument)
{
    int listener = (int)(intptr_t)argument;
    int socket;
    pthread_t thread;
    while ((socket = accept(listener, NULL, NULL)) >= 0 &&
           pthread_create(&thread, NULL, serve, (void *)(intptr_t)socket) == 0) {
        pthread_detach(thread);
    }
    die("a connection");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        bulk = bulk || strcmp(argv[i], "--bulk") == 0;
        counting = counting || bulk || strcmp(argv[i], "--count") == 0;
    }
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    pthread_t thread;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 64) ||
        getsockname(listener, (struct sockaddr *)&address, &size) ||
        pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener)) {
        die("the port");
    }
    printf("%u\n", (unsigned)ntohs(address.sin_port));
    fflush(stdout);
    char line[16];
    while (fgets(line, sizeof(line), stdin)) {
        printf("{\"requests\": %" PRIu64 ", \"wire_bytes\": %" PRIu64 ", \"bytes\": %" PRIu64
               ", \"lines\": %" PRIu64 "}\n",
            atomic_exchange(&requests, 0), atomic_exchange(&wire_bytes, 0),
            atomic_exchange(&bytes, 0), atomic_exchange(&lines, 0));
        fflush(stdout);
    }
    return 0;
}
