#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "input/etl/etl_follow.h"
#include "input/etl/etl_probe.h"
#include "platform/plat_path.h"
#include "support/evtx_sample.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Event logs that grow: the file takes on the states in which Windows and collectors leave it. */
enum { MAX_SEEN = 64 };

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];
static struct error err;
static struct evtx_put put;
static struct arena arena;
static struct {
    size_t count;
    uint64_t ids[MAX_SEEN];
    size_t mark_count;
    uint64_t marks[MAX_SEEN];
    uint64_t lost;
    size_t damage;
    void (*between)(void); /* called once, before the records of a chunk are read */
} seen;

static int setup(void **state)
{
    (void)state;
    int result = temp_folder_make(folder, "evtx-follow");
    snprintf(path, sizeof(path), "%s/log.evtx", folder);
    return result;
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static int begin(void **state)
{
    (void)state;
    plat_path_remove(path, NULL);
    memset(&seen, 0, sizeof(seen));
    arena_init(&arena, 1 << 24);
    evtx_put_begin(&put);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static bool on_record(void *self, const struct event_record *record)
{
    (void)self;
    assert_true(seen.count < MAX_SEEN);
    seen.ids[seen.count++] = record->log_record_id;
    return true;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    (void)self;
    (void)offset;
    assert_true(trace && what);
    seen.damage++;
}

static void on_overwritten(
    void *self, const struct trace_info *trace, uint64_t count, const char *unit)
{
    (void)self;
    assert_non_null(trace);
    assert_string_equal(unit, "events");
    seen.lost += count;
}

static bool on_reads(void *self, uint64_t to)
{
    (void)self;
    assert_true(seen.mark_count < MAX_SEEN);
    seen.marks[seen.mark_count++] = to;
    void (*between)(void) = seen.between;
    seen.between = NULL;
    if (between) {
        between();
    }
    return true;
}

static const struct etl_follow_events events = {
    .record = on_record, .damage = on_damage, .overwritten = on_overwritten, .reads = on_reads};

static void put_logon(uint64_t id)
{
    evtx_sample_logon(&put, id, EVTX_SAMPLE_TIME + id, "PC-1", "anna");
}

static void write_bytes(const char *to, size_t size)
{
    FILE *file = fopen(to, "r+b");
    file = file ? file : fopen(to, "w+b");
    assert_non_null(file);
    assert_int_equal(fwrite(put.bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* The log as it is while Windows has it open. */
static void write_open(void)
{
    evtx_put_pause(&put);
    write_bytes(path, put.size);
}

static struct etl_follow *open_log(void)
{
    static const struct trace_naming naming = {.follows = true};
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING);
    struct etl_follow *follow = etl_follow_open(path, &naming, &arena, 0, &events, &err);
    assert_non_null(follow);
    assert_int_equal(etl_follow_teach(follow, &err), ETL_FOLLOW_DONE);
    return follow;
}

static struct etl_follow_look look(struct etl_follow *follow)
{
    struct etl_follow_look found;
    assert_true(etl_follow_look(follow, path, &found, &err));
    return found;
}

static struct etl_follow_look look_and_read(struct etl_follow *follow)
{
    struct etl_follow_look found = look(follow);
    assert_int_equal(etl_follow_read(follow, UINT64_MAX, &err), ETL_FOLLOW_DONE);
    return found;
}

/* Records 1 to ${count} in order, each once. */
static void assert_seen(size_t count)
{
    assert_int_equal(seen.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(seen.ids[i], i + 1);
    }
    assert_int_equal(seen.damage, 0);
}

static void records_and_chunks_that_are_added_are_read_once(void **state)
{
    (void)state;
    put_logon(1);
    put_logon(2);
    write_open();
    struct etl_follow *follow = open_log();
    look_and_read(follow);
    assert_seen(2);
    look_and_read(follow);
    assert_seen(2);
    put_logon(3);
    write_open();
    look_and_read(follow);
    assert_seen(3);
    put_logon(4);
    evtx_put_chunk(&put);
    put_logon(5);
    write_open();
    look_and_read(follow);
    assert_seen(5);
    put_logon(6);
    write_open();
    assert_false(look_and_read(follow).closed);
    put_logon(7);
    evtx_put_finish(&put);
    write_bytes(path, put.size);
    assert_true(look_and_read(follow).closed);
    assert_seen(7);
    assert_int_equal(seen.lost, 0);
    assert_false(etl_follow_is_waiting(follow));
    etl_follow_destroy(follow);
}

/* Windows may write the header of the chunk before the record that the header counts. */
static void a_record_that_is_written_in_part_is_left_for_later(void **state)
{
    (void)state;
    put_logon(1);
    size_t second = put.at;
    put_logon(2);
    evtx_put_pause(&put);
    for (size_t cut = second; cut + 4 < put.at;
         cut += 7) { /* the record's size at its end is still zero */
        uint8_t whole[EVTX_PUT_CHUNK_BYTES];
        plat_path_remove(path, NULL);
        memset(&seen, 0, sizeof(seen));
        size_t rest = put.at - cut;
        memcpy(whole, put.bytes + cut, rest);
        memset(put.bytes + cut, 0, rest);
        write_bytes(path, put.size);
        struct etl_follow *follow = open_log();
        look_and_read(follow);
        assert_seen(1);
        memcpy(put.bytes + cut, whole, rest);
        write_bytes(path, put.size);
        look_and_read(follow);
        assert_seen(2);
        etl_follow_destroy(follow);
    }
}

/* A log with room for two chunks, written as a circle. */
static void put_in_place(uint64_t place, uint64_t first, uint64_t last)
{
    static struct evtx_put other;
    evtx_put_begin(&other);
    for (uint64_t id = first; id <= last; id++) {
        evtx_sample_logon(&other, id, EVTX_SAMPLE_TIME + id, "PC-1", "anna");
    }
    evtx_put_pause(&other);
    memcpy(put.bytes + EVTX_PUT_FILE_HEADER_BYTES + place * EVTX_PUT_CHUNK_BYTES,
        other.bytes + EVTX_PUT_FILE_HEADER_BYTES, EVTX_PUT_CHUNK_BYTES);
}

static void begin_circle(void)
{
    put_logon(1);
    put_logon(2);
    evtx_put_chunk(&put);
    put_logon(3);
    put_logon(4);
    write_open();
}

static void a_circle_is_followed_and_what_it_overwrites_unread_is_lost(void **state)
{
    (void)state;
    begin_circle();
    struct etl_follow *follow = open_log();
    look_and_read(follow);
    put_in_place(0, 5, 6);
    write_bytes(path, put.size);
    look_and_read(follow);
    assert_seen(6);
    assert_int_equal(seen.lost, 0);
    /* Records 7 to 10 come and go between two looks. */
    put_in_place(1, 11, 12);
    put_in_place(0, 13, 13);
    write_bytes(path, put.size);
    look_and_read(follow);
    assert_int_equal(seen.count, 9);
    assert_int_equal(seen.ids[6], 11);
    assert_int_equal(seen.ids[8], 13);
    assert_int_equal(seen.lost, 4);
    assert_false(look(follow).replaced);
    etl_follow_destroy(follow);
}

static void overwrite_while_it_is_read(void)
{
    put_in_place(0, 5, 6);
    put_in_place(1, 7, 8);
    write_bytes(path, put.size);
}

/* The copied bytes are read to their end. What Windows overwrote meanwhile is lost. */
static void a_chunk_that_is_overwritten_while_it_is_read_is_read_as_it_was(void **state)
{
    (void)state;
    begin_circle();
    seen.between = overwrite_while_it_is_read;
    struct etl_follow *follow = open_log();
    look_and_read(follow);
    assert_int_equal(seen.damage, 0);
    assert_int_equal(seen.count, 6);
    const uint64_t expected[] = {1, 2, 5, 6, 7, 8};
    assert_memory_equal(seen.ids, expected, sizeof(expected));
    assert_int_equal(seen.lost, 2);
    etl_follow_destroy(follow);
}

/* Reading up to each mark gives the same records, however much the log has grown. */
static void marks_reproduce_what_was_read(void **state)
{
    (void)state;
    put_logon(1);
    put_logon(2);
    write_open();
    struct etl_follow *follow = open_log();
    look_and_read(follow);
    put_logon(3);
    write_open();
    look_and_read(follow);
    evtx_put_chunk(&put);
    put_logon(4);
    write_open();
    look_and_read(follow);
    etl_follow_destroy(follow);
    assert_seen(4);
    assert_int_equal(seen.mark_count, 3);
    uint64_t marks[3];
    memcpy(marks, seen.marks, sizeof(marks));
    put_logon(5);
    write_open();

    const size_t counts[] = {2, 3, 4};
    memset(&seen, 0, sizeof(seen));
    follow = open_log();
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(etl_follow_read(follow, marks[i], &err), ETL_FOLLOW_DONE);
        assert_seen(counts[i]);
    }
    look_and_read(follow);
    assert_seen(5);
    etl_follow_destroy(follow);
}

/* A collector writes a newer copy beside the old one and renames it. */
static void a_newer_copy_under_the_same_name_is_read_on(void **state)
{
    (void)state;
    char other[sizeof(path) + 8];
    if (temp_system_is_wine()) { /* Wine does not replace open files */
        skip();
    }
    snprintf(other, sizeof(other), "%s.new", path);
    put_logon(1);
    write_open();
    struct etl_follow *follow = open_log();
    look_and_read(follow);
    put_logon(2);
    evtx_put_pause(&put);
    write_bytes(other, put.size);
    assert_true(plat_path_rename(other, path, &err));
    assert_false(look_and_read(follow).moved);
    assert_seen(2);
    /* A different log does not continue it. */
    evtx_put_begin(&put);
    put_logon(7);
    evtx_put_pause(&put);
    write_bytes(other, put.size);
    assert_true(plat_path_rename(other, path, &err));
    assert_true(look_and_read(follow).moved);
    assert_seen(2);
    etl_follow_destroy(follow);
}

static void a_log_that_was_cleared_is_another_one(void **state)
{
    (void)state;
    begin_circle();
    struct etl_follow *follow = open_log();
    look_and_read(follow);
    put_in_place(0, 1, 1);
    memset(put.bytes + EVTX_PUT_FILE_HEADER_BYTES + EVTX_PUT_CHUNK_BYTES, 0, EVTX_PUT_CHUNK_BYTES);
    write_bytes(path, put.size);
    look_and_read(follow);
    assert_true(look(follow).replaced);
    assert_seen(4);
    etl_follow_destroy(follow);
}

static void a_log_that_was_closed_is_whole_and_one_without_records_is_waited_for(void **state)
{
    (void)state;
    evtx_put_pause(&put);
    write_bytes(path, EVTX_PUT_FILE_HEADER_BYTES);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WAIT);
    put_logon(1);
    write_open();
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING);
    evtx_put_finish(&put);
    write_bytes(path, put.size);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WHOLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            records_and_chunks_that_are_added_are_read_once, begin, end),
        cmocka_unit_test_setup_teardown(
            a_record_that_is_written_in_part_is_left_for_later, begin, end),
        cmocka_unit_test_setup_teardown(
            a_circle_is_followed_and_what_it_overwrites_unread_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(
            a_chunk_that_is_overwritten_while_it_is_read_is_read_as_it_was, begin, end),
        cmocka_unit_test_setup_teardown(marks_reproduce_what_was_read, begin, end),
        cmocka_unit_test_setup_teardown(a_newer_copy_under_the_same_name_is_read_on, begin, end),
        cmocka_unit_test_setup_teardown(a_log_that_was_cleared_is_another_one, begin, end),
        cmocka_unit_test_setup_teardown(
            a_log_that_was_closed_is_whole_and_one_without_records_is_waited_for, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
