#include "store/catalogue/catalogue_outputs.h"

#include <stdlib.h>

#include "unit/store/catalogue_rig.h"

static char seen[1000];

static void note(const char *format, ...) ETWSHIP_PRINTF(1, 2);

static void note(const char *format, ...)
{
    size_t used = strlen(seen);
    va_list args;
    va_start(args, format);
    vsnprintf(seen + used, sizeof(seen) - used, format, args);
    va_end(args);
}

static bool each_output(void *self, const struct catalogue_output *output)
{
    (void)self;
    note("%llu %.*s %llu [%.*s] [%.*s] %llx, ", (unsigned long long)output->id,
        SPAN_ARG(output->name), (unsigned long long)output->position, SPAN_ARG(output->early),
        SPAN_ARG(output->checkpoint), (unsigned long long)output->seen);
    return output->id != 5;
}

static const char *outputs_of(struct catalogue *catalogue)
{
    seen[0] = '\0';
    assert_good(catalogue_outputs(catalogue, each_output, NULL, &rig_err));
    return seen;
}

static bool each_range(void *self, const struct catalogue_range *range)
{
    (void)self;
    note("%llu.%llu of %llu [%.*s] %llu..%lld, ", (unsigned long long)range->output,
        (unsigned long long)range->ordinal, (unsigned long long)range->stream,
        SPAN_ARG(range->about), (unsigned long long)range->after, (long long)range->last);
    return true;
}

static const char *ranges_of(struct catalogue *catalogue)
{
    seen[0] = '\0';
    assert_good(catalogue_ranges(catalogue, each_range, NULL, &rig_err));
    return seen;
}

static bool each_leftover(void *self, const struct catalogue_leftover *leftover)
{
    (void)self;
    note("%llu.%llu [%.*s], ", (unsigned long long)leftover->output,
        (unsigned long long)leftover->batch, SPAN_ARG(leftover->left));
    return true;
}

static const char *leftovers_of(struct catalogue *catalogue)
{
    seen[0] = '\0';
    assert_good(catalogue_leftovers(catalogue, each_leftover, NULL, &rig_err));
    return seen;
}

static struct catalogue_output output_of(uint64_t id, const char *name)
{
    return (struct catalogue_output){.id = id,
        .name = span_text(name),
        .position = 10 * id,
        .early = span_text("early"),
        .checkpoint = span_text("checkpoint"),
        .seen = UINT64_MAX};
}

static void put_output(struct catalogue *catalogue, uint64_t id, const char *name)
{
    struct catalogue_output output = output_of(id, name);
    assert_good(catalogue_put_output(catalogue, &output, &rig_err));
}

static void put_leftover(
    struct catalogue *catalogue, uint64_t output, uint64_t batch, const char *left)
{
    struct catalogue_leftover leftover = {
        .output = output, .batch = batch, .left = span_text(left)};
    assert_good(catalogue_put_leftover(catalogue, &leftover, &rig_err));
}

static void outputs_come_by_id_until_enough(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    rig_begin(catalogue);
    put_output(catalogue, 2, "b");
    put_output(catalogue, 1, "a");
    put_output(catalogue, 5, "c");
    put_output(catalogue, 6, "d");
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    assert_string_equal(outputs_of(catalogue),
        "1 a 10 [early] [checkpoint] ffffffffffffffff, 2 b 20 [early] [checkpoint] "
        "ffffffffffffffff, 5 c 50 [early] [checkpoint] ffffffffffffffff, ");
    assert_int_equal(rig_info(catalogue).next.output, 7);
    catalogue_close(catalogue);
}

static void a_move_leaves_the_checkpoint_and_a_put_changes_it(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_output output = output_of(1, "a");
    rig_begin(catalogue);
    put_output(catalogue, 1, "a");
    output.position = 3; /* the caller has to refuse a step back */
    output.early = span_text("");
    output.checkpoint = span_text("not looked at");
    output.seen = 1;
    assert_good(catalogue_move_output(catalogue, &output, &rig_err));
    assert_string_equal(outputs_of(catalogue), "1 a 3 [] [checkpoint] 1, ");
    output.checkpoint = span_text("");
    assert_good(catalogue_put_output(catalogue, &output, &rig_err));
    assert_string_equal(outputs_of(catalogue), "1 a 3 [] [] 1, ");
    output = output_of(2, "b");
    assert_good(catalogue_move_output(catalogue, &output, &rig_err));
    assert_string_equal(
        outputs_of(catalogue), "1 a 3 [] [] 1, 2 b 20 [early] [] ffffffffffffffff, ");
    catalogue_close(catalogue);
}

static void a_checkpoint_is_found_by_its_output(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct buf found;
    struct error err = {0};
    buf_init(&found, 100);
    rig_begin(catalogue);
    put_output(catalogue, 1, "a");
    assert_good(catalogue_find_checkpoint(catalogue, 1, &found, &rig_err));
    assert_span(buf_span(&found), "checkpoint");
    assert_good(catalogue_find_checkpoint(catalogue, 2, &found, &rig_err));
    assert_span(buf_span(&found), "checkpoint");
    rig_commit(catalogue);
    buf_fini(&found);
    buf_init(&found, 5); /* it does not fit */
    assert_false(catalogue_find_checkpoint(catalogue, 1, &found, &err));
    assert_int_equal(err.code, ERR_MEMORY);
    buf_fini(&found);
    catalogue_close(catalogue);
}

static void names_and_blobs_have_limits(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    uint8_t *bytes = calloc(1, CATALOGUE_BLOB_MAX_BYTES + 1);
    char name[CATALOGUE_NAME_MAX_BYTES + 1];
    struct buf found;
    struct error err = {0};
    assert_non_null(bytes);
    memset(name, 'n', sizeof(name));
    struct catalogue_output output = {.id = 1,
        .name = span_make(name, CATALOGUE_NAME_MAX_BYTES),
        .early = span_make(bytes, CATALOGUE_BLOB_MAX_BYTES),
        .checkpoint = span_make(bytes, CATALOGUE_BLOB_MAX_BYTES)};
    rig_begin(catalogue);
    assert_good(catalogue_put_output(catalogue, &output, &rig_err));
    rig_commit(catalogue);
    buf_init(&found, CATALOGUE_BLOB_MAX_BYTES);
    assert_good(catalogue_find_checkpoint(catalogue, 1, &found, &rig_err));
    assert_int_equal(found.size, CATALOGUE_BLOB_MAX_BYTES);
    buf_fini(&found);
    for (int i = 0; i < 3; i++) {
        struct catalogue_output wrong = output;
        struct span *fields[] = {&wrong.name, &wrong.early, &wrong.checkpoint};
        fields[i]->size++;
        rig_begin(catalogue);
        assert_false(catalogue_put_output(catalogue, &wrong, &err));
        assert_int_equal(err.code, ERR_LIMIT);
    }
    free(bytes);
    catalogue_close(catalogue);
}

static void two_outputs_with_one_name_are_refused(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_output second = output_of(2, "a");
    struct error err = {0};
    rig_begin(catalogue);
    put_output(catalogue, 1, "a");
    assert_false(catalogue_put_output(catalogue, &second, &err));
    assert_int_equal(err.code, ERR_DAMAGED);
    catalogue_close(catalogue);
}

static void an_output_goes_with_what_hangs_on_it(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    rig_begin(catalogue);
    rig_put_stream(catalogue, 1);
    for (uint64_t id = 1; id <= 2; id++) {
        struct catalogue_range range = {.output = id, .ordinal = 1, .stream = 1, .last = 9};
        put_output(catalogue, id, id == 1 ? "a" : "b");
        assert_good(catalogue_put_range(catalogue, &range, &rig_err));
        put_leftover(catalogue, id, 50, "left");
    }
    assert_good(catalogue_remove_output(catalogue, 1, &rig_err));
    assert_good(catalogue_remove_output(catalogue, 1, &rig_err));
    rig_commit(catalogue);
    assert_string_equal(outputs_of(catalogue), "2 b 20 [early] [checkpoint] ffffffffffffffff, ");
    assert_string_equal(ranges_of(catalogue), "2.1 of 1 [] 0..9, ");
    assert_string_equal(leftovers_of(catalogue), "2.50 [left], ");
    assert_int_equal(rig_info(catalogue).next.output, 3);
    rig_verify(catalogue);
    catalogue_close(catalogue);
}

static void ranges_come_in_the_order_of_their_chains(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    static const struct {
        uint64_t output;
        uint64_t ordinal;
        uint64_t stream;
        const char *about;
        uint64_t after;
        uint64_t last;
    } ranges[] = {
        {2, 1, 1, "x", 0, 5},
        {1, 2, 2, "", 7, UINT64_MAX},
        {1, 1, 1, "y", 0, 7},
        {1, 3, 1, "z", 8, (UINT64_C(1) << 62) - 1},
        {2, 1, 2, "again", 4, UINT64_MAX},
    };
    rig_begin(catalogue);
    rig_put_stream(catalogue, 1);
    rig_put_stream(catalogue, 2);
    put_output(catalogue, 1, "a");
    put_output(catalogue, 2, "b");
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        struct catalogue_range range = {.output = ranges[i].output,
            .ordinal = ranges[i].ordinal,
            .stream = ranges[i].stream,
            .about = span_text(ranges[i].about),
            .after = ranges[i].after,
            .last = ranges[i].last};
        assert_good(catalogue_put_range(catalogue, &range, &rig_err));
    }
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    assert_string_equal(ranges_of(catalogue),
        "1.1 of 1 [y] 0..7, 1.2 of 2 [] 7..-1, 1.3 of 1 [z] 8..4611686018427387903, "
        "2.1 of 2 [again] 4..-1, ");
    rig_begin(catalogue);
    assert_good(catalogue_remove_ranges(catalogue, 1, 2, &rig_err));
    rig_commit(catalogue);
    assert_string_equal(
        ranges_of(catalogue), "1.3 of 1 [z] 8..4611686018427387903, 2.1 of 2 [again] 4..-1, ");
    catalogue_close(catalogue);
}

static void a_range_of_nothing_is_refused(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    for (uint64_t i = 0; i < 2; i++) {
        struct catalogue_range range = {.output = 1 + i, .ordinal = 1, .stream = 2 - i};
        struct error err = {0};
        rig_begin(catalogue);
        rig_put_stream(catalogue, 1);
        put_output(catalogue, 1, "a");
        assert_false(catalogue_put_range(catalogue, &range, &err));
        assert_int_equal(err.code, ERR_DAMAGED);
    }
    catalogue_close(catalogue);
}

static void leftovers_go_when_the_output_is_done_with_their_batch(void **state)
{
    (void)state;
    struct catalogue *catalogue = rig_create();
    struct catalogue_output output = output_of(1, "a");
    struct buf found;
    buf_init(&found, 100);
    rig_begin(catalogue);
    put_output(catalogue, 1, "a");
    put_output(catalogue, 2, "b");
    put_leftover(catalogue, 2, 30, "other");
    put_leftover(catalogue, 1, 33, "third");
    put_leftover(catalogue, 1, 31, "first");
    put_leftover(catalogue, 1, 32, "second");
    put_leftover(catalogue, 1, 33, "3");
    assert_string_equal(
        leftovers_of(catalogue), "1.31 [first], 1.32 [second], 1.33 [3], 2.30 [other], ");
    put_leftover(catalogue, 1, 31, "");
    put_leftover(catalogue, 1, 31, "");
    output.position = 32;
    assert_good(catalogue_move_output(catalogue, &output, &rig_err));
    rig_commit(catalogue);
    catalogue = rig_reopen(catalogue);
    assert_string_equal(leftovers_of(catalogue), "1.33 [3], 2.30 [other], ");
    assert_good(catalogue_find_leftover(catalogue, 2, 30, &found, &rig_err));
    assert_good(catalogue_find_leftover(catalogue, 2, 33, &found, &rig_err));
    assert_span(buf_span(&found), "other");
    buf_fini(&found);
    catalogue_close(catalogue);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_make_folder, rig_remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(outputs_come_by_id_until_enough),
        TEST(a_move_leaves_the_checkpoint_and_a_put_changes_it),
        TEST(a_checkpoint_is_found_by_its_output),
        TEST(names_and_blobs_have_limits),
        TEST(two_outputs_with_one_name_are_refused),
        TEST(an_output_goes_with_what_hangs_on_it),
        TEST(ranges_come_in_the_order_of_their_chains),
        TEST(a_range_of_nothing_is_refused),
        TEST(leftovers_go_when_the_output_is_done_with_their_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
