#include "pipeline/slab/slab_queue.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat_thread.h"
#include "support/test.h"

enum { SLAB = 1000, SLABS = 20000, WORKERS = 3 };

static struct slab_queue *make_queue(size_t slabs, size_t workers)
{
    struct error err;
    struct slab_queue *queue = slab_queue_create(slabs * SLAB, workers, &err);
    assert_non_null(queue);
    return queue;
}

static void push(struct slab_queue *queue, enum slab_kind kind)
{
    struct slab *slab = slab_create(kind, 0, SLAB, NULL);
    assert_non_null(slab);
    assert_int_equal(slab_queue_push(queue, slab, UINT64_MAX), SLAB_PUSHED);
}

static void tickets_count_slabs_in_their_order(void **state)
{
    (void)state;
    struct slab_queue *queue = make_queue(10, 1);
    for (int i = 0; i < 5; i++) {
        push(queue, SLAB_RECORDS);
    }
    assert_int_equal(slab_queue_tickets(queue), 5);
    for (uint64_t i = 0; i < 5; i++) {
        struct slab *slab = slab_queue_pop(queue, 0);
        assert_int_equal(slab->ticket, i);
        slab_destroy(slab);
    }
    slab_queue_destroy(queue);
}

static void a_full_queue_takes_nothing_until_its_deadline(void **state)
{
    (void)state;
    struct slab_queue *queue = make_queue(2, 1);
    push(queue, SLAB_RECORDS);
    push(queue, SLAB_RECORDS);
    assert_false(slab_queue_is_half_empty(queue));
    struct slab *slab = slab_create(SLAB_RECORDS, 0, SLAB, NULL);
    assert_int_equal(slab_queue_push(queue, slab, 0), SLAB_QUEUE_FULL);
    assert_int_equal(slab_queue_push_now(queue, slab), SLAB_PUSHED);
    assert_int_equal(slab_queue_bytes(queue), 3 * SLAB);
    for (int i = 0; i < 2; i++) {
        slab_destroy(slab_queue_pop(queue, 0));
    }
    assert_true(slab_queue_is_half_empty(queue));
    slab_queue_destroy(queue); /* with a slab in it */
}

static void an_empty_queue_takes_a_slab_of_any_size(void **state)
{
    (void)state;
    struct slab_queue *queue = make_queue(1, 1);
    struct slab *slab = slab_create(SLAB_RECORDS, 0, 100 * SLAB, NULL);
    assert_int_equal(slab_queue_push(queue, slab, 0), SLAB_PUSHED);
    slab_queue_destroy(queue);
}

static void a_closed_queue_gives_what_it_has_and_takes_nothing(void **state)
{
    (void)state;
    struct slab_queue *queue = make_queue(4, 2);
    push(queue, SLAB_METADATA);
    push(queue, SLAB_RECORDS);
    slab_queue_close(queue);
    struct slab *late = slab_create(SLAB_RECORDS, 0, SLAB, NULL);
    assert_int_equal(slab_queue_push(queue, late, UINT64_MAX), SLAB_QUEUE_OVER);
    assert_int_equal(slab_queue_push_now(queue, late), SLAB_QUEUE_OVER);
    slab_destroy(late);
    struct slab *metadata = slab_queue_pop(queue, 0);
    assert_int_equal(metadata->kind, SLAB_METADATA);
    slab_queue_learned(queue, metadata);
    struct slab *slab = slab_queue_pop(queue, 0);
    assert_int_equal(slab->kind, SLAB_RECORDS);
    slab_destroy(slab);
    assert_null(slab_queue_pop(queue, 0));
    slab_queue_destroy(queue); /* the other worker's metadata is still there */
}

static void a_cancelled_queue_takes_what_is_reserved_and_nothing_else(void **state)
{
    (void)state;
    struct slab_queue *queue = make_queue(4, 1);
    slab_queue_cancel(queue);
    struct slab *slab = slab_create(SLAB_RECORDS, 0, SLAB, NULL);
    assert_int_equal(slab_queue_push(queue, slab, UINT64_MAX), SLAB_QUEUE_OVER);
    assert_int_equal(slab_queue_push_now(queue, slab), SLAB_PUSHED);
    slab_destroy(slab_queue_pop(queue, 0));
    slab_queue_destroy(queue);
}

static void metadata_stands_before_what_came_behind_it_for_every_worker(void **state)
{
    (void)state;
    struct slab_queue *queue = make_queue(10, 2);
    push(queue, SLAB_RECORDS);
    push(queue, SLAB_METADATA);
    push(queue, SLAB_RECORDS);
    push(queue, SLAB_METADATA);
    struct slab *first = slab_queue_pop(queue, 0);
    assert_int_equal(first->ticket, 0);
    struct slab *metadata = slab_queue_pop(queue, 0);
    assert_int_equal(metadata->kind, SLAB_METADATA);
    assert_ptr_equal(slab_queue_pop(queue, 1), metadata);
    slab_queue_learned(queue, metadata);
    slab_queue_learned(queue, metadata);
    struct slab *second = slab_queue_pop(queue, 1);
    assert_int_equal(second->ticket, 1);
    slab_destroy(first);
    slab_destroy(second);
    slab_queue_destroy(queue);
}

static void a_destroyed_queue_frees_the_metadata_that_a_worker_has_yet_to_learn(void **state)
{
    (void)state;
    for (size_t ahead = 0; ahead < 2; ahead++) {
        struct slab_queue *queue = make_queue(10, 2);
        atomic_size_t slabs = 3;
        for (int i = 0; i < 3; i++) {
            struct slab *metadata = slab_create(SLAB_METADATA, 0, SLAB, NULL);
            assert_non_null(metadata);
            metadata->in_flight = &slabs;
            assert_int_equal(slab_queue_push(queue, metadata, UINT64_MAX), SLAB_PUSHED);
        }
        slab_queue_learned(queue, slab_queue_pop(queue, ahead));
        slab_queue_learned(queue, slab_queue_pop(queue, ahead));
        slab_queue_learned(queue, slab_queue_pop(queue, 1 - ahead));
        assert_int_equal(slabs, 2);
        slab_queue_destroy(queue);
        assert_int_equal(slabs, 0);
    }
}

/* ---- under load ------------------------------------------------------------------------------ */

struct shared {
    struct slab_queue *queue;
    atomic_size_t next_worker;
    atomic_size_t slabs;
    atomic_size_t wrong;
};

/* In last_sequence, metadata slabs have the number of metadata slabs before them; other slabs have
 * the number that must have been learned. */
static void work(void *self)
{
    struct shared *shared = self;
    size_t worker = atomic_fetch_add(&shared->next_worker, 1);
    uint64_t learned = 0;
    struct slab *slab;
    while ((slab = slab_queue_pop(shared->queue, worker))) {
        if (slab->kind == SLAB_METADATA) {
            atomic_fetch_add(&shared->wrong, slab->last_sequence != learned);
            learned++;
            slab_queue_learned(shared->queue, slab);
            continue;
        }
        atomic_fetch_add(&shared->wrong, learned < slab->last_sequence);
        atomic_fetch_add(&shared->slabs, 1);
        slab_destroy(slab);
    }
}

static void workers_share_slabs_and_all_learn_all_metadata(void **state)
{
    (void)state;
    struct shared shared = {.queue = make_queue(4, WORKERS)};
    struct plat_thread *threads[WORKERS];
    struct error err;
    for (int i = 0; i < WORKERS; i++) {
        threads[i] = plat_thread_start("work", work, &shared, &err);
        assert_non_null(threads[i]);
    }
    uint64_t metadata = 0;
    for (uint64_t i = 0; i < SLABS; i++) {
        bool is_metadata = i % 7 == 0;
        struct slab *slab = slab_create(is_metadata ? SLAB_METADATA : SLAB_RECORDS, 0, SLAB, NULL);
        slab->last_sequence = metadata;
        metadata += is_metadata;
        assert_int_equal(slab_queue_push(shared.queue, slab, UINT64_MAX), SLAB_PUSHED);
    }
    slab_queue_close(shared.queue);
    for (int i = 0; i < WORKERS; i++) {
        plat_thread_join(threads[i]);
    }
    assert_int_equal(shared.slabs, SLABS - metadata);
    assert_int_equal(shared.wrong, 0);
    assert_int_equal(slab_queue_bytes(shared.queue), 0);
    slab_queue_destroy(shared.queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tickets_count_slabs_in_their_order),
        cmocka_unit_test(a_full_queue_takes_nothing_until_its_deadline),
        cmocka_unit_test(an_empty_queue_takes_a_slab_of_any_size),
        cmocka_unit_test(a_closed_queue_gives_what_it_has_and_takes_nothing),
        cmocka_unit_test(a_cancelled_queue_takes_what_is_reserved_and_nothing_else),
        cmocka_unit_test(metadata_stands_before_what_came_behind_it_for_every_worker),
        cmocka_unit_test(a_destroyed_queue_frees_the_metadata_that_a_worker_has_yet_to_learn),
        cmocka_unit_test(workers_share_slabs_and_all_learn_all_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
