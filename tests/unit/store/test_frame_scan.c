#include "support/test.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "store/disk/frame_scan.h"

/* A segment in memory: a head, a stream and some batches. */
enum { SEGMENT = 9, FRAMES = 6, MOST = 1 << 16 };

static const uint64_t EPOCH = 0x1122334455667788;

struct file {
    uint8_t bytes[MOST];
    size_t size;
    size_t at[FRAMES + 1]; /* where the frames begin, and the end */
    unsigned reads;
    bool fails;
};

static void put_frame(struct file *file, struct frame *frame)
{
    struct error err;
    frame->segment = SEGMENT;
    frame->offset = file->size;
    frame->epoch = EPOCH;
    frame->raw_bytes = (uint32_t)frame->body.size;
    assert_true(frame_put_head(frame, file->bytes + file->size, &err));
    file->size += FRAME_HEAD_BYTES;
    memcpy(file->bytes + file->size, frame->sources.data, frame->sources.size);
    file->size += frame->sources.size;
    memcpy(file->bytes + file->size, frame->body.data, frame->body.size);
    file->size += frame->body.size;
}

static void put_batch(struct file *file, uint64_t id, struct span body)
{
    static const uint8_t sources[] = {1, 0, 0, 0, 1, 0, 's', 7, 0, 0, 0, 0, 0, 0, 0};
    struct frame frame = {.kind = FRAME_BATCH,
        .stream = 1,
        .batch = id,
        .first_record = 10 * id,
        .records = 10,
        .sources = span_make(sources, sizeof(sources)),
        .body = body};
    put_frame(file, &frame);
}

static struct file *file_make(size_t body_bytes)
{
    struct file *file = calloc(1, sizeof(*file));
    assert_non_null(file);
    frame_put_segment_head(SEGMENT, EPOCH, file->bytes);
    file->size = FRAME_SEGMENT_HEAD_BYTES;
    static const uint8_t about[12] = {0};
    struct frame stream = {.kind = FRAME_STREAM,
        .stream = 1,
        .sources = span_make("", 0),
        .body = span_make(about, sizeof(about))};
    file->at[0] = file->size;
    put_frame(file, &stream);
    uint8_t *body = malloc(body_bytes);
    assert_non_null(body);
    for (uint64_t i = 1; i < FRAMES; i++) {
        /* Repeated bytes that begin like a frame. */
        memset(body, i % 2 ? 0xf5 : 'b', body_bytes);
        file->at[i] = file->size;
        put_batch(file, i, span_make(body, body_bytes));
    }
    file->at[FRAMES] = file->size;
    free(body);
    return file;
}

static bool read_at(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err)
{
    struct file *file = self;
    file->reads++;
    if (file->fails) {
        return error_set(err, ERR_IO, "cannot read");
    }
    struct span got = span_make(file->bytes, file->size);
    got = span_first(span_from(got, (size_t)(offset < file->size ? offset : file->size)), size);
    memcpy(data, got.data, got.size);
    *ret_read = got.size;
    return true;
}

/* The scan names the kind of every byte, once and in order. */
struct found {
    uint64_t good[FRAMES + 1]; /* offsets */
    size_t good_count;
    size_t damaged;
    uint64_t lost_batch; /* of the last damaged one */
    size_t skipped;
    uint64_t skipped_bytes;
};

static struct found scan_all(struct file *file, uint64_t says_bytes)
{
    struct found found = {.good_count = 0};
    struct frame_scan scan;
    struct error err = {.code = ERR_NONE};
    frame_scan_init(&scan, read_at, file, SEGMENT, says_bytes);
    uint64_t at = file->size >= FRAME_SEGMENT_HEAD_BYTES ? FRAME_SEGMENT_HEAD_BYTES : 0;
    bool first = true;
    for (;;) {
        struct frame frame;
        struct frame_extent extent;
        enum frame_found what = frame_scan_next(&scan, &frame, &extent, &err);
        if (what == FRAME_END) {
            break;
        }
        assert_int_not_equal(what, FRAME_FAILED);
        assert_true(extent.bytes > 0);
        assert_true(extent.offset == at || (first && extent.offset == 0));
        at = extent.offset + extent.bytes;
        first = false;
        if (what == FRAME_FOUND) {
            assert_true(found.good_count < FRAMES);
            found.good[found.good_count++] = extent.offset;
            assert_int_equal(extent.bytes, frame_bytes(&frame));
            assert_int_equal(frame.offset, extent.offset);
        } else if (what == FRAME_DAMAGED) {
            found.damaged++;
            found.lost_batch = frame.batch;
        } else {
            found.skipped++;
            found.skipped_bytes += extent.bytes;
        }
    }
    assert_true(first || at >= file->size);
    frame_scan_fini(&scan);
    return found;
}

static void test_a_whole_segment_is_read_in_order(void **state)
{
    (void)state;
    for (size_t body = 1; body < 10000; body = body * 9 + 1) {
        struct file *file = file_make(body);
        struct found found = scan_all(file, file->size);
        assert_int_equal(found.good_count, FRAMES);
        assert_memory_equal(found.good,
            ((uint64_t[FRAMES]){
                file->at[0], file->at[1], file->at[2], file->at[3], file->at[4], file->at[5]}),
            sizeof(uint64_t) * FRAMES);
        assert_int_equal(found.damaged + found.skipped, 0);
        free(file);
    }
}

static void test_a_cut_anywhere_loses_only_what_is_behind_it(void **state)
{
    (void)state;
    struct file *file = file_make(60);
    size_t whole = file->size;
    for (size_t size = 0; size <= whole; size++) {
        file->size = size;
        size_t expected = 0;
        while (expected < FRAMES && file->at[expected + 1] <= size) {
            expected++;
        }
        struct found found = scan_all(file, size);
        assert_int_equal(found.good_count, expected);
        bool rest = size != (size < FRAME_SEGMENT_HEAD_BYTES ? 0 : file->at[expected]);
        assert_int_equal(found.damaged + found.skipped, rest);
        bool has_head = expected < FRAMES && size >= file->at[expected] + FRAME_HEAD_BYTES;
        assert_int_equal(found.damaged, has_head);
        /* That is also true if the size was read before the cut. */
        found = scan_all(file, whole + 1000);
        assert_int_equal(found.good_count, expected);
    }
    free(file);
}

static void test_a_flipped_bit_costs_one_frame(void **state)
{
    (void)state;
    struct file *file = file_make(60);
    for (size_t byte = 0; byte < file->size; byte++) {
        uint8_t bit = (uint8_t)(1u << byte % 8);
        file->bytes[byte] ^= bit;
        struct found found = scan_all(file, file->size);
        size_t in = 0;
        while (in < FRAMES && byte >= file->at[in + 1]) {
            in++;
        }
        if (byte < FRAME_SEGMENT_HEAD_BYTES) {
            assert_int_equal(found.good_count, FRAMES);
            assert_int_equal(found.skipped_bytes, FRAME_SEGMENT_HEAD_BYTES);
        } else {
            assert_int_equal(found.good_count, FRAMES - 1);
            bool head_is_good = byte >= file->at[in] + FRAME_HEAD_BYTES;
            assert_int_equal(found.damaged, head_is_good);
            assert_int_equal(found.skipped, !head_is_good);
            if (head_is_good) {
                assert_int_equal(found.lost_batch, in);
            }
        }
        file->bytes[byte] ^= bit;
    }
    free(file);
}

/* Zeros, as after a power loss, or noise, over the border between any two neighbours. */
static void test_what_stands_between_good_frames_is_passed_over(void **state)
{
    (void)state;
    struct file *whole = file_make(400);
    struct file *file = malloc(sizeof(*file));
    assert_non_null(file);
    for (size_t i = 1; i + 1 < FRAMES; i++) {
        for (int noise = 0; noise < 2; noise++) {
            *file = *whole;
            size_t from = file->at[i + 1] - 30;
            memset(file->bytes + from, noise ? 0x5f : 0, 60);
            struct found found = scan_all(file, file->size);
            assert_int_equal(found.good_count, FRAMES - 2);
            assert_int_equal(found.damaged, 1); /* the head of the second one is gone */
            assert_int_equal(found.skipped, 0);
        }
    }
    free(file);
    free(whole);
}

static void test_a_frame_of_elsewhere_is_none(void **state)
{
    (void)state;
    static const struct {
        int64_t offset;
        uint64_t segment;
        uint64_t epoch;
    } rows[] = {{1, 0, 0}, {-104, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct file *file = file_make(60);
        struct frame frame;
        /* The third one says that it belongs elsewhere, with correct checksums. */
        uint8_t *at = file->bytes + file->at[2];
        assert_true(frame_read(span_make(at, MOST - file->at[2]), &frame, NULL));
        frame.offset += (uint64_t)rows[i].offset;
        frame.segment += rows[i].segment;
        frame.epoch += rows[i].epoch;
        assert_true(frame_put_head(&frame, at, NULL));
        struct found found = scan_all(file, file->size);
        assert_int_equal(found.good_count, FRAMES - 1);
        assert_int_equal(found.skipped, 1);
        assert_int_equal(found.skipped_bytes, file->at[3] - file->at[2]);
        free(file);
    }
}

/* An event may contain any bytes of its writer, even a whole segment. */
static void test_a_frame_where_the_head_should_be_is_passed_over(void **state)
{
    (void)state;
    struct file *file = calloc(1, sizeof(*file));
    assert_non_null(file);
    put_batch(file, 1, span_text("no frame begins at 0"));
    size_t second = file->size;
    put_batch(file, 2, span_text("x"));
    struct found found = scan_all(file, file->size);
    assert_int_equal(found.good_count, 1);
    assert_int_equal(found.good[0], second);
    assert_int_equal(found.skipped_bytes, second);
    free(file);
}

static void test_frames_inside_a_damaged_body_are_not_taken(void **state)
{
    (void)state;
    struct file *inner = file_make(10);
    struct file *file = calloc(1, sizeof(*file));
    assert_non_null(file);
    frame_put_segment_head(SEGMENT, EPOCH, file->bytes);
    file->size = FRAME_SEGMENT_HEAD_BYTES;
    put_batch(file, 1, span_make(inner->bytes, inner->size));
    size_t second = file->size;
    put_batch(file, 2, span_text("x"));
    file->bytes[second - 1] ^= 1;
    struct found found = scan_all(file, file->size);
    assert_int_equal(found.good_count, 1);
    assert_int_equal(found.good[0], second);
    assert_int_equal(found.damaged, 1);
    free(file);
    free(inner);
}

static void test_heads_that_reach_far_do_not_take_the_square_of_the_time(void **state)
{
    (void)state;
    struct file *file = calloc(1, sizeof(*file));
    assert_non_null(file);
    frame_put_segment_head(SEGMENT, EPOCH, file->bytes);
    file->size = FRAME_SEGMENT_HEAD_BYTES;
    static const uint8_t none[MOST];
    size_t heads = 0;
    while (file->size + FRAME_HEAD_BYTES <= MOST) {
        struct frame frame = {.kind = FRAME_BATCH,
            .segment = SEGMENT,
            .offset = file->size,
            .epoch = EPOCH,
            .stream = 1,
            .batch = 1,
            .sources = span_make(none, 4),
            .body = span_make(none, MOST - file->size),
            .raw_bytes = (uint32_t)(MOST - file->size)};
        assert_true(frame_put_head(&frame, file->bytes + file->size, NULL));
        file->size += FRAME_HEAD_BYTES;
        heads++;
    }
    struct found found = scan_all(file, file->size);
    assert_int_equal(found.good_count, 0);
    assert_true(found.damaged < 8);
    assert_true(file->reads < heads / 8);
    free(file);
}

static void test_what_cannot_be_read_is_no_damage(void **state)
{
    (void)state;
    struct file *file = file_make(60);
    struct frame_scan scan;
    struct frame frame;
    struct frame_extent extent;
    struct error err = {.code = ERR_NONE};
    frame_scan_init(&scan, read_at, file, SEGMENT, file->size);
    assert_int_equal(frame_scan_next(&scan, &frame, &extent, &err), FRAME_FOUND);
    file->fails = true;
    assert_int_equal(frame_scan_next(&scan, &frame, &extent, &err), FRAME_FAILED);
    assert_int_equal(err.code, ERR_IO);
    file->fails = false;
    assert_int_equal(frame_scan_next(&scan, &frame, &extent, &err), FRAME_FOUND);
    assert_int_equal(frame.batch, 1);
    frame_scan_fini(&scan);
    free(file);
}

static void test_a_segment_of_a_newer_version_is_left_alone(void **state)
{
    (void)state;
    struct file *file = file_make(60);
    struct frame_scan scan;
    struct frame frame;
    struct frame_extent extent;
    struct error err = {.code = ERR_NONE};
    store_le32(file->bytes + 8, 2);
    store_le32(file->bytes + 36, crc32c_add(0, span_make(file->bytes, 36)));
    frame_scan_init(&scan, read_at, file, SEGMENT, file->size);
    assert_int_equal(frame_scan_next(&scan, &frame, &extent, &err), FRAME_FAILED);
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    frame_scan_fini(&scan);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_segment_is_read_in_order),
        cmocka_unit_test(test_a_cut_anywhere_loses_only_what_is_behind_it),
        cmocka_unit_test(test_a_flipped_bit_costs_one_frame),
        cmocka_unit_test(test_what_stands_between_good_frames_is_passed_over),
        cmocka_unit_test(test_a_frame_of_elsewhere_is_none),
        cmocka_unit_test(test_a_frame_where_the_head_should_be_is_passed_over),
        cmocka_unit_test(test_frames_inside_a_damaged_body_are_not_taken),
        cmocka_unit_test(test_heads_that_reach_far_do_not_take_the_square_of_the_time),
        cmocka_unit_test(test_what_cannot_be_read_is_no_damage),
        cmocka_unit_test(test_a_segment_of_a_newer_version_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
