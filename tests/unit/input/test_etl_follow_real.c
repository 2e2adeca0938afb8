#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "input/etl/etl_follow.h"
#include "input/etl/etl_merge.h"
#include "input/etl/etl_probe.h"
#include "platform/plat_file.h"
#include "support/temp_folder.h"
#include "support/test.h"

/* Real traces in the states that they may have had while they were written: the header is not
 * closed yet, and the rest comes in pieces of odd sizes. Every record must come once, with its
 * content. */

enum {
    MAX_TRACE_BYTES = 64 << 20,
    AT_END_TIME = 0x48 + 0x20 + 0x10,
    AT_WRITTEN = 0x48 + 0x20 + 0x24
};

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16];
static struct error err;

struct sum {
    uint64_t records;
    uint64_t hash; /* of all records, in any order */
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

static bool add(void *self, const struct event_record *record)
{
    struct sum *sum = self;
    uint64_t hash = mix(record->position.buffer_offset << 24 | record->position.record_offset);
    hash = mix(hash ^ record->time);
    /* The header record was given as it was while the session ran. */
    bool is_header = record->kind == RECORD_KERNEL && record->hook_id == 0;
    for (size_t i = 0; i < record->payload.size && !is_header; i++) {
        hash = hash * 31 + record->payload.data[i];
    }
    sum->records++;
    sum->hash += mix(hash);
    return true;
}

static bool go_on(void *self, uint64_t to)
{
    (void)self;
    (void)to;
    return true;
}

static struct sum read_whole(const char *trace)
{
    struct arena arena;
    struct etl_handles handles = {.open = 0};
    struct sum sum = {.records = 0};
    arena_init(&arena, 1 << 24);
    struct etl_file *file = etl_file_open(trace, NULL, &handles, &arena, &err);
    assert_non_null(file);
    const struct etl_visitor visitor = {.self = &sum, .record = add};
    assert_true(etl_file_walk(file, &visitor, &err));
    etl_file_destroy(file);
    arena_fini(&arena);
    return sum;
}

static struct sum follow_pieces(const uint8_t *bytes, size_t size)
{
    static uint8_t header[16 << 20];
    struct arena arena;
    struct etl_follow *follow = NULL;
    struct sum sum = {.records = 0};
    size_t header_size = load_le32(bytes);
    struct etl_follow_look look = {.closed = false};
    const struct etl_follow_events events = {.self = &sum, .record = add, .reads = go_on};
    arena_init(&arena, 1 << 24);
    memcpy(header, bytes, header_size);
    memset(header + AT_END_TIME, 0, 8);
    store_le32(header + AT_WRITTEN, 1);
    FILE *file = fopen(path, "w+b");
    assert_non_null(file);
    assert_int_equal(fwrite(header, 1, header_size, file), header_size);
    size_t at = header_size;
    for (size_t piece = 1; at < size; piece = piece * 5 / 3 + 7) {
        size_t now = piece % 300000 < size - at ? piece % 300000 : size - at;
        assert_int_equal(fwrite(bytes + at, 1, now, file), now);
        assert_int_equal(fflush(file), 0);
        at += now;
        if (!follow && etl_probe_path(path, &err) == ETL_PROBE_GROWING) {
            follow = etl_follow_open(path, NULL, &arena, 0, &events, &err);
            assert_non_null(follow);
        }
        if (follow) {
            assert_true(etl_follow_look(follow, path, &look, &err));
            assert_int_equal(etl_follow_read(follow, UINT64_MAX, &err), ETL_FOLLOW_DONE);
        }
    }
    rewind(file);
    assert_int_equal(fwrite(bytes, 1, header_size, file), header_size);
    fclose(file);
    assert_non_null(follow);
    assert_true(etl_follow_look(follow, path, &look, &err));
    assert_false(look.replaced);
    assert_int_equal(etl_follow_read(follow, UINT64_MAX, &err), ETL_FOLLOW_DONE);
    assert_true(etl_follow_look(follow, path, &look, &err));
    assert_true(look.closed);
    assert_int_equal(etl_follow_flush(follow, &err), ETL_FOLLOW_DONE);
    etl_follow_destroy(follow);
    arena_fini(&arena);
    return sum;
}

static bool has_pieces(const char *trace)
{
    struct arena arena;
    struct etl_handles handles = {.open = 0};
    arena_init(&arena, 1 << 20);
    struct etl_file *file = etl_file_open(trace, NULL, &handles, &arena, NULL);
    /* A circular trace has only its last round; an unclosed one has no end to wait for. */
    bool has = file && !(etl_file_info(file)->mode & ETL_MODE_CIRCULAR) &&
               etl_file_info(file)->end_time != 0 && etl_file_info(file)->buffers_written > 1;
    etl_file_destroy(file);
    arena_fini(&arena);
    return has && etl_probe_path(trace, NULL) == ETL_PROBE_WHOLE;
}

static size_t compared;

static bool compare(void *self, const char *trace)
{
    (void)self;
    char *bytes;
    size_t size;
    if (!has_pieces(trace) || !plat_file_load(trace, MAX_TRACE_BYTES, &bytes, &size, &err)) {
        return true;
    }
    struct sum whole = read_whole(trace);
    struct sum followed = follow_pieces((const uint8_t *)bytes, size);
    if (whole.records != followed.records || whole.hash != followed.hash) {
        fail_msg("%s: %llu records, %llu when followed", trace, (unsigned long long)whole.records,
            (unsigned long long)followed.records);
    }
    compared++;
    free(bytes);
    return true;
}

static void real_traces_give_every_record_once_as_they_grow(void **state)
{
    (void)state;
    char pattern[512];
    const char *shared = getenv("ETWSHIP_SHARED");
    snprintf(pattern, sizeof(pattern), "%s/data/etl/*.etl", shared ? shared : "");
    if (!shared || !plat_glob(pattern, compare, NULL, &err)) {
        print_message("no real traces (ETWSHIP_SHARED)\n");
        skip();
    }
    assert_true(compared > 0);
    print_message("%zu traces compared\n", compared);
}

static int setup(void **state)
{
    (void)state;
    int result = temp_folder_make(folder, "follow-real");
    snprintf(path, sizeof(path), "%s/trace.etl", folder);
    return result;
}

static int teardown(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_traces_give_every_record_once_as_they_grow),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
