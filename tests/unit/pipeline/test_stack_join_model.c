#include "pipeline/record/stack_join.h"

#include <stdlib.h>

#include "support/test.h"
#include "unit/pipeline/stack_records.h"

/*
 * A random trace against a simple join: a list of all items in their final order, which is searched
 * from its end for every stack.
 */
enum { MODEL_STEPS = 100000, MODEL_FRAMES = 12, MODEL_KEYS = 8, UNKNOWN_KEY = 5, LIFE = 10000000 };

struct model_item {
    struct event_record record;
    bool is_walk;
    bool is_left_out;
    uint32_t frame_count;
    uint64_t frames[MODEL_FRAMES * 20];
};

struct model {
    struct model_item *items; /* all items, in the final order */
    size_t count;
    size_t first_held;
    size_t out;
    uint64_t newest;
    uint64_t joined;
    uint64_t unmatched;
    uint64_t left_out;
    uint64_t seed;
    int64_t now;
    struct stack_join *join;
    struct buf payload;
};

static uint32_t draw(struct model *m, uint32_t below)
{
    m->seed = m->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(m->seed >> 33) % below;
}

static bool compare_with_model(void *self, const struct event_record *record,
    const uint64_t *frames, uint32_t count, uint64_t tag)
{
    struct model *m = self;
    assert_true(m->out < m->count);
    const struct model_item *item = &m->items[m->out++];
    assert_false(item->is_left_out);
    assert_int_equal(record->sequence, item->record.sequence);
    assert_int_equal(tag, record->sequence + 1);
    assert_int_equal(record->time_raw, item->record.time_raw);
    assert_int_equal(count, item->frame_count);
    if (count) {
        assert_memory_equal(frames, item->frames, count * sizeof(*frames));
    }
    return true;
}

static bool compare_left_out(void *self, uint64_t time, uint64_t tag)
{
    struct model *m = self;
    assert_true(m->out < m->count);
    const struct model_item *item = &m->items[m->out++];
    assert_true(item->is_left_out);
    assert_int_equal(tag, item->record.sequence);
    assert_int_equal(time, item->record.time);
    return true;
}

static void model_hold(struct model *m, const struct event_record *record, bool is_walk)
{
    if (record->time + SECOND < m->newest) {
        m->first_held = m->count;
        m->newest = record->time;
    }
    m->newest = record->time > m->newest ? record->time : m->newest;
    m->items[m->count++] = (struct model_item){.record = *record, .is_walk = is_walk};
    while (m->items[m->first_held].record.time + SECOND < m->newest) {
        m->first_held++;
    }
}

static void model_stack(struct model *m, const struct event_record *walk,
    const struct event_record *owner, const uint64_t *frames, uint32_t count)
{
    for (size_t i = m->count; i > m->first_held; i--) {
        struct model_item *item = &m->items[i - 1];
        const struct event_record *r = &item->record;
        bool same = !item->is_walk && r->time_raw == owner->time_raw && r->trace == walk->trace;
        if (r->present & RECORD_HAS_THREAD) {
            same = same && r->thread_id == owner->thread_id && r->process_id == owner->process_id;
        } else {
            same = same && r->cpu == walk->cpu;
        }
        if (same && frames) {
            assert_true(item->frame_count + count <= MODEL_FRAMES * 20);
            memcpy(item->frames + item->frame_count, frames, count * sizeof(*frames));
            item->frame_count += count;
            m->joined++;
            return;
        }
    }
    m->unmatched++;
    model_hold(m, walk, true);
}

/* The one frame of a key's life. Each life lasts LIFE and ends with a record that was learned
 * before. Odd keys are of kernel stacks. */
static uint64_t frame_of(unsigned trace, uint64_t key, int64_t time)
{
    int64_t life = (time + LIFE - 1) / LIFE;
    return (key & 1 ? KERNEL : 0) | (uint64_t)life << 16 | key << 8 | trace;
}

static const struct trace_info *const traces[] = {&trace_a, &trace_b};

/* Definitions of every life of every key, in any order, as the metadata pass may find them. */
static void learn_keys(struct model *m, int64_t from, int64_t to)
{
    for (int64_t base = from / LIFE * LIFE; base <= to; base += 20 * LIFE) {
        for (unsigned i = 0; i < 20 * MODEL_KEYS * 2; i++) {
            unsigned t = i % 2;
            uint64_t key = i / 2 % MODEL_KEYS;
            int64_t time = base + (int64_t)(i / 2 / MODEL_KEYS * 7 % 20) * LIFE;
            if (key == UNKNOWN_KEY) {
                continue;
            }
            struct event_record record = definition(
                &m->payload, 0, KEY_DELETE, time, key, frame_of(t, key, time));
            record.trace = traces[t];
            stack_join_learn(m->join, &record);
        }
    }
}

static void step_time(struct model *m)
{
    if (draw(m, 4) == 0) {
        m->now += draw(m, draw(m, 50) ? 40000 : 2 * SECOND);
    }
    if (draw(m, 5000) == 0) {
        m->now -= 3 * SECOND;
    }
}

static void random_event(struct model *m, uint64_t step)
{
    struct event_record event = event_at(1, m->now, draw(m, 2), draw(m, 4));
    event.present = draw(m, 4) ? event.present : 0;
    event.cpu = (uint16_t)draw(m, 3);
    event.trace = traces[draw(m, 2)];
    event.sequence = step;
    event.payload = span_make("0123456789", draw(m, 11));
    model_hold(m, &event, false);
    if (draw(m, 2)) {
        assert_true(stack_join_push(m->join, &event, step + 1));
        return;
    }
    m->items[m->count - 1].is_left_out = true; /* nothing else changes for that */
    m->left_out++;
    assert_true(stack_join_leave_out(m->join, &event, step));
}

/* The record whose stack comes: an earlier one, or one that never existed. */
static struct event_record random_owner(struct model *m)
{
    if (m->count && draw(m, 8)) {
        size_t back = draw(m, draw(m, 10) ? 8 : 3000);
        return m->items[m->count - 1 - back % m->count].record;
    }
    struct event_record owner = event_at(1, m->now, draw(m, 2), draw(m, 4));
    owner.cpu = (uint16_t)draw(m, 3);
    return owner;
}

static void random_stack(struct model *m, uint64_t step)
{
    struct event_record owner = random_owner(m);
    uint64_t frames[MODEL_FRAMES];
    uint32_t count = 1;
    bool known = true;
    struct event_record walk;
    if (draw(m, 3)) {
        count = draw(m, MODEL_FRAMES + 1);
        walk = stack_of(&m->payload, 9, owner.time_raw, owner.process_id, owner.thread_id);
        for (uint32_t i = 0; i < count; i++) {
            frames[i] = m->seed ^ i;
            etl_put_u64(&m->payload, frames[i]);
        }
        walk.payload = buf_span(&m->payload);
    } else {
        uint64_t key = draw(m, MODEL_KEYS);
        bool of_kernel = draw(m, 4) ? key & 1 : !(key & 1); /* sometimes of the wrong kind */
        known = key != UNKNOWN_KEY && of_kernel == (key & 1);
        frames[0] = frame_of(owner.trace == &trace_b, key, m->now);
        walk = reference(&m->payload, 9, of_kernel ? REFERENCE_KERNEL : REFERENCE_USER,
            owner.time_raw, owner.process_id, owner.thread_id, key);
    }
    walk.time_raw = m->now;
    walk.time = (uint64_t)m->now;
    walk.cpu = owner.cpu;
    walk.trace = owner.trace;
    walk.sequence = step;
    model_stack(m, &walk, &owner, known ? frames : NULL, count);
    assert_true(stack_join_push(m->join, &walk, step + 1));
}

static void random_traces_match_a_naive_join(void **state)
{
    (void)state;
    struct model m = {.seed = 20261121, .now = 1000 * (int64_t)SECOND};
    int64_t last = m.now + 1000 * (int64_t)SECOND;
    buf_init(&m.payload, 1 << 16);
    m.items = calloc(MODEL_STEPS, sizeof(*m.items));
    m.join = stack_join_create(STACK_WALK_JOIN, compare_with_model, compare_left_out, &m, NULL);
    assert_true(m.items && m.join);
    learn_keys(&m, m.now - 10 * SECOND, last);
    for (uint64_t step = 0; step < MODEL_STEPS; step++) {
        step_time(&m);
        if (draw(&m, 2)) {
            random_event(&m, step);
        } else {
            random_stack(&m, step);
        }
    }
    assert_true(stack_join_flush(m.join));
    assert_true(m.now < last);
    assert_int_equal(m.out, m.count);
    struct stack_join_counts counts = stack_join_counts(m.join);
    assert_int_equal(counts.joined, m.joined);
    assert_int_equal(counts.unmatched, m.unmatched);
    /* Both cases occur often enough. */
    assert_true(m.joined > MODEL_STEPS / 5);
    assert_true(m.unmatched > MODEL_STEPS / 50);
    assert_true(m.left_out > MODEL_STEPS / 5);
    stack_join_destroy(m.join);
    buf_fini(&m.payload);
    free(m.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces_match_a_naive_join)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
