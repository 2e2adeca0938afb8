#include "pipeline/spool/spool_durable_own.h"
#include "platform/plat_clock.h"
#include "unit/pipeline/spool_rig.h"

/* Limits and faults: memory, a full spool, a full or failing disk, and damage on it. */

enum { WIDTH = 3000, RECORDS = 40 }; /* of a batch: 120 KB, which a segment of 16 KB takes alone */

/* Batch ${number}, from 1 on. */
static struct batch *wide_batch(uint32_t session, uint64_t number)
{
    return rig_batch(session, (number - 1) * RECORDS + 1, number * RECORDS, WIDTH);
}

static void append_wide(struct spool_rig *rig, uint32_t session, uint64_t number)
{
    rig->spool->ops->append(rig->spool, 0, wide_batch(session, number));
}

static struct spool_item expect_wide(struct spool_rig *rig, size_t cursor, uint64_t number)
{
    return rig_expect(rig, cursor, (number - 1) * RECORDS + 1, number * RECORDS);
}

static void take_wide(struct spool_rig *rig, size_t cursor, uint64_t number)
{
    struct spool_item item = expect_wide(rig, cursor, number);
    rig_ack(rig, cursor, &item);
}

static size_t memory_of(struct spool_rig *rig)
{
    struct spool_durable *spool = spool_durable_of(rig->spool);
    plat_mutex_lock(&spool->mutex);
    size_t bytes = spool_cache_bytes(spool->cache);
    plat_mutex_unlock(&spool->mutex);
    return bytes;
}

static void two_readers(struct spool_rig *rig)
{
    rig->readers[1] = (struct spool_reader){.name = "b", .route = SIZE_MAX};
    rig->reader_count = 2;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void an_output_that_is_stuck_costs_the_other_nothing(void **state)
{
    (void)state;
    enum { BATCHES = 300, MEMORY = 4 * 1024 * 1024 };
    struct spool_rig rig;
    rig_init(&rig);
    two_readers(&rig);
    rig.settings.memory_bytes = MEMORY;
    rig.settings.sync_bytes = 100000;
    rig_open(&rig);
    for (uint64_t i = 1; i <= BATCHES; i++) {
        assert_int_equal(rig.spool->ops->wait_room(rig.spool, SPOOL_REPLAYED), SPOOL_ROOM);
        append_wide(&rig, RIG_FILE, i);
        assert_true(memory_of(&rig) < MEMORY + 500000);
        take_wide(&rig, 1, i);
    }
    for (uint64_t i = 1; i <= BATCHES; i++) {
        take_wide(&rig, 0, i);
    }
    rig_expect_nothing(&rig, 0);
    assert_int_equal(memory_of(&rig), 0);
    rig_fini(&rig);
}

/* Nor beside an output that has used up the memory. */
static void an_output_that_keeps_up_never_reads_the_disk(void **state)
{
    (void)state;
    enum { BATCHES = 100 };
    struct spool_rig rig;
    rig_init(&rig);
    two_readers(&rig);
    rig.settings.memory_bytes = 4 * 1024 * 1024;
    rig_open(&rig);
    disk_model_fail(rig.model, &(struct disk_model_fault){.operations = DISK_MODEL_READ});
    for (uint64_t i = 1; i <= BATCHES; i++) {
        append_wide(&rig, RIG_FILE, i);
        take_wide(&rig, 1, i);
    }
    disk_model_heal(rig.model);
    assert_int_equal(atomic_load(&rig.warnings), 0);
    take_wide(&rig, 0, 1);
    rig_fini(&rig);
}

static void what_waits_for_one_output_is_read_back_in_order(void **state)
{
    (void)state;
    enum { BATCHES = 400 }; /* more than a window, and than memory */
    struct spool_rig rig;
    rig_init(&rig);
    rig.settings.memory_bytes = 4 * 1024 * 1024;
    rig_open(&rig);
    for (uint64_t i = 1; i <= BATCHES; i++) {
        assert_int_equal(rig.spool->ops->wait_room(rig.spool, SPOOL_REPLAYED), SPOOL_ROOM);
        append_wide(&rig, RIG_FILE, i);
        if (i % 3 == 0) {
            take_wide(&rig, 0, i / 3);
        }
    }
    for (uint64_t i = BATCHES / 3 + 1; i <= BATCHES; i++) {
        take_wide(&rig, 0, i);
    }
    rig_expect_nothing(&rig, 0);
    rig_fini(&rig);
}

/* ---- a full spool ---------------------------------------------------------------------------- */

struct waiter {
    struct spool *spool;
    enum spool_origin origin;
    atomic_int result; /* of wait_room; -1 before */
};

static void wait_room(void *self)
{
    struct waiter *waiter = self;
    atomic_store(&waiter->result, waiter->spool->ops->wait_room(waiter->spool, waiter->origin));
}

/* As many of the file's batches as fit; returns their number. */
static uint64_t fill_on(struct spool_rig *rig, enum spool_full on_full)
{
    rig->store_settings.max_bytes = 12 * 1024 * 1024;
    rig->settings.reserve_bytes = 1024 * 1024;
    rig->settings.on_full = on_full;
    rig_open(rig);
    struct spool_durable *spool = spool_durable_of(rig->spool);
    uint64_t count = 0;
    bool room = true;
    while (room) {
        append_wide(rig, RIG_FILE, ++count);
        rig_flush(rig);
        plat_mutex_lock(&spool->mutex);
        room = spool->replay_room;
        plat_mutex_unlock(&spool->mutex);
    }
    return count;
}

static uint64_t fill(struct spool_rig *rig, enum spool_full on_full)
{
    rig_init(rig);
    return fill_on(rig, on_full);
}

static atomic_uint transactions;

static void count_transactions(void *self, const char *name)
{
    (void)self;
    atomic_fetch_add(&transactions, strcmp(name, "commit begin") == 0);
}

/* While nothing changes, repeated questions for room write nothing. */
static void waiting_for_room_writes_nothing(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig.store_settings.step = count_transactions;
    fill_on(&rig, SPOOL_FULL_BLOCK);
    rig_flush(&rig);
    rig_flush(&rig); /* which may look for unused files */
    unsigned before = atomic_load(&transactions);
    assert_int_not_equal(before, 0);
    for (int i = 0; i < 10; i++) {
        rig_flush(&rig);
    }
    assert_int_equal(atomic_load(&transactions), before);
    rig_fini(&rig);
}

static void what_is_read_again_waits_for_room(void **state)
{
    (void)state;
    static const enum spool_full policies[] = {
        SPOOL_FULL_BLOCK, SPOOL_FULL_DROP_NEWEST, SPOOL_FULL_DROP_OLDEST};
    for (size_t i = 0; i < 3; i++) {
        struct spool_rig rig;
        struct error err = {0};
        uint64_t count = fill(&rig, policies[i]);
        assert_true(count > 5);
        struct waiter waiter = {.spool = rig.spool, .origin = SPOOL_REPLAYED, .result = -1};
        struct plat_thread *thread = plat_thread_start("waits", wait_room, &waiter, &err);
        for (uint64_t k = 1; k <= count; k++) {
            take_wide(&rig, 0, k);
        }
        /* a checkpoint makes room, an ack does not */
        assert_int_equal(atomic_load(&waiter.result), -1);
        rig_checkpoint(&rig, 0, "", true);
        plat_thread_join(thread);
        assert_int_equal(atomic_load(&waiter.result), SPOOL_ROOM);
        rig_fini(&rig);
    }
}

/* Live batches after the spool is full, until ${wanted} batches are appended. */
static uint64_t append_live(struct spool_rig *rig, uint64_t from, uint64_t wanted)
{
    for (uint64_t i = from + 1; i <= wanted; i++) {
        enum spool_room room = rig->spool->ops->wait_room(rig->spool, SPOOL_LIVE);
        if (room != SPOOL_ROOM) {
            assert_int_equal(room, SPOOL_NO_ROOM_FULL);
            return i - 1;
        }
        append_wide(rig, RIG_LIVE, i);
        struct error err;
        rig->spool->ops->flush(rig->spool, &err);
    }
    return wanted;
}

static void the_newest_live_events_are_dropped_if_the_user_wants_that(void **state)
{
    (void)state;
    struct spool_rig rig;
    uint64_t count = fill(&rig, SPOOL_FULL_DROP_NEWEST);
    uint64_t last = append_live(&rig, count, count + 1000);
    assert_true(last > count); /* the reserve is theirs */
    assert_true(last < count + 20);
    for (uint64_t i = 1; i < last; i++) { /* the last one waits for memory */
        take_wide(&rig, 0, i);
    }
    rig_checkpoint(&rig, 0, "", true);
    take_wide(&rig, 0, last);
    rig_flush(&rig);
    assert_int_equal(rig.spool->ops->wait_room(rig.spool, SPOOL_REPLAYED), SPOOL_ROOM);
    assert_int_equal(rig.spool->ops->wait_room(rig.spool, SPOOL_LIVE), SPOOL_ROOM);
    rig_fini(&rig);
}

static void the_oldest_events_make_room_if_the_user_wants_that(void **state)
{
    (void)state;
    struct spool_rig rig;
    uint64_t count = fill(&rig, SPOOL_FULL_DROP_OLDEST);
    uint64_t last = append_live(&rig, count, count + 100);
    assert_int_equal(last, count + 100);
    rig_flush(&rig);
    uint64_t lost = atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_FULL]);
    assert_true(lost > 0);
    assert_int_equal(lost % RECORDS, 0);
    /* The oldest batches are lost, and counted to the last record. */
    for (uint64_t i = lost / RECORDS + 1; i <= last; i++) {
        take_wide(&rig, 0, i);
    }
    rig_expect_nothing(&rig, 0);
    rig_fini(&rig);
}

static void what_an_output_that_is_gone_loses_is_told_with_its_name(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    two_readers(&rig);
    rig.store_settings.max_bytes = 12 * 1024 * 1024;
    rig.settings.on_full = SPOOL_FULL_DROP_OLDEST;
    rig_open(&rig);
    struct batch *own = rig_batch(RIG_SESSIONS - 1, 1, 3, 0);
    own->own = true;
    rig.spool->ops->append(rig.spool, 0, own);
    append_wide(&rig, RIG_LIVE, 1);
    append_wide(&rig, RIG_LIVE, 2);
    rig_take(&rig, 0, 1, 3);
    take_wide(&rig, 0, 1);
    take_wide(&rig, 0, 2);
    rig_checkpoint(&rig, 0, "", true);
    rig_close(&rig);
    rig.reader_count = 1;
    rig_open(&rig);
    uint64_t last = append_live(&rig, 2, 200);
    rig_flush(&rig);
    assert_int_equal(last, 200);
    assert_true(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_FULL]) > 0);
    /* Its chain has no end, so it also loses what comes now, until it is forgotten. */
    assert_int_equal(atomic_load(&rig.lost_by_others[OUTPUT_DROP_SPOOL_FULL]),
        atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_FULL]) + 2 * (uint64_t)RECORDS);
    rig_fini(&rig);
}

/* The agent's own events make no room by dropping others, and do not hold up others either. */
static void words_of_the_agent_drop_nothing(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct error err = {0};
    uint64_t count = fill(&rig, SPOOL_FULL_DROP_OLDEST);
    for (int i = 0; i < 20; i++) { /* more than the reserve */
        struct batch *own = rig_batch(RIG_SESSIONS - 1, 1, RECORDS, WIDTH);
        own->own = true;
        rig.spool->ops->append(rig.spool, 0, own);
    }
    assert_false(rig.spool->ops->flush(rig.spool, &err));
    assert_int_equal(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_FULL]), 0);
    append_wide(&rig, RIG_LIVE, count + 1);
    rig_flush(&rig);
    assert_true(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_FULL]) > 0);
    rig_fini(&rig);
}

/* The Event Log keeps records that are not taken. */
static void a_session_whose_source_waits_drops_nothing(void **state)
{
    (void)state;
    static const bool comes_again[RIG_SESSIONS] = {true, true, false};
    enum { MORE = 20 }; /* batches, more than the reserve */
    struct spool_rig rig;
    struct error err = {0};
    rig_init(&rig);
    rig.settings.comes_again = comes_again;
    uint64_t count = fill_on(&rig, SPOOL_FULL_DROP_OLDEST);
    for (uint64_t i = 1; i <= MORE; i++) {
        append_wide(&rig, RIG_LIVE, count + i);
    }
    assert_false(rig.spool->ops->flush(rig.spool, &err));
    for (uint64_t i = 1; i <= count; i++) {
        take_wide(&rig, 0, i);
    }
    rig_checkpoint(&rig, 0, "", true);
    for (uint64_t i = count + 1; i <= count + MORE; i++) {
        take_wide(&rig, 0, i);
    }
    assert_int_equal(atomic_load(&rig.lost[0][OUTPUT_DROP_SPOOL_FULL]), 0);
    rig_fini(&rig);
}

static void a_stop_ends_the_wait_for_room(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct error err = {0};
    fill(&rig, SPOOL_FULL_BLOCK);
    struct waiter waiter = {.spool = rig.spool, .origin = SPOOL_REPLAYED, .result = -1};
    struct plat_thread *thread = plat_thread_start("waits", wait_room, &waiter, &err);
    rig.spool->ops->cancel(rig.spool);
    plat_thread_join(thread);
    assert_int_equal(atomic_load(&waiter.result), SPOOL_CANCELLED);
    rig_fini(&rig);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void a_disk_that_fails_for_a_while_is_waited_for(void **state)
{
    (void)state;
    static const unsigned operations[] = {DISK_MODEL_APPEND, DISK_MODEL_SYNC, DISK_MODEL_MAKE};
    for (size_t i = 0; i < 3; i++) {
        struct spool_rig rig;
        struct spool_item item;
        struct error err = {0};
        rig_init(&rig);
        rig_open(&rig);
        disk_model_fail(rig.model, &(struct disk_model_fault){.operations = operations[i]});
        rig_append(&rig, 0, 1, 2);
        rig_append(&rig, 0, 3, 4);
        assert_false(rig.spool->ops->flush(rig.spool, &err));
        assert_int_equal(rig.spool->ops->next(rig.spool, 0, 0, &item), SPOOL_NOTHING);
        assert_true(atomic_load(&rig.warnings) >= 1);
        disk_model_heal(rig.model);
        rig_take(&rig, 0, 1, 2);
        rig_take(&rig, 0, 3, 4);
        rig_expect_nothing(&rig, 0);
        rig_fini(&rig);
    }
}

/* The texts for people. */
static enum spool_room room_seen(struct spool_rig *rig)
{
    struct spool_usage usage;
    rig->spool->ops->usage(rig->spool, &usage);
    return usage.room;
}

static void on_a_full_disk_positions_still_move_and_that_frees_it(void **state)
{
    (void)state;
    struct spool_rig rig;
    struct error err = {0};
    rig_init(&rig);
    rig_open(&rig);
    uint64_t count = 30;
    for (uint64_t i = 1; i <= count; i++) {
        append_wide(&rig, RIG_FILE, i);
    }
    rig_flush(&rig);
    disk_model_set_capacity(rig.model, 0);
    append_wide(&rig, RIG_FILE, count + 1);
    assert_false(rig.spool->ops->flush(rig.spool, &err));
    assert_int_equal(room_seen(&rig), SPOOL_NO_ROOM_DISK);
    for (uint64_t i = 1; i <= count; i++) {
        take_wide(&rig, 0, i);
    }
    rig_checkpoint(&rig, 0, "", true);
    disk_model_set_capacity(rig.model, UINT64_MAX);
    take_wide(&rig, 0, count + 1);
    assert_int_equal(room_seen(&rig), SPOOL_ROOM);
    rig_fini(&rig);
}

/* Change a byte of every segment file but the last one's. Returns how many. */
static size_t damage(struct spool_rig *rig)
{
    size_t count = 0;
    for (uint64_t id = 0; id < 100; id++) {
        char path[TEMP_FOLDER_BYTES + 64];
        snprintf(path, sizeof(path), "%s/%016llx.seg", rig->path, (unsigned long long)id);
        struct span content = disk_model_content(rig->model, path);
        if (content.size > 20000 && count < 3) {
            count += disk_model_flip(rig->model, path, content.size / 2, 0x10);
        }
    }
    return count;
}

static void what_is_damaged_is_counted_and_the_rest_delivered(void **state)
{
    (void)state;
    enum { BATCHES = 10 };
    struct spool_rig rig;
    rig_init(&rig);
    two_readers(&rig);
    rig_open(&rig);
    for (uint64_t i = 1; i <= BATCHES; i++) {
        append_wide(&rig, RIG_FILE, i);
    }
    rig_flush(&rig);
    rig_reopen(&rig); /* memory is empty */
    size_t damaged = damage(&rig);
    assert_true(damaged > 0);
    for (size_t cursor = 0; cursor < 2; cursor++) {
        uint64_t before = 0;
        for (size_t i = 0; i < BATCHES - damaged; i++) {
            struct spool_item item = rig_next(&rig, cursor);
            assert_true(rig_record(&item, 0) > before);
            before = rig_record(&item, 0);
            rig_ack(&rig, cursor, &item);
        }
        rig_expect_nothing(&rig, cursor);
    }
    for (size_t cursor = 0; cursor < 2; cursor++) {
        assert_int_equal(
            atomic_load(&rig.lost[cursor][OUTPUT_DROP_SPOOL_DAMAGED]), damaged * RECORDS);
    }
    rig_checkpoint(&rig, 0, "", true);
    rig_checkpoint(&rig, 1, "", true);
    rig_reopen(&rig);
    assert_int_equal(rig.backlogs[0].batches, 0);
    assert_int_equal(rig.backlogs[1].batches, 0);
    rig_fini(&rig);
}

static void a_batch_that_cannot_be_read_now_is_read_later(void **state)
{
    (void)state;
    struct spool_rig rig;
    rig_init(&rig);
    rig_open(&rig);
    append_wide(&rig, RIG_FILE, 1);
    append_wide(&rig, RIG_FILE, 2);
    rig_flush(&rig);
    rig_reopen(&rig);
    disk_model_fail(
        rig.model, &(struct disk_model_fault){.operations = DISK_MODEL_READ, .times = 1});
    struct spool_item item = rig_next(&rig, 0); /* the next one, meanwhile */
    assert_int_equal(rig_record(&item, 0), RECORDS + 1);
    rig_ack(&rig, 0, &item);
    take_wide(&rig, 0, 1);
    rig_checkpoint(&rig, 0, "", true);
    rig_reopen(&rig);
    assert_int_equal(rig.backlogs[0].batches, 0);
    rig_fini(&rig);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { WORKERS = 3, MANY = 2000 };

struct worker {
    struct spool *spool;
    uint64_t *counts; /* by batch */
    struct plat_thread *thread;
};

static void deliver(void *self)
{
    struct worker *worker = self;
    struct spool_item item;
    struct error err;
    for (;;) {
        uint64_t soon = plat_monotonic_ns() + 1000000;
        enum spool_next next = worker->spool->ops->next(worker->spool, 0, soon, &item);
        if (next == SPOOL_END) {
            return;
        }
        if (next == SPOOL_BATCH) {
            worker->counts[rig_record(&item, 0)]++; /* no other output has this batch */
            worker->spool->ops->ack(worker->spool, 0, &item, true);
        }
        worker->spool->ops->checkpoint(worker->spool, 0, span_make(NULL, 0), false, &err);
    }
}

static void several_workers_get_each_batch_once(void **state)
{
    (void)state;
    static uint64_t counts[MANY + 1];
    struct spool_rig rig;
    struct error err = {0};
    struct worker workers[WORKERS];
    memset(counts, 0, sizeof(counts));
    rig_init(&rig);
    rig.settings.memory_bytes = 200000;
    rig_open(&rig);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.spool = rig.spool, .counts = counts};
        workers[i].thread = plat_thread_start("delivers", deliver, &workers[i], &err);
        assert_non_null(workers[i].thread);
    }
    for (uint64_t i = 1; i <= MANY; i++) {
        assert_int_equal(rig.spool->ops->wait_room(rig.spool, SPOOL_REPLAYED), SPOOL_ROOM);
        rig_append(&rig, 0, i, i);
    }
    rig.spool->ops->close(rig.spool);
    for (size_t i = 0; i < WORKERS; i++) {
        plat_thread_join(workers[i].thread);
    }
    for (uint64_t i = 1; i <= MANY; i++) {
        assert_int_equal(counts[i], 1);
    }
    rig_flush(&rig);
    rig_reopen(&rig);
    assert_int_equal(rig.backlogs[0].batches, 0);
    rig_fini(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_that_is_stuck_costs_the_other_nothing),
        cmocka_unit_test(an_output_that_keeps_up_never_reads_the_disk),
        cmocka_unit_test(what_waits_for_one_output_is_read_back_in_order),
        cmocka_unit_test(waiting_for_room_writes_nothing),
        cmocka_unit_test(what_is_read_again_waits_for_room),
        cmocka_unit_test(the_newest_live_events_are_dropped_if_the_user_wants_that),
        cmocka_unit_test(the_oldest_events_make_room_if_the_user_wants_that),
        cmocka_unit_test(what_an_output_that_is_gone_loses_is_told_with_its_name),
        cmocka_unit_test(words_of_the_agent_drop_nothing),
        cmocka_unit_test(a_session_whose_source_waits_drops_nothing),
        cmocka_unit_test(a_stop_ends_the_wait_for_room),
        cmocka_unit_test(a_disk_that_fails_for_a_while_is_waited_for),
        cmocka_unit_test(on_a_full_disk_positions_still_move_and_that_frees_it),
        cmocka_unit_test(what_is_damaged_is_counted_and_the_rest_delivered),
        cmocka_unit_test(a_batch_that_cannot_be_read_now_is_read_later),
        cmocka_unit_test(several_workers_get_each_batch_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
