#include <stdlib.h>

#include "store/catalogue/catalogue_batches.h"
#include "unit/store/store_rig.h"

/* Room, drops, and the effect of clocks on them. */
enum { HOUR = 3600, DAY = 24 * HOUR };

struct losses {
    size_t count;
    uint64_t records;
    uint64_t last_id;
    uint64_t busy;   /* id of a batch that must stay */
    char names[200]; /* of all outputs with losses, once each */
};

static bool is_busy(void *self, uint64_t id)
{
    return id == ((struct losses *)self)->busy;
}

static void note_loss(void *self, size_t output, struct span name, const struct store_row *row)
{
    struct losses *losses = self;
    (void)output;
    char text[40];
    losses->count++;
    losses->records += row->records;
    losses->last_id = row->id;
    snprintf(text, sizeof(text), "%.*s ", SPAN_ARG(name));
    if (!strstr(losses->names, text)) {
        size_t used = strlen(losses->names);
        snprintf(losses->names + used, sizeof(losses->names) - used, "%s", text);
    }
}

static uint64_t drop(struct store_rig *rig, enum store_drop why, struct losses *losses)
{
    const struct store_loss loss = {.is_busy = is_busy, .lost = note_loss, .self = losses};
    uint64_t count = UINT64_MAX;
    assert_ok(store_drop(rig->store, why, &loss, &count, &rig->err), rig);
    return count;
}

static uint64_t batches(struct store_rig *rig)
{
    struct store_usage usage;
    assert_ok(store_usage(rig->store, &usage, &rig->err), rig);
    return usage.batches;
}

/* ---- room ---- */

static void a_full_store_drops_the_slowest_outputs_stream_first(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    rig_init(&rig, 4);
    rig.settings.max_bytes = 400000;
    rig_open(&rig);
    size_t fast = rig_output(&rig, "fast", "ecs");
    size_t slow = rig_output(&rig, "slow", "json");
    uint64_t number = 0;
    while (store_room(rig.store, 1000) == STORE_ROOM_OK) {
        rig_append(&rig, "json", ++number);
        rig_append(&rig, "ecs", number);
        rig_commit(&rig);
        rig_settle(&rig, fast, rig_row(&rig, fast, 0).id);
        assert_true(number < 1000);
    }
    assert_int_equal(store_room(rig.store, 1000), STORE_ROOM_FULL);
    uint64_t first = rig_row(&rig, slow, 0).id;
    while (store_room(rig.store, 1000) != STORE_ROOM_OK) {
        assert_true(drop(&rig, STORE_DROP_FULL, &losses) > 0);
        rig_commit(&rig);
    }
    assert_string_equal(losses.names, "slow ");
    assert_true(rig_row(&rig, slow, 0).id > losses.last_id);
    assert_true(losses.last_id > first);
    rig_append(&rig, "json", number + 1);
    rig_commit(&rig);
    rig_fini(&rig);
}

static void what_is_in_the_hands_of_an_output_stays(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_output(&rig, "lake", "json");
    rig_fill(&rig, "json", 1, 4);
    losses.busy = rig_row(&rig, siem, 1).id;
    assert_int_equal(drop(&rig, STORE_DROP_FULL, &losses), 3);
    assert_int_equal(losses.count, 6);
    assert_string_equal(losses.names, "siem lake ");
    /* A dropped batch stays dropped, also before the commit, and is dropped once. */
    assert_string_equal(rig_waiting(&rig, siem, "json"), "2");
    assert_int_equal(drop(&rig, STORE_DROP_FULL, &losses), 0);
    rig_commit(&rig);
    rig_reopen(&rig);
    siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "2");
    losses.busy = 0;
    rig_output(&rig, "lake", "json");
    assert_int_equal(drop(&rig, STORE_DROP_FULL, &losses), 1);
    rig_commit(&rig);
    assert_int_equal(batches(&rig), 0);
    rig_fini(&rig);
}

static void nothing_to_drop_is_no_failure(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    rig_init(&rig, 0);
    rig_open(&rig);
    assert_int_equal(drop(&rig, STORE_DROP_FULL, &losses), 0);
    rig_output(&rig, "siem", "json");
    assert_int_equal(drop(&rig, STORE_DROP_FULL, &losses), 0);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 0);
    rig_fini(&rig);
}

static void outputs_that_are_not_open_lose_under_their_name(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "gone", "json");
    rig_fill(&rig, "json", 1, 2);
    rig_reopen(&rig);
    assert_int_equal(drop(&rig, STORE_DROP_FULL, &losses), 2);
    assert_string_equal(losses.names, "gone ");
    rig_fini(&rig);
}

static void the_disk_is_to_keep_some_room_free(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 4);
    disk_model_set_capacity(rig.model, 20 << 20);
    rig.settings.min_free_bytes = 10 << 20;
    rig_open(&rig);
    rig_pass_seconds(&rig, 10);
    assert_int_equal(store_room(rig.store, 1000), STORE_ROOM_OK);
    disk_model_set_capacity(rig.model, 9 << 20);
    rig_pass_seconds(&rig, 10);
    assert_int_equal(store_room(rig.store, 1000), STORE_ROOM_DISK);
    disk_model_set_capacity(rig.model, 40 << 20);
    rig_pass_seconds(&rig, 10);
    assert_int_equal(store_room(rig.store, 1000), STORE_ROOM_OK);
    rig_fini(&rig);
}

static void a_backlog_is_known_without_reading_it(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_backlog backlog;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 6);
    rig_settle(&rig, siem, rig_row(&rig, siem, 1).id);
    assert_ok(store_backlog(rig.store, siem, &backlog, &rig.err), &rig);
    assert_int_equal(backlog.batches, 4);
    assert_int_equal(backlog.records, 4 + 5 + 1 + 2); /* see rig_try_append */
    assert_true(backlog.oldest == rig_row(&rig, siem, 0).entered);
    rig_settle(&rig, siem, rig_row(&rig, siem, 3).id);
    rig_commit(&rig);
    assert_ok(store_backlog(rig.store, siem, &backlog, &rig.err), &rig);
    assert_int_equal(backlog.batches, 0);
    assert_int_equal(backlog.oldest, 0);
    rig_fini(&rig);
}

static void a_backlog_leaves_out_what_was_taken_early_and_what_was_given_up(void **state)
{
    (void)state;
    struct store_rig rig;
    struct store_backlog backlog;
    rig_init(&rig, 0);
    rig_open(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 4);
    uint64_t early = rig_row(&rig, siem, 1).id;
    struct losses losses = {.busy = rig_row(&rig, siem, 0).id};
    assert_ok(store_progress(rig.store,
                  &(struct store_progress){
                      .output = siem, .position = 0, .early = &early, .early_count = 1},
                  &rig.err),
        &rig);
    rig_commit(&rig);
    assert_ok(store_backlog(rig.store, siem, &backlog, &rig.err), &rig);
    assert_int_equal(backlog.batches, 3);
    assert_int_equal(backlog.records, 2 + 4 + 5);
    assert_true(drop(&rig, STORE_DROP_FULL, &losses) > 0);
    rig_commit(&rig);
    rig_fill(&rig, "json", 5, 5);
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 5");
    assert_ok(store_backlog(rig.store, siem, &backlog, &rig.err), &rig);
    assert_int_equal(backlog.batches, 2);
    assert_int_equal(backlog.records, 2 + 1);
    assert_true(backlog.oldest == rig_row(&rig, siem, 0).entered);
    rig_fini(&rig);
}

/* ---- ages ---- */

static void open_aged(struct store_rig *rig)
{
    rig_init(rig, 0);
    rig->settings.max_age_ms = (uint64_t)7 * DAY * 1000;
    rig_open(rig);
    rig_output(rig, "siem", "json");
    rig_fill(rig, "json", 1, 2);
    rig_pass_seconds(rig, 4 * DAY);
    rig_fill(rig, "json", 3, 4);
}

static void what_is_older_than_max_age_is_dropped(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    open_aged(&rig);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 0);
    rig_pass_seconds(&rig, 4 * DAY);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 2);
    rig_commit(&rig);
    assert_string_equal(rig_waiting(&rig, 0, "json"), "3 4");
    rig_pass_seconds(&rig, 4 * DAY);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 2);
    assert_int_equal(losses.records, 2 + 3 + 4 + 5);
    rig_fini(&rig);
}

static void an_agent_that_was_stopped_for_long_gets_an_hour_to_deliver(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    open_aged(&rig);
    rig_close(&rig);
    rig.wall += (uint64_t)3650 * DAY * RIG_SECOND; /* or the clock may be wrong */
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_commit(&rig);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 0);
    assert_string_equal(rig_waiting(&rig, 0, "json"), "1 2 3 4");
    rig_pass_seconds(&rig, HOUR + 1);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 4);
    assert_int_equal(losses.count, 4);
    rig_fini(&rig);
}

static void a_clock_that_was_wrong_at_the_start_and_is_set_right_costs_nothing(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    open_aged(&rig);
    rig_close(&rig);
    rig.wall += (uint64_t)3650 * DAY * RIG_SECOND;
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_pass_seconds(&rig, 10);
    rig.wall -= (uint64_t)3650 * DAY * RIG_SECOND;
    rig_commit(&rig);
    assert_int_equal(rig.news[STORE_NEWS_CLOCK], 1);
    rig_pass_seconds(&rig, 2 * DAY);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 0);
    rig_pass_seconds(&rig, 2 * DAY);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 2);
    rig_fini(&rig);
}

static void a_clock_that_is_set_makes_nothing_older(void **state)
{
    (void)state;
    static const int64_t steps[] = {3650, -3650, -8, 8};
    for (size_t i = 0; i < 4; i++) {
        struct store_rig rig;
        struct losses losses = {.count = 0};
        open_aged(&rig);
        rig.wall += (uint64_t)(steps[i] * DAY) * RIG_SECOND;
        rig_commit(&rig);
        assert_int_equal(rig.news[STORE_NEWS_CLOCK], 1);
        rig_fill(&rig, "json", 5, 5);
        rig_pass_seconds(&rig, 2 * DAY);
        assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 0);
        struct store_usage usage;
        assert_ok(store_usage(rig.store, &usage, &rig.err), &rig);
        assert_true(usage.oldest_ms <= (uint64_t)6 * DAY * 1000);
        /* Yet nothing stays for ever. */
        rig_pass_seconds(&rig, 8 * DAY);
        assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 5);
        rig_commit(&rig);
        assert_int_equal(batches(&rig), 0);
        rig_fini(&rig);
    }
}

static void a_clock_that_was_set_back_between_two_runs_makes_nothing_stay_for_ever(void **state)
{
    (void)state;
    struct store_rig rig;
    struct losses losses = {.count = 0};
    open_aged(&rig);
    rig_close(&rig);
    rig.wall -= (uint64_t)3650 * DAY * RIG_SECOND;
    rig_open(&rig);
    assert_int_equal(rig.news[STORE_NEWS_CLOCK], 1);
    rig_output(&rig, "siem", "json");
    rig_commit(&rig);
    rig_pass_seconds(&rig, 6 * DAY);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 0);
    rig_pass_seconds(&rig, 2 * DAY);
    assert_int_equal(drop(&rig, STORE_DROP_TOO_OLD, &losses), 4);
    rig_fini(&rig);
}

static void a_clock_that_was_set_gives_a_new_epoch(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    uint64_t before = rig_append(&rig, "json", 1).epoch;
    rig_commit(&rig);
    rig_pass_seconds(&rig, 100);
    assert_true(rig_append(&rig, "json", 2).epoch == before);
    rig_commit(&rig);
    rig.wall += (uint64_t)DAY * RIG_SECOND;
    rig_commit(&rig);
    assert_true(rig_append(&rig, "json", 3).epoch != before);
    rig_commit(&rig);
    rig_reopen(&rig);
    assert_int_equal(rig.news[STORE_NEWS_REBUILT], 0);
    size_t siem = rig_output(&rig, "siem", "json");
    assert_string_equal(rig_waiting(&rig, siem, "json"), "1 2 3");
    assert_true(rig_row(&rig, siem, 1).epoch == before);
    assert_true(rig_row(&rig, siem, 2).epoch != before);
    rig_fini(&rig);
}

static bool count_stream(void *self, const struct catalogue_stream *stream)
{
    (void)stream;
    ++*(size_t *)self;
    return true;
}

static size_t count_streams(struct store_rig *rig)
{
    char path[TEMP_FOLDER_BYTES + 64];
    size_t count = 0;
    snprintf(path, sizeof(path), "%s/catalogue.db", rig->path);
    struct catalogue *catalogue = catalogue_open(path, CATALOGUE_READ, &rig->err);
    assert_non_null(catalogue);
    assert_ok(catalogue_streams(catalogue, count_stream, &count, &rig->err), rig);
    catalogue_close(catalogue);
    return count;
}

static void a_stream_that_nothing_refers_to_goes(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_fill(&rig, "json", 1, 3);
    rig_reopen(&rig);
    size_t siem = rig_output(&rig, "siem", "ecs"); /* its shape has changed */
    rig_commit(&rig);
    assert_int_equal(count_streams(&rig), 2);
    rig_settle(&rig, siem, rig_row(&rig, siem, 2).id);
    rig_commit(&rig);
    rig_append(&rig, "ecs", 2);
    for (int i = 0; i < 3; i++) { /* no other row says that the source is at 3 */
        rig_settle(&rig, siem, 0);
        rig_commit(&rig);
        assert_int_equal(count_streams(&rig), 2);
    }
    rig_append(&rig, "ecs", 4);
    for (int i = 0; i < 3; i++) {
        rig_settle(&rig, siem, 0);
        rig_commit(&rig);
    }
    assert_int_equal(count_streams(&rig), 1);
    rig_fill(&rig, "ecs", 5, 5);
    rig_reopen(&rig);
    siem = rig_output(&rig, "siem", "ecs");
    assert_string_equal(rig_waiting(&rig, siem, "ecs"), "2 4 5");
    assert_true(rig_stream(&rig, "json") > rig_stream(&rig, "ecs")); /* a new number */
    rig_fini(&rig);
}

static void an_output_that_is_gone_pins_nothing_after_max_age(void **state)
{
    (void)state;
    struct store_rig rig;
    rig_init(&rig, 0);
    rig.settings.max_age_ms = (uint64_t)7 * DAY * 1000;
    rig_open(&rig);
    rig_output(&rig, "siem", "json");
    rig_output(&rig, "gone", "json");
    rig_fill(&rig, "json", 1, 2);
    /* Both are there for a week. */
    for (int day = 0; day < 7; day++) {
        rig_pass_seconds(&rig, DAY);
        rig_commit(&rig);
    }
    rig_fill(&rig, "json", 3, 3);
    rig_reopen(&rig);
    size_t siem = rig_output(&rig, "siem", "json");
    rig_settle(&rig, siem, rig_row(&rig, siem, 2).id);
    rig_pass_seconds(&rig, 6 * DAY);
    rig_commit(&rig);
    assert_int_equal(batches(&rig), 3);
    rig_pass_seconds(&rig, 2 * DAY);
    rig_commit(&rig);
    assert_int_equal(batches(&rig), 0);
    assert_int_equal(rig.news[STORE_NEWS_OUTPUT_REMOVED], 1);
    assert_non_null(strstr(rig.told, "9 records")); /* of three batches */
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_store_drops_the_slowest_outputs_stream_first),
        cmocka_unit_test(what_is_in_the_hands_of_an_output_stays),
        cmocka_unit_test(nothing_to_drop_is_no_failure),
        cmocka_unit_test(outputs_that_are_not_open_lose_under_their_name),
        cmocka_unit_test(the_disk_is_to_keep_some_room_free),
        cmocka_unit_test(a_backlog_is_known_without_reading_it),
        cmocka_unit_test(a_backlog_leaves_out_what_was_taken_early_and_what_was_given_up),
        cmocka_unit_test(what_is_older_than_max_age_is_dropped),
        cmocka_unit_test(an_agent_that_was_stopped_for_long_gets_an_hour_to_deliver),
        cmocka_unit_test(a_clock_that_was_wrong_at_the_start_and_is_set_right_costs_nothing),
        cmocka_unit_test(a_clock_that_is_set_makes_nothing_older),
        cmocka_unit_test(a_clock_that_was_set_back_between_two_runs_makes_nothing_stay_for_ever),
        cmocka_unit_test(a_clock_that_was_set_gives_a_new_epoch),
        cmocka_unit_test(a_stream_that_nothing_refers_to_goes),
        cmocka_unit_test(an_output_that_is_gone_pins_nothing_after_max_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
