#include "process/lifetimes.h"

#include <stdlib.h>

#include "support/test.h"

/*
 * Owners of these lives are letters: news with different letters contradict each other, and news
 * without a letter (0) fit every owner.
 */
enum { SECOND = 10000000 };

static bool fits(const struct life *life, const void *news)
{
    char letter = *(const char *)news;
    return life->owner == 0 || letter == 0 || life->owner == (uint32_t)letter;
}

static bool take(void *self, struct life *life, const void *news)
{
    char letter = *(const char *)news;
    (void)self;
    life->owner = life->owner ? life->owner : (uint32_t)letter;
    return true;
}

static bool copy(void *self, const struct life *life, struct life *copy)
{
    (void)self;
    copy->owner = life->owner;
    return true;
}

static void nothing(void *self, struct life *life)
{
    (void)self;
    (void)life;
}

static void count_drop(void *self, struct life *life)
{
    (void)life;
    ++*(size_t *)self;
}

static const struct life_ops ops = {
    .fits = fits, .take = take, .copy = copy, .changed = nothing, .drop = count_drop};

static const struct life_key key = {.machine = 7, .id = 42};

struct rig {
    struct lifetimes lives;
    size_t dropped;
};

static void rig_init(struct rig *rig)
{
    *rig = (struct rig){.dropped = 0};
    assert_true(lifetimes_init(&rig->lives, 16, &ops, &rig->dropped));
}

static void rig_fini(struct rig *rig)
{
    size_t count = rig->lives.count;
    size_t before = rig->dropped;
    lifetimes_fini(&rig->lives);
    assert_int_equal(rig->dropped, before + count);
}

static void hear(struct rig *rig, enum life_news what, uint64_t seconds, char letter)
{
    assert_non_null(lifetimes_note(&rig->lives, &key, what, seconds * SECOND, 1, &letter));
}

/* The owner of the id; 0: unknown. Both ends of the interval must have it, too. */
static char owner_at(const struct rig *rig, uint64_t time)
{
    uint64_t from;
    uint64_t to;
    uint64_t a;
    uint64_t b;
    const struct life *life = lifetimes_find(&rig->lives, &key, time, true, &from, &to);
    assert_true(from <= time && time <= to);
    assert_ptr_equal(lifetimes_find(&rig->lives, &key, from, true, &a, &b), life);
    assert_ptr_equal(lifetimes_find(&rig->lives, &key, to, true, &a, &b), life);
    return life ? (char)life->owner : 0;
}

static void an_id_belongs_to_the_process_that_has_it_at_that_time(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    hear(&rig, LIFE_STARTED, 10, 'a');
    hear(&rig, LIFE_ENDED, 20, 'a');
    hear(&rig, LIFE_STARTED, 30, 'b');
    assert_int_equal(owner_at(&rig, 9 * SECOND), 0);
    assert_int_equal(owner_at(&rig, 10 * SECOND), 'a');
    assert_int_equal(owner_at(&rig, 20 * SECOND), 'a');
    assert_int_equal(owner_at(&rig, 21 * SECOND), 'a'); /* its last events */
    assert_int_equal(owner_at(&rig, 21 * SECOND + 1), 0);
    assert_int_equal(owner_at(&rig, 30 * SECOND - 1), 0);
    assert_int_equal(owner_at(&rig, 30 * SECOND), 'b');
    assert_int_equal(owner_at(&rig, UINT64_MAX), 'b');
    rig_fini(&rig);
}

static void a_rundown_tells_of_what_came_before_and_behind_it(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    hear(&rig, LIFE_ALIVE, 50, 'a');
    assert_int_equal(owner_at(&rig, 0), 'a');
    assert_int_equal(owner_at(&rig, UINT64_MAX), 'a');
    hear(&rig, LIFE_STARTED, 40, 'a');
    assert_int_equal(owner_at(&rig, 40 * SECOND - 1), 0);
    assert_int_equal(rig.lives.count, 1);
    rig_fini(&rig);
}

static void an_end_without_a_start_tells_of_what_came_before(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    hear(&rig, LIFE_ENDED, 50, 'a');
    assert_int_equal(owner_at(&rig, 0), 'a');
    assert_int_equal(owner_at(&rig, 52 * SECOND), 0);
    rig_fini(&rig);
}

static void a_start_ends_a_life_whose_end_was_not_seen(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    hear(&rig, LIFE_STARTED, 10, 'a');
    hear(&rig, LIFE_STARTED, 30, 'b');
    assert_int_equal(owner_at(&rig, 30 * SECOND - 1), 'a');
    assert_int_equal(owner_at(&rig, 30 * SECOND), 'b');
    rig_fini(&rig);
}

static void between_two_that_contradict_each_other_no_process_is_named(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    hear(&rig, LIFE_ALIVE, 10, 'a');
    hear(&rig, LIFE_ALIVE, 30, 'b');
    assert_int_equal(owner_at(&rig, 10 * SECOND), 'a');
    assert_int_equal(owner_at(&rig, 20 * SECOND), 0);
    assert_int_equal(owner_at(&rig, 30 * SECOND), 'b');
    rig_fini(&rig);
}

static void two_sources_tell_of_one_life(void **state)
{
    (void)state;
    struct rig rig;
    char a = 'a';
    rig_init(&rig);
    lifetimes_note(&rig.lives, &key, LIFE_STARTED, 10 * SECOND, 1, &a);
    lifetimes_note(&rig.lives, &key, LIFE_STARTED, 10 * SECOND + 5000, 2, &a);
    lifetimes_note(&rig.lives, &key, LIFE_ENDED, 20 * SECOND, 2, &a);
    lifetimes_note(&rig.lives, &key, LIFE_ENDED, 20 * SECOND + 5000, 1, &a);
    lifetimes_note(&rig.lives, &key, LIFE_GONE, 25 * SECOND, 1, &a);
    assert_int_equal(rig.lives.count, 1);
    /* One source would report it once. */
    lifetimes_note(&rig.lives, &key, LIFE_STARTED, 21 * SECOND, 1, &a);
    assert_int_equal(rig.lives.count, 2);
    rig_fini(&rig);
}

static void the_process_that_ended_first_is_evicted_first(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    hear(&rig, LIFE_STARTED, 10, 'a');
    hear(&rig, LIFE_ENDED, 20, 'a');
    hear(&rig, LIFE_STARTED, 30, 'b');
    hear(&rig, LIFE_ENDED, 40, 'b');
    hear(&rig, LIFE_STARTED, 50, 'c');
    assert_true(lifetimes_evict_one(&rig.lives, NULL));
    assert_int_equal(owner_at(&rig, 15 * SECOND), 0);
    assert_int_equal(owner_at(&rig, 35 * SECOND), 'b');
    assert_true(lifetimes_evict_one(&rig.lives, NULL));
    assert_int_equal(owner_at(&rig, 35 * SECOND), 0);
    const struct life *last = lifetimes_at(&rig.lives, &key, 0);
    assert_int_equal(last->owner, 'c');
    assert_false(lifetimes_evict_one(&rig.lives, last));
    rig_fini(&rig);
}

static void an_id_that_is_used_for_ever_keeps_to_its_bounds(void **state)
{
    (void)state;
    enum { LIVES = 9000, KEPT = 4096 };
    struct rig rig;
    rig_init(&rig);
    for (uint64_t i = 1; i <= LIVES; i++) {
        hear(&rig, LIFE_STARTED, 10 * i, 'a');
        hear(&rig, LIFE_ENDED, 10 * i + 5, 'a');
    }
    assert_true(rig.lives.count <= KEPT);
    assert_int_equal(rig.dropped, LIVES - rig.lives.count);
    assert_int_equal(owner_at(&rig, (10 * LIVES + 3) * (uint64_t)SECOND), 'a');
    assert_int_equal(owner_at(&rig, 13 * (uint64_t)SECOND), 0);
    rig_fini(&rig);
}

/* ---- against the truth ----------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* The news of a made-up history, which may come in any order. */
struct heard {
    enum life_news what;
    uint64_t time;
    char letter;
};

struct past {
    struct heard heard[64];
    size_t count;
    char owners[400]; /* by second; 0: no process */
};

static void add(struct past *past, enum life_news what, uint64_t second, char letter)
{
    past->heard[past->count++] = (struct heard){.what = what, .time = second, .letter = letter};
}

/*
 * Lives one after the other, each with start and end, except the first, which may have begun before
 * the news did, and the last, which may continue; its owner was seen at such an edge. Letters are
 * reused, so that contradictions do not reveal everything. The pauses are longer than the time of
 * last events.
 */
static void make_past(struct past *past, uint32_t *seed)
{
    *past = (struct past){.count = 0};
    uint64_t at = 5;
    size_t lives = 1 + next_random(seed) % 8;
    for (size_t i = 0; i < lives; i++) {
        char letter = (char)('a' + next_random(seed) % 2);
        uint64_t end = at + 3 + next_random(seed) % 20;
        bool opens = i == 0 && next_random(seed) % 2;
        bool goes_on = i + 1 == lives && next_random(seed) % 2;
        if (opens) {
            add(past, LIFE_ALIVE, at, letter);
        } else {
            add(past, LIFE_STARTED, at, letter);
        }
        for (unsigned k = next_random(seed) % 3; k > 0; k--) {
            add(past, LIFE_ALIVE, at + 1 + next_random(seed) % (end - at - 1), letter);
        }
        add(past, goes_on ? LIFE_ALIVE : LIFE_ENDED, end, letter);
        for (uint64_t t = opens ? 0 : at; t <= (goes_on ? 399 : end); t++) {
            past->owners[t] = letter;
        }
        at = end + 3 + next_random(seed) % 10;
    }
}

static void shuffle(struct past *past, uint32_t *seed)
{
    for (size_t i = past->count; i > 1; i--) {
        size_t k = next_random(seed) % i;
        struct heard heard = past->heard[i - 1];
        past->heard[i - 1] = past->heard[k];
        past->heard[k] = heard;
    }
}

static void any_order_of_news_gives_the_same_lives(void **state)
{
    (void)state;
    enum { PASTS = 20000 };
    uint32_t seed = 1;
    for (size_t n = 0; n < PASTS; n++) {
        struct past past;
        struct rig rig;
        make_past(&past, &seed);
        shuffle(&past, &seed);
        rig_init(&rig);
        for (size_t i = 0; i < past.count; i++) {
            hear(&rig, past.heard[i].what, past.heard[i].time, past.heard[i].letter);
        }
        for (uint64_t t = 0; t < 400; t++) {
            char owner = owner_at(&rig, t * SECOND);
            bool is_late = owner && t && !past.owners[t] && past.owners[t - 1] == owner;
            if (owner != past.owners[t] && !is_late) {
                fail_msg("past %zu: second %u belongs to %d, not %d", n, (unsigned)t,
                    past.owners[t], owner);
            }
        }
        rig_fini(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_belongs_to_the_process_that_has_it_at_that_time),
        cmocka_unit_test(a_rundown_tells_of_what_came_before_and_behind_it),
        cmocka_unit_test(an_end_without_a_start_tells_of_what_came_before),
        cmocka_unit_test(a_start_ends_a_life_whose_end_was_not_seen),
        cmocka_unit_test(between_two_that_contradict_each_other_no_process_is_named),
        cmocka_unit_test(two_sources_tell_of_one_life),
        cmocka_unit_test(the_process_that_ended_first_is_evicted_first),
        cmocka_unit_test(an_id_that_is_used_for_ever_keeps_to_its_bounds),
        cmocka_unit_test(any_order_of_news_gives_the_same_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
