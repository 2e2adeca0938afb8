#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "fuzz/fuzz.h"
#include "store/disk/body.h"
#include "store/disk/frame_scan.h"

/*
 * The input is a segment file. It is scanned as it is, and again with correct checksums in all
 * heads and frames that have room for them, so that the scan believes the heads as far as it ever
 * does. The scan names the content of every byte after the head, in order.
 */
enum { SEGMENT = 1, MAX_FRAMES = 64 };

struct memory {
    const uint8_t *data;
    size_t size;
    size_t read; /* in all */
};

static bool read_at(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err)
{
    (void)err;
    struct memory *memory = self;
    struct span all = span_make(memory->data, memory->size);
    struct span got = offset < all.size ? span_first(span_from(all, (size_t)offset), size)
                                        : span_make(NULL, 0);
    if (got.size) {
        memcpy(data, got.data, got.size);
    }
    memory->read += got.size;
    *ret_read = got.size;
    return true;
}

/* What was read is written to the same bytes. */
static void check_frame(const struct frame *frame, struct span bytes)
{
    uint8_t head[FRAME_HEAD_BYTES];
    if (!frame_put_head(frame, head, NULL) || bytes.size < frame_bytes(frame) ||
        memcmp(head, bytes.data, FRAME_HEAD_BYTES) != 0) {
        abort();
    }
    struct frame_stream stream;
    if ((frame->kind == FRAME_STREAM) != frame_read_stream(frame, &stream, NULL)) {
        abort();
    }
    struct frame_sources sources = frame_sources_begin(frame);
    struct frame_source source;
    size_t names = 0;
    while (frame_sources_next(&sources, &source)) {
        names += source.session.size;
    }
    if (names > bytes.size) {
        abort();
    }
    if (frame->zstd && frame->raw_bytes < 1 << 20) {
        uint8_t *raw = malloc(frame->raw_bytes);
        if (raw) {
            (void)body_unpack(frame->body, raw, frame->raw_bytes);
        }
        free(raw);
    }
}

static void scan(const uint8_t *data, size_t size)
{
    struct memory memory = {data, size, 0};
    struct frame_scan s;
    struct error err;
    uint64_t at = 0;
    enum frame_found found;
    frame_scan_init(&s, read_at, &memory, SEGMENT, size);
    do {
        struct frame frame;
        struct frame_extent extent = {0, 0};
        found = frame_scan_next(&s, &frame, &extent, &err);
        if (found == FRAME_END) {
            break;
        }
        if (found == FRAME_FAILED) {
            if (err.code != ERR_UNSUPPORTED) {
                abort();
            }
            break;
        }
        if (extent.bytes == 0 || extent.bytes > size - extent.offset ||
            extent.offset != (at                 ? at
                                 : extent.offset ? FRAME_SEGMENT_HEAD_BYTES
                                                 : 0)) {
            abort();
        }
        at = extent.offset + extent.bytes;
        if (found == FRAME_FOUND) {
            check_frame(&frame, span_make(data + extent.offset, (size_t)extent.bytes));
        }
    } while (true);
    if (found == FRAME_END && at != size && !(at == 0 && size == FRAME_SEGMENT_HEAD_BYTES)) {
        abort();
    }
    /* In proportion to the file: its bytes, once more in vain, and a window for every few heads. */
    if (memory.read > 8 * size + (size / FRAME_HEAD_BYTES + 2) * (8 << 10) + (512 << 10)) {
        abort();
    }
    frame_scan_fini(&s);
}

static void mend(uint8_t *data, size_t size)
{
    if (size < FRAME_SEGMENT_HEAD_BYTES) {
        return;
    }
    store_le32(data + 36, crc32c_add(0, span_make(data, 36)));
    size_t at = FRAME_SEGMENT_HEAD_BYTES;
    for (size_t i = 0; i < MAX_FRAMES && size - at >= FRAME_HEAD_BYTES; i++) {
        uint64_t rest = (uint64_t)load_le32(data + at + 8) + load_le32(data + at + 12);
        uint64_t room = size - at - FRAME_HEAD_BYTES;
        rest = rest < room ? rest : room;
        store_le64(data + at + 32, at);
        store_le32(
            data + at + 96, crc32c_add(0, span_make(data + at + FRAME_HEAD_BYTES, (size_t)rest)));
        store_le32(data + at + 100, crc32c_add(0, span_make(data + at, 100)));
        at += FRAME_HEAD_BYTES + (size_t)rest;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame frame;
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        return 0;
    }
    memcpy(copy, data, size);
    if (frame_read(span_make(copy, size), &frame, NULL)) {
        check_frame(&frame, span_make(copy, size));
    }
    scan(copy, size);
    mend(copy, size);
    scan(copy, size);
    free(copy);
    return 0;
}

static size_t put(uint8_t *out, size_t at, struct frame *frame)
{
    frame->segment = SEGMENT;
    frame->offset = at;
    frame->epoch = 7;
    if (!frame_put_head(frame, out + at, NULL)) {
        abort();
    }
    at += FRAME_HEAD_BYTES;
    memcpy(out + at, frame->sources.data, frame->sources.size);
    at += frame->sources.size;
    memcpy(out + at, frame->body.data, frame->body.size);
    return at + frame->body.size;
}

/* A head and a stream; and with a plain and a packed batch. */
size_t fuzz_seed(size_t index, uint8_t *out, size_t max)
{
    if (index > 1 || max < 4096) {
        return 0;
    }
    struct buf about;
    struct buf sources;
    buf_init(&about, 1024);
    buf_init(&sources, 1024);
    frame_put_segment_head(SEGMENT, 7, out);
    struct frame_stream stream = {1, 2, span_text("json"), span_text("what it looks like")};
    struct frame_source source[] = {{span_text("kernel"), 5}, {span_text("dns"), 6}};
    static const uint8_t raw[2000];
    struct body_packer *packer = body_packer_create(NULL);
    if (!packer || !frame_put_stream(&about, &stream, NULL) ||
        !frame_put_sources(&sources, source, 2, NULL)) {
        abort();
    }
    struct frame frame = {.kind = FRAME_STREAM,
        .stream = 1,
        .sources = span_make("", 0),
        .body = buf_span(&about),
        .raw_bytes = (uint32_t)about.size};
    size_t size = put(out, FRAME_SEGMENT_HEAD_BYTES, &frame);
    if (index == 1) {
        frame = (struct frame){.kind = FRAME_BATCH,
            .stream = 1,
            .batch = 1,
            .records = 3,
            .sources = buf_span(&sources),
            .body = span_text("plain"),
            .raw_bytes = 5};
        size = put(out, size, &frame);
        frame.batch = 2;
        frame.zstd = body_pack(packer, span_make(raw, sizeof(raw)), &frame.body);
        frame.raw_bytes = sizeof(raw);
        size = put(out, size, &frame);
    }
    body_packer_destroy(packer);
    buf_fini(&about);
    buf_fini(&sources);
    return size;
}
