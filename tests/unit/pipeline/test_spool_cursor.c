#include "pipeline/spool/spool_durable_own.h"
#include "unit/pipeline/spool_rig.h"

/* Batches that a cursor reads ahead for its output, while the spool's thread is busy. */

/* The place at which commits stop, on that thread. */
struct gate {
    struct spool_rig rig; /* first: the spool's functions get its address */
    struct plat_mutex mutex;
    struct plat_cond changed;
    bool closed;
    bool reached;
};

static bool pass(void *self, struct store *store, bool all, struct error *err)
{
    struct gate *gate = self;
    (void)store;
    (void)all;
    (void)err;
    plat_mutex_lock(&gate->mutex);
    while (gate->closed) {
        gate->reached = true;
        plat_cond_broadcast(&gate->changed);
        plat_cond_wait(&gate->changed, &gate->mutex);
    }
    plat_mutex_unlock(&gate->mutex);
    return true;
}

static void gate_init(struct gate *gate)
{
    rig_init(&gate->rig);
    gate->rig.settings.stage = pass;
    plat_mutex_init(&gate->mutex);
    plat_cond_init(&gate->changed);
    gate->closed = gate->reached = false;
}

static void gate_fini(struct gate *gate)
{
    rig_fini(&gate->rig);
    plat_cond_fini(&gate->changed);
    plat_mutex_fini(&gate->mutex);
}

struct waiting {
    struct spool *spool;
    enum spool_next got;
};

static void wait_for_a_batch(void *self)
{
    struct waiting *waiting = self;
    struct spool_item item;
    waiting->got = waiting->spool->ops->next(waiting->spool, 0, UINT64_MAX, &item);
}

/* The thread waits already, or is about to. */
static void an_output_that_leaves_waits_for_nothing(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct error err;
    rig_init(&rig);
    rig_open(&rig);
    struct waiting waiting = {.spool = rig.spool, .got = SPOOL_NOTHING};
    struct plat_thread *thread = plat_thread_start("lane", wait_for_a_batch, &waiting, &err);
    assert_non_null(thread);
    rig.spool->ops->end_cursor(rig.spool, 0);
    plat_thread_join(thread);
    assert_int_equal(waiting.got, SPOOL_END);
    rig_append(&rig, 0, 1, 2);
    rig_flush(&rig);
    waiting.got = SPOOL_NOTHING;
    wait_for_a_batch(&waiting);
    assert_int_equal(waiting.got, SPOOL_END);
    rig_reopen(&rig);
    rig_take(&rig, 0, 1, 2); /* it is left for the next run */
    rig_fini(&rig);
}

/* From now on the thread is stuck in a commit. */
static void gate_close(struct gate *gate)
{
    plat_mutex_lock(&gate->mutex);
    gate->closed = true;
    plat_mutex_unlock(&gate->mutex);
    rig_append(&gate->rig, 0, 1000001, 1000001);
    plat_mutex_lock(&gate->mutex);
    while (!gate->reached) {
        plat_cond_wait(&gate->changed, &gate->mutex);
    }
    plat_mutex_unlock(&gate->mutex);
}

static void gate_open(struct gate *gate)
{
    plat_mutex_lock(&gate->mutex);
    gate->closed = false;
    plat_cond_broadcast(&gate->changed);
    plat_mutex_unlock(&gate->mutex);
}

/* On a busy disk, a commit or a removed file takes a fifth of a second. */
static void an_output_goes_on_during_a_long_commit(void **state)
{
    (void)state;
    enum { AHEAD = SPOOL_WINDOW - SPOOL_ROWS_AT_ONCE, BATCHES = AHEAD + 2 * SPOOL_ROWS_AT_ONCE };
    static struct gate gate;
    gate_init(&gate);
    struct spool_rig *rig = &gate.rig;
    rig_open(rig);
    for (uint64_t i = 1; i <= BATCHES; i++) {
        rig_append(rig, 0, i, i);
    }
    rig_flush(rig);
    rig_reopen(rig); /* memory is empty; the rows are known when the spool is open */
    gate_close(&gate);
    for (uint64_t i = 1; i <= AHEAD; i++) {
        struct spool_item item;
        assert_int_equal(rig->spool->ops->next(rig->spool, 0, 0, &item), SPOOL_BATCH);
        assert_int_equal(rig_record(&item, 0), i);
        rig_ack(rig, 0, &item);
    }
    gate_open(&gate);
    for (uint64_t i = AHEAD + 1; i <= BATCHES; i++) {
        rig_take(rig, 0, i, i);
    }
    rig_take(rig, 0, 1000001, 1000001);
    rig_expect_nothing(rig, 0);
    gate_fini(&gate);
}

/* Any of the known rows may be lost. */
static void rows_that_are_lost_leave_the_others_in_order(void **state)
{
    (void)state;
    enum { BATCHES = 9 };
    static const uint64_t lost[] = {5, 1, 9, 4};
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    for (uint64_t i = 1; i <= BATCHES; i++) {
        rig_append(&rig, 0, i, i);
    }
    rig_flush(&rig);
    rig_reopen(&rig);
    struct spool_durable *spool = spool_durable_of(rig.spool);
    struct spool_cursor *cursor = &spool->cursors[0];
    uint64_t ids[BATCHES + 1];
    plat_mutex_lock(&spool->mutex);
    assert_int_equal(cursor->window_count, BATCHES);
    for (size_t i = 0; i < BATCHES; i++) {
        ids[i + 1] = cursor->window[(cursor->window_first + i) % SPOOL_WINDOW].row.id;
    }
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        assert_true(spool_cursor_lose(spool, 0, &(struct store_row){.id = ids[lost[i]]}));
    }
    /* lost a second time: no other row is lost */
    assert_true(spool_cursor_lose(spool, 0, &(struct store_row){.id = ids[5]}));
    plat_mutex_unlock(&spool->mutex);
    static const uint64_t left[] = {2, 3, 6, 7, 8};
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        rig_take(&rig, 0, left[i], left[i]);
    }
    plat_mutex_lock(&spool->mutex);
    /* the output has delivered it */
    assert_false(spool_cursor_lose(spool, 0, &(struct store_row){.id = ids[8]}));
    plat_mutex_unlock(&spool->mutex);
    rig_expect_nothing(&rig, 0);
    rig_fini(&rig);
}

/* Otherwise the system would map and clear pages for each batch of a backlog. */
static void the_block_of_a_batch_that_was_sent_is_used_for_the_next(void **state)
{
    (void)state;
    enum { RECORDS = 100, WIDTH = 2000 };
    struct spool_rig rig;
    rig_init(&rig);
    rig.settings.pool = block_pool_create((size_t)4 * RECORDS * WIDTH);
    rig.store_settings.segment_bytes = 1024 * 1024;
    rig_open(&rig);
    for (uint64_t first = 1; first <= 2 * RECORDS; first += RECORDS) {
        rig.spool->ops->append(
            rig.spool, 0, rig_batch(RIG_FILE, first, first + RECORDS - 1, WIDTH));
    }
    rig_flush(&rig);
    rig_reopen(&rig); /* memory is empty */
    struct spool_item item = rig_expect(&rig, 0, 1, RECORDS);
    const uint8_t *block = item.batch->piece.bytes.data;
    assert_true(item.batch->memory >= RECORDS * WIDTH);
    rig_ack(&rig, 0, &item);
    item = rig_expect(&rig, 0, RECORDS + 1, 2 * RECORDS);
    assert_ptr_equal(item.batch->piece.bytes.data, block);
    rig_ack(&rig, 0, &item);
    rig_close(&rig);
    block_pool_destroy(rig.settings.pool);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_that_leaves_waits_for_nothing),
        cmocka_unit_test(an_output_goes_on_during_a_long_commit),
        cmocka_unit_test(rows_that_are_lost_leave_the_others_in_order),
        cmocka_unit_test(the_block_of_a_batch_that_was_sent_is_used_for_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
