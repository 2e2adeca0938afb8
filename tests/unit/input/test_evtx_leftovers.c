#include <stdlib.h>

#include "base/bytes.h"
#include "input/etl/etl_file.h"
#include "support/evtx_sample.h"
#include "support/test.h"

/* Records that a log has dropped, while memory is short. */

static bool is_memory_out;
static struct evtx_put put;

void *__real_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    return is_memory_out ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return is_memory_out ? NULL : __real_realloc(memory, size);
}

/* A chunk with one record, and the bytes of another one after its end. */
static void put_leftover(void)
{
    enum { FREE_AT = 48 };
    evtx_put_begin(&put);
    evtx_sample_logon(&put, 1, EVTX_SAMPLE_TIME + 1, "PC-1", "anna");
    uint32_t end = (uint32_t)(put.at - put.chunk);
    evtx_sample_logon(&put, 2, EVTX_SAMPLE_TIME + 2, "PC-1", "berta");
    size_t chunk = put.chunk;
    evtx_put_finish(&put);
    store_le32(put.bytes + chunk + FREE_AT, end);
}

static bool take_memory(void *self, const struct event_record *record)
{
    uint64_t *last = self;
    *last = record->log_record_id;
    is_memory_out = true;
    return true;
}

static void a_dropped_record_that_finds_no_memory_is_an_error(void **state)
{
    (void)state;
    struct error err;
    struct arena arena;
    uint64_t last = 0;
    const struct etl_visitor visitor = {.self = &last, .record = take_memory};
    put_leftover();
    arena_init(&arena, 1 << 24);
    struct etl_file *file = etl_file_open_memory(
        span_make(put.bytes, put.size), "mem.evtx", &arena, &err);
    assert_non_null(file);
    file->naming.carves = true;
    bool ok = etl_file_walk(file, &visitor, &err);
    is_memory_out = false;
    assert_false(ok);
    assert_int_equal(err.code, ERR_MEMORY);
    assert_string_equal(err.text, "mem.evtx: out of memory for dropped records");
    assert_int_equal(last, 1);
    etl_file_destroy(file);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_record_that_finds_no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
