#include "input/etl/etl_probe.h"

#include "support/follow_rig.h"

/* The result for a file in each state of its making. */

static const struct etl_options one = {.buffer_size = 1024, .processors = 1};

static void a_trace_without_data_is_waited_for(void **state)
{
    (void)state;
    make_trace(&one, 20, 0);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_NO_TRACE); /* no file */
    for (size_t size = 0; size < 1024; size += size < 0x200 ? 1 : 64) {
        growing_write_part(&g, 0, 0, size, path);
        assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WAIT);
    }
    growing_write(&g, 0, path);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WAIT);
    growing_write_part(&g, 1, 0, 1000, path);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WAIT);
    growing_write(&g, 1, path);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING);
    for (size_t i = 2; i < g.write_count - 1; i++) {
        growing_write(&g, i, path);
        assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING);
    }
    growing_write(&g, g.write_count - 1, path);
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_WHOLE);
    assert_true(temp_file_cut(path, g.writes[g.write_count - 2].offset));
    assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING); /* not complete yet */
}

static void other_bytes_are_no_trace(void **state)
{
    (void)state;
    make_trace(&one, 20, 0);
    growing_write(&g, 0, path);
    growing_write(&g, 1, path);
    static const uint8_t wrong = 0x77;
    static const size_t places[] = {3, 0x4b, 0x4f}; /* sizes of buffer and record, marker */
    for (size_t i = 0; i < 3; i++) {
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, (long)places[i], SEEK_SET), 0);
        uint8_t was;
        assert_int_equal(fread(&was, 1, 1, file), 1);
        assert_int_equal(fseek(file, (long)places[i], SEEK_SET), 0);
        assert_int_equal(fwrite(&wrong, 1, 1, file), 1);
        assert_int_equal(fflush(file), 0);
        assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_NO_TRACE);
        assert_non_null(strstr(err.text, path));
        assert_int_equal(fseek(file, (long)places[i], SEEK_SET), 0);
        assert_int_equal(fwrite(&was, 1, 1, file), 1);
        fclose(file);
        assert_int_equal(etl_probe_path(path, &err), ETL_PROBE_GROWING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_trace_without_data_is_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(other_bytes_are_no_trace, begin, end),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
