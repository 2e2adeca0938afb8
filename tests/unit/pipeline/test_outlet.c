#include "pipeline/outlet.h"

#include <stdlib.h>

#include "support/fake_output.h"
#include "support/test.h"

/* An outlet over a spool in memory, its batches made by hand. */
enum { SESSIONS = 2 };

struct rig {
    struct spool *spool;
    struct books *books;
    struct outlet *outlet;
    struct fake_output *fake;
    struct fake_settings fake_settings;
    uint64_t had[SESSIONS];
    size_t saves;
    bool warns;
    struct slab_queue *queue;
    struct losses *losses;
};

static void on_warn(void *self, const char *output, const char *kind, const char *text)
{
    if (!((struct rig *)self)->warns) {
        fail_msg("%s: %s: %s", output, kind, text);
    }
}

/* Events of session 0 are lines "0", those of session 1 lines "1". What is stored at this moment:
 * as many of each in the destination as its sequence says beyond what it had. */
static bool on_save(void *self, struct error *err)
{
    struct rig *rig = self;
    uint64_t sequences[SESSIONS];
    struct buf checkpoint;
    (void)err;
    rig->saves++;
    buf_init(&checkpoint, 1000);
    outlet_state(rig->outlet, 0, sequences, &checkpoint);
    buf_add_byte(&checkpoint, 0);
    size_t bytes = strtoull((const char *)checkpoint.data, NULL, 10);
    char *text = fake_output_text(rig->fake);
    uint64_t lines[SESSIONS] = {0};
    for (size_t i = 0; i < bytes; i += 2) {
        lines[text[i] - '0']++;
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        assert_int_equal(lines[i], sequences[i] - rig->had[i]);
    }
    free(text);
    buf_fini(&checkpoint);
    return true;
}

static void setup(struct rig *rig, const uint64_t had[SESSIONS], bool saves)
{
    struct error err = {0};
    size_t cursor = 0;
    *rig = (struct rig){.had = {had[0], had[1]}};
    rig->fake = fake_output_create(NULL, 0);
    rig->fake_settings = (struct fake_settings){.fake = rig->fake, .saves = saves};
    rig->spool = spool_memory_create(1, 1 << 20, &err);
    rig->books = books_create(SESSIONS, 1, &err);
    rig->queue = slab_queue_create(1, 1, &err);
    assert_non_null(rig->queue);
    rig->losses = losses_create(&(struct losses_settings){.session_count = SESSIONS,
                                    .comes_again = (const bool[SESSIONS]){false, false},
                                    .outputs = (const char *const[]){"fake"},
                                    .output_count = 1,
                                    .queue = rig->queue},
        &err);
    assert_non_null(rig->losses);
    assert_non_null(rig->spool);
    assert_non_null(rig->books);
    assert_true(rig->spool->ops->add_cursor(rig->spool, 0, &cursor, &err));
    rig->outlet = outlet_create(&(struct outlet_settings){.name = "fake",
                                    .ops = &fake_output_ops,
                                    .settings = &rig->fake_settings,
                                    .retry = {.min_ms = 1, .max_ms = 2},
                                    .workers = 1,
                                    .route = SIZE_MAX,
                                    .resume = rig->had,
                                    .session_count = SESSIONS,
                                    .spool = rig->spool,
                                    .cursor = cursor,
                                    .books = rig->books,
                                    .losses = rig->losses,
                                    .save = on_save,
                                    .warn = on_warn,
                                    .self = rig},
        &err);
    assert_non_null(rig->outlet);
}

static void teardown(struct rig *rig)
{
    outlet_destroy(rig->outlet);
    assert_int_equal(fake_output_counts(rig->fake).misused, 0);
    fake_output_destroy(rig->fake);
    spool_destroy(rig->spool);
    books_destroy(rig->books);
    slab_queue_destroy(rig->queue);
    losses_destroy(rig->losses);
}

/* The times of a session's events are 100 and 110, or 200 and 210. */
static void add_events(struct batch *batch, uint32_t session, size_t count, uint64_t last_sequence)
{
    for (size_t i = 0; i < count; i++) {
        buf_add_text(&batch->piece.bytes, session ? "1\n" : "0\n");
        assert_true(piece_end_record(&batch->piece, 0));
    }
    uint64_t time = 100 * (UINT64_C(1) + session);
    assert_true(batch_mark(batch, &(struct batch_segment){.session = session,
                                      .cut = true,
                                      .last_sequence = last_sequence,
                                      .times = {.from = time, .to = time + 10}}));
}

/* After a restart a batch may hold what its output has had in the middle of what it has not, and
 * then arrives in two deliveries. */
static void a_checkpoint_stored_between_two_parts_of_a_batch_knows_the_first(void **state)
{
    (void)state;
    struct rig rig;
    struct error err = {0};
    setup(&rig, (const uint64_t[]){0, 20}, true);
    books_offer(rig.books, 0, 9, 0, false);
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    add_events(batch, 0, 3, 3);
    add_events(batch, 1, 5, 20); /* had before */
    add_events(batch, 0, 2, 5);
    add_events(batch, 1, 4, 24);
    rig.spool->ops->append(rig.spool, 0, batch);
    rig.spool->ops->close(rig.spool);
    assert_true(outlet_start(rig.outlet, &err));
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(rig.saves, 2);
    char *text = fake_output_text(rig.fake);
    assert_string_equal(text, "0\n0\n0\n0\n0\n1\n1\n1\n1\n");
    free(text);
    struct output_counts counts;
    books_look(rig.books, NULL, &counts);
    assert_int_equal(counts.acked, 9);
    assert_int_equal(counts.pending, 0);
    teardown(&rig);
}

/* Losses of a batch belong to the sessions that its records are of. */
static void what_is_lost_is_lost_to_its_session(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {.verdict = OUTPUT_MIXED, .delivers = 1, .rejects = 0x64},
        {.verdict = OUTPUT_MIXED, .rejects = 2}};
    /* Records 0 to 2 and 8 to 9 are of session 0, 3 to 7 of session 1: rejected are 2, 5 and 6, then
     * the second of what is left, 3. */
    static const uint64_t lost[SESSIONS] = {1, 3};
    static const uint64_t from[SESSIONS] = {100, 200};
    struct rig rig;
    struct error err = {0};
    setup(&rig, (const uint64_t[]){0, 0}, false);
    fake_output_script(rig.fake, steps, 2);
    rig.warns = true;
    books_offer(rig.books, 0, 10, 0, false);
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    add_events(batch, 0, 3, 3);
    add_events(batch, 1, 5, 5);
    add_events(batch, 0, 2, 5);
    rig.spool->ops->append(rig.spool, 0, batch);
    rig.spool->ops->close(rig.spool);
    assert_true(outlet_start(rig.outlet, &err));
    assert_true(outlet_join(rig.outlet));
    losses_close(rig.losses);
    slab_queue_close(rig.queue);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        struct slab *slab = slab_queue_pop(rig.queue, 0);
        assert_non_null(slab);
        assert_int_equal(slab->session, i);
        assert_int_equal(slab->gap.count, lost[i]);
        assert_int_equal(slab->gap.from, from[i]);
        assert_string_equal(slab->gap.output, "fake");
        slab_destroy(slab);
    }
    assert_null(slab_queue_pop(rig.queue, 0));
    struct output_counts counts;
    books_look(rig.books, NULL, &counts);
    assert_int_equal(counts.dropped[OUTPUT_DROP_REJECTED], 4);
    assert_int_equal(counts.acked, 6);
    teardown(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_stored_between_two_parts_of_a_batch_knows_the_first),
        cmocka_unit_test(what_is_lost_is_lost_to_its_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
