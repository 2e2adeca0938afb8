#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "platform/plat_thread.h"
#include "store/disk/segments.h"
#include "support/disk_model.h"
#include "support/temp_folder.h"

/* Segment files on a disk that works. Faults: test_segments_faults.c. */
enum { SEGMENT_BYTES = 4096, BALLAST_BYTES = 100000, STREAM = 3, ROOM = 1 << 20 };

static const uint64_t EPOCH = 77;
static char folder[TEMP_FOLDER_BYTES];
static struct disk_model *model;
static struct error err;

static struct segments *open_with(struct disk *disk, const char *path, bool zstd)
{
    struct segments_settings settings = {.disk = disk,
        .folder = path,
        .segment_bytes = SEGMENT_BYTES,
        .ballast_bytes = BALLAST_BYTES,
        .zstd = zstd};
    struct segments *segments = segments_create(&settings, &err);
    assert_non_null(segments);
    segments_begin(segments, EPOCH, 1);
    struct frame_stream stream = {
        .stream = STREAM, .hash = 5, .key = span_text("json"), .about = span_text("shape of it")};
    assert_true(segments_describe(segments, &stream, &err));
    return segments;
}

static struct segments *open_model(void)
{
    return open_with(disk_model_disk(model), "spool", false);
}

static struct segments_batch batch_of(uint64_t id, struct span body)
{
    static const struct frame_source source = {{(const uint8_t *)"kernel", 6}, 70};
    return (struct segments_batch){.id = id,
        .stream = STREAM,
        .first_record = id * 2,
        .records = 2,
        .first_time = 100,
        .last_time = 200,
        .entered = 300,
        .sources = &source,
        .source_count = 1,
        .body = body};
}

static struct segment_place append(struct segments *segments, uint64_t id, struct span body)
{
    struct segments_batch batch = batch_of(id, body);
    struct segment_place place;
    assert_true(segments_append(segments, &batch, &place, &err));
    return place;
}

static void assert_batch(
    struct segments *segments, const struct segment_place *place, uint64_t id, struct span body)
{
    struct frame frame;
    struct buf room;
    buf_init(&room, ROOM);
    assert_true(segments_read(segments, place, &room, &frame, &err));
    assert_int_equal(frame.batch, id);
    assert_int_equal(frame.epoch, EPOCH);
    assert_int_equal(frame.stream, STREAM);
    assert_int_equal(frame.first_record, id * 2);
    assert_int_equal(frame.records, 2);
    assert_int_equal(frame.first_time, 100);
    assert_int_equal(frame.last_time, 200);
    assert_int_equal(frame.entered, 300);
    assert_false(frame.zstd);
    assert_true(span_equal(frame.body, body));
    struct frame_sources sources = frame_sources_begin(&frame);
    struct frame_source source;
    assert_true(frame_sources_next(&sources, &source));
    assert_span(source.session, "kernel");
    assert_int_equal(source.sequence, 70);
    assert_false(frame_sources_next(&sources, &source));
    buf_fini(&room);
}

static int make_model(void **state)
{
    (void)state;
    model = disk_model_create(1);
    return 0;
}

static int free_model(void **state)
{
    (void)state;
    bool closed = disk_model_open_files(model) == 0;
    disk_model_destroy(model);
    return closed ? 0 : -1;
}

static const char *path_of(uint64_t id)
{
    static char path[64];
    snprintf(path, sizeof(path), "spool/%016llx.seg", (unsigned long long)id);
    return path;
}

static void test_what_was_appended_is_read_back(void **state)
{
    (void)state;
    for (int zstd = 0; zstd < 2; zstd++) {
        char path[TEMP_FOLDER_BYTES + 16];
        snprintf(path, sizeof(path), "%s/%d/spool", folder, zstd);
        struct segments *segments = open_with(disk_system(), path, zstd);
        struct segment_place places[40];
        char body[512];
        memset(body, 'x', sizeof(body));
        for (uint64_t i = 1; i < 40; i++) {
            places[i] = append(segments, i, span_make(body, 10 * i));
            assert_true(i % 7 || segments_sync(segments, &err));
        }
        assert_true(segments_sync(segments, &err));
        for (uint64_t i = 1; i < 40; i++) {
            assert_batch(segments, &places[i], i, span_make(body, 10 * i));
        }
        if (!zstd) {
            assert_true(segments_count(segments) > 2);
        }
        segments_destroy(segments);
        /* And by the next run, which writes to another file. */
        segments = open_with(disk_system(), path, zstd);
        struct segment_place more = append(segments, 40, span_text("more"));
        assert_true(more.segment > places[39].segment);
        for (uint64_t i = 1; i < 40; i++) {
            assert_batch(segments, &places[i], i, span_make(body, 10 * i));
            assert_int_equal(places[i].raw_bytes, 10 * i);
        }
        segments_destroy(segments);
    }
}

static void test_packing_saves_room_and_says_so(void **state)
{
    (void)state;
    struct segments *segments = open_with(disk_model_disk(model), "spool", true);
    static uint8_t body[2000];
    struct segment_place place = append(segments, 1, span_make(body, sizeof(body)));
    assert_int_equal(place.raw_bytes, sizeof(body));
    assert_true(place.bytes < 300);
    assert_batch(segments, &place, 1, span_make(body, sizeof(body)));
    /* Room only for the frame, not for its body. */
    struct buf room;
    struct frame frame;
    buf_init(&room, sizeof(body));
    assert_false(segments_read(segments, &place, &room, &frame, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    buf_fini(&room);
    segments_destroy(segments);
}

static void test_files_are_ended_when_they_are_full(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    static uint8_t body[3 * SEGMENT_BYTES];
    uint64_t before = 0;
    for (uint64_t i = 1; i <= 30; i++) {
        struct segment_place place = append(segments, i, span_make(body, 100 * i));
        assert_true(place.segment >= before);
        before = place.segment;
    }
    /* One frame alone may be larger. */
    struct segment_place big = append(segments, 31, span_make(body, sizeof(body)));
    assert_true(big.segment > before);
    struct segment_place next = append(segments, 32, span_make(body, 1));
    assert_true(next.segment > big.segment);
    assert_batch(segments, &big, 31, span_make(body, sizeof(body)));
    assert_true(segments_sync(segments, &err));
    uint64_t sum = 0;
    struct segment_info info;
    for (size_t i = 0; segments_get(segments, i, &info); i++) {
        assert_int_equal(info.id, i + 1);
        assert_int_equal(info.bytes, disk_model_content(model, path_of(info.id)).size);
        /* The frame of the stream comes on top of the room that was asked for. */
        assert_true(info.bytes <= SEGMENT_BYTES + 200 || info.id == big.segment);
        sum += info.bytes;
    }
    struct segments_usage usage;
    segments_usage(segments, &usage);
    assert_int_equal(usage.bytes, sum);
    assert_int_equal(usage.files, segments_count(segments));
    assert_int_equal(usage.files, next.segment);
    segments_destroy(segments);
}

/* From the files alone: every file describes its streams before their batches. */
static void test_every_file_tells_what_its_streams_are(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    struct frame_stream other = {.stream = 8, .key = span_text("other")};
    assert_true(segments_describe(segments, &other, &err));
    static uint8_t body[500];
    for (uint64_t i = 1; i <= 20; i++) {
        struct segments_batch batch = batch_of(i, span_make(body, sizeof(body)));
        batch.stream = i % 3 ? STREAM : 8;
        struct segment_place place;
        assert_true(segments_append(segments, &batch, &place, &err));
    }
    struct segment_info info;
    uint64_t batches = 0;
    for (size_t i = 0; segments_get(segments, i, &info); i++) {
        struct segments_scan scan;
        struct frame frame;
        struct frame_extent extent;
        unsigned known = 0;
        assert_true(segments_scan_begin(segments, info.id, &scan, &err));
        while (frame_scan_next(&scan.scan, &frame, &extent, &err) == FRAME_FOUND) {
            struct frame_stream stream;
            unsigned bit = frame.stream == 8 ? 2 : 1;
            if (frame_read_stream(&frame, &stream, NULL)) {
                assert_int_equal(known & bit, 0); /* each once */
                known |= bit;
                assert_span(stream.key, bit == 2 ? "other" : "json");
                assert_span(stream.about, bit == 2 ? "" : "shape of it");
                assert_int_equal(stream.hash, bit == 2 ? 0 : 5);
            } else {
                assert_int_equal(frame.batch, ++batches);
                assert_true(known & bit);
            }
        }
        assert_int_equal(frame_scan_next(&scan.scan, &frame, &extent, &err), FRAME_END);
        segments_scan_end(&scan);
    }
    assert_int_equal(batches, 20);
    segments_destroy(segments);
}

static void test_a_batch_needs_a_stream_that_was_described(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    struct segments_batch batch = batch_of(1, span_text("x"));
    struct segment_place place;
    batch.stream = 9;
    assert_false(segments_append(segments, &batch, &place, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    struct frame_stream none = {.stream = 0};
    assert_false(segments_describe(segments, &none, &err));
    segments_destroy(segments);
}

static void test_what_is_beyond_the_limits_leaves_nothing_behind(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    struct segment_place place;
    struct segments_batch rows[4];
    for (size_t i = 0; i < 4; i++) {
        rows[i] = batch_of(1, span_text("x"));
    }
    struct frame_source nameless = {.sequence = 1};
    rows[0].id = 0;
    rows[1].records = FRAME_MAX_RECORDS + 1;
    rows[2].sources = &nameless;
    rows[3].body.size = (size_t)FRAME_MAX_BODY_BYTES + 1; /* never read */
    for (int before = 0; before < 2; before++) {
        for (size_t i = 0; i < 4; i++) {
            assert_false(segments_fits(&rows[i], &err));
            assert_int_equal(err.code, ERR_LIMIT);
            assert_false(segments_append(segments, &rows[i], &place, &err));
            assert_int_equal(err.code, ERR_LIMIT);
        }
        assert_int_equal(segments_count(segments), before);
        struct segment_place good = append(segments, 1, span_text("good"));
        assert_batch(segments, &good, 1, span_text("good"));
    }
    struct segments_batch fits = batch_of(1, span_text("x"));
    assert_true(segments_fits(&fits, &err));
    segments_destroy(segments);
}

static void test_a_new_epoch_begins_a_new_file(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    struct segment_place first = append(segments, 1, span_text("x"));
    segments_begin(segments, EPOCH, 0);
    assert_int_equal(append(segments, 2, span_text("x")).segment, first.segment);
    segments_begin(segments, EPOCH + 1, 9);
    struct segment_place other = append(segments, 3, span_text("x"));
    assert_int_equal(other.segment, 9);
    struct buf room;
    struct frame frame;
    buf_init(&room, ROOM);
    assert_true(segments_read(segments, &other, &room, &frame, &err));
    assert_int_equal(frame.epoch, EPOCH + 1);
    buf_fini(&room);
    assert_true(segments_sync(segments, &err));
    segments_destroy(segments);
}

static void test_no_number_of_a_file_comes_twice(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    assert_int_equal(append(segments, 1, span_text("x")).segment, 1);
    segments_destroy(segments);
    disk_model_put(model, path_of(2), span_text("somebody's"));
    disk_model_put(model, "spool/0000000000000004.SEG", span_text("no segment"));
    disk_model_put(model, "spool/5.seg", span_text("no segment"));
    disk_model_put(model, "spool/000000000000000g.seg", span_text("no segment"));
    disk_model_put(model, "spool/0000000000000006.seg.old", span_text("no segment"));
    segments = open_model();
    assert_int_equal(segments_count(segments), 2);
    assert_int_equal(append(segments, 2, span_text("x")).segment, 3);
    segments_begin(segments, EPOCH + 1, 10);
    disk_model_put(model, path_of(10), span_text("made meanwhile"));
    assert_int_equal(append(segments, 3, span_text("x")).segment, 11);
    assert_span(disk_model_content(model, path_of(2)), "somebody's");
    assert_span(disk_model_content(model, path_of(10)), "made meanwhile");
    segments_destroy(segments);
}

static void test_a_place_that_lies_is_damage(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    struct segment_place first = append(segments, 1, span_text("first"));
    struct segment_place second = append(segments, 2, span_text("second"));
    const struct segment_place rows[] = {
        {first.segment + 1, first.offset, first.bytes, first.raw_bytes},
        {first.segment, first.offset + 1, first.bytes, first.raw_bytes},
        {first.segment, second.offset + second.bytes, first.bytes, first.raw_bytes},
        {first.segment, UINT64_MAX, first.bytes, first.raw_bytes},
        {first.segment, first.offset, first.bytes - 1, first.raw_bytes},
        {first.segment, first.offset, first.bytes + 1, first.raw_bytes},
        {first.segment, first.offset, first.bytes, first.raw_bytes + 1},
        {first.segment, first.offset, 0, first.raw_bytes},
        {first.segment, first.offset, UINT32_MAX, first.raw_bytes},
        {first.segment, FRAME_SEGMENT_HEAD_BYTES, (uint32_t)first.offset - 40, 23}, /* the stream */
        {0, 0, 200, 1},
    };
    struct buf room;
    buf_init(&room, ROOM);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct frame frame;
        err.code = ERR_NONE;
        assert_false(segments_read(segments, &rows[i], &room, &frame, &err));
        assert_int_equal(err.code, ERR_FORMAT);
    }
    buf_fini(&room);
    segments_destroy(segments);
}

static void test_what_was_never_committed_is_cut_off(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    struct segment_place kept = append(segments, 1, span_text("kept"));
    append(segments, 2, span_text("never committed"));
    assert_true(segments_sync(segments, &err));
    segments_destroy(segments);
    segments = open_model();
    uint64_t end = kept.offset + kept.bytes;
    assert_true(segments_cut(segments, kept.segment, end, &err));
    assert_true(segments_cut(segments, kept.segment, end, &err));
    struct segment_info info;
    assert_true(segments_get(segments, 0, &info));
    assert_int_equal(info.bytes, end);
    assert_false(segments_cut(segments, kept.segment, end + 1, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    assert_false(segments_cut(segments, kept.segment + 1, 0, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    segments_destroy(segments);
    disk_model_restart(model, DISK_MODEL_LOSE_ALL); /* and it stays lost */
    assert_int_equal(disk_model_content(model, path_of(kept.segment)).size, end);
}

static void test_files_go_and_their_numbers_do_not_come_back(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    static uint8_t body[3000];
    struct segment_place places[5];
    for (uint64_t i = 1; i < 5; i++) {
        places[i] = append(segments, i, span_make(body, sizeof(body)));
        assert_int_equal(places[i].segment, i);
    }
    assert_true(segments_sync(segments, &err));
    assert_batch(segments, &places[2], 2, span_make(body, sizeof(body))); /* this opens it */
    assert_true(segments_unlink(segments, 2, &err));
    assert_true(segments_unlink(segments, 2, &err));
    assert_true(segments_unlink(segments, 4, &err)); /* the file that is being written */
    assert_int_equal(segments_count(segments), 2);
    struct buf room;
    struct frame frame;
    buf_init(&room, ROOM);
    assert_false(segments_read(segments, &places[2], &room, &frame, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    buf_fini(&room);
    assert_batch(segments, &places[3], 3, span_make(body, sizeof(body)));
    assert_int_equal(append(segments, 5, span_text("x")).segment, 5);
    segments_destroy(segments);
}

static void test_a_file_is_set_aside_under_another_name(void **state)
{
    (void)state;
    struct segments *segments = open_model();
    append(segments, 1, span_text("x"));
    assert_true(segments_sync(segments, &err));
    size_t size = disk_model_content(model, path_of(1)).size;
    assert_true(segments_set_aside(segments, 1, "damaged", "cut.seg", &err));
    assert_int_equal(segments_count(segments), 0);
    assert_false(segments_set_aside(segments, 1, "damaged", "again.seg", &err));
    disk_model_restart(model, DISK_MODEL_LOSE_ALL);
    assert_int_equal(disk_model_content(model, "damaged/cut.seg").size, size);
    assert_int_equal(disk_model_content(model, path_of(1)).size, 0);
    segments_destroy(segments);
}

static void test_the_ballast_comes_and_goes(void **state)
{
    (void)state;
    struct segments_usage usage;
    disk_model_set_capacity(model, 4 * BALLAST_BYTES);
    struct segments *segments = open_model();
    assert_false(segments_release_ballast(segments));
    assert_false(segments_keep_ballast(segments, 2 * BALLAST_BYTES + 1));
    assert_true(segments_keep_ballast(segments, 2 * BALLAST_BYTES));
    assert_true(segments_keep_ballast(segments, UINT64_MAX)); /* it is there already */
    assert_int_equal(disk_model_content(model, "spool/ballast").size, BALLAST_BYTES);
    segments_destroy(segments);
    segments = open_model();
    segments_usage(segments, &usage);
    assert_true(usage.ballast);
    assert_int_equal(usage.bytes, 0);
    assert_true(segments_release_ballast(segments));
    uint64_t left;
    assert_true(segments_free_bytes(segments, &left, &err));
    assert_int_equal(left, 4 * BALLAST_BYTES);
    segments_usage(segments, &usage);
    assert_false(usage.ballast);
    segments_destroy(segments);
    /* A reserve that a crash has left half made does not count. */
    disk_model_put(model, "spool/ballast", span_text("half"));
    segments = open_model();
    assert_false(segments_release_ballast(segments));
    assert_true(segments_keep_ballast(segments, 0));
    assert_int_equal(disk_model_content(model, "spool/ballast").size, BALLAST_BYTES);
    segments_destroy(segments);
}

/* Readers on threads of their own, more files than are kept open, and files that are removed
 * meanwhile. */
enum { READERS = 4, FILES = 24, ROUNDS = 200 };

struct reader_thread {
    struct segments *segments;
    const struct segment_place *places;
    struct span body;
    unsigned seed;
    bool good;
};

static void read_many(void *self)
{
    struct reader_thread *r = self;
    struct buf room;
    struct error why;
    buf_init(&room, ROOM);
    r->good = true;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct frame frame;
        uint64_t id = 1 + (r->seed * 7 + i * (r->seed + 3)) % FILES;
        bool read = segments_read(r->segments, &r->places[id], &room, &frame, &why);
        bool may_fail = id % 2 == 0; /* these files are removed */
        r->good = r->good && (read ? frame.batch == id && span_equal(frame.body, r->body)
                                   : may_fail && why.code == ERR_FORMAT);
    }
    buf_fini(&room);
}

static void test_many_read_while_files_come_and_go(void **state)
{
    (void)state;
    static uint8_t body[3000];
    struct segments *segments = open_model();
    struct segment_place places[FILES + 1];
    struct reader_thread readers[READERS];
    struct plat_thread *threads[READERS];
    for (uint64_t i = 1; i <= FILES; i++) {
        places[i] = append(segments, i, span_make(body, sizeof(body)));
    }
    assert_true(segments_sync(segments, &err));
    for (unsigned i = 0; i < READERS; i++) {
        readers[i] = (struct reader_thread){
            segments, places, span_make(body, sizeof(body)), i + 1, false};
        threads[i] = plat_thread_start("reader", read_many, &readers[i], &err);
        assert_non_null(threads[i]);
    }
    for (uint64_t i = 2; i <= FILES; i += 2) {
        assert_true(segments_unlink(segments, i, &err));
        append(segments, FILES + i, span_make(body, sizeof(body)));
    }
    for (unsigned i = 0; i < READERS; i++) {
        plat_thread_join(threads[i]);
        assert_true(readers[i].good);
    }
    segments_destroy(segments);
}

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "segments");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

#define with_model(test) cmocka_unit_test_setup_teardown(test, make_model, free_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_what_was_appended_is_read_back, make_folder, remove_folder),
        with_model(test_packing_saves_room_and_says_so),
        with_model(test_files_are_ended_when_they_are_full),
        with_model(test_every_file_tells_what_its_streams_are),
        with_model(test_a_batch_needs_a_stream_that_was_described),
        with_model(test_what_is_beyond_the_limits_leaves_nothing_behind),
        with_model(test_a_new_epoch_begins_a_new_file),
        with_model(test_no_number_of_a_file_comes_twice),
        with_model(test_a_place_that_lies_is_damage),
        with_model(test_what_was_never_committed_is_cut_off),
        with_model(test_files_go_and_their_numbers_do_not_come_back),
        with_model(test_a_file_is_set_aside_under_another_name),
        with_model(test_the_ballast_comes_and_goes),
        with_model(test_many_read_while_files_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
