#include "pipeline/slab/gap_list.h"

#include <stdio.h>

#include "support/test.h"

static struct gap gap_of(const char *reason, uint64_t count, bool exact, uint64_t from, uint64_t to)
{
    return (struct gap){.stage = "etw",
        .reason = reason,
        .unit = "events",
        .count = count,
        .exact = exact,
        .from = from,
        .to = to};
}

static void losses_of_one_reason_are_one_gap(void **state)
{
    (void)state;
    struct gap_list list;
    assert_true(gap_list_init(&list, 3));
    const struct gap gaps[] = {
        gap_of("a", 1, true, 10, 11), gap_of("b", 2, true, 12, 13), gap_of("a", 3, false, 14, 15)};
    for (size_t i = 0; i < 3; i++) {
        gap_list_add(&list, &gaps[i]);
    }
    struct slab *first = gap_list_take(&list, 0, false);
    assert_non_null(first);
    assert_int_equal(first->kind, SLAB_GAP);
    assert_int_equal(first->session, 3);
    assert_string_equal(first->gap.reason, "a");
    assert_int_equal(first->gap.count, 4);
    assert_false(first->gap.exact);
    assert_int_equal(first->gap.from, 10);
    assert_int_equal(first->gap.to, 15);
    assert_null(gap_list_take(&list, 0, true));
    struct slab *second = gap_list_take(&list, 1, false);
    assert_non_null(second);
    assert_int_equal(second->gap.count, 2);
    slab_destroy(first);
    slab_destroy(second);
    gap_list_fini(&list);
}

/* Records of several processors are not in the order of their times. */
static void a_gap_reaches_from_the_earliest_to_the_latest(void **state)
{
    (void)state;
    struct gap_list list;
    assert_true(gap_list_init(&list, 0));
    const struct gap gaps[] = {gap_of("a", 1, true, 0, 0), gap_of("a", 1, true, 20, 25),
        gap_of("a", 1, true, 10, 12), gap_of("a", 1, true, 0, 0)};
    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
        gap_list_add(&list, &gaps[i]);
    }
    struct slab *slab = gap_list_take(&list, 0, false);
    assert_non_null(slab);
    assert_int_equal(slab->gap.from, 10);
    assert_int_equal(slab->gap.to, 25);
    slab_destroy(slab);
    gap_list_fini(&list);
}

static void too_many_on_their_way_are_waited_for(void **state)
{
    (void)state;
    enum { MANY = 8 };
    struct gap_list list;
    struct slab *slabs[MANY + 1];
    const struct gap gap = gap_of("a", 1, true, 0, 0);
    assert_true(gap_list_init(&list, 0));
    for (size_t i = 0; i < MANY; i++) {
        gap_list_add(&list, &gap);
        slabs[i] = gap_list_take(&list, 0, false);
        assert_non_null(slabs[i]);
    }
    gap_list_add(&list, &gap);
    assert_false(gap_list_may_take(&list));
    assert_null(gap_list_take(&list, 0, false));
    gap_list_add(&list, &gap);
    slabs[MANY] = gap_list_take(&list, 0, true);
    assert_non_null(slabs[MANY]);
    assert_int_equal(slabs[MANY]->gap.count, 2);
    for (size_t i = 0; i <= MANY; i++) {
        slab_destroy(slabs[i]);
    }
    assert_true(gap_list_may_take(&list));
    gap_list_fini(&list);
}

static void more_reasons_than_places_keep_the_sum(void **state)
{
    (void)state;
    enum { REASONS = GAP_LIST_MAX + 3 };
    char reasons[REASONS][8];
    struct gap_list list;
    assert_true(gap_list_init(&list, 0));
    for (size_t i = 0; i < REASONS; i++) {
        snprintf(reasons[i], sizeof(reasons[i]), "r%zu", i);
        const struct gap gap = gap_of(reasons[i], 1, true, 0, 0);
        gap_list_add(&list, &gap);
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < GAP_LIST_MAX; i++) {
        struct slab *slab = gap_list_take(&list, i, true);
        assert_non_null(slab);
        sum += slab->gap.count;
        slab_destroy(slab);
    }
    assert_int_equal(sum, REASONS);
    gap_list_fini(&list);
}

static void a_gap_grows_old_from_its_first_loss_on(void **state)
{
    (void)state;
    struct gap_list list;
    assert_true(gap_list_init(&list, 0));
    assert_false(gap_list_is_old(&list, 0, UINT64_MAX, 0));
    const struct gap gap = gap_of("a", 1, true, 0, 0);
    gap_list_add(&list, &gap);
    uint64_t opened_ns = list.gaps[0].opened_ns;
    assert_true(gap_list_is_old(&list, 0, opened_ns + 5, 5));
    assert_false(gap_list_is_old(&list, 0, opened_ns + 4, 5));
    gap_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_of_one_reason_are_one_gap),
        cmocka_unit_test(a_gap_reaches_from_the_earliest_to_the_latest),
        cmocka_unit_test(too_many_on_their_way_are_waited_for),
        cmocka_unit_test(more_reasons_than_places_keep_the_sum),
        cmocka_unit_test(a_gap_grows_old_from_its_first_loss_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
