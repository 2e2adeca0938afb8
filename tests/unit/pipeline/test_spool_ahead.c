#include "pipeline/spool/spool_durable_own.h"
#include "unit/pipeline/spool_rig.h"

/* How far sessions that are read again may be ahead of outputs, with the spool on a disk. */
enum { RECORDS = 20, WIDTH = 1000 };

static const uint64_t hour_ns = UINT64_C(3600000000000);

/* Outputs 0 and 1 read stream 0, output 2 reads stream 1. One batch and a half is far ahead. */
static void open_rig(struct spool_rig *rig, uint64_t max_hold_ns)
{
    rig_init(rig);
    rig->readers[1] = (struct spool_reader){.name = "b", .route = SIZE_MAX};
    rig->readers[2] = (struct spool_reader){.name = "c", .stream = 1, .route = SIZE_MAX};
    rig->reader_count = 3;
    struct batch *batch = rig_batch(RIG_FILE, 1, RECORDS, WIDTH);
    rig->settings.max_ahead = batch_memory(batch) / 2 * 3;
    rig->settings.max_hold_ns = max_hold_ns;
    batch_destroy(batch);
    rig_open(rig);
}

/* Batch ${number}, from 1 on, and it is committed. */
static void append(struct spool_rig *rig, size_t stream, uint64_t number)
{
    struct batch *batch = rig_batch(RIG_FILE, (number - 1) * RECORDS + 1, number * RECORDS, WIDTH);
    rig->spool->ops->append(rig->spool, stream, batch);
    rig_flush(rig);
}

static void take(struct spool_rig *rig, size_t cursor, uint64_t number)
{
    rig_take(rig, cursor, (number - 1) * RECORDS + 1, number * RECORDS);
}

static enum spool_room room_for(struct spool_rig *rig, enum spool_origin origin)
{
    return rig->spool->ops->wait_room(rig->spool, origin);
}

struct waiter {
    struct spool_rig *rig;
    struct plat_thread *thread;
    atomic_int result; /* of wait_room; -1 before */
};

static void wait_room(void *self)
{
    struct waiter *waiter = self;
    atomic_store(&waiter->result, room_for(waiter->rig, SPOOL_REPLAYED));
}

/* A thread that waits for outputs. */
static void waiter_start(struct waiter *waiter, struct spool_rig *rig)
{
    struct spool_durable *spool = spool_durable_of(rig->spool);
    struct error err;
    bool waits = false;
    *waiter = (struct waiter){.rig = rig, .result = -1};
    waiter->thread = plat_thread_start("waits", wait_room, waiter, &err);
    assert_non_null(waiter->thread);
    while (!waits) {
        assert_int_equal(atomic_load(&waiter->result), -1);
        plat_mutex_lock(&spool->mutex);
        waits = spool->holds_back;
        plat_mutex_unlock(&spool->mutex);
    }
}

static void sources_wait_only_while_the_fastest_output_of_every_stream_has_enough(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct waiter waiter;
    open_rig(&rig, hour_ns);
    for (uint64_t i = 1; i <= 4; i++) {
        append(&rig, 0, i);
        assert_int_equal(room_for(&rig, SPOOL_REPLAYED), SPOOL_ROOM);
    }
    append(&rig, 1, 1); /* the other stream's output has little to do until the next */
    assert_int_equal(room_for(&rig, SPOOL_REPLAYED), SPOOL_ROOM);
    append(&rig, 1, 2);
    assert_int_equal(room_for(&rig, SPOOL_LIVE), SPOOL_ROOM);
    assert_int_equal(room_for(&rig, SPOOL_OWN), SPOOL_ROOM);
    waiter_start(&waiter, &rig);
    for (uint64_t i = 1; i <= 3; i++) {
        take(&rig, 0, i);
        assert_int_equal(atomic_load(&waiter.result), -1);
    }
    take(&rig, 0, 4);
    plat_thread_join(waiter.thread);
    assert_int_equal(atomic_load(&waiter.result), SPOOL_ROOM);
    for (uint64_t i = 1; i <= 4; i++) { /* what another output gets later makes no more room */
        take(&rig, 1, i);
    }
    append(&rig, 0, 5);
    assert_int_equal(room_for(&rig, SPOOL_REPLAYED), SPOOL_ROOM);
    rig_fini(&rig);
}

/* Whatever the outputs do, the trace gets into the spool. */
static void sources_wait_once_for_outputs_that_take_nothing(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct waiter waiter;
    open_rig(&rig, 1);
    for (uint64_t i = 1; i <= 4; i++) {
        append(&rig, i % 2, i);
    }
    assert_int_equal(room_for(&rig, SPOOL_REPLAYED), SPOOL_ROOM);
    spool_durable_of(rig.spool)->settings.max_hold_ns = hour_ns;
    assert_int_equal(room_for(&rig, SPOOL_REPLAYED), SPOOL_ROOM); /* or this takes an hour */
    append(&rig, 0, 5);
    append(&rig, 0, 6);
    take(&rig, 0, 2); /* an output is there again, and has more than enough */
    waiter_start(&waiter, &rig);
    take(&rig, 0, 4);
    take(&rig, 0, 5);
    assert_int_equal(atomic_load(&waiter.result), -1);
    take(&rig, 0, 6);
    plat_thread_join(waiter.thread);
    assert_int_equal(atomic_load(&waiter.result), SPOOL_ROOM);
    rig_fini(&rig);
}

/* An output that reads the disk gets nothing by it. */
static void batches_that_have_left_memory_hold_no_source_back(void **state)
{
    (void)state;
    struct spool_rig rig;
    open_rig(&rig, hour_ns);
    for (uint64_t i = 1; i <= 4; i++) {
        append(&rig, 0, i);
        append(&rig, 1, i);
    }
    rig_reopen(&rig); /* memory is empty */
    assert_int_equal(room_for(&rig, SPOOL_REPLAYED), SPOOL_ROOM);
    take(&rig, 0, 1);
    assert_int_equal(room_for(&rig, SPOOL_REPLAYED), SPOOL_ROOM);
    rig_fini(&rig);
}

static void a_stop_ends_the_wait_for_outputs(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct waiter waiter;
    open_rig(&rig, hour_ns);
    for (uint64_t i = 1; i <= 4; i++) {
        append(&rig, i % 2, i);
    }
    waiter_start(&waiter, &rig);
    rig.spool->ops->cancel(rig.spool);
    plat_thread_join(waiter.thread);
    assert_int_equal(atomic_load(&waiter.result), SPOOL_ROOM); /* the disk takes it */
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_wait_only_while_the_fastest_output_of_every_stream_has_enough),
        cmocka_unit_test(sources_wait_once_for_outputs_that_take_nothing),
        cmocka_unit_test(batches_that_have_left_memory_hold_no_source_back),
        cmocka_unit_test(a_stop_ends_the_wait_for_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
