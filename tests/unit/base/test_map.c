#include "support/test.h"

#include <stdio.h>

#include "base/map.h"

enum { KEYS = 5000 };

static char keys[KEYS][16];

static int make_keys(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KEYS; i++) {
        snprintf(keys[i], sizeof(keys[i]), "key %u", i);
    }
    return 0;
}

static void every_key_is_found_while_the_map_grows(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, KEYS);
    assert_null(map_get(&map, span_text("key 0")));
    for (unsigned i = 0; i < KEYS; i++) {
        assert_true(map_put(&map, span_text(keys[i]), keys[i]));
        assert_ptr_equal(map_get(&map, span_text(keys[i / 2])), keys[i / 2]);
    }
    assert_int_equal(map.count, KEYS);
    for (unsigned i = 0; i < KEYS; i++) {
        assert_ptr_equal(map_get(&map, span_text(keys[i])), keys[i]);
    }
    assert_null(map_get(&map, span_text("key")));
    assert_null(map_get(&map, span_make(NULL, 0)));
    map_fini(&map);
}

static void the_same_key_is_replaced_even_when_full(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, 2);
    assert_true(map_put(&map, span_text("a"), keys[0]));
    assert_true(map_put(&map, span_text("b"), keys[1]));
    assert_false(map_put(&map, span_text("c"), keys[2]));
    assert_null(map_get(&map, span_text("c")));
    assert_true(map_put(&map, span_text("a"), keys[3]));
    assert_ptr_equal(map_get(&map, span_text("a")), keys[3]);
    assert_int_equal(map.count, 2);
    map_fini(&map);
}

static void keys_are_bytes_and_may_hold_nul(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, 10);
    assert_true(map_put(&map, span_make("a\0b", 3), keys[0]));
    assert_true(map_put(&map, span_make("a\0c", 3), keys[1]));
    assert_true(map_put(&map, span_make("", 0), keys[2]));
    assert_ptr_equal(map_get(&map, span_make("a\0b", 3)), keys[0]);
    assert_ptr_equal(map_get(&map, span_make("a\0c", 3)), keys[1]);
    assert_ptr_equal(map_get(&map, span_make(NULL, 0)), keys[2]);
    assert_null(map_get(&map, span_text("a")));
    map_fini(&map);
}

static void iteration_gives_each_entry_once(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, KEYS);
    static unsigned seen[KEYS];
    for (unsigned i = 0; i < KEYS; i++) {
        assert_true(map_put(&map, span_text(keys[i]), &seen[i]));
    }
    size_t cursor = 0;
    const struct map_slot *slot;
    while ((slot = map_next(&map, &cursor))) {
        ++*(unsigned *)slot->value;
    }
    for (unsigned i = 0; i < KEYS; i++) {
        assert_int_equal(seen[i], 1);
    }
    map_fini(&map);
}

static void a_cleared_map_is_empty_and_usable(void **state)
{
    (void)state;
    struct map map;
    map_init(&map, 10);
    map_clear(&map);
    assert_true(map_put(&map, span_text("a"), keys[0]));
    map_clear(&map);
    assert_null(map_get(&map, span_text("a")));
    size_t cursor = 0;
    assert_null(map_next(&map, &cursor));
    assert_true(map_put(&map, span_text("a"), keys[1]));
    assert_ptr_equal(map_get(&map, span_text("a")), keys[1]);
    map_fini(&map);
}

/* A map that is always nearly full, against an array with its content. */
static void what_is_removed_is_gone_and_all_else_stays(void **state)
{
    (void)state;
    enum { STEPS = 60000 };
    static bool is_in[KEYS];
    struct map map;
    size_t count = 0;
    uint32_t random = 1;
    map_init(&map, KEYS);
    assert_null(map_remove(&map, span_text("key 0")));
    for (size_t step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        unsigned i = (random >> 8) % 90;
        if (random >> 31) {
            assert_true(map_put(&map, span_text(keys[i]), keys[i]));
            count += !is_in[i];
            is_in[i] = true;
        } else {
            assert_ptr_equal(map_remove(&map, span_text(keys[i])), is_in[i] ? keys[i] : NULL);
            count -= is_in[i];
            is_in[i] = false;
        }
        assert_int_equal(map.count, count);
        for (unsigned k = 0; k < 90; k++) {
            assert_ptr_equal(map_get(&map, span_text(keys[k])), is_in[k] ? keys[k] : NULL);
        }
    }
    map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_removed_is_gone_and_all_else_stays),
        cmocka_unit_test(every_key_is_found_while_the_map_grows),
        cmocka_unit_test(the_same_key_is_replaced_even_when_full),
        cmocka_unit_test(keys_are_bytes_and_may_hold_nul),
        cmocka_unit_test(iteration_gives_each_entry_once),
        cmocka_unit_test(a_cleared_map_is_empty_and_usable),
    };
    return cmocka_run_group_tests(tests, make_keys, NULL);
}
