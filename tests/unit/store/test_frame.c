#include "support/test.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "store/disk/frame.h"

/* A batch in the form that frame.h describes, written by hand. The test adds the checksums. */
/* clang-format off */
static const uint8_t batch_bytes[] = {
    0xf5, 'E', 'W', 'F', 104, 0, 1, 0,              /* magic, head, kind, flags */
    33, 0, 0, 0, 7, 0, 0, 0,                        /* sources, body */
    7, 0, 0, 0, 3, 0, 0, 0,                         /* unpacked, records */
    0x11, 0, 0, 0, 0, 0, 0, 0,                      /* segment */
    0x22, 0x01, 0, 0, 0, 0, 0, 0,                   /* offset */
    1, 2, 3, 4, 5, 6, 7, 8,                         /* epoch */
    0x33, 0, 0, 0, 0, 0, 0, 0,                      /* batch */
    0x44, 0, 0, 0, 0, 0, 0, 0,                      /* stream */
    0x55, 0, 0, 0, 1, 0, 0, 0,                      /* first record */
    0, 0x40, 0xe9, 0xd2, 0x39, 0x61, 0xdc, 0x01,    /* first event */
    0x80, 0xd6, 0x81, 0xd3, 0x39, 0x61, 0xdc, 0x01, /* last event */
    0, 0x6d, 0x1a, 0xd4, 0x39, 0x61, 0xdc, 0x01,    /* entered */
    0, 0, 0, 0, 0, 0, 0, 0,                         /* checksums */
    2, 0, 0, 0,                                     /* two sources */
    6, 0, 'k', 'e', 'r', 'n', 'e', 'l', 9, 0, 0, 0, 0, 0, 0, 0,
    3, 0, 'd', 'n', 's', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
    'p', 'a', 'y', 'l', 'o', 'a', 'd',
};

static const uint8_t stream_bytes[] = {
    0xf5, 'E', 'W', 'F', 104, 0, 2, 0,
    0, 0, 0, 0, 21, 0, 0, 0,
    21, 0, 0, 0, 0, 0, 0, 0,
    0x11, 0, 0, 0, 0, 0, 0, 0,
    40, 0, 0, 0, 0, 0, 0, 0,
    1, 2, 3, 4, 5, 6, 7, 8,
    0, 0, 0, 0, 0, 0, 0, 0,
    0x44, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0,
    0xef, 0xbe, 0xad, 0xde, 4, 0, 0, 0, 'j', 's', 'o', 'n', 5, 0, 0, 0, 's', 'h', 'a', 'p', 'e',
};
/* clang-format on */

enum {
    KIND = 6,
    FLAGS = 7,
    SOURCES = 8,
    BODY = 12,
    RAW = 16,
    RECORDS = 20,
    OFFSET = 32,
    BATCH = 48,
    STREAM = 56,
    FIRST_RECORD = 64,
    FIRST_TIME = 72,
    REST_CRC = 96,
    HEAD_CRC = 100
};

static void seal_head(uint8_t *frame)
{
    store_le32(frame + HEAD_CRC, crc32c_add_plain(0, span_make(frame, HEAD_CRC)));
}

static void seal(uint8_t *frame, size_t size)
{
    struct span rest = span_make(frame + FRAME_HEAD_BYTES, size - FRAME_HEAD_BYTES);
    store_le32(frame + REST_CRC, crc32c_add_plain(0, rest));
    seal_head(frame);
}

/* A copy of its own size, so that a sanitizer sees a read beyond it. */
static uint8_t *sealed(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    seal(copy, size);
    return copy;
}

static const struct frame_source two_sources[] = {
    {{(const uint8_t *)"kernel", 6}, 9},
    {{(const uint8_t *)"dns", 3}, INT64_MAX},
};

static struct frame batch_frame(struct span sources)
{
    return (struct frame){.kind = FRAME_BATCH,
        .segment = 0x11,
        .offset = 0x122,
        .epoch = UINT64_C(0x0807060504030201),
        .batch = 0x33,
        .stream = 0x44,
        .first_record = UINT64_C(0x100000055),
        .records = 3,
        .first_time = UINT64_C(0x01dc6139d2e94000),
        .last_time = UINT64_C(0x01dc6139d381d680),
        .entered = UINT64_C(0x01dc6139d41a6d00),
        .sources = sources,
        .body = span_text("payload"),
        .raw_bytes = 7};
}

static void test_a_batch_is_written_as_documented(void **state)
{
    (void)state;
    struct error err;
    struct buf out;
    uint8_t head[FRAME_HEAD_BYTES];
    buf_init(&out, 1000);
    assert_true(frame_put_sources(&out, two_sources, 2, &err));
    struct frame frame = batch_frame(buf_span(&out));
    assert_true(frame_put_head(&frame, head, &err));
    uint8_t *expected = sealed(batch_bytes, sizeof(batch_bytes));
    assert_memory_equal(head, expected, FRAME_HEAD_BYTES);
    assert_int_equal(out.size, 33);
    assert_memory_equal(out.data, expected + FRAME_HEAD_BYTES, out.size);
    assert_int_equal(frame_bytes(&frame), sizeof(batch_bytes));
    free(expected);
    buf_fini(&out);
}

static void test_a_batch_is_read_as_documented(void **state)
{
    (void)state;
    struct error err;
    struct frame frame;
    uint8_t *bytes = sealed(batch_bytes, sizeof(batch_bytes));
    assert_true(frame_read(span_make(bytes, sizeof(batch_bytes)), &frame, &err));
    struct frame expected = batch_frame(frame.sources);
    assert_int_equal(frame.kind, FRAME_BATCH);
    assert_false(frame.zstd);
    assert_int_equal(frame.segment, expected.segment);
    assert_int_equal(frame.offset, expected.offset);
    assert_int_equal(frame.epoch, expected.epoch);
    assert_int_equal(frame.batch, expected.batch);
    assert_int_equal(frame.stream, expected.stream);
    assert_int_equal(frame.first_record, expected.first_record);
    assert_int_equal(frame.records, expected.records);
    assert_int_equal(frame.first_time, expected.first_time);
    assert_int_equal(frame.last_time, expected.last_time);
    assert_int_equal(frame.entered, expected.entered);
    assert_int_equal(frame.raw_bytes, 7);
    assert_span(frame.body, "payload");
    struct frame_sources sources = frame_sources_begin(&frame);
    struct frame_source source;
    for (size_t i = 0; i < 2; i++) {
        assert_true(frame_sources_next(&sources, &source));
        assert_true(span_equal(source.session, two_sources[i].session));
        assert_int_equal(source.sequence, two_sources[i].sequence);
    }
    assert_false(frame_sources_next(&sources, &source));
    assert_false(frame_sources_next(&sources, &source));
    free(bytes);
}

static void test_what_describes_a_stream_is_as_documented(void **state)
{
    (void)state;
    struct error err;
    struct frame frame;
    struct frame_stream stream;
    struct buf body;
    uint8_t head[FRAME_HEAD_BYTES];
    uint8_t *bytes = sealed(stream_bytes, sizeof(stream_bytes));
    assert_true(frame_read(span_make(bytes, sizeof(stream_bytes)), &frame, &err));
    assert_int_equal(frame.kind, FRAME_STREAM);
    assert_true(frame_read_stream(&frame, &stream, &err));
    assert_int_equal(stream.stream, 0x44);
    assert_int_equal(stream.hash, 0xdeadbeef);
    assert_span(stream.key, "json");
    assert_span(stream.about, "shape");
    buf_init(&body, 100);
    assert_true(frame_put_stream(&body, &stream, &err));
    frame.body = buf_span(&body);
    assert_true(frame_put_head(&frame, head, &err));
    assert_memory_equal(head, bytes, FRAME_HEAD_BYTES);
    assert_memory_equal(body.data, bytes + FRAME_HEAD_BYTES, body.size);
    buf_fini(&body);
    free(bytes);
}

static void test_a_frame_that_is_cut_off_anywhere_is_refused(void **state)
{
    (void)state;
    const struct {
        const uint8_t *bytes;
        size_t size;
    } rows[] = {{batch_bytes, sizeof(batch_bytes)}, {stream_bytes, sizeof(stream_bytes)}};
    for (size_t i = 0; i < 2; i++) {
        uint8_t *whole = sealed(rows[i].bytes, rows[i].size);
        for (size_t size = 0; size < rows[i].size; size++) {
            struct error err = {.code = ERR_NONE};
            struct frame frame;
            uint8_t *part = malloc(size ? size : 1);
            assert_non_null(part);
            memcpy(part, whole, size);
            assert_false(frame_read(span_make(part, size), &frame, &err));
            assert_int_equal(err.code, ERR_FORMAT);
            assert_int_equal(
                frame_read_head(span_make(part, size), &frame, NULL), size >= FRAME_HEAD_BYTES);
            free(part);
        }
        free(whole);
    }
}

static void test_every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    uint8_t *bytes = sealed(batch_bytes, sizeof(batch_bytes));
    for (size_t bit = 0; bit < 8 * sizeof(batch_bytes); bit++) {
        struct error err = {.code = ERR_NONE};
        struct frame frame;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(frame_read(span_make(bytes, sizeof(batch_bytes)), &frame, &err));
        assert_int_equal(err.code, ERR_FORMAT);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes);
}

/* Heads with correct checksums. */
static void test_a_head_that_lies_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        size_t size;
        uint64_t value;
        bool stream;
    } rows[] = {
        {4, 2, 103, false},
        {4, 2, 112, false},
        {KIND, 1, 0, false},
        {KIND, 1, 3, false},
        {KIND, 1, 2, false},  /* a stream with the members of a batch */
        {KIND, 1, 1, true},   /* a batch without anything */
        {FLAGS, 1, 1, false}, /* packed, but not smaller */
        {FLAGS, 1, 2, false},
        {FLAGS, 1, 0x80, false},
        {FLAGS, 1, 1, true},
        {SOURCES, 4, 3, false},
        {SOURCES, 4, FRAME_MAX_SOURCES_BYTES + 1, false},
        {SOURCES, 4, UINT32_MAX, false},
        {SOURCES, 4, 32, false}, /* the last byte belongs to the body: the sizes do not fit */
        {SOURCES, 4, 34, false},
        {SOURCES, 4, 1, true},
        {BODY, 4, FRAME_MAX_BODY_BYTES + 1, false},
        {BODY, 4, UINT32_MAX, false},
        {BODY, 4, 6, false},
        {RAW, 4, 8, false},
        {RAW, 4, FRAME_MAX_BODY_BYTES + 1, false},
        {RECORDS, 4, FRAME_MAX_RECORDS + 1, false},
        {RECORDS, 4, 1, true},
        {OFFSET, 8, UINT64_MAX, false},
        {OFFSET, 8, INT64_MAX, false},
        {BATCH, 8, 0, false},
        {BATCH, 8, 1, true},
        {STREAM, 8, 0, false},
        {STREAM, 8, 0, true},
        {FIRST_RECORD, 8, UINT64_MAX - 2, false},
        {FIRST_TIME, 8, 1, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {.code = ERR_NONE};
        struct frame frame;
        uint8_t value[8];
        size_t size = rows[i].stream ? sizeof(stream_bytes) : sizeof(batch_bytes);
        uint8_t *bytes = sealed(rows[i].stream ? stream_bytes : batch_bytes, size);
        store_le64(value, rows[i].value);
        memcpy(bytes + rows[i].at, value, rows[i].size);
        seal_head(bytes);
        if (frame_read(span_make(bytes, size), &frame, &err)) {
            print_error("row %zu was taken\n", i);
            fail();
        }
        assert_int_equal(err.code, ERR_FORMAT);
        free(bytes);
    }
    /* The largest possible numbers. */
    struct frame frame;
    uint8_t *bytes = sealed(batch_bytes, sizeof(batch_bytes));
    store_le64(bytes + FIRST_RECORD, UINT64_MAX - 3);
    seal_head(bytes);
    assert_true(frame_read(span_make(bytes, sizeof(batch_bytes)), &frame, NULL));
    free(bytes);
}

/* Sources with correct checksums. */
static void test_sources_that_lie_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
    } rows[] = {
        {0, 1}, {0, 3}, {0, 0}, {1, 0x10}, {3, 0xff}, /* how many */
        {4, 0}, {4, 5}, {4, 7}, {5, 1}, {5, 0xff},    /* the first name's size */
        {20, 0}, {20, 2}, {20, 4}, {21, 0xff},        /* the second's */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {.code = ERR_NONE};
        struct frame frame;
        uint8_t *bytes = sealed(batch_bytes, sizeof(batch_bytes));
        bytes[FRAME_HEAD_BYTES + rows[i].at] = rows[i].value;
        seal(bytes, sizeof(batch_bytes));
        if (frame_read(span_make(bytes, sizeof(batch_bytes)), &frame, &err)) {
            print_error("row %zu was taken\n", i);
            fail();
        }
        assert_int_equal(err.code, ERR_FORMAT);
        free(bytes);
    }
}

/* The rest of the frame is valid: its sizes, and both checksums. */
static void test_a_source_without_a_name_or_with_one_too_long_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        bool good;
    } rows[] = {
        {0, false}, {1, true}, {FRAME_MAX_NAME_BYTES, true}, {FRAME_MAX_NAME_BYTES + 1, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t bytes[FRAME_HEAD_BYTES + 4 + 2 + FRAME_MAX_NAME_BYTES + 1 + 8] = {0};
        uint8_t *sources = bytes + FRAME_HEAD_BYTES;
        struct error err = {.code = ERR_NONE};
        size_t size = 4 + 2 + rows[i].size + 8;
        store_le32(sources, 1);
        store_le16(sources + 4, (uint16_t)rows[i].size);
        memset(sources + 6, 'n', rows[i].size);
        struct frame frame = batch_frame(span_make(sources, size));
        frame.body = span_make(NULL, 0);
        frame.raw_bytes = 0;
        assert_true(frame_put_head(&frame, bytes, &err));
        assert_int_equal(
            frame_read(span_make(bytes, FRAME_HEAD_BYTES + size), &frame, &err), rows[i].good);
        assert_int_equal(err.code, rows[i].good ? ERR_NONE : ERR_FORMAT);
    }
}

static void test_a_description_that_lies_is_refused(void **state)
{
    (void)state;
    static const size_t places[] = {4, 5, 7, 12, 13, 15};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        for (int up = 0; up < 2; up++) {
            struct frame frame;
            uint8_t *bytes = sealed(stream_bytes, sizeof(stream_bytes));
            uint8_t *at = bytes + FRAME_HEAD_BYTES + places[i];
            *at = (uint8_t)(up ? *at + 1 : *at - 1);
            seal(bytes, sizeof(stream_bytes));
            assert_false(frame_read(span_make(bytes, sizeof(stream_bytes)), &frame, NULL));
            free(bytes);
        }
    }
}

/* Encode sources and read them back in a frame. */
static bool passes(const struct frame_source *sources, size_t count, struct error *err)
{
    struct buf bytes;
    buf_init(&bytes, FRAME_HEAD_BYTES + FRAME_MAX_SOURCES_BYTES);
    assert_true(buf_reserve(&bytes, FRAME_HEAD_BYTES));
    bytes.size = FRAME_HEAD_BYTES;
    bool good = frame_put_sources(&bytes, sources, count, err);
    if (good) {
        struct frame frame = batch_frame(span_from(buf_span(&bytes), FRAME_HEAD_BYTES));
        frame.body = span_make(NULL, 0);
        frame.raw_bytes = 0;
        assert_true(frame_put_head(&frame, bytes.data, err));
        assert_true(frame_read(buf_span(&bytes), &frame, err));
        struct frame_sources each = frame_sources_begin(&frame);
        struct frame_source source;
        size_t seen = 0;
        while (frame_sources_next(&each, &source)) {
            assert_true(span_equal(source.session, sources[seen].session));
            assert_int_equal(source.sequence, sources[seen].sequence);
            seen++;
        }
        assert_int_equal(seen, count);
    }
    buf_fini(&bytes);
    return good;
}

static void test_names_and_numbers_of_sources_have_limits(void **state)
{
    (void)state;
    char name[FRAME_MAX_NAME_BYTES + 1];
    memset(name, 'n', sizeof(name));
    static const struct {
        size_t size;
        bool good;
    } rows[] = {
        {0, false}, {1, true}, {FRAME_MAX_NAME_BYTES, true}, {FRAME_MAX_NAME_BYTES + 1, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct error err = {.code = ERR_NONE};
        struct frame_source source = {span_make(name, rows[i].size), i};
        assert_int_equal(passes(&source, 1, &err), rows[i].good);
        assert_int_equal(err.code, rows[i].good ? ERR_NONE : ERR_LIMIT);
    }
    static struct frame_source many[FRAME_MAX_SOURCES + 1];
    for (size_t i = 0; i <= FRAME_MAX_SOURCES; i++) {
        many[i] = (struct frame_source){span_make(name, FRAME_MAX_NAME_BYTES), i};
    }
    struct error err = {.code = ERR_NONE};
    assert_true(passes(many, 0, &err));
    assert_true(passes(many, FRAME_MAX_SOURCES, &err));
    assert_false(passes(many, FRAME_MAX_SOURCES + 1, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

static void test_nothing_is_written_that_would_not_be_read(void **state)
{
    (void)state;
    struct error err = {.code = ERR_NONE};
    uint8_t head[FRAME_HEAD_BYTES];
    uint8_t none[4] = {0};
    struct frame frame = batch_frame(span_make(none, 4));
    frame.batch = 0;
    assert_false(frame_put_head(&frame, head, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    frame = batch_frame(span_make(none, 4));
    frame.raw_bytes = 8;
    assert_false(frame_put_head(&frame, head, &err));
    frame = batch_frame(span_make(none, 0));
    assert_false(frame_put_head(&frame, head, &err));
    frame = batch_frame(span_make(none, 4));
    frame.records = FRAME_MAX_RECORDS + 1;
    assert_false(frame_put_head(&frame, head, &err));
    /* More than the limit of a description. */
    char *text = calloc(1, FRAME_MAX_STREAM_BYTES + 1);
    assert_non_null(text);
    struct buf out;
    buf_init(&out, 4 << 20);
    struct frame_stream stream = {
        .stream = 1, .key = span_make(text, FRAME_MAX_STREAM_BYTES), .about = span_make(text, 0)};
    assert_true(frame_put_stream(&out, &stream, &err));
    stream.about.size = 1;
    assert_false(frame_put_stream(&out, &stream, &err));
    stream.key.size++;
    assert_false(frame_put_stream(&out, &stream, &err));
    buf_fini(&out);
    free(text);
}

static void test_the_head_of_a_segment_says_which_it_is(void **state)
{
    (void)state;
    struct error err;
    uint64_t epoch = 0;
    uint8_t head[FRAME_SEGMENT_HEAD_BYTES];
    uint8_t expected[FRAME_SEGMENT_HEAD_BYTES] = {0xf5, 'E', 'T', 'W', 'S', 'E', 'G', '\n', 1, 0, 0,
        0, 40, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1, 0x2a};
    store_le32(expected + 36, crc32c_add_plain(0, span_make(expected, 36)));
    frame_put_segment_head(0x2a, UINT64_C(0x0102030405060708), head);
    assert_memory_equal(head, expected, sizeof(expected));
    assert_true(frame_read_segment_head(span_make(head, sizeof(head)), 0x2a, &epoch, &err));
    assert_int_equal(epoch, UINT64_C(0x0102030405060708));
    assert_false(frame_read_segment_head(span_make(head, sizeof(head)), 0x2b, &epoch, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    for (size_t size = 0; size < sizeof(head); size++) {
        assert_false(frame_read_segment_head(span_make(head, size), 0x2a, &epoch, &err));
        assert_int_equal(err.code, ERR_FORMAT);
    }
    for (size_t bit = 0; bit < 8 * sizeof(head); bit++) {
        head[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(frame_read_segment_head(span_make(head, sizeof(head)), 0x2a, &epoch, &err));
        assert_int_equal(err.code, ERR_FORMAT);
        head[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void test_a_segment_of_a_newer_version_is_no_damage(void **state)
{
    (void)state;
    /* Version 2 may have further members. */
    for (size_t size = 20; size <= 64; size += 44) {
        struct error err = {.code = ERR_NONE};
        uint64_t epoch;
        uint8_t head[64] = {0xf5, 'E', 'T', 'W', 'S', 'E', 'G', '\n', 2, 0, 0, 0, (uint8_t)size};
        store_le32(head + size - 4, crc32c_add_plain(0, span_make(head, size - 4)));
        assert_false(frame_read_segment_head(span_make(head, sizeof(head)), 1, &epoch, &err));
        assert_int_equal(err.code, ERR_UNSUPPORTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_batch_is_written_as_documented),
        cmocka_unit_test(test_a_batch_is_read_as_documented),
        cmocka_unit_test(test_what_describes_a_stream_is_as_documented),
        cmocka_unit_test(test_a_frame_that_is_cut_off_anywhere_is_refused),
        cmocka_unit_test(test_every_flipped_bit_is_noticed),
        cmocka_unit_test(test_a_head_that_lies_is_refused),
        cmocka_unit_test(test_sources_that_lie_are_refused),
        cmocka_unit_test(test_a_source_without_a_name_or_with_one_too_long_is_refused),
        cmocka_unit_test(test_a_description_that_lies_is_refused),
        cmocka_unit_test(test_names_and_numbers_of_sources_have_limits),
        cmocka_unit_test(test_nothing_is_written_that_would_not_be_read),
        cmocka_unit_test(test_the_head_of_a_segment_says_which_it_is),
        cmocka_unit_test(test_a_segment_of_a_newer_version_is_no_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
