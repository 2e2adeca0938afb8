#include "pipeline/spool/spool.h"

#include <stdatomic.h>

#include "platform/plat_thread.h"
#include "store/store.h"
#include "support/test.h"

static struct spool *make_spool(size_t streams, size_t max_bytes)
{
    struct error err;
    struct spool *spool = spool_memory_create(streams, max_bytes, &err);
    assert_non_null(spool);
    return spool;
}

static size_t add_cursor(struct spool *spool, size_t stream)
{
    const struct spool_reader reader = {
        .name = "out", .stream = stream, .route = 3, .stream_hash = 7};
    struct spool_backlog backlog;
    struct error err;
    size_t cursor;
    assert_true(spool->ops->add_cursor(spool, &reader, &cursor, &backlog, &err));
    assert_int_equal(backlog.batches, 0);
    return cursor;
}

static void append(struct spool *spool, size_t stream, size_t bytes)
{
    struct batch *batch = batch_create(0, NULL, 0);
    assert_non_null(batch);
    for (size_t i = 0; i < bytes; i++) {
        buf_add_byte(&batch->piece.bytes, 'x');
    }
    assert_true(piece_end_record(&batch->piece, 1));
    spool->ops->append(spool, stream, batch);
}

static const struct batch *next(struct spool *spool, size_t cursor)
{
    struct spool_item item;
    assert_int_equal(spool->ops->next(spool, cursor, 0, &item), SPOOL_BATCH);
    assert_int_equal(item.route, 3);
    assert_int_equal(item.stream_hash, 7);
    assert_false(item.earlier);
    assert_null(item.left);
    return item.batch;
}

static void ack(struct spool *spool, size_t cursor, const struct batch *batch)
{
    spool->ops->ack(spool, cursor, &(struct spool_item){.batch = batch}, true);
}

static struct spool_usage usage(struct spool *spool)
{
    struct spool_usage now;
    spool->ops->usage(spool, &now);
    return now;
}

static void a_batch_stays_until_every_reader_has_acked_it(void **state)
{
    (void)state;
    struct spool *spool = make_spool(2, 1000000);
    size_t a = add_cursor(spool, 0);
    size_t b = add_cursor(spool, 0);
    size_t c = add_cursor(spool, 1);
    append(spool, 0, 100);
    append(spool, 0, 200);
    append(spool, 1, 300);
    assert_int_equal(usage(spool).batches, 3);
    const struct batch *first = next(spool, a);
    const struct batch *second = next(spool, a);
    assert_int_equal(first->number, 1);
    assert_int_equal(second->number, 2);
    assert_int_equal(first->piece.bytes.size, 100);
    ack(spool, a, second); /* acks may overtake one another */
    ack(spool, a, first);
    assert_int_equal(usage(spool).batches, 3);
    assert_ptr_equal(next(spool, b), first);
    ack(spool, b, first);
    assert_int_equal(usage(spool).batches, 2);
    struct spool_item none;
    assert_int_equal(spool->ops->next(spool, a, 0, &none), SPOOL_NOTHING);
    assert_int_equal(next(spool, c)->number, 1);
    spool_destroy(spool); /* with two batches in it */
}

static void a_stream_without_a_reader_keeps_nothing(void **state)
{
    (void)state;
    struct spool *spool = make_spool(2, 1000);
    add_cursor(spool, 0);
    append(spool, 1, 100);
    assert_int_equal(usage(spool).bytes, 0);
    spool_destroy(spool);
}

static void a_closed_spool_ends_when_everything_was_handed_out(void **state)
{
    (void)state;
    struct spool *spool = make_spool(1, 1000);
    size_t a = add_cursor(spool, 0);
    append(spool, 0, 100);
    spool->ops->close(spool);
    const struct batch *batch = next(spool, a);
    struct spool_item none;
    assert_int_equal(spool->ops->next(spool, a, UINT64_MAX / 2, &none), SPOOL_END);
    ack(spool, a, batch);
    spool_destroy(spool);
}

struct waiter {
    struct spool *spool;
    atomic_int result; /* of wait_room; -1 before */
};

static void wait_room(void *self)
{
    struct waiter *waiter = self;
    atomic_store(&waiter->result, waiter->spool->ops->wait_room(waiter->spool, SPOOL_REPLAYED));
}

static void a_full_spool_has_room_again_when_a_batch_is_acked(void **state)
{
    (void)state;
    struct spool *spool = make_spool(1, 1000);
    size_t a = add_cursor(spool, 0);
    assert_int_equal(spool->ops->wait_room(spool, SPOOL_REPLAYED), SPOOL_ROOM);
    append(spool, 0, 2000);
    struct waiter waiter = {.spool = spool, .result = -1};
    struct error err;
    struct plat_thread *thread = plat_thread_start("waits", wait_room, &waiter, &err);
    const struct batch *batch = next(spool, a);
    assert_int_equal(atomic_load(&waiter.result), -1);
    ack(spool, a, batch);
    plat_thread_join(thread);
    assert_int_equal(atomic_load(&waiter.result), SPOOL_ROOM);
    assert_int_equal(usage(spool).bytes, 0);
    spool_destroy(spool);
}

static void sources_wait_only_while_the_fastest_output_of_every_stream_has_enough(void **state)
{
    (void)state;
    struct spool *spool = make_spool(2, 1000000);
    spool_memory_hold_back(spool, 60000); /* of batches of 42,000 bytes each */
    size_t fast = add_cursor(spool, 0);
    size_t blocked = add_cursor(spool, 0);
    size_t other = add_cursor(spool, 1);
    for (int i = 0; i < 4; i++) {
        append(spool, 0, 20000);
        assert_int_equal(spool->ops->wait_room(spool, SPOOL_REPLAYED), SPOOL_ROOM);
    }
    append(spool, 1, 20000); /* the other stream's output has little to do until the next */
    assert_int_equal(spool->ops->wait_room(spool, SPOOL_REPLAYED), SPOOL_ROOM);
    append(spool, 1, 20000);
    assert_int_equal(spool->ops->wait_room(spool, SPOOL_LIVE), SPOOL_ROOM);
    assert_int_equal(spool->ops->wait_room(spool, SPOOL_OWN), SPOOL_ROOM);
    struct waiter waiter = {.spool = spool, .result = -1};
    struct error err;
    struct plat_thread *thread = plat_thread_start("waits", wait_room, &waiter, &err);
    for (int i = 0; i < 3; i++) {
        next(spool, fast);
        assert_int_equal(atomic_load(&waiter.result), -1);
    }
    const struct batch *last = next(spool, fast);
    plat_thread_join(thread);
    assert_int_equal(atomic_load(&waiter.result), SPOOL_ROOM);
    ack(spool, fast, last);
    for (int i = 0; i < 4; i++) { /* what another output gets later makes no more room */
        next(spool, blocked);
    }
    append(spool, 0, 20000);
    assert_int_equal(spool->ops->wait_room(spool, SPOOL_REPLAYED), SPOOL_ROOM);
    next(spool, other);
    spool_destroy(spool);
}

static void cancelling_ends_the_wait_for_room(void **state)
{
    (void)state;
    struct spool *spool = make_spool(1, 1000);
    add_cursor(spool, 0);
    append(spool, 0, 2000);
    struct waiter waiter = {.spool = spool, .result = -1};
    struct error err;
    struct plat_thread *thread = plat_thread_start("waits", wait_room, &waiter, &err);
    spool->ops->cancel(spool);
    plat_thread_join(thread);
    assert_int_equal(atomic_load(&waiter.result), SPOOL_CANCELLED);
    spool_destroy(spool);
}

static void memory_is_counted_with_what_lies_around_the_bytes(void **state)
{
    (void)state;
    struct spool *spool = make_spool(1, 1000000);
    add_cursor(spool, 0);
    append(spool, 0, 1000);
    assert_true(usage(spool).bytes > 1000 + sizeof(struct batch));
    spool_destroy(spool);
}

struct fake_clock {
    uint64_t wall;
    uint64_t monotonic_ns;
};

static uint64_t wall(void *self)
{
    return ((struct fake_clock *)self)->wall;
}

static uint64_t monotonic(void *self)
{
    return ((struct fake_clock *)self)->monotonic_ns;
}

static uint64_t epoch_of_next(struct spool *spool, size_t cursor)
{
    struct spool_item item;
    append(spool, 0, 1);
    assert_int_equal(spool->ops->next(spool, cursor, 0, &item), SPOOL_BATCH);
    ack(spool, cursor, item.batch);
    return item.epoch;
}

static void a_clock_that_was_set_begins_another_epoch(void **state)
{
    (void)state;
    static const uint64_t minute = UINT64_C(600000000);
    struct fake_clock now = {.wall = UINT64_C(134397612000000000), .monotonic_ns = 5};
    const struct store_clock clock = {.now = wall, .monotonic_ns = monotonic, .self = &now};
    struct spool *spool = make_spool(1, 1000);
    size_t cursor = add_cursor(spool, 0);
    spool_memory_use_clock(spool, &clock);
    uint64_t first = epoch_of_next(spool, cursor);
    now.wall += 50 * minute; /* time passes */
    now.monotonic_ns += 50 * minute * 100;
    assert_true(epoch_of_next(spool, cursor) == first);
    now.wall += minute / 100; /* the clock is adjusted */
    assert_true(epoch_of_next(spool, cursor) == first);
    now.wall += 3 * minute; /* the clock was wrong, and is set right */
    uint64_t second = epoch_of_next(spool, cursor);
    assert_true(second != first);
    assert_true(epoch_of_next(spool, cursor) == second);
    now.wall -= 3 * minute;
    assert_true(epoch_of_next(spool, cursor) != second);
    spool_destroy(spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_stays_until_every_reader_has_acked_it),
        cmocka_unit_test(a_stream_without_a_reader_keeps_nothing),
        cmocka_unit_test(a_closed_spool_ends_when_everything_was_handed_out),
        cmocka_unit_test(a_full_spool_has_room_again_when_a_batch_is_acked),
        cmocka_unit_test(sources_wait_only_while_the_fastest_output_of_every_stream_has_enough),
        cmocka_unit_test(cancelling_ends_the_wait_for_room),
        cmocka_unit_test(memory_is_counted_with_what_lies_around_the_bytes),
        cmocka_unit_test(a_clock_that_was_set_begins_another_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
