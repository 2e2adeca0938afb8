#include "input/etl/etl_left_out.h"

#include "support/test.h"

/* Notes of buffers that are left out, and their budget. */

static const struct etl_buffer first = {.offset = 4096, .size = 65536};
static const struct etl_buffer second = {.offset = 69632, .size = 65536};
static const struct trace_info trace;

static void notes_give_times_and_reasons_back(void **state)
{
    (void)state;
    static const uint64_t times[] = {130000000000000000, 130000000000000000, 130000000000000042,
        129999999999999000, 0, INT64_MAX / 8, 7};
    enum { TIMES = sizeof(times) / sizeof(times[0]) };
    size_t budget = 4096;
    struct etl_left_out left_out = {.budget = NULL};
    etl_left_out_init(&left_out, &budget);
    assert_true(etl_left_out_open(&left_out, &first));
    assert_true(etl_left_out_add(&left_out, 1, 0)); /* never closed: forgotten */
    assert_true(etl_left_out_open(&left_out, &second));
    for (size_t i = 0; i < TIMES; i++) {
        assert_true(etl_left_out_add(&left_out, times[i], (uint8_t)(i % ETL_LEFT_OUT_REASONS)));
    }
    etl_left_out_close(&left_out, &(struct etl_scope){.trace = &trace, .last_raw = -3});
    assert_null(etl_left_out_find(&left_out, first.offset));
    const struct etl_left_out_buffer *buffer = etl_left_out_find(&left_out, second.offset);
    assert_non_null(buffer);
    assert_int_equal(buffer->records, TIMES);
    assert_int_equal(buffer->size, 65536);
    assert_true(buffer->latest == times[5] && buffer->last_time == 7 && buffer->last_raw == -3);
    struct etl_left_out_reader reader = etl_left_out_read(&left_out, buffer);
    for (size_t i = 0; i < TIMES; i++) {
        assert_true(etl_left_out_next(&reader));
        assert_true(reader.time == times[i]);
        assert_int_equal(reader.reason, i % ETL_LEFT_OUT_REASONS);
    }
    assert_false(etl_left_out_next(&reader));
    etl_left_out_fini(&left_out);
    assert_int_equal(budget, 4096);
}

static void a_step_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    size_t budget = 4096;
    struct etl_left_out left_out = {.budget = NULL};
    etl_left_out_init(&left_out, &budget);
    assert_true(etl_left_out_open(&left_out, &first));
    assert_false(etl_left_out_add(&left_out, UINT64_MAX / 2, 0));
    etl_left_out_fini(&left_out);
}

static void files_share_a_budget(void **state)
{
    (void)state;
    size_t budget = 1000;
    struct etl_left_out files[2] = {{.budget = NULL}, {.budget = NULL}};
    size_t noted = 0;
    for (size_t f = 0; f < 2; f++) {
        etl_left_out_init(&files[f], &budget);
        assert_true(etl_left_out_open(&files[f], &first));
        while (noted < 500 && etl_left_out_add(&files[f], 1000 + noted * 100, 1)) {
            noted++;
        }
        etl_left_out_close(&files[f], &(struct etl_scope){.trace = &trace});
    }
    assert_true(noted > 300 && noted < 500); /* some 2 bytes a record */
    assert_non_null(etl_left_out_find(&files[0], first.offset));
    etl_left_out_clear(&files[0]);
    assert_null(etl_left_out_find(&files[0], first.offset));
    etl_left_out_fini(&files[0]);
    etl_left_out_fini(&files[1]);
    assert_int_equal(budget, 1000);
}

static void what_is_wasted_is_bounded(void **state)
{
    (void)state;
    size_t budget = 1 << 20;
    size_t opened = 0;
    struct etl_left_out left_out = {.budget = NULL};
    etl_left_out_init(&left_out, &budget);
    for (size_t i = 0; i < 1600; i++) { /* none is closed */
        if (etl_left_out_open(&left_out, &first)) {
            opened++;
            for (size_t k = 0; k < 1000; k++) {
                assert_true(etl_left_out_add(&left_out, k, 1));
            }
        }
    }
    assert_true(opened >= 100 && opened <= 130); /* one buffer in 16, and the first ones */
    etl_left_out_fini(&left_out);
}

static void without_a_budget_nothing_is_noted(void **state)
{
    (void)state;
    struct etl_left_out left_out = {.budget = NULL};
    assert_false(etl_left_out_open(&left_out, &first));
    etl_left_out_clear(&left_out);
    assert_null(etl_left_out_find(&left_out, first.offset));
    etl_left_out_fini(&left_out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_give_times_and_reasons_back),
        cmocka_unit_test(a_step_that_does_not_fit_is_refused),
        cmocka_unit_test(files_share_a_budget),
        cmocka_unit_test(what_is_wasted_is_bounded),
        cmocka_unit_test(without_a_budget_nothing_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
