#include "store/pending.h"

#include "support/disk_model.h"
#include "support/test.h"

/* Batches that wait for a commit, over segments on a model of a disk. */
enum { STREAM = 3, NO_ROOM_BYTES = 1000 };

static struct error err;

static struct segments *open_segments(struct disk_model *model)
{
    const struct segments_settings settings = {
        .disk = disk_model_disk(model), .folder = "spool", .segment_bytes = 1 << 20};
    struct segments *segments = segments_create(&settings, &err);
    assert_non_null(segments);
    segments_begin(segments, 77, 1);
    const struct frame_stream stream = {.stream = STREAM, .key = span_text("json")};
    assert_true(segments_describe(segments, &stream, &err));
    return segments;
}

static void add(struct pending *pending, uint64_t id, struct span body)
{
    const struct store_source source = {.session = span_text("kernel"), .sequence = id};
    const struct store_batch batch = {
        .stream = STREAM, .body = body, .records = 1, .sources = &source, .source_count = 1};
    const struct store_row row = {.id = id, .stream = STREAM, .first_record = id, .records = 1};
    assert_true(pending_add(pending, &batch, &row, &err));
}

static uint64_t file_bytes(struct segments *segments)
{
    struct segments_usage usage;
    segments_usage(segments, &usage);
    return usage.bytes;
}

static void what_was_written_before_the_disk_was_full_is_not_written_again(void **state)
{
    (void)state;
    static const uint8_t body[NO_ROOM_BYTES];
    struct disk_model *model = disk_model_create(1);
    struct segments *segments = open_segments(model);
    struct pending *pending = pending_create();
    assert_non_null(pending);
    add(pending, 1, span_text("one"));
    add(pending, 2, span_make(body, sizeof(body)));
    disk_model_set_capacity(model, NO_ROOM_BYTES);
    assert_false(pending_place(pending, segments, &err));
    assert_int_equal(err.code, ERR_FULL);
    const struct store_row first = *pending_row(pending, 0);
    assert_true(first.disk_bytes > 0);
    assert_true(first.segment && pending_row(pending, 1)->segment == 0);
    disk_model_set_capacity(model, UINT64_MAX);
    assert_true(pending_place(pending, segments, &err));
    assert_int_equal(pending_row(pending, 0)->segment, first.segment);
    assert_int_equal(pending_row(pending, 0)->offset, first.offset);
    assert_true(pending_row(pending, 1)->segment);
    uint64_t bytes = file_bytes(segments);
    assert_true(pending_place(pending, segments, &err));
    assert_int_equal(file_bytes(segments), bytes);
    pending_destroy(pending);
    segments_destroy(segments);
    disk_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_before_the_disk_was_full_is_not_written_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
