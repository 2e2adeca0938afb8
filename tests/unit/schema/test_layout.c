#include "schema/text/layout.h"

#include "support/test.h"

/* The limits of an event's table. */
enum { MAX_PROPERTIES = 4096 };

static struct arena arena;
static struct layout layout;
static struct error err;

static int start(void **state)
{
    (void)state;
    arena_init(&arena, 8 << 20);
    layout = (struct layout){.arena = NULL};
    layout_init(&layout, &arena);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static void a_layout_has_so_many_properties_and_no_more(void **state)
{
    (void)state;
    struct event_schema schema = {.kind = SCHEMA_TRACELOGGING};
    for (int i = 0; i < MAX_PROPERTIES; i++) {
        assert_non_null(layout_add(&layout, &err));
    }
    assert_null(layout_add(&layout, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_true(layout_write(&layout, &schema, &arena, &err));
    assert_int_equal(schema.field_count, MAX_PROPERTIES);
    assert_int_equal(schema.top_count, MAX_PROPERTIES);
}

static void structs_are_nested_so_deep_and_no_deeper(void **state)
{
    (void)state;
    for (int i = 0; i < SCHEMA_MAX_DEPTH; i++) {
        assert_non_null(layout_add(&layout, &err));
        assert_true(layout_open(&layout, &err));
    }
    assert_non_null(layout_add(&layout, &err));
    assert_false(layout_open(&layout, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

/* In the order of TDH: first the fields of the top, then the members of each struct side by
 * side. */
static void members_stand_behind_all_of_the_top(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "s", "m", "n", "b"};
    static const char *const table[] = {"a", "s", "b", "m", "n"};
    struct event_schema schema = {.kind = SCHEMA_TRACELOGGING};
    for (size_t i = 0; i < 5; i++) {
        if (i == 4) {
            layout_close(&layout);
        }
        struct layout_node *node = layout_add(&layout, &err);
        assert_non_null(node);
        node->field.name = span_text(names[i]);
        if (i == 1) {
            assert_true(layout_open(&layout, &err));
        }
    }
    layout_close(&layout); /* one too many closes nothing */
    assert_true(layout_write(&layout, &schema, &arena, &err));
    assert_int_equal(schema.field_count, 5);
    assert_int_equal(schema.top_count, 3);
    for (size_t i = 0; i < 5; i++) {
        assert_span(schema.fields[i].name, table[i]);
    }
    assert_true(schema.fields[1].flags & FIELD_STRUCT);
    assert_int_equal(schema.fields[1].struct_start, 3);
    assert_int_equal(schema.fields[1].struct_members, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_layout_has_so_many_properties_and_no_more, start, stop),
        cmocka_unit_test_setup_teardown(structs_are_nested_so_deep_and_no_deeper, start, stop),
        cmocka_unit_test_setup_teardown(members_stand_behind_all_of_the_top, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
