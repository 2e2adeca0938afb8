/*
 * The limit program (limit.h) as a shipper: what the way from a trace to a server costs a program that
 * knows every event in advance, and does nothing else.
 *
 *   limit_ship TRACE PORT BODY_BYTES none|gzip|zstd AGENT      (PORT 0: to nowhere)
 *
 * Maps the trace (etlgen --mix limit --cpus 1, so that file order is the order of time), frames its
 * records with the agent's two functions for one record, writes their JSON one behind the other and posts
 * every BODY_BYTES of it over one connection to the loopback, as one whole; no merging, no joining, no
 * schemas, queues, threads or retries. AGENT is the text of the `agent` member, so that the bytes are
 * those of the agent.
 *
 * Prints the number of events, and of bytes of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "bench/limit.h"
#include "input/etl/etl_file.h"
#include "input/etl/etl_format.h"
#include "input/etl/etl_record.h"
#include "outputs/compress.h"
#include "outputs/http/http_options.h"

enum { HEAD_BYTES = 512, REPLY_BYTES = 4096, COMPRESSED_MAX_BYTES = 128 * 1024 * 1024 };

struct shipper {
    int socket;
    unsigned port;
    enum http_compression kind;
    struct compress *compress; /* NULL: plain */
    struct buf compressed;
    uint8_t *body;
    size_t body_bytes;
    size_t body_size;
    struct limit limit;
    struct etl_info info;
    uint64_t events;
    uint64_t bytes;
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "limit_ship: %s\n", what);
    exit(1);
}

/* ---- posting ----------------------------------------------------------------------------------- */

static void connect_to(struct shipper *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)s->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    s->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (s->socket < 0 || connect(s->socket, (struct sockaddr *)&address, sizeof(address))) {
        die(strerror(errno));
    }
}

static void send_both(int socket, char *head, size_t head_size, struct span body)
{
    struct iovec parts[2] = {{head, head_size}, {(uint8_t *)(uintptr_t)body.data, body.size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    while (parts[0].iov_len || parts[1].iov_len) {
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            die(strerror(errno));
        }
        for (size_t i = 0; i < 2; i++) {
            size_t here = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            parts[i].iov_base = (uint8_t *)parts[i].iov_base + here;
            parts[i].iov_len -= here;
            sent -= (ssize_t)here;
        }
    }
}

/* The sink's, which has no body and comes in one piece. */
static void await_reply(int socket)
{
    char reply[REPLY_BYTES];
    static const char good[] = "HTTP/1.1 200 ";
    ssize_t size = recv(socket, reply, sizeof(reply), 0);
    if (size < (ssize_t)sizeof(good) || memcmp(reply, good, sizeof(good) - 1) != 0 ||
        memcmp(reply + size - 4, "\r\n\r\n", 4) != 0) {
        die("no good reply");
    }
}

static void post(struct shipper *s)
{
    s->bytes += s->body_size;
    if (s->port == 0) {
        s->body_size = 0;
        return;
    }
    struct span body = span_make(s->body, s->body_size);
    const char *coding = "";
    struct error err;
    if (s->compress) {
        if (!compress_whole(s->compress, body, &s->compressed, &err)) {
            die(err.text);
        }
        body = span_make(s->compressed.data, s->compressed.size);
        coding = s->kind == HTTP_GZIP ? "Content-Encoding: gzip\r\n" : "Content-Encoding: zstd\r\n";
    }
    char head[HEAD_BYTES];
    int size = snprintf(head, sizeof(head),
        "POST / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: application/x-ndjson\r\n"
        "%sContent-Length: %zu\r\n\r\n",
        s->port, coding, body.size);
    send_both(s->socket, head, (size_t)size, body);
    await_reply(s->socket);
    s->body_size = 0;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static void ship_record(struct shipper *s, struct event_record *record)
{
    record->sequence = s->events + 1;
    size_t size = limit_write(&s->limit, record, s->body + s->body_size);
    s->events += size > 0;
    s->body_size += size;
    if (s->body_size >= s->body_bytes) {
        post(s);
    }
}

static void ship_buffer(struct shipper *s, struct span buffer)
{
    static struct extended_item items[RECORD_MAX_EXTENDED];
    struct etl_scope scope = {
        .trace = &s->info.trace, .cpu = load_le16(buffer.data + ETL_BUFFER_CPU) & ETL_CPU_MASK};
    size_t end = load_le32(buffer.data + ETL_BUFFER_SAVED_OFFSET);
    end = end < buffer.size ? end : buffer.size;
    size_t at = ETL_BUFFER_HEADER_SIZE;
    uint32_t size;
    while (at + ETL_RECORD_START_SIZE <= end &&
           etl_record_frame(buffer.data + at, &size) == ETL_FRAME_RECORD && size <= end - at) {
        struct event_record record;
        etl_record_read(span_make(buffer.data + at, size), &scope, items, &record);
        ship_record(s, &record);
        at += (size + ETL_RECORD_ALIGNMENT - 1) & ~(size_t)(ETL_RECORD_ALIGNMENT - 1);
    }
}

static struct span map(const char *path)
{
    struct stat about;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about)) {
        die(strerror(errno));
    }
    size_t size = (size_t)about.st_size;
    void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) {
        die(strerror(errno));
    }
    close(file);
    return span_make(memory, size);
}

/* What the agent writes for a session of this name. */
static void prepare(struct shipper *s, struct span trace, const char *path, const char *agent)
{
    struct error err;
    static struct arena arena;
    arena_init(&arena, 1024 * 1024);
    struct etl_file *file = etl_file_open_memory(trace, path, &arena, &err);
    if (!file) {
        die(err.text);
    }
    s->info = *etl_file_info(file);
    s->info.trace.session_name = span_text("s");
    etl_file_destroy(file);
    if (!limit_init(&s->limit, &s->info.trace, span_text(agent)) || s->info.buffer_size == 0) {
        die("not the trace that this is for");
    }
}

static void set_compression(struct shipper *s, const char *name)
{
    struct error err;
    while (s->kind <= HTTP_ZSTD && strcmp(http_compression_names[s->kind], name) != 0) {
        s->kind++;
    }
    buf_init(&s->compressed, COMPRESSED_MAX_BYTES);
    if (s->kind > HTTP_ZSTD) {
        die("none, gzip or zstd");
    }
    if (s->kind != HTTP_PLAIN) {
        s->compress = compress_create(s->kind, &err);
        if (!s->compress) {
            die(err.text);
        }
    }
}

int main(int argc, char **argv)
{
    static struct shipper s;
    if (argc != 6) {
        die("limit_ship TRACE PORT BODY_BYTES none|gzip|zstd AGENT");
    }
    struct span trace = map(argv[1]);
    s.port = (unsigned)strtoul(argv[2], NULL, 10);
    s.body_bytes = strtoul(argv[3], NULL, 10);
    s.body = malloc(s.body_bytes + 2 * limit_bound(&(struct event_record){.payload.size = 65536}));
    if (!s.body) {
        die("memory");
    }
    set_compression(&s, argv[4]);
    prepare(&s, trace, argv[1], argv[5]);
    if (s.port) {
        connect_to(&s);
    }
    for (size_t at = 0; at + s.info.buffer_size <= trace.size; at += s.info.buffer_size) {
        ship_buffer(&s, span_make(trace.data + at, s.info.buffer_size));
    }
    if (s.body_size) {
        post(&s);
    }
    printf("%" PRIu64 " %" PRIu64 "\n", s.events, s.bytes);
    compress_destroy(s.compress);
    buf_fini(&s.compressed);
    free(s.body);
    return 0;
}
