#include "pipeline/batch/batch_codec.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "support/test.h"

static const char *const sessions[] = {"kernel", "security", ""};
static const struct batch_codec codec = {.sessions = sessions, .session_count = 3, .other = 2};

static void add(struct batch *batch, const char *text)
{
    buf_add_text(&batch->piece.bytes, text);
    assert_true(piece_end_record(&batch->piece, 1));
}

/* Three records of two sessions and two files, routed by one template. */
static struct batch *make_batch(void)
{
    struct batch *batch = batch_create(1, NULL, 0);
    struct record_position position = {
        .buffer_offset = UINT64_C(0x123456789a), .record_offset = 80};
    assert_non_null(batch);
    for (int i = 0; i < 3; i++) {
        static const char *const texts[] = {"first\n", "2nd\n", "the third\n"};
        static const char *const routes[] = {"logs-a", "logs-b", "logs-a"};
        position.file_id[0] = i < 2 ? 7 : 9;
        position.record_offset += 8;
        assert_true(piece_add_position(&batch->piece, &position));
        assert_true(routes_add(&batch->piece.routes[0], span_text(routes[i])));
        add(batch, texts[i]);
        uint32_t session = i < 2 ? 1 : 0;
        assert_true(batch_mark(batch, &(struct batch_segment){.session = session,
                                          .cut = i == 2,
                                          .last_sequence = 100 + (uint64_t)i,
                                          .times = {.from = 50 + (uint64_t)i, .to = 60}}));
    }
    return batch;
}

/* The body in memory of its exact size. */
static struct buf body_of(const struct batch_codec *with, struct batch *batch)
{
    struct span body;
    struct error err = {0};
    struct buf copy;
    assert_true(batch_codec_write(with, batch, &body, &err));
    buf_init(&copy, BATCH_CODEC_MAX_BYTES);
    uint8_t *data = malloc(body.size);
    assert_non_null(data);
    memcpy(data, body.data, body.size);
    buf_adopt(&copy, data, body.size);
    copy.size = body.size;
    return copy;
}

static struct batch *read_body(const struct batch_codec *with, struct buf *body)
{
    struct error err = {0};
    struct batch *batch = batch_codec_read(with, body, buf_span(body), &err);
    assert_string_equal(err.text, "");
    assert_non_null(batch);
    assert_null(body->data);
    return batch;
}

static void a_batch_reads_back_as_it_was(void **state)
{
    (void)state;
    struct batch *batch = make_batch();
    struct buf body = body_of(&codec, batch);
    struct batch *back = read_body(&codec, &body);
    const struct piece *piece = &back->piece;
    assert_span(buf_span(&piece->bytes), "first\n2nd\nthe third\n");
    assert_int_equal(piece->count, 3);
    assert_int_equal(piece->ends[0], 6);
    assert_int_equal(piece->ends[2], 20);
    assert_false(back->own);
    assert_int_equal(back->segment_count, 2);
    assert_int_equal(back->segments[0].session, 1);
    assert_int_equal(back->segments[0].last_sequence, 101);
    assert_int_equal(back->segments[0].record_end, 2);
    assert_int_equal(back->segments[0].times.from, 50);
    assert_int_equal(back->segments[0].times.to, 60);
    assert_int_equal(back->segments[1].session, 0);
    assert_true(back->segments[1].cut);
    assert_int_equal(piece->route_count, 1);
    const struct routes *routes = &piece->routes[0];
    assert_span(routes->names[routes->indexes[0]], "logs-a");
    assert_span(routes->names[routes->indexes[1]], "logs-b");
    assert_int_equal(routes->indexes[2], routes->indexes[0]);
    assert_int_equal(piece->position_count, 3);
    assert_int_equal(piece->positions[1].file_id[0], 7);
    assert_int_equal(piece->positions[2].file_id[0], 9);
    assert_int_equal(piece->positions[2].buffer_offset, UINT64_C(0x123456789a));
    assert_int_equal(piece->positions[2].record_offset, 104);
    batch_destroy(batch);
    batch_destroy(back);
}

static void writing_leaves_the_batch_as_it_was(void **state)
{
    (void)state;
    struct batch *batch = make_batch();
    struct buf body = body_of(&codec, batch);
    assert_span(buf_span(&batch->piece.bytes), "first\n2nd\nthe third\n");
    struct buf again = body_of(&codec, batch);
    assert_true(span_equal(buf_span(&body), buf_span(&again)));
    buf_fini(&body);
    buf_fini(&again);
    batch_destroy(batch);
}

static void sessions_are_found_by_their_names(void **state)
{
    (void)state;
    static const char *const now[] = {"security", "new", ""};
    const struct batch_codec later = {.sessions = now, .session_count = 3, .other = 2};
    struct batch *batch = make_batch();
    struct buf body = body_of(&codec, batch);
    struct batch *back = read_body(&later, &body);
    assert_int_equal(back->segments[0].session, 0);
    assert_int_equal(back->segments[1].session, 2); /* "kernel" is gone */
    batch_destroy(batch);
    batch_destroy(back);
}

/* As in a file: with bytes before it and after it. */
static void a_body_may_lie_inside_its_memory(void **state)
{
    (void)state;
    struct error err = {0};
    struct span body;
    struct buf room;
    struct batch *batch = make_batch();
    assert_true(batch_codec_write(&codec, batch, &body, &err));
    buf_init(&room, BATCH_CODEC_MAX_BYTES);
    buf_add_text(&room, "head");
    buf_add_span(&room, body);
    buf_add_text(&room, "tail");
    assert_false(room.failed);
    struct span inside = span_make(room.data + 4, body.size);
    struct batch *back = batch_codec_read(&codec, &room, inside, &err);
    assert_non_null(back);
    assert_null(room.data);
    assert_span(buf_span(&back->piece.bytes), "first\n2nd\nthe third\n");
    batch_destroy(batch);
    batch_destroy(back);
}

static void a_batch_of_the_agent_itself_needs_no_segments(void **state)
{
    (void)state;
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    batch->own = true;
    add(batch, "status\n");
    struct buf body = body_of(&codec, batch);
    struct batch *back = read_body(&codec, &body);
    assert_true(back->own);
    assert_int_equal(back->segment_count, 0);
    assert_null(back->piece.positions);
    batch_destroy(batch);
    batch_destroy(back);
}

/* Neither a prefix nor a suffix is a batch, and none is read beyond its end. */
static void a_body_that_is_cut_anywhere_is_damaged(void **state)
{
    (void)state;
    struct batch *batch = make_batch();
    struct buf whole = body_of(&codec, batch);
    for (size_t size = 0; size < whole.size; size++) {
        for (int tail = 0; tail < 2; tail++) {
            struct error err = {0};
            struct buf part;
            buf_init(&part, BATCH_CODEC_MAX_BYTES);
            uint8_t *data = malloc(size ? size : 1);
            assert_non_null(data);
            memcpy(data, whole.data + (tail ? whole.size - size : 0), size);
            buf_adopt(&part, data, size);
            part.size = size;
            assert_null(batch_codec_read(&codec, &part, buf_span(&part), &err));
            assert_true(err.code == ERR_FORMAT || err.code == ERR_UNSUPPORTED);
            assert_int_equal(part.size, size);
            buf_fini(&part);
        }
    }
    buf_fini(&whole);
    batch_destroy(batch);
}

/*
 * Each case changes a number of the body to an impossible value. The tail begins at 20: flags, then
 * records (21) and their ends (25, 29, 33), sessions (37; u16 and name: 41, 43 to 51; 51, 53 to
 * 59), segments (59; the first 63 to 96, its record end at 76; the second to 129, its record end at
 * 109).
 */
static void numbers_that_cannot_be_are_damage(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint32_t value;
    } cases[] = {
        {20, 0xff},            /* flags */
        {21, 4},               /* more records */
        {21, UINT32_MAX},      /* far more */
        {25, 11},              /* ends that go back */
        {33, 19},              /* bytes that belong to no record */
        {33, 21},              /* a record beyond the bytes */
        {37, UINT32_MAX},      /* sessions */
        {59, 0x10000000},      /* segments */
        {63, 2},               /* a session that has no name */
        {76, 4},               /* a segment beyond the records */
        {109, 1},              /* one that ends before it begins */
        {109, 2},              /* records without a segment */
        {129, 257},            /* templates */
        {133, 65537},          /* routes */
        {137, UINT32_MAX - 3}, /* a name */
        {157, 2},              /* the route of a record: names are at 137 to 157 */
        {169, 0x7fffffff},     /* files */
        {205, 3},              /* the file of a record: files are at 173 to 205 */
    };
    struct batch *batch = make_batch();
    struct buf whole = body_of(&codec, batch);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct error err = {0};
        uint8_t before[4];
        memcpy(before, whole.data + cases[i].at, 4);
        store_le32(whole.data + cases[i].at, cases[i].value);
        if (batch_codec_read(&codec, &whole, buf_span(&whole), &err)) {
            fail_msg("case %zu was read", i);
        }
        assert_int_equal(err.code, ERR_FORMAT);
        memcpy(whole.data + cases[i].at, before, 4);
    }
    struct batch *back = read_body(&codec, &whole);
    batch_destroy(back);
    batch_destroy(batch);
}

static void a_later_version_is_not_read(void **state)
{
    (void)state;
    struct error err = {0};
    struct batch *batch = make_batch();
    struct buf whole = body_of(&codec, batch);
    store_le32(whole.data + whole.size - 4, BATCH_CODEC_VERSION + 1);
    assert_null(batch_codec_read(&codec, &whole, buf_span(&whole), &err));
    assert_int_equal(err.code, ERR_UNSUPPORTED);
    buf_fini(&whole);
    batch_destroy(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_reads_back_as_it_was),
        cmocka_unit_test(writing_leaves_the_batch_as_it_was),
        cmocka_unit_test(sessions_are_found_by_their_names),
        cmocka_unit_test(a_body_may_lie_inside_its_memory),
        cmocka_unit_test(a_batch_of_the_agent_itself_needs_no_segments),
        cmocka_unit_test(a_body_that_is_cut_anywhere_is_damaged),
        cmocka_unit_test(numbers_that_cannot_be_are_damage),
        cmocka_unit_test(a_later_version_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
