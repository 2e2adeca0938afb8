/*
 * The limit program (limit.h) as a shipper: what the way from a trace to a server costs a program
 * that knows every event in advance, and does nothing else.
 *
 *   limit_ship TRACE PORT BODY_BYTES none|gzip|zstd AGENT [ACTION [FILE SYNC_BYTES]]
 *
 * PORT 0: to nowhere. ACTION: a line before each record, as the _bulk API has it; the text up to
 * the id, which is made as the agent makes it. Empty: none. FILE: each body is appended to it
 * before it is posted, and after every SYNC_BYTES the file is synchronised with the disk.
 *
 * Maps the trace (etlgen --mix limit --cpus 1, so that file order is the order of time), frames its
 * records with the agent's two functions for one record, writes their JSON one after the other and
 * posts every BODY_BYTES of it over one connection to the loopback, as one whole; no merging, no
 * joining, no schemas, queues, threads or retries. AGENT is the text of the `agent` member, so that
 * the bytes are those of the agent.
 *
 * Prints the number of events, and of bytes of JSON.
 */
#define _POSIX_C_SOURCE 200809L /* fdatasync */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/put.h"
#include "bench/limit.h"
#include "bench/linux/limit_post.h"
#include "input/etl/etl_file.h"
#include "input/record/etl_format.h"
#include "input/record/etl_record.h"
#include "outputs/compress.h"
#include "outputs/http/http_options.h"

enum { ACTION_BYTES = 512, COMPRESSED_MAX_BYTES = 128 * 1024 * 1024 };

struct shipper {
    int socket; /* -1: to nowhere */
    enum http_compression kind;
    struct compress *compress; /* NULL: plain */
    struct buf compressed;
    uint8_t *body;
    size_t body_bytes;
    size_t body_size;
    struct limit limit;
    struct etl_info info;
    struct span action;     /* empty: none */
    uint64_t buffer_offset; /* where the record in hand was read, for its id */
    uint64_t record_offset;
    int file; /* -1: none */
    uint64_t sync_bytes;
    uint64_t unsynced_bytes;
    uint64_t events;
    uint64_t bytes;
};

static void append_to_file(struct shipper *s)
{
    for (size_t at = 0; at < s->body_size;) {
        ssize_t here = write(s->file, s->body + at, s->body_size - at);
        if (here <= 0) {
            limit_die(strerror(errno));
        }
        at += (size_t)here;
    }
    s->unsynced_bytes += s->body_size;
    if (s->unsynced_bytes >= s->sync_bytes) {
        s->unsynced_bytes = 0;
        if (fdatasync(s->file)) {
            limit_die(strerror(errno));
        }
    }
}

static void post(struct shipper *s)
{
    s->bytes += s->body_size;
    if (s->file >= 0) {
        append_to_file(s);
    }
    if (s->socket < 0) {
        s->body_size = 0;
        return;
    }
    struct span body = span_make(s->body, s->body_size);
    const char *coding = "";
    struct error err;
    if (s->compress) {
        if (!compress_whole(s->compress, body, &s->compressed, &err)) {
            limit_die(err.text);
        }
        body = span_make(s->compressed.data, s->compressed.size);
        coding = s->kind == HTTP_GZIP ? "Content-Encoding: gzip\r\n" : "Content-Encoding: zstd\r\n";
    }
    limit_post(s->socket, coding, body);
    s->body_size = 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The part of the id that differs from record to record: the place of the record
 * (outputs/delivery_id.h). */
static size_t write_action(const struct shipper *s, uint8_t *to)
{
    static const char rest[] = "\"}}\n";
    static const char stream[] = "0123abcd";
    static const char trace[] = "0123456789abcdef0123456789abcdef";
    uint8_t *p = to;
    memcpy(p, s->action.data, s->action.size);
    p += s->action.size;
    memcpy(p, trace, sizeof(trace) - 1);
    p = put_hex_all(p + sizeof(trace) - 1, s->buffer_offset << 16) - 4;
    p = put_hex_all(p, s->record_offset << 32) - 8;
    memcpy(p, stream, sizeof(stream) - 1);
    p += sizeof(stream) - 1;
    memcpy(p, rest, sizeof(rest) - 1);
    return (size_t)(p - to) + sizeof(rest) - 1;
}

static void ship_record(struct shipper *s, struct event_record *record)
{
    record->sequence = s->events + 1;
    size_t line = s->action.size ? write_action(s, s->body + s->body_size) : 0;
    size_t size = limit_write(&s->limit, record, s->body + s->body_size + line);
    s->events += size > 0;
    s->body_size += size ? line + size : 0;
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
        s->record_offset = at;
        ship_record(s, &record);
        at += (size + ETL_RECORD_ALIGNMENT - 1) & ~(size_t)(ETL_RECORD_ALIGNMENT - 1);
    }
}

static struct span map(const char *path)
{
    struct stat about;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about)) {
        limit_die(strerror(errno));
    }
    size_t size = (size_t)about.st_size;
    void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) {
        limit_die(strerror(errno));
    }
    close(file);
    return span_make(memory, size);
}

/* The text that the agent writes for a session of this name. */
static void prepare(struct shipper *s, struct span trace, const char *path, const char *agent)
{
    struct error err;
    static struct arena arena;
    arena_init(&arena, 1024 * 1024);
    struct etl_file *file = etl_file_open_memory(trace, path, &arena, &err);
    if (!file) {
        limit_die(err.text);
    }
    s->info = *etl_file_info(file);
    s->info.trace.session_name = span_text("s");
    etl_file_destroy(file);
    if (!limit_init(&s->limit, &s->info.trace, span_text(agent)) || s->info.buffer_size == 0) {
        limit_die("not the trace that this is for");
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
        limit_die("none, gzip or zstd");
    }
    if (s->kind != HTTP_PLAIN) {
        s->compress = compress_create(s->kind, &err);
        if (!s->compress) {
            limit_die(err.text);
        }
    }
}

int main(int argc, char **argv)
{
    static struct shipper s = {.file = -1, .socket = -1};
    if (argc != 6 && argc != 7 && argc != 9) {
        limit_die(
            "limit_ship TRACE PORT BODY_BYTES none|gzip|zstd AGENT [ACTION [FILE SYNC_BYTES]]");
    }
    struct span trace = map(argv[1]);
    unsigned port = (unsigned)strtoul(argv[2], NULL, 10);
    s.body_bytes = strtoul(argv[3], NULL, 10);
    s.body = malloc(s.body_bytes + 2 * limit_bound(&(struct event_record){.payload.size = 65536}) +
                    2 * ACTION_BYTES);
    if (!s.body) {
        limit_die("memory");
    }
    set_compression(&s, argv[4]);
    s.action = span_text(argc > 6 ? argv[6] : "");
    if (s.action.size > ACTION_BYTES) {
        limit_die("a shorter ACTION");
    }
    if (argc > 8) {
        s.file = open(argv[7], O_WRONLY | O_CREAT | O_TRUNC, 0600);
        s.sync_bytes = strtoul(argv[8], NULL, 10);
        if (s.file < 0) {
            limit_die(strerror(errno));
        }
    }
    prepare(&s, trace, argv[1], argv[5]);
    if (port) {
        s.socket = limit_post_open(port);
    }
    for (size_t at = 0; at + s.info.buffer_size <= trace.size; at += s.info.buffer_size) {
        s.buffer_offset = at;
        ship_buffer(&s, span_make(trace.data + at, s.info.buffer_size));
    }
    if (s.body_size) {
        s.sync_bytes = 0;
        post(&s);
    }
    printf("%" PRIu64 " %" PRIu64 "\n", s.events, s.bytes);
    compress_destroy(s.compress);
    buf_fini(&s.compressed);
    free(s.body);
    return 0;
}
