#include "pipeline/outlet.h"

#include <stddef.h>
#include <stdlib.h>

#include "platform/plat_system.h"
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
    struct had steps[SESSIONS];
    size_t saves;
    bool warns;
    struct buf warnings; /* their kinds */
    struct dead_letters letters;
    struct buf kept;
    uint64_t first_kept;     /* which record of the spool the first letter is of */
    struct buf kept_records; /* of all of them, counted from there */
    size_t keeps_that_fail;
    bool repeats[SESSIONS];
    struct slab_queue *queue;
    struct losses *losses;
};

static void on_warn(void *self, const char *output, const char *kind, const char *text)
{
    struct rig *rig = self;
    if (!rig->warns) {
        fail_msg("%s: %s: %s", output, kind, text);
    }
    buf_printf(&rig->warnings, "%s;", kind);
}

/* A store that fails as often as it is told to. */
static bool on_put(
    struct dead_letters *letters, const struct dead_letter *items, size_t count, struct error *err)
{
    struct rig *rig = (struct rig *)((uint8_t *)letters - offsetof(struct rig, letters));
    if (rig->keeps_that_fail) {
        rig->keeps_that_fail--;
        return error_set(err, ERR_IO, "the disk is full");
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(items[i].time > 0);
        assert_true(items[i].epoch != 0);
        rig->first_kept = rig->kept.size ? rig->first_kept : items[i].record;
        buf_printf(
            &rig->kept_records, "%llu ", (unsigned long long)(items[i].record - rig->first_kept));
        buf_printf(&rig->kept, "%.*s %d %.*s %.*s %.*s;", SPAN_ARG(items[i].output),
            items[i].status, SPAN_ARG(items[i].reason), SPAN_ARG(items[i].route),
            SPAN_ARG(items[i].document));
    }
    return true;
}

static const struct dead_letters_ops letter_ops = {.put = on_put};

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

enum { SHORT_MS = 2, LONG_MS = 24 * 3600 * 1000 };

static void setup_behind(struct rig *rig, const uint64_t had[SESSIONS],
    const uint64_t had_behind[SESSIONS], bool saves, size_t workers, bool keeps, unsigned retry_ms)
{
    struct error err = {0};
    size_t cursor = 0;
    *rig = (struct rig){.had = {had[0], had[1]}};
    for (size_t i = 0; i < SESSIONS; i++) {
        had_set(&rig->steps[i], had[i], had_behind[i]);
    }
    buf_init(&rig->warnings, 10000);
    buf_init(&rig->kept, 10000);
    buf_init(&rig->kept_records, 10000);
    rig->letters.ops = &letter_ops;
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
    const struct spool_reader reader = {.name = "fake", .route = SIZE_MAX};
    struct spool_backlog backlog;
    assert_true(rig->spool->ops->add_cursor(rig->spool, &reader, &cursor, &backlog, &err));
    rig->outlet = outlet_create(&(struct outlet_settings){.name = "fake",
                                    .ops = &fake_output_ops,
                                    .settings = &rig->fake_settings,
                                    .retry = {.min_ms = retry_ms, .max_ms = retry_ms},
                                    .workers = workers,
                                    .resume = rig->had,
                                    .had = rig->steps,
                                    .session_count = SESSIONS,
                                    .spool = rig->spool,
                                    .cursor = cursor,
                                    .books = rig->books,
                                    .losses = rig->losses,
                                    .dead_letters = keeps ? &rig->letters : NULL,
                                    .repeats = rig->repeats,
                                    .save = on_save,
                                    .warn = on_warn,
                                    .self = rig},
        &err);
    assert_non_null(rig->outlet);
}

static void setup_paced(struct rig *rig, const uint64_t had[SESSIONS], bool saves, size_t workers,
    bool keeps, unsigned retry_ms)
{
    setup_behind(rig, had, (const uint64_t[]){0, 0}, saves, workers, keeps, retry_ms);
}

static void setup_with(
    struct rig *rig, const uint64_t had[SESSIONS], bool saves, size_t workers, bool keeps)
{
    setup_paced(rig, had, saves, workers, keeps, SHORT_MS);
}

static void setup(struct rig *rig, const uint64_t had[SESSIONS], bool saves)
{
    setup_with(rig, had, saves, 1, false);
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
    buf_fini(&rig->warnings);
    buf_fini(&rig->kept);
    buf_fini(&rig->kept_records);
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

/* A batch of ${count} events of ${session}, up to ${last_sequence}. */
static void add_batch(struct rig *rig, uint32_t session, size_t count, uint64_t last_sequence)
{
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    books_offer(rig->books, 0, count, 0, false);
    add_events(batch, session, count, last_sequence);
    rig->spool->ops->append(rig->spool, 0, batch);
}

static void run_to_the_end(struct rig *rig)
{
    struct error err = {0};
    rig->spool->ops->close(rig->spool);
    assert_true(outlet_start(rig->outlet, &err));
    assert_true(outlet_join(rig->outlet));
}

/* Numbers of a session below those that it had say nothing of batches that waited before them. */
static void what_was_had_is_left_out_of_later_batches_only(void **state)
{
    (void)state;
    struct rig rig;
    setup_behind(
        &rig, (const uint64_t[]){20, 20}, (const uint64_t[]){2, 1}, false, 1, false, SHORT_MS);
    add_batch(&rig, 0, 3, 3);
    add_batch(&rig, 1, 2, 20);
    add_batch(&rig, 0, 5, 8);
    add_batch(&rig, 0, 1, 21);
    add_batch(&rig, 1, 4, 9);
    run_to_the_end(&rig);
    char *text = fake_output_text(rig.fake);
    assert_string_equal(text, "0\n0\n0\n0\n");
    free(text);
    teardown(&rig);
}

/* Nor does what it had since say anything of batches in between. */
static void what_was_had_twice_is_left_out_as_it_was_each_time(void **state)
{
    (void)state;
    struct rig rig;
    setup_behind(
        &rig, (const uint64_t[]){10, 0}, (const uint64_t[]){1, 0}, false, 1, false, SHORT_MS);
    had_set(&rig.steps[0], 20, 3);
    add_batch(&rig, 0, 1, 5);
    add_batch(&rig, 0, 2, 10); /* had */
    add_batch(&rig, 0, 3, 15);
    add_batch(&rig, 0, 4, 18); /* had */
    add_batch(&rig, 0, 5, 21);
    run_to_the_end(&rig);
    char *text = fake_output_text(rig.fake);
    assert_string_equal(text, "0\n0\n0\n0\n0\n0\n0\n0\n0\n");
    free(text);
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

/* A spool that remembers what is left of a batch. */
static struct buf noted;

static void on_note_left(struct spool *spool, size_t cursor, const struct spool_item *item,
    const uint32_t *records, size_t count)
{
    (void)spool;
    (void)cursor;
    (void)item;
    for (size_t i = 0; i < count; i++) {
        buf_printf(&noted, "%u ", (unsigned)records[i]);
    }
    buf_add_text(&noted, ";");
}

/* What a next run would send is all that is not sent, whatever lies between. */
static void what_is_left_of_a_batch_is_left_of_all_of_it(void **state)
{
    (void)state;
    const struct fake_step takes_one = {.verdict = OUTPUT_MIXED, .delivers = 1};
    const struct fake_step takes_all = {.verdict = OUTPUT_DELIVERED};
    const struct {
        struct fake_step steps[4];
        const char *noted;
    } cases[] = {
        {{takes_one, takes_all, takes_all}, "1 2 8 9 ;8 9 ;"},
        {{takes_all, takes_one, takes_all}, "9 ;"},
        {{takes_one, takes_all, takes_one, takes_all}, "1 2 8 9 ;8 9 ;9 ;"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig rig;
        buf_init(&noted, 10000);
        setup_with(&rig, (const uint64_t[]){0, 20}, false, 2, true); /* no checkpoint of two */
        rig.warns = true;
        struct spool_ops ops = *rig.spool->ops;
        ops.note_left = on_note_left;
        rig.spool->ops = &ops;
        fake_output_script(rig.fake, cases[i].steps, 4);
        books_offer(rig.books, 0, 5, 0, false);
        struct batch *batch = batch_create(0, NULL, 0);
        assert_non_null(batch);
        add_events(batch, 0, 3, 3);
        add_events(batch, 1, 5, 20); /* had before */
        add_events(batch, 0, 2, 5);
        rig.spool->ops->append(rig.spool, 0, batch);
        run_to_the_end(&rig);
        assert_span(buf_span(&noted), cases[i].noted);
        teardown(&rig);
        buf_fini(&noted);
    }
}

static struct output_counts counts_of(const struct rig *rig)
{
    struct output_counts counts;
    books_look(rig->books, NULL, &counts);
    assert_true(books_output_balances(&counts));
    return counts;
}

static void what_is_refused_is_kept_and_is_no_loss(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {.verdict = OUTPUT_MIXED, .delivers = 1, .rejects = 2, .reason = "wrong type"},
        {.verdict = OUTPUT_REJECTED}};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 2);
    add_batch(&rig, 1, 3, 3);
    run_to_the_end(&rig);
    assert_span(buf_span(&rig.kept), "fake 400 wrong type  1;fake 0   1;");
    struct output_counts counts = counts_of(&rig);
    assert_int_equal(counts.acked, 1);
    assert_int_equal(counts.dead_lettered, 2);
    assert_int_equal(counts.dropped[OUTPUT_DROP_REJECTED], 0);
    assert_span(buf_span(&rig.warnings), "refused;retry;");
    /* No gap. */
    losses_close(rig.losses);
    slab_queue_close(rig.queue);
    assert_null(slab_queue_pop(rig.queue, 0));
    teardown(&rig);
}

/* Whatever part of a batch is sent, and how often. */
static void a_letter_says_which_record_it_is_of(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_REJECTED},
        {.verdict = OUTPUT_MIXED, .delivers = 1, .rejects = 2}, {.verdict = OUTPUT_REJECTED}};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 20}, false, 1, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 3);
    add_batch(&rig, 0, 2, 2);
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    books_offer(rig.books, 0, 3, 0, false);
    add_events(batch, 1, 5, 20); /* had before: records 2 to 6 */
    add_events(batch, 0, 3, 5);
    rig.spool->ops->append(rig.spool, 0, batch);
    run_to_the_end(&rig);
    assert_span(buf_span(&rig.kept_records), "0 1 8 9 ");
    teardown(&rig);
}

static void what_cannot_be_kept_is_tried_again(void **state)
{
    (void)state;
    static const struct fake_step refuses = {.verdict = OUTPUT_REJECTED};
    const struct fake_step steps[] = {refuses, refuses, refuses};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.warns = true;
    rig.keeps_that_fail = 2;
    fake_output_script(rig.fake, steps, 3);
    add_batch(&rig, 0, 2, 2);
    run_to_the_end(&rig);
    assert_span(buf_span(&rig.kept), "fake 0   0;fake 0   0;");
    struct output_counts counts = counts_of(&rig);
    assert_int_equal(counts.dead_lettered, 2);
    assert_int_equal(counts.retries, 2);
    teardown(&rig);
}

static void an_output_is_degraded_until_all_its_workers_deliver(void **state)
{
    (void)state;
    static const struct fake_step wrong = {.verdict = OUTPUT_RETRY, .degraded = true};
    const struct fake_step steps[] = {wrong, wrong, wrong, wrong};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 2, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 4);
    for (uint64_t i = 1; i <= 10; i++) {
        add_batch(&rig, 0, 1, i);
    }
    run_to_the_end(&rig);
    assert_false(counts_of(&rig).degraded);
    assert_int_equal(counts_of(&rig).acked, 10);
    assert_int_equal(counts_of(&rig).dead_lettered, 0);
    /* The workers come and go one after the other: each begin has its end. */
    buf_add_byte(&rig.warnings, 0);
    const char *at = (const char *)rig.warnings.data;
    size_t begun = 0;
    for (; strncmp(at, "degraded;mended;", 16) == 0; at += 16) {
        begun++;
    }
    assert_string_equal(at, "");
    assert_true(begun >= 1 && begun <= 4);
    teardown(&rig);
}

static void the_books_say_that_an_output_is_degraded(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY, .degraded = true}};
    struct error err = {0};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    rig.spool->ops->close(rig.spool);
    fake_output_hold(rig.fake);
    assert_true(outlet_start(rig.outlet, &err));
    fake_output_let_go_once(rig.fake); /* its connect */
    fake_output_wait_sends(rig.fake, 1);
    assert_false(counts_of(&rig).degraded);
    fake_output_let_go_once(rig.fake);
    fake_output_wait_sends(rig.fake, 2);
    assert_true(counts_of(&rig).degraded);
    fake_output_let_go(rig.fake);
    assert_true(outlet_join(rig.outlet));
    assert_false(counts_of(&rig).degraded);
    assert_span(buf_span(&rig.warnings), "degraded;mended;");
    teardown(&rig);
}

static void a_destination_that_asks_for_it_is_left_alone_by_all_workers(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY, .wait_ms = 150}};
    struct error err = {0};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 4, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    assert_true(outlet_start(rig.outlet, &err));
    while (counts_of(&rig).retries == 0) { /* it has answered, and its worker waits */
        plat_sleep_ms(1);
    }
    for (uint64_t i = 2; i <= 20; i++) {
        add_batch(&rig, 0, 1, i);
    }
    rig.spool->ops->close(rig.spool);
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(fake_output_counts(rig.fake).early, 0);
    assert_int_equal(counts_of(&rig).acked, 20);
    teardown(&rig);
}

static void a_stop_ends_a_long_wait_that_was_asked_for(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_RETRY, .wait_ms = UINT32_MAX}};
    struct error err = {0};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 2, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 1, 1);
    assert_true(outlet_start(rig.outlet, &err));
    while (counts_of(&rig).retries == 0) {
        plat_sleep_ms(1);
    }
    add_batch(&rig, 0, 1, 2);
    rig.spool->ops->close(rig.spool);
    outlet_give_up(rig.outlet);
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(counts_of(&rig).dropped[OUTPUT_DROP_STOPPED], 2);
    assert_int_equal(fake_output_counts(rig.fake).sends, 1);
    teardown(&rig);
}

/* The waits are random parts of a day. */
static void a_stop_brings_one_more_try_at_once(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {
        {.verdict = OUTPUT_RETRY}, {.verdict = OUTPUT_RETRY, .degraded = true}};
    struct error err = {0};
    struct rig rig;
    setup_paced(&rig, (const uint64_t[]){0, 0}, false, 2, true, LONG_MS);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 2);
    add_batch(&rig, 0, 1, 1);
    add_batch(&rig, 0, 1, 2);
    rig.spool->ops->close(rig.spool);
    assert_true(outlet_start(rig.outlet, &err));
    while (counts_of(&rig).retries < 2) {
        plat_sleep_ms(1);
    }
    outlet_hurry(rig.outlet);
    assert_true(outlet_join(rig.outlet));
    assert_int_equal(counts_of(&rig).acked, 2);
    teardown(&rig);
}

static void what_an_earlier_run_may_have_sent_is_repeated(void **state)
{
    (void)state;
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.repeats[1] = true;
    add_batch(&rig, 0, 1, 1);
    add_batch(&rig, 1, 1, 1);
    add_batch(&rig, 0, 1, 2);
    run_to_the_end(&rig);
    assert_int_equal(fake_output_counts(rig.fake).sends, 3);
    assert_int_equal(fake_output_counts(rig.fake).repeated, 1);
    teardown(&rig);
}

static void unexpected_duplicates_are_counted_and_warned_of(void **state)
{
    (void)state;
    static const struct fake_step steps[] = {{.verdict = OUTPUT_DELIVERED, .duplicates = 3}};
    struct rig rig;
    setup_with(&rig, (const uint64_t[]){0, 0}, false, 1, true);
    rig.warns = true;
    fake_output_script(rig.fake, steps, 1);
    add_batch(&rig, 0, 5, 5);
    add_batch(&rig, 0, 5, 10);
    run_to_the_end(&rig);
    assert_int_equal(counts_of(&rig).unexpected_duplicates, 3);
    assert_int_equal(counts_of(&rig).acked, 10);
    assert_span(buf_span(&rig.warnings), "duplicates;");
    teardown(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_stored_between_two_parts_of_a_batch_knows_the_first),
        cmocka_unit_test(what_was_had_is_left_out_of_later_batches_only),
        cmocka_unit_test(what_was_had_twice_is_left_out_as_it_was_each_time),
        cmocka_unit_test(what_is_lost_is_lost_to_its_session),
        cmocka_unit_test(what_is_refused_is_kept_and_is_no_loss),
        cmocka_unit_test(a_letter_says_which_record_it_is_of),
        cmocka_unit_test(what_is_left_of_a_batch_is_left_of_all_of_it),
        cmocka_unit_test(what_cannot_be_kept_is_tried_again),
        cmocka_unit_test(an_output_is_degraded_until_all_its_workers_deliver),
        cmocka_unit_test(the_books_say_that_an_output_is_degraded),
        cmocka_unit_test(a_destination_that_asks_for_it_is_left_alone_by_all_workers),
        cmocka_unit_test(a_stop_ends_a_long_wait_that_was_asked_for),
        cmocka_unit_test(a_stop_brings_one_more_try_at_once),
        cmocka_unit_test(what_an_earlier_run_may_have_sent_is_repeated),
        cmocka_unit_test(unexpected_duplicates_are_counted_and_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
