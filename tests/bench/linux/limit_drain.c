/*
 * The limit of catching up after an outage: what the way from segments on a disk to a server costs
 * a program that does nothing else.
 *
 *   limit_drain FOLDER PORT
 *
 * Reads the batches of the segments in FOLDER, one after the other, unpacks those that are packed,
 * and posts the records of each over one connection to the loopback, as one whole. A segment is
 * removed as soon as it was posted. No checksums, catalogue, acks, retries or threads.
 *
 * Prints the bytes of JSON.
 */
#define _POSIX_C_SOURCE 200809L /* pread */
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "bench/linux/limit_post.h"
#include "store/disk/body.h"
#include "store/disk/frame.h"

/* What a batch ends with (batch_codec.c): the bytes of its records, and a version. */
enum { FOOTER_BYTES = 8 };

struct drain {
    int socket;
    uint8_t *packed; /* sources and body of a frame */
    uint8_t *plain;
    uint64_t bytes;
};

static void post_batch(struct drain *drain, const struct frame *frame)
{
    struct span body = span_make(drain->packed + frame->sources.size, frame->body.size);
    if (frame->zstd) {
        if (!body_unpack(body, drain->plain, frame->raw_bytes)) {
            limit_die("a batch cannot be unpacked");
        }
        body = span_make(drain->plain, frame->raw_bytes);
    }
    body = span_first(body, load_le32(body.data + body.size - FOOTER_BYTES));
    limit_post(drain->socket, "", body);
    drain->bytes += body.size;
}

static void post_segment(struct drain *drain, const char *path)
{
    uint8_t head[FRAME_HEAD_BYTES];
    struct frame frame;
    struct error err;
    off_t at = FRAME_SEGMENT_HEAD_BYTES;
    int file = open(path, O_RDONLY);
    while (pread(file, head, sizeof(head), at) == sizeof(head)) {
        if (!frame_read_head(span_make(head, sizeof(head)), &frame, &err)) {
            limit_die(err.text);
        }
        size_t size = frame_bytes(&frame) - sizeof(head);
        if (pread(file, drain->packed, size, at + (off_t)sizeof(head)) != (ssize_t)size) {
            limit_die("a segment ends within a batch");
        }
        if (frame.kind == FRAME_BATCH) {
            post_batch(drain, &frame);
        }
        at += frame_bytes(&frame);
    }
    close(file);
    unlink(path);
}

int main(int argc, char **argv)
{
    char pattern[4096];
    glob_t found;
    struct drain drain = {.packed = malloc(FRAME_MAX_BYTES), .plain = malloc(FRAME_MAX_BODY_BYTES)};
    if (argc != 3) {
        limit_die("limit_drain FOLDER PORT");
    }
    snprintf(pattern, sizeof(pattern), "%s/*.seg", argv[1]);
    if (!drain.packed || !drain.plain || glob(pattern, 0, NULL, &found)) {
        limit_die("no segments, or no memory");
    }
    drain.socket = limit_post_open((unsigned)strtoul(argv[2], NULL, 10));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        post_segment(&drain, found.gl_pathv[i]);
    }
    printf("%" PRIu64 "\n", drain.bytes);
    globfree(&found);
    free(drain.packed);
    free(drain.plain);
    return 0;
}
