/*
 * Encoding and decoding of frames. Every head passes one check, check_head, when it is written and
 * when it is read, so that nothing is written that would not be read.
 */
#include "store/disk/frame.h"

#include "base/crc32c.h"
#include "base/reader.h"

static const uint8_t frame_magic[4] = "\xf5"
                                      "EWF";
static const uint8_t segment_magic[8] = "\xf5"
                                        "ETWSEG\n";

enum { FLAG_ZSTD = 1 };

bool frame_put_sources(
    struct buf *out, const struct frame_source *sources, size_t count, struct error *err)
{
    if (count > FRAME_MAX_SOURCES) {
        return error_set(
            err, ERR_LIMIT, "a batch of %zu sources: at most %d", count, FRAME_MAX_SOURCES);
    }
    uint8_t number[8];
    store_le32(number, (uint32_t)count);
    buf_add(out, number, 4);
    for (size_t i = 0; i < count; i++) {
        size_t size = sources[i].session.size;
        if (size == 0 || size > FRAME_MAX_NAME_BYTES) {
            return error_set(err, ERR_LIMIT, "a session's name has %zu bytes, not 1 to %d", size,
                FRAME_MAX_NAME_BYTES);
        }
        store_le16(number, (uint16_t)size);
        buf_add(out, number, 2);
        buf_add_span(out, sources[i].session);
        store_le64(number, sources[i].sequence);
        buf_add(out, number, 8);
    }
    return !out->failed || error_set(err, ERR_MEMORY, "out of memory");
}

bool frame_put_stream(struct buf *out, const struct frame_stream *stream, struct error *err)
{
    size_t key_bytes = stream->key.size;
    if (key_bytes > FRAME_MAX_STREAM_BYTES ||
        stream->about.size > FRAME_MAX_STREAM_BYTES - key_bytes) {
        return error_set(err, ERR_LIMIT, "the description of a stream has more than %d bytes",
            FRAME_MAX_STREAM_BYTES);
    }
    uint8_t number[8];
    store_le32(number, stream->hash);
    store_le32(number + 4, (uint32_t)key_bytes);
    buf_add(out, number, 8);
    buf_add_span(out, stream->key);
    store_le32(number, (uint32_t)stream->about.size);
    buf_add(out, number, 4);
    buf_add_span(out, stream->about);
    return !out->failed || error_set(err, ERR_MEMORY, "out of memory");
}

/* The fields of the head, in their own widths. */
static const char *check_head(const struct frame *f)
{
    if (f->sources.size > FRAME_MAX_SOURCES_BYTES || f->body.size > FRAME_MAX_BODY_BYTES ||
        f->raw_bytes > FRAME_MAX_BODY_BYTES) {
        return "its sizes are beyond the limits";
    }
    /* A body that compression does not shrink is stored uncompressed. */
    if (f->zstd ? f->body.size >= f->raw_bytes : f->body.size != f->raw_bytes) {
        return "its sizes contradict each other";
    }
    if (f->stream == 0) {
        return "it belongs to no stream";
    }
    if (f->offset > INT64_MAX - FRAME_MAX_BYTES) {
        return "its offset is beyond the largest file";
    }
    if (f->kind == FRAME_STREAM) {
        bool plain = !f->zstd && f->sources.size == 0 && f->batch == 0 && f->first_record == 0 &&
                     f->records == 0 && f->first_time == 0 && f->last_time == 0 && f->entered == 0;
        return plain ? NULL : "it has what only batches have";
    }
    if (f->kind != FRAME_BATCH) {
        return "its kind is unknown";
    }
    if (f->batch == 0 || f->sources.size < 4) {
        return "it lacks what every batch has";
    }
    if (f->records > FRAME_MAX_RECORDS || f->first_record > UINT64_MAX - f->records) {
        return "it has more records than there can be";
    }
    return NULL;
}

bool frame_check(const struct frame *frame, struct error *err)
{
    const char *wrong = check_head(frame);
    return !wrong || error_set(err, ERR_LIMIT, "a frame cannot be written: %s", wrong);
}

bool frame_put_head(
    const struct frame *frame, uint8_t ret_head[FRAME_HEAD_BYTES], struct error *err)
{
    if (!frame_check(frame, err)) {
        return false;
    }
    uint8_t *p = ret_head;
    memcpy(p, frame_magic, sizeof(frame_magic));
    store_le16(p + 4, FRAME_HEAD_BYTES);
    p[6] = (uint8_t)frame->kind;
    p[7] = frame->zstd ? FLAG_ZSTD : 0;
    store_le32(p + 8, (uint32_t)frame->sources.size);
    store_le32(p + 12, (uint32_t)frame->body.size);
    store_le32(p + 16, frame->raw_bytes);
    store_le32(p + 20, frame->records);
    const uint64_t words[] = {frame->segment, frame->offset, frame->epoch, frame->batch,
        frame->stream, frame->first_record, frame->first_time, frame->last_time, frame->entered};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        store_le64(p + 24 + 8 * i, words[i]);
    }
    store_le32(p + 96, crc32c_add(crc32c_add(0, frame->sources), frame->body));
    store_le32(p + 100, crc32c_add(0, span_make(p, 100)));
    return true;
}

void frame_put_segment_head(
    uint64_t segment, uint64_t epoch, uint8_t ret_head[FRAME_SEGMENT_HEAD_BYTES])
{
    memcpy(ret_head, segment_magic, sizeof(segment_magic));
    store_le32(ret_head + 8, FRAME_VERSION);
    store_le32(ret_head + 12, FRAME_SEGMENT_HEAD_BYTES);
    store_le64(ret_head + 16, epoch);
    store_le64(ret_head + 24, segment);
    store_le32(ret_head + 32, 0);
    store_le32(ret_head + 36, crc32c_add(0, span_make(ret_head, 36)));
}

bool frame_read_segment_head(
    struct span bytes, uint64_t segment, uint64_t *ret_epoch, struct error *err)
{
    if (bytes.size < FRAME_SEGMENT_HEAD_BYTES ||
        memcmp(bytes.data, segment_magic, sizeof(segment_magic)) != 0) {
        return error_set(err, ERR_FORMAT, "does not begin as a segment of a spool does");
    }
    /* A newer version may have another head, except its first 16 bytes. */
    uint32_t version = load_le32(bytes.data + 8);
    uint32_t size = load_le32(bytes.data + 12);
    if (version > FRAME_VERSION && size >= 20 && size <= bytes.size &&
        crc32c_add(0, span_make(bytes.data, size - 4)) == load_le32(bytes.data + size - 4)) {
        return error_set(err, ERR_UNSUPPORTED,
            "was written by a newer version of the agent (format %u, this one reads up to %d)",
            (unsigned)version, FRAME_VERSION);
    }
    if (version != FRAME_VERSION || size != FRAME_SEGMENT_HEAD_BYTES ||
        crc32c_add(0, span_make(bytes.data, 36)) != load_le32(bytes.data + 36)) {
        return error_set(err, ERR_FORMAT, "its head is damaged");
    }
    if (load_le64(bytes.data + 24) != segment) {
        return error_set(err, ERR_FORMAT, "holds another segment than its name says");
    }
    *ret_epoch = load_le64(bytes.data + 16);
    return true;
}

bool frame_read_head(struct span bytes, struct frame *ret_frame, struct error *err)
{
    const uint8_t *p = bytes.data;
    if (bytes.size < FRAME_HEAD_BYTES || memcmp(p, frame_magic, sizeof(frame_magic)) != 0 ||
        load_le16(p + 4) != FRAME_HEAD_BYTES) {
        return error_set(err, ERR_FORMAT, "there is no frame");
    }
    if (crc32c_add(0, span_make(p, 100)) != load_le32(p + 100)) {
        return error_set(err, ERR_FORMAT, "the frame's head is damaged");
    }
    if (p[7] & ~FLAG_ZSTD) {
        return error_set(err, ERR_FORMAT, "the frame has unknown flags");
    }
    struct frame frame = {
        .kind = (enum frame_kind)p[6],
        .zstd = p[7] & FLAG_ZSTD,
        .sources.size = load_le32(p + 8),
        .body.size = load_le32(p + 12),
        .raw_bytes = load_le32(p + 16),
        .records = load_le32(p + 20),
        .segment = load_le64(p + 24),
        .offset = load_le64(p + 32),
        .epoch = load_le64(p + 40),
        .batch = load_le64(p + 48),
        .stream = load_le64(p + 56),
        .first_record = load_le64(p + 64),
        .first_time = load_le64(p + 72),
        .last_time = load_le64(p + 80),
        .entered = load_le64(p + 88),
    };
    const char *wrong = check_head(&frame);
    if (wrong) {
        return error_set(err, ERR_FORMAT, "the frame's head is invalid: %s", wrong);
    }
    *ret_frame = frame;
    return true;
}

static bool check_sources(const struct frame *frame)
{
    struct frame_sources sources = frame_sources_begin(frame);
    struct frame_source source;
    uint32_t count = 0;
    uint32_t expected = sources.left;
    while (frame_sources_next(&sources, &source)) {
        count++;
    }
    return expected <= FRAME_MAX_SOURCES && count == expected && sources.rest.size == 0;
}

bool frame_read(struct span bytes, struct frame *ret_frame, struct error *err)
{
    struct frame frame;
    if (!frame_read_head(bytes, &frame, err)) {
        return false;
    }
    if (frame_bytes(&frame) > bytes.size) {
        return error_set(err, ERR_FORMAT, "the frame is cut off");
    }
    frame.sources.data = bytes.data + FRAME_HEAD_BYTES;
    frame.body.data = frame.sources.data + frame.sources.size;
    uint32_t crc = crc32c_add(crc32c_add(0, frame.sources), frame.body);
    if (crc != load_le32(bytes.data + 96)) {
        return error_set(err, ERR_FORMAT, "the frame's checksum is wrong");
    }
    struct frame_stream stream;
    if (frame.kind == FRAME_BATCH ? !check_sources(&frame)
                                  : !frame_read_stream(&frame, &stream, NULL)) {
        return error_set(err, ERR_FORMAT, "the frame is not what its head says");
    }
    *ret_frame = frame;
    return true;
}

bool frame_read_stream(
    const struct frame *frame, struct frame_stream *ret_stream, struct error *err)
{
    struct reader r = reader_make(frame->body);
    struct frame_stream stream = {.stream = frame->stream, .hash = reader_u32(&r)};
    stream.key = reader_take(&r, reader_u32(&r));
    stream.about = reader_take(&r, reader_u32(&r));
    if (frame->kind != FRAME_STREAM || r.failed || reader_left(&r) != 0 ||
        stream.key.size + stream.about.size > FRAME_MAX_STREAM_BYTES) {
        return error_set(err, ERR_FORMAT, "the frame does not describe a stream");
    }
    *ret_stream = stream;
    return true;
}

struct frame_sources frame_sources_begin(const struct frame *frame)
{
    struct reader r = reader_make(frame->sources);
    uint32_t count = reader_u32(&r);
    return (struct frame_sources){.rest = reader_rest(&r), .left = count};
}

bool frame_sources_next(struct frame_sources *sources, struct frame_source *ret_source)
{
    if (sources->left == 0) {
        return false;
    }
    struct reader r = reader_make(sources->rest);
    struct frame_source source = {.session = reader_take(&r, reader_u16(&r))};
    source.sequence = reader_u64(&r);
    if (r.failed || source.session.size == 0 || source.session.size > FRAME_MAX_NAME_BYTES) {
        sources->left = 0;
        return false;
    }
    sources->rest = reader_rest(&r);
    sources->left--;
    *ret_source = source;
    return true;
}
