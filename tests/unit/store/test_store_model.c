#include <inttypes.h>
#include <stdlib.h>

#include "platform/plat_path.h"
#include "unit/store/rig_forget_own.h"
#include "unit/store/store_rig.h"

/*
 * The store against a simple reference: for each output a list of what it has still to take. Random
 * operations are done with both, among them commits that fail, orderly ends and kills, changed
 * outputs, clocks that are set, and a lost catalogue.
 *
 * ETWSHIP_STEPS and ETWSHIP_SEED: the number of steps (3000), and the seed of their choice. Every
 * million steps a run begins with the next seed.
 */
enum { STREAMS = 3, OUTPUTS = 4, MOST = 4000, ROWS = 50, MOST_STEPS = 1000000 };

static const char *const keys[STREAMS] = {"json", "ecs", "text"};
static const char *const names[OUTPUTS] = {"siem", "lake", "file", "queue"};

struct batch {
    uint64_t id;
    uint64_t number;
    size_t stream;
};

struct output {
    bool is_known;
    bool is_open;
    size_t number; /* in the store */
    size_t stream;
    struct batch waits[MOST]; /* committed, and not settled */
    size_t count;
};

struct model {
    struct store_rig rig;
    uint64_t random;
    struct output outputs[OUTPUTS];
    struct batch staged[MOST];
    size_t staged_count;
    uint64_t committed[STREAMS]; /* the last number */
    uint64_t appended[STREAMS];
    uint64_t last_record; /* after all numbers of this epoch */
    uint64_t epoch;
    uint64_t last_id; /* that was used in this run or is committed */
    uint64_t committed_id;
    uint64_t losses;
};

static struct model model;

static uint64_t draw(uint64_t below)
{
    model.random ^= model.random << 13;
    model.random ^= model.random >> 7;
    model.random ^= model.random << 17;
    return (model.random >> 11) % below;
}

/* ---- the reference --------------------------------------------------------------------------- */

static void take_over(void)
{
    for (size_t i = 0; i < model.staged_count; i++) {
        const struct batch *batch = &model.staged[i];
        model.committed[batch->stream] = batch->number;
        model.committed_id = batch->id;
        for (size_t o = 0; o < OUTPUTS; o++) {
            struct output *output = &model.outputs[o];
            if (output->is_known && output->stream == batch->stream) {
                assert_true(output->count < MOST);
                output->waits[output->count++] = *batch;
            }
        }
    }
    model.staged_count = 0;
}

static void forget_staged(void)
{
    model.staged_count = 0;
    memcpy(model.appended, model.committed, sizeof(model.committed));
    model.last_id = model.committed_id;
}

static bool take_out(struct output *output, uint64_t id)
{
    for (size_t i = 0; i < output->count; i++) {
        if (output->waits[i].id == id) {
            output->count--;
            memmove(output->waits + i, output->waits + i + 1,
                (output->count - i) * sizeof(output->waits[0]));
            return true;
        }
    }
    return false;
}

static struct output *some_open(void)
{
    struct output *output = &model.outputs[draw(OUTPUTS)];
    return output->is_open ? output : NULL;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void append(void)
{
    size_t stream = draw(STREAMS);
    if (model.staged_count > 40) {
        return;
    }
    uint64_t number = ++model.appended[stream];
    struct store_row row = rig_append(&model.rig, keys[stream], number);
    assert_true(row.id > model.last_id);
    assert_true(row.epoch != model.epoch || row.first_record >= model.last_record);
    model.last_id = row.id;
    model.epoch = row.epoch;
    model.last_record = row.first_record + row.records;
    model.staged[model.staged_count++] = (struct batch){
        .id = row.id, .number = number, .stream = stream};
}

static void commit(void)
{
    rig_commit(&model.rig);
    take_over();
}

static void fail_to_commit(void)
{
    static const unsigned kinds[] = {
        DISK_MODEL_SYNC, DISK_MODEL_APPEND, DISK_MODEL_SYNC_FOLDER, DISK_MODEL_CHANGES};
    const struct disk_model_fault fault = {
        .operations = kinds[draw(4)], .skip = draw(4), .times = 1 + draw(3)};
    disk_model_fail(model.rig.model, &fault);
    if (rig_try_commit(&model.rig)) {
        take_over();
    }
    disk_model_heal(model.rig.model);
}

static void compare(const struct output *output)
{
    struct store_rig *rig = &model.rig;
    struct store_row rows[ROWS];
    size_t count = 0;
    uint64_t after = output->count && draw(2) ? output->waits[draw(output->count)].id : 0;
    size_t first = 0;
    while (first < output->count && output->waits[first].id <= after) {
        first++;
    }
    size_t expected = output->count - first < ROWS ? output->count - first : ROWS;
    assert_ok(store_next(rig->store, output->number, after, rows, ROWS, &count, &rig->err), rig);
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++) {
        const struct batch *batch = &output->waits[first + i];
        const char *key = keys[batch->stream];
        assert_int_equal(rows[i].id, batch->id);
        assert_span(store_range_about(rig->store, output->number, rows[i].range), key);
        if (draw(4) == 0) {
            assert_int_equal(rig_number(rig, &rows[i], key), batch->number);
        }
    }
}

/* Settle some waiting batches: from the front, and some later ones early. */
static void settle(void)
{
    struct output *output = some_open();
    struct store_rig *rig = &model.rig;
    size_t count;
    if (!output || output->count == 0) {
        return;
    }
    uint64_t early[100];
    const uint64_t *old = store_early(rig->store, output->number, &count);
    assert_true(count < 50);
    size_t front = draw(output->count < 20 ? output->count + 1 : 20);
    uint64_t position = front ? output->waits[front - 1].id : 0;
    for (size_t i = 0; i < count; i++) {
        early[i] = old[i];
    }
    for (size_t i = front + 1; i < output->count && i < front + 5 && count < 50; i++) {
        if (draw(3) == 0 && (count == 0 || early[count - 1] < output->waits[i].id)) {
            early[count++] = output->waits[i].id;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (early[i] > position) {
            early[kept++] = early[i];
        }
        take_out(output, early[i]);
    }
    assert_ok(store_progress(rig->store,
                  &(struct store_progress){.output = output->number,
                      .position = position,
                      .early = early,
                      .early_count = kept},
                  &rig->err),
        rig);
    while (output->count && output->waits[0].id <= position) {
        take_out(output, output->waits[0].id);
    }
}

static void lost(void *self, size_t number, struct span name, const struct store_row *row)
{
    (void)self;
    for (size_t o = 0; o < OUTPUTS; o++) {
        struct output *output = &model.outputs[o];
        if (span_is(name, names[o])) {
            assert_true(number == (output->is_open ? output->number : SIZE_MAX));
            assert_true(take_out(output, row->id));
            model.losses++;
        }
    }
}

static void drop(enum store_drop why)
{
    const struct store_loss loss = {.lost = lost};
    uint64_t count;
    assert_ok(store_drop(model.rig.store, why, &loss, &count, &model.rig.err), &model.rig);
}

/* In the next run some outputs are there, some are not, and some have another stream. */
static void open_again(void)
{
    struct store_rig *rig = &model.rig;
    struct store_output_state seen;
    rig_open(rig);
    for (size_t i = 0; i < STREAMS; i++) {
        assert_int_equal(rig_source(rig, keys[i]), model.committed[i]);
    }
    for (size_t o = 0; o < OUTPUTS; o++) {
        struct output *output = &model.outputs[o];
        output->is_open = draw(5) != 0;
        if (output->is_open) {
            output->stream = !output->is_known || draw(4) == 0 ? draw(STREAMS) : output->stream;
            output->number = rig_output_at(rig, names[o], keys[output->stream], false, &seen);
            assert_true(seen.is_new == !output->is_known);
            output->is_known = true;
            compare(output);
        }
    }
    rig_commit(rig);
}

/* Changes staged beside batches are committed before the end, because the reference does not know
 * which of them are. */
static void reopen(enum disk_model_loss loss)
{
    commit();
    append();
    append();
    rig_close(&model.rig);
    disk_model_restart(model.rig.model, loss);
    forget_staged();
    open_again();
}

/* Everything that outputs had to take comes again, and perhaps more, which they take. */
static void lose_catalogue(void)
{
    struct store_rig *rig = &model.rig;
    struct store_output_state seen;
    char path[400];
    commit();
    rig_close(rig);
    snprintf(path, sizeof(path), "%s/catalogue.db", rig->path);
    assert_ok(plat_path_remove(path, &rig->err), rig);
    rig_open(rig);
    for (size_t o = 0; o < OUTPUTS; o++) {
        struct output *output = &model.outputs[o];
        size_t wanted = 0;
        struct store_row row = {.id = 0};
        size_t count = 1;
        output->is_open = true;
        output->stream = output->is_known ? output->stream : draw(STREAMS);
        output->is_known = true;
        output->number = rig_output_at(rig, names[o], keys[output->stream], false, &seen);
        while (count) {
            assert_ok(
                store_next(rig->store, output->number, row.id, &row, 1, &count, &rig->err), rig);
            while (count && wanted < output->count && output->waits[wanted].id <= row.id) {
                const struct batch *batch = &output->waits[wanted++];
                assert_true(batch->id == row.id || batch->stream != output->stream);
            }
        }
        while (wanted < output->count && output->waits[wanted].stream != output->stream) {
            wanted++; /* of an earlier stream: the store no longer knows that it is this output's */
        }
        assert_int_equal(wanted, output->count);
        if (row.id) {
            rig_settle(rig, output->number, row.id);
        }
        output->count = 0;
    }
    rig_forget(rig, "(rebuilt)");
    rig_commit(rig);
    for (size_t i = 0; i < STREAMS; i++) { /* streams without anything in the files are unknown */
        model.committed[i] = rig_source(rig, keys[i]);
    }
    forget_staged();
    model.last_id = model.committed_id =
        0; /* numbers begin after those that were found, in a new epoch */
}

/* An output that was away for too long begins anew. */
static void note_forgotten(void *self, enum store_news news, const char *text)
{
    rig_report(self, news, text);
    for (size_t o = 0; news == STORE_NEWS_OUTPUT_REMOVED && o < OUTPUTS; o++) {
        struct output *output = &model.outputs[o];
        if (strstr(text, names[o])) {
            assert_true(output->is_known && !output->is_open);
            output->is_known = false;
            output->count = 0;
        }
    }
}

static void set_clock(void)
{
    static const int64_t days[] = {1, -1, 400, -400};
    model.rig.wall += (uint64_t)(days[draw(4)] * 86400) * RIG_SECOND;
}

static void step(void)
{
    uint64_t what = draw(1000);
    const struct output *output = some_open();
    if (what < 400) {
        append();
    } else if (what < 550) {
        commit();
    } else if (what < 600) {
        fail_to_commit();
    } else if (what < 850) {
        settle();
    } else if (what < 950 && output) {
        compare(output);
    } else if (what < 960) {
        drop(STORE_DROP_FULL);
    } else if (what < 970) {
        drop(STORE_DROP_TOO_OLD);
    } else if (what < 980) {
        rig_pass_seconds(&model.rig, draw(100000));
    } else if (what < 983) {
        set_clock();
    } else if (what < 990) {
        reopen(DISK_MODEL_KEEP_ALL);
    } else if (what < 998) {
        reopen(draw(2) ? DISK_MODEL_LOSE_ALL : DISK_MODEL_LOSE_SOME);
    } else if (what < 999) {
        lose_catalogue();
    }
}

/* Everything is taken. Then the store is empty. */
static void drain(void)
{
    struct store_rig *rig = &model.rig;
    struct store_usage usage;
    commit();
    for (size_t o = 0; o < OUTPUTS; o++) {
        struct output *output = &model.outputs[o];
        if (output->is_open) {
            compare(output);
            /* This also passes batches that were dropped before others that it took early. */
            rig_settle(rig, output->number, model.committed_id);
            output->count = 0;
        } else {
            rig_forget(rig, names[o]);
        }
    }
    rig_forget(rig, "(rebuilt)");
    for (int i = 0; i < 3; i++) {
        rig_commit(rig);
    }
    assert_ok(store_usage(rig->store, &usage, &rig->err), rig);
    assert_int_equal(usage.batches, 0);
    assert_true(usage.bytes - usage.catalogue_bytes <= rig->settings.segment_bytes + 1000);
}

static uint64_t setting(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : usual;
}

static void compare_a_life(uint64_t steps, uint64_t seed)
{
    print_message("%" PRIu64 " steps from seed %" PRIu64 "\n", steps, seed);
    memset(&model, 0, sizeof(model));
    model.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    rig_init(&model.rig, seed);
    disk_model_hold_back(model.rig.model, seed % 2 == 0);
    model.rig.settings.max_bytes = 1 << 20; /* for a small reserve; no caller asks for room */
    model.rig.settings.max_age_ms = UINT64_C(40) * 86400 * 1000;
    model.rig.settings.report = note_forgotten;
    open_again();
    for (uint64_t i = 0; i < steps; i++) {
        step();
    }
    drain();
    print_message("%" PRIu64 " batches dropped, %u rebuilds\n", model.losses,
        model.rig.news[STORE_NEWS_REBUILT]);
    rig_fini(&model.rig);
}

static void the_store_does_as_the_reference_does(void **state)
{
    (void)state;
    uint64_t steps = setting("ETWSHIP_STEPS", 3000);
    uint64_t seed = setting("ETWSHIP_SEED", 1);
    for (; steps > MOST_STEPS; steps -= MOST_STEPS) {
        compare_a_life(MOST_STEPS, seed++);
    }
    compare_a_life(steps, seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_does_as_the_reference_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
