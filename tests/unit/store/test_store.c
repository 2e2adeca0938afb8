#include "unit/store/rig_forget_own.h"
#include "unit/store/store_rig.h"

#include "store/catalogue/catalogue_sources.h"

static void test_what_was_committed_waits_for_its_outputs_over_restarts(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "");
    rig_append(&rig, "json", 1);
    rig_append(&rig, "json", 2);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "");
    struct store_committed committed = rig_commit(&rig);
    assert_int_equal(committed.batches, 2);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2");
    rig_append(&rig, "json", 3); /* never committed */
    rig_reopen(&rig);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 0);
    assert_int_equal(rig_source(&rig, "json"), 2);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2");
    rig_fini(&rig);
}

static void test_numbers_are_never_given_out_twice(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    uint64_t last_id = 0;
    uint64_t next_record = 0;
    uint64_t epochs[4];
    for (size_t run = 0; run < 4; run++) {
        rig_open(&rig);
        rig_output(&rig, "siem", "json");
        for (uint64_t i = 1; i < 5; i++) {
            struct store_row row = rig_append(&rig, "json", i);
            assert_true(row.id > last_id);
            assert_true(row.first_record >= next_record);
            epochs[run] = i == 1 ? row.epoch : epochs[run];
            assert_true(row.epoch == epochs[run]);
            last_id = row.id;
            next_record = row.first_record + row.records;
            if (i < 3) {
                rig_commit(&rig);
            }
        }
        for (size_t other = 0; other < run; other++) {
            assert_true(epochs[run] != epochs[other]);
        }
        rig_close(&rig);
    }
    rig_fini(&rig);
}

static void test_a_batch_keeps_its_epoch_and_numbers(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    struct store_row before = rig_append(&rig, "json", 8);
    rig_commit(&rig);
    rig_reopen(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    struct store_row after = rig_row(&rig, siem, 0);
    assert_true(after.id == before.id && after.epoch == before.epoch);
    assert_true(after.first_record == before.first_record && after.records == before.records);
    assert_true(after.first_time == 8 && after.last_time == 9);
    assert_true(after.entered == before.entered && after.body_bytes == before.body_bytes);
    assert_true(after.epoch != rig_append(&rig, "json", 9).epoch);
    rig_fini(&rig);
}

static void test_settled_batches_and_their_files_go(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    size_t lake = rig_output(&rig, "lake", "json");
    struct store_usage usage;
    rig_fill(&rig, "json", 1, 60);
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_int_equal(usage.batches, 60);
    uint64_t full = usage.bytes - usage.catalogue_bytes;
    rig_settle(&rig, siem, rig_row(&rig, siem, 59).id);
    rig_commit(&rig);
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_int_equal(usage.batches, 60);
    rig_settle(&rig, lake, rig_row(&rig, lake, 49).id);
    rig_commit(&rig);
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_int_equal(usage.batches, 10);
    assert_true(usage.bytes - usage.catalogue_bytes < full);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "");
    assert_string_equal(rig_waiting(&rig, lake, "json"), "51 52 53 54 55 56 57 58 59 60");
    rig_fini(&rig);
}

static void expect_checkpoint(struct store_rig *rig, size_t output, const char *text)
{
    struct buf value;
    buf_init(&value, 100);
    assert_ok(store_checkpoint(rig->store, output, &value, &rig->err), rig);
    assert_span(buf_span(&value), text);
    buf_fini(&value);
}

static void test_early_ids_are_not_given_again(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 6);
    uint64_t early[] = {rig_row(&rig, siem, 2).id, rig_row(&rig, siem, 4).id};
    uint64_t first = rig_row(&rig, siem, 0).id;
    const struct span checkpoint = span_text("file 3, 800 bytes");
    assert_ok(store_progress(rig.store,
                  &(struct store_progress){.output = siem,
                      .position = first,
                      .early = early,
                      .early_count = 2,
                      .checkpoint = &checkpoint},
                  &rig.err),
        &rig);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "2 4 6");
    rig_commit(&rig);
    rig_reopen(&rig);
    struct store_output_state seen;
    siem = rig_output_at(&rig, "siem", "json", false, &seen);
    assert_false(seen.is_new || seen.is_changed);
    assert_true(seen.position == first);
    assert_int_equal(rig_backlog(&rig, siem), 3);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "2 4 6");
    size_t count;
    const uint64_t *kept = store_early(rig.store, siem, &count);
    assert_int_equal(count, 2);
    assert_memory_equal(kept, early, sizeof(early));
    expect_checkpoint(&rig, siem, "file 3, 800 bytes");
    rig_fini(&rig);
}

/* Like an output that gets its events from memory in this run: it is not open here. */
static void test_a_checkpoint_is_dropped_and_the_position_stays(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_output_state seen;
    const struct span checkpoint = span_text("file 3, 800 bytes");
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    size_t lake = rig_output(&rig, "lake", "json");
    rig_fill(&rig, "json", 1, 4);
    uint64_t early = rig_row(&rig, siem, 2).id;
    uint64_t first = rig_row(&rig, siem, 0).id;
    assert_ok(store_progress(rig.store,
                  &(struct store_progress){.output = siem,
                      .position = first,
                      .early = &early,
                      .early_count = 1,
                      .checkpoint = &checkpoint},
                  &rig.err),
        &rig);
    assert_ok(
        store_progress(rig.store,
            &(struct store_progress){.output = lake, .position = first, .checkpoint = &checkpoint},
            &rig.err),
        &rig);
    rig_commit(&rig);
    rig_reopen(&rig);
    assert_ok(store_drop_checkpoint(rig.store, span_text("siem"), &rig.err), &rig);
    assert_ok(store_drop_checkpoint(rig.store, span_text("unknown"), &rig.err), &rig);
    rig_commit(&rig);
    rig_reopen(&rig);
    siem = rig_output_at(&rig, "siem", "json", false, &seen);
    lake = rig_output(&rig, "lake", "json");
    assert_true(seen.position == first);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "2 4");
    expect_checkpoint(&rig, siem, "");
    expect_checkpoint(&rig, lake, "file 3, 800 bytes");
    rig_fini(&rig);
}

static void test_what_is_left_of_a_batch_is_kept_until_it_is_settled(void **state)
{
    (void)state;
    struct store_rig rig;
    struct buf left;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 3);
    uint64_t second = rig_row(&rig, siem, 1).id;
    assert_ok(store_leftover(rig.store, siem, second, span_text("0 2"), &rig.err), &rig);
    assert_true(rig_row(&rig, siem, 1).has_left);
    rig_commit(&rig);
    rig_reopen(&rig);
    siem = rig_output(&rig, "siem", "json");
    assert_false(rig_row(&rig, siem, 0).has_left);
    assert_true(rig_row(&rig, siem, 1).has_left);
    buf_init(&left, 100);
    assert_ok(store_left(rig.store, siem, second, &left, &rig.err), &rig);
    assert_span(buf_span(&left), "0 2");
    /* Noted a second time, and settled before it is committed. */
    assert_ok(store_leftover(rig.store, siem, second, span_text("2"), &rig.err), &rig);
    rig_settle(&rig, siem, second);
    rig_commit(&rig);
    rig_reopen(&rig);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "3");
    assert_false(rig_row(&rig, siem, 0).has_left);
    buf_fini(&left);
    rig_fini(&rig);
}

static void test_a_new_output_begins_at_the_tail_or_at_the_head(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_output_state seen;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 3);
    rig_reopen(&rig);
    rig_output(&rig, "siem", "json");
    size_t tail = rig_output_at(&rig, "tail", "json", false, &seen);
    assert_true(seen.is_new && rig_backlog(&rig, tail) == 0);
    size_t head = rig_output_at(&rig, "head", "json", true, &seen);
    assert_true(seen.is_new && rig_backlog(&rig, head) == 3);
    rig_fill(&rig, "json", 4, 4);
    assert_string_equal(rig_waiting(&rig, tail, "json"), "4");
    assert_string_equal(rig_waiting(&rig, head, "json"), "1 2 3 4");
    rig_fini(&rig);
}

static void test_a_changed_output_takes_what_is_of_before_first(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_output_state seen;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_output(&rig, "lake", "json");
    rig_fill(&rig, "json", 1, 3);
    rig_reopen(&rig);
    size_t siem = rig_output_at(&rig, "siem", "ecs", false, &seen);
    assert_true(seen.is_changed && !seen.is_new && rig_backlog(&rig, siem) == 3);
    rig_output(&rig, "lake", "json");
    for (uint64_t i = 4; i < 7; i++) {
        rig_append(&rig, "json", i);
        rig_append(&rig, "ecs", i);
    }
    rig_commit(&rig);
    rig_reopen(&rig);
    siem = rig_output_at(&rig, "siem", "ecs", false, &seen);
    assert_false(seen.is_changed);
    size_t lake = rig_output(&rig, "lake", "json");
    assert_string_equal(rig_waiting(&rig, lake, "json"), "1 2 3 4 5 6");
    struct store_row rows[10];
    size_t count;
    assert_ok(store_next(rig.store, siem, 0, rows, 10, &count, &rig.err), &rig);
    assert_int_equal(count, 6);
    for (size_t i = 0; i < 6; i++) {
        const char *key = i < 3 ? "json" : "ecs";
        assert_int_equal(rig_number(&rig, &rows[i], key), i + 1);
        assert_span(store_range_about(rig.store, siem, rows[i].range), key);
    }
    /* Once the old range is drained it keeps nothing from being removed, although the other one has
     * not moved. */
    rig_settle(&rig, siem, rows[2].id);
    rig_settle(&rig, lake, rig_row(&rig, lake, 5).id);
    rig_commit(&rig);
    rig_commit(&rig);
    struct store_usage usage;
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_int_equal(usage.batches, 3);
    rig_fini(&rig);
}

static void test_an_output_pins_what_it_has_not_settled_until_it_is_forgotten(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_usage usage;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_output(&rig, "gone", "json");
    rig_fill(&rig, "json", 1, 3);
    rig_reopen(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_settle(&rig, siem, rig_row(&rig, siem, 2).id);
    rig_commit(&rig);
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_int_equal(usage.batches, 3);
    assert_true(rig_forget(&rig, "gone"));
    rig_commit(&rig);
    assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
    assert_int_equal(usage.batches, 0);
    rig_fini(&rig);
}

/* ---- other data of a commit ------------------------------------------------------------------ */

static bool count_gap(void *self, const struct catalogue_gap *gap)
{
    *(uint64_t *)self += gap->count;
    return true;
}

static uint64_t open_gaps(struct store_rig *rig)
{
    uint64_t lost = 0;
    assert_ok(
        catalogue_gaps(store_catalogue(rig->store, &rig->err), count_gap, &lost, &rig->err), rig);
    return lost;
}

static void test_a_source_falls_only_where_it_may(void **state)
{
    (void)state;
    struct store_rig rig;
    struct span session = span_text("kernel");
    rig_init(&rig, 0);
    rig_open(&rig);
    uint64_t stream = rig_stream(&rig, "json");
    assert_ok(store_source(rig.store, session, stream, 900, &rig.err), &rig);
    rig_commit(&rig);
    assert_ok(store_source(rig.store, session, stream, 800, &rig.err), &rig);
    rig_commit(&rig);
    assert_int_equal(rig_source(&rig, "json"), 900);
    assert_ok(store_source_from(rig.store, session, stream, 700, &rig.err), &rig);
    assert_ok(store_source(rig.store, session, stream, 600, &rig.err), &rig);
    rig_commit(&rig);
    rig_reopen(&rig);
    assert_int_equal(rig_source(&rig, "json"), 700);
    stream = rig_stream(&rig, "json");
    assert_ok(store_source(rig.store, session, stream, 800, &rig.err), &rig);
    assert_ok(store_source_from(rig.store, session, stream, 0, &rig.err), &rig);
    rig_commit(&rig);
    assert_int_equal(rig_source(&rig, "json"), 0);
    rig_fini(&rig);
}

static void test_sources_and_gaps_are_as_they_were_committed(void **state)
{
    (void)state;
    static const uint8_t file[16] = {1, 2, 3};
    static const uint8_t other[16] = {1, 2, 4};
    struct store_rig rig;
    struct span session = span_text("kernel");
    struct catalogue_gap gap = {.session = session,
        .stage = span_text("spool"),
        .reason = span_text("full"),
        .unit = span_text("events"),
        .count = 5,
        .exact = true};
    rig_init(&rig, 0);
    rig_open(&rig);
    uint64_t stream = rig_stream(&rig, "json");
    assert_ok(store_source(rig.store, session, stream, 900, &rig.err), &rig);
    assert_ok(store_source(rig.store, session, stream, 800, &rig.err), &rig);
    assert_ok(store_source_state(rig.store, session, span_text("state"), &rig.err), &rig);
    assert_ok(store_done(rig.store, session, file, 77, &rig.err), &rig);
    assert_ok(store_live(rig.store, session, 4711, &rig.err), &rig);
    assert_ok(store_gap(rig.store, &gap, &rig.err), &rig);
    gap.count = 6;
    assert_ok(store_gap(rig.store, &gap, &rig.err), &rig);
    assert_int_equal(open_gaps(&rig), 0);
    rig_commit(&rig);
    rig_reopen(&rig);
    assert_int_equal(rig_source(&rig, "json"), 900);
    uint64_t number;
    bool done;
    assert_ok(catalogue_find_done(
                  store_catalogue(rig.store, &rig.err), session, file, &number, &done, &rig.err),
        &rig);
    assert_true(done && number == 77);
    assert_ok(catalogue_find_done(
                  store_catalogue(rig.store, &rig.err), session, other, &number, &done, &rig.err),
        &rig);
    assert_false(done);
    assert_ok(catalogue_find_live(store_catalogue(rig.store, &rig.err), session, &number, &rig.err),
        &rig);
    assert_int_equal(number, 4711);
    struct buf value;
    buf_init(&value, 100);
    assert_ok(catalogue_find_state(store_catalogue(rig.store, &rig.err), session, &value, &rig.err),
        &rig);
    assert_span(buf_span(&value), "state");
    buf_fini(&value);
    assert_int_equal(open_gaps(&rig), 6);
    gap.count = 0;
    assert_ok(store_gap(rig.store, &gap, &rig.err), &rig);
    rig_commit(&rig);
    assert_int_equal(open_gaps(&rig), 0);
    rig_fini(&rig);
}

static void test_what_would_stand_in_the_way_of_a_commit_is_refused(void **state)
{
    (void)state;
    static char long_name[STORE_NAME_MAX + 1];
    struct store_rig rig;
    struct store_row row;
    struct store_output_state seen;
    size_t output;
    memset(long_name, 'n', sizeof(long_name));
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    uint64_t stream = rig_stream(&rig, "json");
    struct span name = span_make(long_name, sizeof(long_name));
    struct span good = span_text("kernel");
    const struct catalogue_gap gap = {.session = name, .count = 1};
    const struct store_source bad_sources[] = {
        {.session = name, .sequence = 1}, {.session = good, .sequence = UINT64_MAX}};
    assert_false(store_source(rig.store, name, stream, 1, &rig.err));
    assert_false(store_source(rig.store, good, stream, UINT64_MAX, &rig.err));
    assert_false(store_source(rig.store, good, stream + 1, 1, &rig.err));
    assert_false(store_source(rig.store, span_text(""), stream, 1, &rig.err));
    assert_false(store_gap(rig.store, &gap, &rig.err));
    for (size_t i = 0; i < 2; i++) {
        const struct store_batch batch = {
            .stream = stream, .records = 1, .sources = &bad_sources[i], .source_count = 1};
        assert_false(store_append(rig.store, &batch, &row, &rig.err));
        assert_int_equal(rig.err.code, ERR_LIMIT);
    }
    const struct store_batch of_none = {.stream = stream + 1, .records = 1};
    assert_false(store_append(rig.store, &of_none, &row, &rig.err));
    assert_false(store_progress(
        rig.store, &(struct store_progress){.output = siem, .position = UINT64_MAX}, &rig.err));
    assert_false(store_progress(
        rig.store, &(struct store_progress){.output = siem + 1, .position = 0}, &rig.err));
    assert_false(
        store_output(rig.store, span_text("siem"), stream, good, false, &output, &seen, &rig.err));
    assert_false(store_output(rig.store, name, stream, good, false, &output, &seen, &rig.err));
    assert_false(store_output(
        rig.store, span_text("new"), stream + 1, good, false, &output, &seen, &rig.err));
    rig_append(&rig, "json", 1);
    rig_commit(&rig);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1");
    rig_fini(&rig);
}

static void test_a_commit_with_nothing_to_do_touches_nothing(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 5);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_commit(&rig);
    rig_commit(&rig);
    uint64_t changes = disk_model_changes(rig.model);
    struct store_committed committed = rig_commit(&rig);
    assert_int_equal(committed.batches, 0);
    assert_int_equal(disk_model_changes(rig.model), changes);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_committed_waits_for_its_outputs_over_restarts),
        cmocka_unit_test(test_numbers_are_never_given_out_twice),
        cmocka_unit_test(test_a_batch_keeps_its_epoch_and_numbers),
        cmocka_unit_test(test_settled_batches_and_their_files_go),
        cmocka_unit_test(test_early_ids_are_not_given_again),
        cmocka_unit_test(test_a_checkpoint_is_dropped_and_the_position_stays),
        cmocka_unit_test(test_what_is_left_of_a_batch_is_kept_until_it_is_settled),
        cmocka_unit_test(test_a_new_output_begins_at_the_tail_or_at_the_head),
        cmocka_unit_test(test_a_changed_output_takes_what_is_of_before_first),
        cmocka_unit_test(test_an_output_pins_what_it_has_not_settled_until_it_is_forgotten),
        cmocka_unit_test(test_a_source_falls_only_where_it_may),
        cmocka_unit_test(test_sources_and_gaps_are_as_they_were_committed),
        cmocka_unit_test(test_what_would_stand_in_the_way_of_a_commit_is_refused),
        cmocka_unit_test(test_a_commit_with_nothing_to_do_touches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
