#ifndef ETWSHIP_TESTS_UNIT_PIPELINE_OUTLET_RIG_H
#define ETWSHIP_TESTS_UNIT_PIPELINE_OUTLET_RIG_H

#include "pipeline/deliver/outlet.h"

#include <stddef.h>
#include <stdlib.h>

#include "support/fake_output.h"
#include "support/test.h"

/* An outlet over a spool in memory, with batches made by hand. */
enum { SESSIONS = 2 };

struct rig {
    struct spool *spool;
    struct ledger *ledger;
    struct outlet *outlet;
    struct fake_output *fake;
    struct fake_settings fake_settings;
    uint64_t delivered[SESSIONS];
    struct delivered steps[SESSIONS];
    size_t saves;
    bool warns;
    struct buf warnings; /* their kinds */
    struct buf texts;
    struct dead_letters letters;
    struct buf kept;
    uint64_t first_kept;     /* record of the spool that the first letter is of */
    struct buf kept_records; /* of all of them, counted from there */
    size_t keeps_that_fail;
    size_t waits; /* letters that wait for room */
    bool repeats[SESSIONS];
    struct slab_queue *queue;
    struct losses *losses;
};

static inline void on_warn(void *self, const char *output, const char *kind, const char *text)
{
    struct rig *rig = self;
    if (!rig->warns) {
        fail_msg("%s: %s: %s", output, kind, text);
    }
    buf_printf(&rig->warnings, "%s;", kind);
    buf_printf(&rig->texts, "%s|", text);
}

/* The sessions of the next rig that are recorded. */
static bool rig_recorded[SESSIONS];

/* A store that fails as often as the test says. */
static inline bool on_put(
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
        rig->waits += items[i].waits;
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

/* Events of session 0 are lines "0", those of session 1 lines "1". The stored state of this moment:
 * the destination has as many lines of each as its sequence is beyond the one it began with. */
static inline bool on_save(void *self, struct error *err)
{
    struct rig *rig = self;
    uint64_t sequences[SESSIONS];
    struct buf checkpoint;
    (void)err;
    rig->saves++;
    buf_init(&checkpoint, 1000);
    outlet_progress(rig->outlet, 0, sequences, &checkpoint);
    buf_add_byte(&checkpoint, 0);
    size_t bytes = strtoull((const char *)checkpoint.data, NULL, 10);
    char *text = fake_output_text(rig->fake);
    uint64_t lines[SESSIONS] = {0};
    for (size_t i = 0; i < bytes; i += 2) {
        lines[text[i] - '0']++;
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        assert_int_equal(lines[i], sequences[i] - rig->delivered[i]);
    }
    free(text);
    buf_fini(&checkpoint);
    return true;
}

enum { SHORT_MS = 2, LONG_MS = 24 * 3600 * 1000 };

static inline void setup_behind(struct rig *rig, const uint64_t delivered[SESSIONS],
    const uint64_t waiting[SESSIONS], bool saves, size_t workers, bool keeps, unsigned retry_ms)
{
    struct error err = {0};
    size_t cursor = 0;
    *rig = (struct rig){.delivered = {delivered[0], delivered[1]}};
    for (size_t i = 0; i < SESSIONS; i++) {
        delivered_set(&rig->steps[i], delivered[i], waiting[i]);
    }
    buf_init(&rig->warnings, 10000);
    buf_init(&rig->texts, 10000);
    buf_init(&rig->kept, 10000);
    buf_init(&rig->kept_records, 10000);
    rig->letters.ops = &letter_ops;
    rig->fake = fake_output_create(NULL, 0);
    rig->fake_settings = (struct fake_settings){.fake = rig->fake, .saves = saves};
    rig->spool = spool_memory_create(1, 1 << 20, &err);
    rig->ledger = ledger_create(SESSIONS, 1, &err);
    rig->queue = slab_queue_create(1, 1, &err);
    assert_non_null(rig->queue);
    rig->losses = losses_create(&(struct losses_settings){.session_count = SESSIONS,
                                    .comes_again = rig_recorded,
                                    .outputs = (const char *const[]){"fake"},
                                    .output_count = 1,
                                    .queue = rig->queue},
        &err);
    assert_non_null(rig->losses);
    assert_non_null(rig->spool);
    assert_non_null(rig->ledger);
    const struct spool_reader reader = {.name = "fake", .route = SIZE_MAX};
    struct spool_backlog backlog;
    assert_true(rig->spool->ops->add_cursor(rig->spool, &reader, &cursor, &backlog, &err));
    rig->outlet = outlet_create(&(struct outlet_settings){.name = "fake",
                                    .ops = &fake_output_ops,
                                    .settings = &rig->fake_settings,
                                    .retry = {.min_ms = retry_ms, .max_ms = retry_ms},
                                    .workers = workers,
                                    .resume = rig->delivered,
                                    .delivered = rig->steps,
                                    .session_count = SESSIONS,
                                    .spool = rig->spool,
                                    .cursor = cursor,
                                    .ledger = rig->ledger,
                                    .losses = rig->losses,
                                    .dead_letters = keeps ? &rig->letters : NULL,
                                    .repeats = rig->repeats,
                                    .save = on_save,
                                    .warn = on_warn,
                                    .self = rig},
        &err);
    assert_non_null(rig->outlet);
}

static inline void setup_paced(struct rig *rig, const uint64_t delivered[SESSIONS], bool saves,
    size_t workers, bool keeps, unsigned retry_ms)
{
    setup_behind(rig, delivered, (const uint64_t[]){0, 0}, saves, workers, keeps, retry_ms);
}

static inline void setup_with(
    struct rig *rig, const uint64_t delivered[SESSIONS], bool saves, size_t workers, bool keeps)
{
    setup_paced(rig, delivered, saves, workers, keeps, SHORT_MS);
}

static inline void setup(struct rig *rig, const uint64_t delivered[SESSIONS], bool saves)
{
    setup_with(rig, delivered, saves, 1, false);
}

static inline void teardown(struct rig *rig)
{
    outlet_destroy(rig->outlet);
    assert_int_equal(fake_output_counts(rig->fake).misused, 0);
    fake_output_destroy(rig->fake);
    spool_destroy(rig->spool);
    ledger_destroy(rig->ledger);
    slab_queue_destroy(rig->queue);
    losses_destroy(rig->losses);
    buf_fini(&rig->warnings);
    buf_fini(&rig->texts);
    buf_fini(&rig->kept);
    buf_fini(&rig->kept_records);
}

/* The times of a session's events are 100 and 110, or 200 and 210. */
static inline void add_events(
    struct batch *batch, uint32_t session, size_t count, uint64_t last_sequence)
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

/* A batch of ${count} events of ${session}, up to ${last_sequence}. */
static inline void add_batch(
    struct rig *rig, uint32_t session, size_t count, uint64_t last_sequence)
{
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    ledger_offer(rig->ledger, 0, count, 0, false);
    add_events(batch, session, count, last_sequence);
    rig->spool->ops->append(rig->spool, 0, batch);
}

static inline void run_to_the_end(struct rig *rig)
{
    struct error err = {0};
    rig->spool->ops->close(rig->spool);
    assert_true(outlet_start(rig->outlet, &err));
    assert_true(outlet_join(rig->outlet));
}

static inline struct output_counts counts_of(const struct rig *rig)
{
    struct output_counts counts;
    ledger_look(rig->ledger, NULL, &counts);
    assert_true(ledger_output_balances(&counts));
    return counts;
}

#endif
