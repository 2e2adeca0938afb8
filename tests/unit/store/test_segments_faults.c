#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/disk/segments.h"
#include "support/disk_model.h"

/*
 * Segment files on a disk that fails. One rule holds in the end: batches that a good segments_sync
 * has promised are there, others are right or missing, and there are neither files nor bytes that
 * the catalogue does not know.
 */
enum { SEGMENT_BYTES = 4096, STREAM = 3, ROOM = 1 << 20, MOST_BATCHES = 400, MOST_BODY = 1500 };

static struct disk_model *model;
static struct error err;

static struct segments *open_segments(uint64_t first_id, bool zstd)
{
    struct segments_settings settings = {.disk = disk_model_disk(model),
        .folder = "spool",
        .segment_bytes = SEGMENT_BYTES,
        .zstd = zstd};
    struct segments *segments = segments_create(&settings, &err);
    if (!segments) {
        return NULL;
    }
    segments_begin(segments, 77, first_id);
    struct frame_stream stream = {.stream = STREAM, .key = span_text("json")};
    assert_true(segments_describe(segments, &stream, &err));
    return segments;
}

/* The body of a batch follows from its number. */
static struct span body_of(uint64_t id)
{
    static uint8_t bytes[MOST_BODY];
    uint32_t x = (uint32_t)id * 2654435761u;
    size_t size = 1 + x % MOST_BODY;
    for (size_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(id % 2 ? x >> 24 : x >> 30);
    }
    return span_make(bytes, size);
}

static bool append(struct segments *segments, uint64_t id, struct segment_place *ret_place)
{
    struct frame_source source = {span_text("kernel"), id};
    struct segments_batch batch = {.id = id,
        .stream = STREAM,
        .first_record = id,
        .records = 1,
        .sources = &source,
        .source_count = 1,
        .body = body_of(id)};
    return segments_append(segments, &batch, ret_place, &err);
}

static struct segment_place must_append(struct segments *segments, uint64_t id)
{
    struct segment_place place;
    assert_true(append(segments, id, &place));
    return place;
}

/* True: the batch is there. False: it is damaged. Anything else is a failure of the test. */
static bool is_there(struct segments *segments, const struct segment_place *place, uint64_t id)
{
    struct buf room;
    struct frame frame;
    buf_init(&room, ROOM);
    bool there = segments_read(segments, place, &room, &frame, &err);
    assert_true(there || err.code == ERR_FORMAT);
    if (there) {
        assert_int_equal(frame.batch, id);
        assert_true(span_equal(frame.body, body_of(id)));
    }
    buf_fini(&room);
    return there;
}

static void fail_next(unsigned operations, uint64_t times)
{
    disk_model_fail(model, &(struct disk_model_fault){.operations = operations, .times = times});
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

static void test_what_a_failed_sync_voids_is_appended_anew_elsewhere(void **state)
{
    (void)state;
    /* Cutting back may fail, too. */
    for (int uncut = 0; uncut < 2; uncut++) {
        struct segments *segments = open_segments(1, false);
        struct segment_place places[10];
        places[1] = must_append(segments, 1);
        assert_true(segments_sync(segments, &err));
        struct segment_place void_place = must_append(segments, 2);
        fail_next(DISK_MODEL_SYNC | (uncut ? DISK_MODEL_TRUNCATE : 0), uncut ? 2 : 1);
        assert_false(segments_sync(segments, &err));
        assert_int_equal(err.code, ERR_IO);
        disk_model_heal(model);
        places[2] = must_append(segments, 2);
        assert_true(places[2].segment > void_place.segment);
        assert_true(segments_sync(segments, &err));
        if (!uncut) {
            assert_false(is_there(segments, &void_place, 2));
        }
        segments_destroy(segments);
        disk_model_restart(model, DISK_MODEL_LOSE_ALL);
        segments = open_segments(1, false);
        assert_true(is_there(segments, &places[1], 1));
        assert_true(is_there(segments, &places[2], 2));
        segments_destroy(segments);
    }
}

/* Several files are written between two syncs; the last one's sync fails. */
static void test_a_failed_sync_voids_all_files_since_the_last_good_one(void **state)
{
    (void)state;
    struct segments *segments = open_segments(1, false);
    struct segment_place places[40];
    places[1] = must_append(segments, 1);
    assert_true(segments_sync(segments, &err));
    for (uint64_t i = 2; i < 20; i++) {
        places[i] = must_append(segments, i);
    }
    assert_true(places[19].segment > 2);
    disk_model_fail(
        model, &(struct disk_model_fault){
                   .operations = DISK_MODEL_SYNC, .skip = places[19].segment - 1, .times = 1});
    assert_false(segments_sync(segments, &err));
    assert_int_equal(segments_count(segments), 1);
    for (uint64_t i = 2; i < 20; i++) {
        assert_false(is_there(segments, &places[i], i));
        places[i] = must_append(segments, i);
    }
    assert_true(segments_sync(segments, &err));
    segments_destroy(segments);
    disk_model_restart(model, DISK_MODEL_LOSE_ALL);
    segments = open_segments(1, false);
    for (uint64_t i = 1; i < 20; i++) {
        assert_true(is_there(segments, &places[i], i));
    }
    segments_destroy(segments);
}

static void test_a_sync_that_fails_for_ever_leaves_no_heap_of_files(void **state)
{
    (void)state;
    static const unsigned operations[] = {DISK_MODEL_SYNC, DISK_MODEL_SYNC_FOLDER};
    for (size_t i = 0; i < 2; i++) {
        struct segments *segments = open_segments(1, false);
        size_t before = segments_count(segments);
        fail_next(operations[i], 0);
        for (uint64_t round = 0; round < 20; round++) {
            must_append(segments, 1);
            assert_false(segments_sync(segments, &err));
        }
        assert_int_equal(segments_count(segments), before);
        disk_model_heal(model);
        struct segment_place place = must_append(segments, 1);
        assert_true(segments_sync(segments, &err));
        assert_true(is_there(segments, &place, 1));
        segments_destroy(segments);
    }
}

/* With every size of the disk. */
static void test_a_full_disk_leaves_whole_frames_and_takes_more_later(void **state)
{
    (void)state;
    for (uint64_t capacity = 0; capacity < 6000; capacity += 61) {
        for (int uncut = 0; uncut < 2; uncut++) {
            disk_model_destroy(model);
            model = disk_model_create(capacity);
            struct segments *segments = open_segments(1, false);
            struct segment_place places[MOST_BATCHES];
            disk_model_set_capacity(model, capacity);
            if (uncut) {
                fail_next(DISK_MODEL_TRUNCATE, 1);
            }
            uint64_t id = 1;
            while (append(segments, id, &places[id])) {
                id++;
            }
            assert_int_equal(err.code, ERR_FULL);
            if (!uncut) {
                assert_false(append(segments, id, &places[id])); /* and again */
            }
            disk_model_set_capacity(model, UINT64_MAX);
            places[id] = must_append(segments, id);
            assert_true(segments_sync(segments, &err));
            segments_destroy(segments);
            disk_model_restart(model, DISK_MODEL_LOSE_ALL);
            segments = open_segments(1, false);
            for (uint64_t i = 1; i <= id; i++) {
                assert_true(is_there(segments, &places[i], i));
            }
            segments_destroy(segments);
        }
    }
}

static void test_an_append_that_fails_anywhere_can_be_repeated(void **state)
{
    (void)state;
    static const unsigned operations[] = {DISK_MODEL_MAKE, DISK_MODEL_FIND, DISK_MODEL_APPEND,
        DISK_MODEL_APPEND | DISK_MODEL_TRUNCATE, DISK_MODEL_APPEND | DISK_MODEL_UNLINK,
        DISK_MODEL_CHANGES};
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        struct segments *segments = open_segments(1, false);
        struct segment_place places[10];
        unsigned failed = 0;
        for (uint64_t id = 1; id < 10; id++) {
            fail_next(operations[i], 0);
            failed += !append(segments, id, &places[id]);
            disk_model_heal(model);
            places[id] = must_append(segments, id);
        }
        assert_true(failed > 0);
        assert_true(segments_sync(segments, &err));
        for (uint64_t id = 1; id < 10; id++) {
            assert_true(is_there(segments, &places[id], id));
        }
        segments_destroy(segments);
    }
}

static void a_file_that_another_program_removes_is_noticed(void **state)
{
    (void)state;
    struct segments *segments = open_segments(1, false);
    struct segment_place first = must_append(segments, 1);
    assert_true(segments_sync(segments, &err));
    must_append(segments, 2);
    assert_true(disk_model_remove(model, "spool/0000000000000001.seg"));
    assert_false(segments_sync(segments, &err));
    assert_int_equal(err.code, ERR_MISSING);
    struct segment_place second = must_append(segments, 2);
    assert_int_equal(second.segment, 2);
    assert_true(segments_sync(segments, &err));
    assert_true(is_there(segments, &second, 2));
    assert_false(is_there(segments, &first, 1));
    assert_true(segments_unlink(segments, 1, &err));
    /* Or replaces it by another one. */
    must_append(segments, 3);
    disk_model_put(model, "spool/0000000000000002.seg", span_text("short"));
    assert_false(segments_sync(segments, &err));
    assert_int_equal(err.code, ERR_DAMAGED);
    segments_destroy(segments);
}

static void test_a_disk_that_has_gone_is_no_damage(void **state)
{
    (void)state;
    struct segments *segments = open_segments(1, false);
    struct segment_place place = must_append(segments, 1);
    struct buf room;
    struct frame frame;
    buf_init(&room, ROOM);
    assert_true(segments_sync(segments, &err));
    disk_model_hide(model, true);
    assert_false(segments_read(segments, &place, &room, &frame, &err));
    assert_int_equal(err.code, ERR_IO);
    disk_model_hide(model, false);
    fail_next(DISK_MODEL_READ, 1);
    assert_false(segments_read(segments, &place, &room, &frame, &err));
    assert_int_equal(err.code, ERR_IO);
    disk_model_heal(model);
    disk_model_fail(
        model, &(struct disk_model_fault){.operations = DISK_MODEL_READ, .short_reads = true});
    assert_false(segments_read(segments, &place, &room, &frame, &err));
    assert_int_equal(err.code, ERR_FORMAT);
    disk_model_heal(model);
    assert_true(is_there(segments, &place, 1));
    buf_fini(&room);
    segments_destroy(segments);
}

static void test_a_file_that_cannot_be_removed_stays_known(void **state)
{
    (void)state;
    struct segments *segments = open_segments(1, false);
    must_append(segments, 1);
    assert_true(segments_sync(segments, &err));
    fail_next(DISK_MODEL_UNLINK, 3);
    for (int i = 0; i < 3; i++) {
        assert_false(segments_unlink(segments, 1, &err));
        assert_int_equal(segments_count(segments), 1);
    }
    assert_true(segments_unlink(segments, 1, &err));
    assert_int_equal(segments_count(segments), 0);
    segments_destroy(segments);
}

static void test_what_a_disk_that_takes_no_change_left_is_removed_later(void **state)
{
    (void)state;
    struct segments *segments = open_segments(1, false);
    must_append(segments, 1);
    fail_next(DISK_MODEL_CHANGES, 0);
    assert_false(segments_sync(segments, &err));
    assert_int_equal(segments_count(segments), 1);
    segments_remove_void(segments);
    assert_int_equal(segments_count(segments), 1);
    disk_model_heal(model);
    struct segment_place place = must_append(segments, 1);
    assert_true(segments_sync(segments, &err));
    assert_int_equal(segments_count(segments), 2);
    segments_remove_void(segments);
    assert_int_equal(segments_count(segments), 1);
    assert_true(is_there(segments, &place, 1));
    must_append(segments, 2);
    assert_true(segments_sync(segments, &err));
    segments_destroy(segments);
    disk_model_restart(model, DISK_MODEL_LOSE_ALL);
    segments = open_segments(1, false);
    assert_int_equal(segments_count(segments), 1);
    segments_destroy(segments);
}

static void test_a_folder_that_cannot_be_read_is_told(void **state)
{
    (void)state;
    segments_destroy(open_segments(1, false));
    static const unsigned operations[] = {DISK_MODEL_LIST, DISK_MODEL_MAKE_FOLDER};
    for (size_t i = 0; i < 2; i++) {
        fail_next(operations[i], 1);
        assert_null(open_segments(1, false));
        assert_int_equal(err.code, ERR_IO);
        disk_model_heal(model);
    }
    disk_model_put(model, "spool/0000000000000001.seg", span_text("x"));
    fail_next(DISK_MODEL_FIND, 1);
    assert_null(open_segments(1, false));
    assert_int_equal(err.code, ERR_IO);
}

/* ---- random operations ----------------------------------------------------------------------- */

enum batch_state { NONE, PENDING, DURABLE };

struct world {
    struct segments *segments;
    struct segment_place places[MOST_BATCHES + 1];
    enum batch_state states[MOST_BATCHES + 1];
    uint64_t last;
    uint64_t top_segment;
    uint32_t random;
    bool zstd;
};

static uint32_t any(struct world *w, uint32_t below)
{
    w->random = w->random * 1664525 + 1013904223;
    return (w->random >> 8) % below;
}

static void settle(struct world *w, enum batch_state from, enum batch_state to, uint64_t segment)
{
    for (uint64_t i = 1; i <= w->last; i++) {
        if (w->states[i] == from && (segment == 0 || w->places[i].segment == segment)) {
            w->states[i] = to;
        }
    }
}

static void check_durable(struct world *w)
{
    for (uint64_t i = 1; i <= w->last; i++) {
        if (w->states[i] == DURABLE) {
            assert_true(is_there(w->segments, &w->places[i], i));
        }
    }
}

/* Where the durable batches of a segment end; 0 if it has none. */
static uint64_t committed_end(const struct world *w, uint64_t segment)
{
    uint64_t end = 0;
    for (uint64_t i = 1; i <= w->last; i++) {
        uint64_t behind = w->places[i].offset + w->places[i].bytes;
        if (w->states[i] == DURABLE && w->places[i].segment == segment && behind > end) {
            end = behind;
        }
    }
    return end;
}

/* A crash, and everything that the store does at the next start. */
static void crash(struct world *w)
{
    segments_destroy(w->segments);
    disk_model_heal(model);
    disk_model_restart(model, (enum disk_model_loss)any(w, 3));
    w->segments = open_segments(w->top_segment + 1, w->zstd);
    assert_non_null(w->segments);
    for (uint64_t i = 1; i <= w->last; i++) {
        if (w->states[i] == PENDING) {
            (void)is_there(w->segments, &w->places[i], i); /* right, or not there */
            w->states[i] = NONE;
        }
    }
    struct segment_info info;
    for (size_t i = segments_count(w->segments); i-- > 0;) {
        assert_true(segments_get(w->segments, i, &info));
        uint64_t end = committed_end(w, info.id);
        if (end == 0) {
            assert_true(segments_unlink(w->segments, info.id, &err));
        } else {
            assert_true(segments_cut(w->segments, info.id, end, &err));
        }
    }
    check_durable(w);
}

static void step(struct world *w)
{
    static const unsigned faults[] = {DISK_MODEL_MAKE, DISK_MODEL_APPEND, DISK_MODEL_TRUNCATE,
        DISK_MODEL_SYNC, DISK_MODEL_UNLINK, DISK_MODEL_SYNC_FOLDER, DISK_MODEL_CHANGES,
        DISK_MODEL_SYNC | DISK_MODEL_TRUNCATE, DISK_MODEL_APPEND | DISK_MODEL_TRUNCATE};
    uint32_t what = any(w, 100);
    if (what < 60 && w->last < MOST_BATCHES) {
        uint64_t id = w->last + 1;
        if (append(w->segments, id, &w->places[id])) {
            w->last = id;
            w->states[id] = PENDING;
            if (w->places[id].segment > w->top_segment) {
                w->top_segment = w->places[id].segment;
            }
        }
    } else if (what < 80) {
        settle(w, PENDING, segments_sync(w->segments, &err) ? DURABLE : NONE, 0);
    } else if (what < 86 && w->last) {
        uint64_t segment = w->places[1 + any(w, (uint32_t)w->last)].segment;
        settle(w, PENDING, NONE, segment);
        settle(w, DURABLE, NONE, segment);
        (void)segments_unlink(w->segments, segment, &err);
    } else if (what < 91) {
        disk_model_heal(model);
        fail_next(faults[any(w, sizeof(faults) / sizeof(faults[0]))], 1 + any(w, 3));
    } else if (what < 94) {
        disk_model_heal(model);
    } else if (what < 97) {
        disk_model_power_off_at(model, disk_model_changes(model) + any(w, 12));
    } else if (!disk_model_is_off(model)) {
        disk_model_set_capacity(model, any(w, 3) ? UINT64_MAX : any(w, 40000));
    }
    if (disk_model_is_off(model)) {
        disk_model_set_capacity(model, UINT64_MAX);
        crash(w);
    }
}

static void test_what_was_promised_is_there_whatever_happens(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 150; seed++) {
        struct world *w = calloc(1, sizeof(*w));
        assert_non_null(w);
        model = disk_model_create(seed);
        disk_model_hold_back(model, seed / 2 % 2);
        w->random = seed;
        w->zstd = seed % 2;
        w->segments = open_segments(1, w->zstd);
        assert_non_null(w->segments);
        for (unsigned i = 0; i < 600; i++) {
            step(w);
        }
        disk_model_heal(model);
        check_durable(w);
        crash(w);
        segments_destroy(w->segments);
        assert_int_equal(disk_model_open_files(model), 0);
        disk_model_destroy(model);
        free(w);
    }
}

#define with_model(test) cmocka_unit_test_setup_teardown(test, make_model, free_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_model(test_what_a_failed_sync_voids_is_appended_anew_elsewhere),
        with_model(test_a_failed_sync_voids_all_files_since_the_last_good_one),
        with_model(test_a_sync_that_fails_for_ever_leaves_no_heap_of_files),
        with_model(test_a_full_disk_leaves_whole_frames_and_takes_more_later),
        with_model(test_an_append_that_fails_anywhere_can_be_repeated),
        with_model(a_file_that_another_program_removes_is_noticed),
        with_model(test_a_disk_that_has_gone_is_no_damage),
        with_model(test_a_file_that_cannot_be_removed_stays_known),
        with_model(test_what_a_disk_that_takes_no_change_left_is_removed_later),
        with_model(test_a_folder_that_cannot_be_read_is_told),
        cmocka_unit_test(test_what_was_promised_is_there_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
