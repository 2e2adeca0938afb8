#include "input/etl/etl_stream.h"

#include <stdio.h>

#include "input/bytes/unpack.h"
#include "input/record/etl_format.h"
#include "platform/plat_file.h"
#include "platform/plat_path.h"
#include "support/temp_folder.h"
#include "support/test.h"
#include "unit/input/trace_bytes.h"

/* A file that goes away while its buffers are read. What a stream reads is tested by test_etl_file
 * and test_packed. */

static char folder[TEMP_FOLDER_BYTES];

static int make_folder(void **state)
{
    (void)state;
    return temp_folder_make(folder, "stream");
}

static int remove_folder(void **state)
{
    (void)state;
    return temp_folder_remove(folder);
}

static void assert_fails(uint16_t flags)
{
    static struct trace t;
    char path[TEMP_FOLDER_BYTES + 16];
    struct error err;
    struct etl_bytes bytes;
    struct etl_handles handles = {.newest = NULL};
    memset(&t, 0, sizeof(t));
    trace_buffer(&t, 0, 1, 2000, 10, 1, 4);
    snprintf(path, sizeof(path), "%s/t.etl", folder);
    assert_true(plat_file_replace(path, span_make(t.bytes, t.size), &err));
    assert_true(etl_bytes_open(&bytes, path, &handles, &err));
    const struct etl_buffer buffer = {
        .size = TRACE_BUFFER_BYTES, .end = TRACE_BUFFER_BYTES, .flags = flags};
    const struct etl_scope scope = {.position = {.record_offset = 0}};
    struct etl_stream *stream = etl_stream_create();
    assert_non_null(stream);
    etl_stream_open(stream, &bytes, &buffer, UNPACK_XPRESS, &scope);
    etl_bytes_close(&bytes);
    assert_true(plat_path_remove(path, &err));
    assert_int_equal(etl_stream_next(stream), ETL_STEP_FAILED);
    assert_int_equal(etl_stream_error(stream)->code, ERR_IO);
    assert_non_null(strstr(etl_stream_error(stream)->text, "t.etl"));
    etl_stream_destroy(stream);
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    assert_fails(0);
    assert_fails(ETL_FLAG_COMPRESSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
