#include "pipeline/batch/piece.h"

#include <stdio.h>

#include "support/test.h"

static void add(struct piece *piece, const char *text, const char *route, uint64_t sequence)
{
    buf_add_text(&piece->bytes, text);
    for (size_t i = 0; i < piece->route_count; i++) {
        assert_true(routes_add(&piece->routes[i], span_text(route)));
    }
    assert_true(piece_end_record(piece, sequence));
}

static struct span route_of(const struct piece *piece, size_t record)
{
    const struct routes *routes = &piece->routes[0];
    return routes->names[routes->indexes[record]];
}

static void records_know_where_they_end_and_go(void **state)
{
    (void)state;
    struct piece piece;
    assert_true(piece_init(&piece, 1, NULL));
    add(&piece, "one", "x", 5);
    add(&piece, "", "y", 7);
    add(&piece, "three", "x", 8);
    assert_int_equal(piece.count, 3);
    assert_span(buf_span(&piece.bytes), "onethree");
    assert_int_equal(piece.ends[0], 3);
    assert_int_equal(piece.ends[1], 3);
    assert_int_equal(piece.ends[2], 8);
    assert_int_equal(piece.sequences[1], 7);
    assert_int_equal(piece.routes[0].name_count, 2);
    assert_span(route_of(&piece, 1), "y");
    assert_span(route_of(&piece, 2), "x");
    piece_fini(&piece);
}

static void a_part_of_a_piece_is_appended_with_its_routes(void **state)
{
    (void)state;
    struct piece from;
    struct piece to;
    assert_true(piece_init(&from, 1, NULL));
    assert_true(piece_init(&to, 1, NULL));
    add(&to, "zero", "c", 1);
    add(&from, "one", "a", 2);
    add(&from, "two", "b", 3);
    add(&from, "three", "c", 4);
    assert_true(piece_append(&to, &from, 1, 2));
    assert_span(buf_span(&to.bytes), "zerotwothree");
    assert_int_equal(to.count, 3);
    assert_int_equal(to.ends[1], 7);
    assert_int_equal(to.ends[2], 12);
    assert_span(route_of(&to, 1), "b");
    assert_span(route_of(&to, 2), "c");
    assert_int_equal(to.routes[0].name_count, 2);
    piece_trim(&to);
    assert_int_equal(to.bytes.capacity, 12);
    piece_fini(&from);
    piece_fini(&to);
}

static void a_piece_keeps_what_is_in_it_when_its_block_changes(void **state)
{
    (void)state;
    enum { ROOM = 400 * 1024 };
    struct block_pool *pool = block_pool_create(2 * ROOM);
    struct piece piece;
    assert_true(piece_init(&piece, 0, pool));
    add(&piece, "one", NULL, 1);
    piece_reserve(&piece, ROOM);
    const uint8_t *block = piece.bytes.data;
    assert_true(piece.bytes.capacity >= ROOM);
    add(&piece, "two", NULL, 2);
    piece_reserve(&piece, ROOM / 2); /* this much it has */
    assert_ptr_equal(piece.bytes.data, block);
    piece_trim(&piece);
    assert_span(buf_span(&piece.bytes), "onetwo");
    assert_int_equal(piece.bytes.capacity, 6);
    /* The block is free for the next piece. */
    struct piece next;
    assert_true(piece_init(&next, 0, pool));
    piece_reserve(&next, ROOM);
    assert_ptr_equal(next.bytes.data, block);
    piece_fini(&piece);
    piece_fini(&next);
    block_pool_destroy(pool);
}

/* A stream may have live events and events of files. */
static void positions_follow_their_records_and_are_unknown_for_others(void **state)
{
    (void)state;
    static const struct record_position at = {.file_id = {1}, .record_offset = 7};
    static const struct record_position unknown;
    struct piece live;
    struct piece file;
    struct piece both;
    assert_true(
        piece_init(&live, 0, NULL) && piece_init(&file, 0, NULL) && piece_init(&both, 0, NULL));
    for (uint64_t i = 1; i < 100; i++) {
        add(&live, "live", NULL, i);
        if (i == 2) {
            assert_true(piece_add_position(&file, &at));
        }
        add(&file, "file", NULL, i);
    }
    assert_null(live.positions);
    assert_memory_equal(&file.positions[0], &unknown, sizeof(unknown));
    assert_memory_equal(&file.positions[1], &at, sizeof(at));
    assert_memory_equal(&file.positions[98], &unknown, sizeof(unknown));
    assert_true(piece_append(&both, &live, 0, 99));
    assert_null(both.positions);
    assert_true(piece_append(&both, &file, 1, 98));
    assert_true(piece_append(&both, &live, 5, 1));
    assert_int_equal(both.count, 198);
    for (size_t i = 0; i < both.count; i++) {
        assert_memory_equal(&both.positions[i], i == 99 ? &at : &unknown, sizeof(at));
    }
    assert_true(piece_add_position(&file, &at));
    piece_take_back(&file, piece_start(&file, file.count));
    add(&file, "live", NULL, 100);
    assert_memory_equal(&file.positions[99], &unknown, sizeof(unknown));
    piece_fini(&live);
    piece_fini(&file);
    piece_fini(&both);
}

static void what_does_not_fit_leaves_a_piece_as_it_was(void **state)
{
    (void)state;
    struct piece from;
    struct piece to;
    assert_true(piece_init(&from, 1, NULL));
    assert_true(piece_init(&to, 1, NULL));
    add(&to, "zero", "c", 1);
    char text[1000] = "";
    memset(text, 'x', sizeof(text) - 1);
    add(&from, text, "a", 2);
    to.bytes.max = 500;
    assert_false(piece_append(&to, &from, 0, 1));
    assert_span(buf_span(&to.bytes), "zero");
    assert_int_equal(to.count, 1);
    assert_int_equal(to.routes[0].count, 1);
    assert_false(to.bytes.failed);
    piece_fini(&from);
    piece_fini(&to);
}

static void a_record_can_be_taken_back_before_its_end(void **state)
{
    (void)state;
    struct piece piece;
    assert_true(piece_init(&piece, 1, NULL));
    add(&piece, "one", "a", 1);
    buf_add_text(&piece.bytes, "half of");
    assert_true(routes_add(&piece.routes[0], span_text("b")));
    piece_take_back(&piece, piece_start(&piece, piece.count));
    add(&piece, "two", "c", 2);
    assert_span(buf_span(&piece.bytes), "onetwo");
    assert_span(route_of(&piece, 1), "c");
    piece_fini(&piece);
}

static void many_routes_are_each_kept_once(void **state)
{
    (void)state;
    struct piece piece;
    assert_true(piece_init(&piece, 1, NULL));
    for (uint64_t i = 0; i < 5000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "route-%u", (unsigned)(i * 7 % 1000));
        add(&piece, "x", name, i);
    }
    assert_int_equal(piece.routes[0].name_count, 1000);
    assert_span(route_of(&piece, 4999), "route-993");
    assert_true(piece_memory(&piece) > 5000 * (sizeof(uint32_t) * 2 + sizeof(uint64_t)));
    piece_fini(&piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_know_where_they_end_and_go),
        cmocka_unit_test(a_part_of_a_piece_is_appended_with_its_routes),
        cmocka_unit_test(a_piece_keeps_what_is_in_it_when_its_block_changes),
        cmocka_unit_test(positions_follow_their_records_and_are_unknown_for_others),
        cmocka_unit_test(what_does_not_fit_leaves_a_piece_as_it_was),
        cmocka_unit_test(a_record_can_be_taken_back_before_its_end),
        cmocka_unit_test(many_routes_are_each_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
