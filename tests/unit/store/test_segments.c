#include "support/test.h"

#include <stdio.h>

#include "platform/plat_file.h"
#include "store/segments.h"
#include "support/temp_folder.h"

enum { SEGMENT_BYTES = 4096, STREAM = 3 };

static char folder[TEMP_FOLDER_BYTES];

static struct segments *open_at(const char *name, bool zstd)
{
    static char path[TEMP_FOLDER_BYTES + 32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    struct segments_settings settings = {.disk = disk_system(),
        .folder = path,
        .segment_bytes = SEGMENT_BYTES,
        .ballast_bytes = 100000,
        .zstd = zstd};
    struct error err;
    struct segments *segments = segments_create(&settings, &err);
    assert_non_null(segments);
    segments_begin(segments, 77, 1);
    struct frame_stream stream = {
        .stream = STREAM, .hash = 5, .key = span_text("json"), .about = span_text("shape of it")};
    assert_true(segments_describe(segments, &stream, &err));
    return segments;
}

static struct segment_place append(struct segments *segments, uint64_t id, struct span body)
{
    struct frame_source source = {.session = span_text("kernel"), .sequence = id * 10};
    struct segments_batch batch = {.id = id,
        .stream = STREAM,
        .first_record = id * 2,
        .records = 2,
        .first_time = 100,
        .last_time = 200,
        .entered = 300,
        .sources = &source,
        .source_count = 1,
        .body = body};
    struct segment_place place;
    struct error err;
    assert_true(segments_append(segments, &batch, &place, &err));
    return place;
}

static void test_what_was_appended_is_read_back(void **state)
{
    (void)state;
    for (int zstd = 0; zstd < 2; zstd++) {
        struct segments *segments = open_at(zstd ? "packed" : "plain", zstd);
        struct segment_place places[40];
        struct buf room;
        struct error err;
        char body[512];
        memset(body, 'x', sizeof(body));
        buf_init(&room, 1 << 20);
        for (uint64_t i = 1; i < 40; i++) {
            places[i] = append(segments, i, span_make(body, 10 * i));
        }
        assert_true(segments_sync(segments, &err));
        for (uint64_t i = 1; i < 40; i++) {
            struct frame frame;
            assert_true(segments_read(segments, &places[i], &room, &frame, &err));
            assert_int_equal(frame.batch, i);
            assert_int_equal(frame.epoch, 77);
            assert_int_equal(frame.first_record, i * 2);
            assert_true(span_equal(frame.body, span_make(body, 10 * i)));
            struct frame_sources sources = frame_sources_begin(&frame);
            struct frame_source source;
            assert_true(frame_sources_next(&sources, &source));
            assert_span(source.session, "kernel");
            assert_int_equal(source.sequence, i * 10);
            assert_false(frame_sources_next(&sources, &source));
        }
        assert_true(zstd ? segments_count(segments) >= 1 : segments_count(segments) > 2);
        buf_fini(&room);
        segments_destroy(segments);
    }
}

static int make(void **state)
{
    (void)state;
    return temp_folder_make(folder, "segments");
}

static int remove_all(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_appended_is_read_back),
    };
    return cmocka_run_group_tests(tests, make, remove_all);
}
