#include "outputs/elasticsearch/es_hold.h"

#include <stdio.h>

#include "support/test.h"

/* When does the output hold the events of an index? */

static bool refuse(struct es_hold *hold, const char *name)
{
    return es_hold_judge_route(hold, span_text(name), 0, 20, 20);
}

static void take(struct es_hold *hold, const char *name)
{
    assert_false(es_hold_judge_route(hold, span_text(name), 1, 19, 20));
}

static void the_third_in_a_row_is_held(void **state)
{
    (void)state;
    struct es_hold hold = {.route_count = 0};
    assert_false(refuse(&hold, "a"));
    assert_false(refuse(&hold, "a"));
    take(&hold, "a");
    assert_false(refuse(&hold, "a"));
    assert_false(refuse(&hold, "a"));
    assert_true(refuse(&hold, "a"));
    es_hold_clear_route(&hold, span_text("a"));
    assert_false(refuse(&hold, "a"));
    es_hold_fini(&hold);
}

/* Events give the names of indices, and their writer can find two names with one hash (here:
 * FNV-1a). */
static void names_of_one_hash_are_two_indices(void **state)
{
    (void)state;
    static const char *const names[] = {"8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"};
    struct es_hold hold = {.route_count = 0};
    assert_false(refuse(&hold, names[0]));
    assert_false(refuse(&hold, names[0]));
    assert_false(refuse(&hold, names[1]));
    take(&hold, names[1]);
    assert_true(refuse(&hold, names[0]));
    es_hold_fini(&hold);
}

static void the_one_that_was_asked_for_longest_ago_is_forgotten(void **state)
{
    (void)state;
    char name[16];
    struct es_hold hold = {.route_count = 0};
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < ES_HOLD_MAX_ROUTES; i++) {
            snprintf(name, sizeof(name), "i%zu", i);
            assert_false(refuse(&hold, name));
        }
    }
    assert_true(refuse(&hold, "i0"));
    assert_false(refuse(&hold, "other")); /* it replaces i1 */
    assert_true(refuse(&hold, "i2"));
    assert_true(refuse(&hold, "i0"));
    assert_false(refuse(&hold, "i1"));
    es_hold_fini(&hold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_third_in_a_row_is_held),
        cmocka_unit_test(names_of_one_hash_are_two_indices),
        cmocka_unit_test(the_one_that_was_asked_for_longest_ago_is_forgotten),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_hold", tests, NULL, NULL);
}
