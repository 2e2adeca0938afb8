#include "etw/etw_registry.h"

#include <stdio.h>

#include "base/bytes.h"
#include "etw/etw_types.h"
#include "registry_rig.h"
#include "support/etw_sim/sim_registry.h"

static void assert_dump(const char *expected)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    sim_registry_dump(registry, &text);
    assert_span(buf_span(&text), expected);
    buf_fini(&text);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    struct etw_registry_tree tree;
    struct etw_registry_tree again;
    struct error err;
    uint32_t number;
    etw_registry_init(&tree);
    etw_registry_init(&again);
    etw_registry_put_dword(&tree, "", "Start", 1);
    etw_registry_put_text(&tree, "", "FileName", "C:\\ä.etl");
    etw_registry_put_qword(&tree, "{a}", "Any", UINT64_C(0x8000000000000001));
    etw_registry_put(&tree, "{a}\\Filters", "Ids", ETW_REGISTRY_BINARY, span_make("\1\0\2", 3));
    assert_true(etw_registry_write("A\\B", &tree, &err));
    assert_dump("A\nA\\B\nA\\B Start=1\nA\\B FileName=C:\\ä.etl\nA\\B\\{a}\n"
                "A\\B\\{a} Any=0x8000000000000001\nA\\B\\{a}\\Filters\n"
                "A\\B\\{a}\\Filters Ids=010002\n");
    assert_true(etw_registry_read("a\\b", &again, &err)); /* case does not matter */
    assert_int_equal(again.count, tree.count);
    for (size_t i = 0; i < tree.count; i++) {
        assert_string_equal(again.values[i].key, tree.values[i].key);
        assert_string_equal(again.values[i].name, tree.values[i].name);
        assert_true(etw_registry_equal(&again.values[i], &tree.values[i]));
    }
    assert_true(etw_registry_dword(&again, "", "START", &number) && number == 1);
    etw_registry_fini(&again);
    etw_registry_fini(&tree);
}

static void a_value_is_what_its_type_and_size_say(void **state)
{
    (void)state;
    struct etw_registry_tree tree;
    uint32_t number = 7;
    etw_registry_init(&tree);
    etw_registry_put(&tree, "", "Short", ETW_REGISTRY_DWORD, span_make("\1\2\3", 3));
    etw_registry_put(&tree, "", "Long", ETW_REGISTRY_DWORD, span_make("\1\2\3\4\5", 5));
    etw_registry_put_text(&tree, "", "Text", "1234");
    etw_registry_put_qword(&tree, "", "Wide", 1);
    for (size_t i = 0; i < tree.count; i++) {
        assert_false(etw_registry_dword(&tree, "", tree.values[i].name, &number));
    }
    assert_false(etw_registry_dword(&tree, "", "None", &number));
    assert_int_equal(number, 7);
    etw_registry_fini(&tree);
}

static void values_are_shown_to_people(void **state)
{
    (void)state;
    uint8_t many[100];
    memset(many, 0xab, sizeof(many));
    const struct {
        uint32_t type;
        struct span data;
        const char *expected;
    } rows[] = {
        {ETW_REGISTRY_DWORD, span_make("\0\1\0\0", 4), "256"},
        {ETW_REGISTRY_DWORD, span_make("\1\0\0\10", 4), "0x8000001"},
        {ETW_REGISTRY_DWORD, span_make("\1\0\0", 3), "010000"},
        {ETW_REGISTRY_TEXT, span_text("a b"), "a b"},
        {ETW_REGISTRY_BINARY, span_make("", 0), "nothing"},
        {7, span_make("\1\2", 2), "0102"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out;
        buf_init(&out, 1024);
        etw_registry_show(
            &(struct etw_registry_value){.type = rows[i].type, .data = rows[i].data}, &out);
        assert_span(buf_span(&out), rows[i].expected);
        buf_fini(&out);
    }
    struct buf out;
    buf_init(&out, 1024);
    etw_registry_show(&(struct etw_registry_value){.type = ETW_REGISTRY_BINARY,
                          .data = span_make(many, sizeof(many))},
        &out);
    assert_int_equal(out.size, 2 * 64 + 3);
    buf_fini(&out);
}

static void failures_name_the_key_and_the_value(void **state)
{
    (void)state;
    struct etw_registry_tree tree;
    struct error err = {0};
    etw_registry_init(&tree);
    etw_registry_put_dword(&tree, "", "Start", 1);
    sim_registry_fail(registry, 2, ETW_ERROR_ACCESS_DENIED);
    assert_false(etw_registry_write("A\\B", &tree, &err));
    assert_string_equal(err.text,
        "HKLM\\A\\B, value Start cannot be written: Windows does not allow "
        "it. run as Administrator (error 5)");
    assert_int_equal(err.os_code, 5);
    sim_registry_fail(registry, 1, 1450);
    assert_false(etw_registry_remove("A\\B", &err));
    assert_string_equal(err.text, "HKLM\\A\\B cannot be removed: Windows refuses it (error 1450)");
    etw_registry_fini(&tree);
}

static void what_is_not_there_is_no_failure_but_when_it_is_read(void **state)
{
    (void)state;
    struct etw_registry_tree tree;
    struct error err = {0};
    etw_registry_init(&tree);
    assert_true(etw_registry_remove("A", &err));
    assert_true(etw_registry_remove_value("A", "B", &err));
    assert_true(etw_registry_each("A", NULL, NULL, &err));
    assert_false(etw_registry_read("A", &tree, &err));
    assert_int_equal(err.code, ERR_MISSING);
    etw_registry_use(NULL);
    if (!etw_registry_get()) {
        assert_false(etw_registry_read("A", &tree, &err));
        assert_int_equal(err.code, ERR_UNSUPPORTED);
    }
    etw_registry_fini(&tree);
}

/* Any account may have made keys there. */
static void keys_in_keys_without_end_are_not_read(void **state)
{
    (void)state;
    const struct etw_registry_api *api = sim_registry_api(registry);
    struct etw_registry_tree tree;
    struct error err = {0};
    char key[64] = "A";
    for (int i = 0; i < 10; i++) {
        size_t size = strlen(key);
        snprintf(key + size, sizeof(key) - size, "\\k");
    }
    assert_int_equal(api->make(api->self, key), 0);
    assert_int_equal(
        api->set(api->self, key, "V", ETW_REGISTRY_DWORD, span_make("\1\0\0\0", 4)), 0);
    etw_registry_init(&tree);
    assert_true(etw_registry_read("A", &tree, &err));
    assert_int_equal(tree.count, 0);
    etw_registry_fini(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            what_is_written_is_read_again, registry_set_up, registry_tear_down),
        cmocka_unit_test_setup_teardown(
            a_value_is_what_its_type_and_size_say, registry_set_up, registry_tear_down),
        cmocka_unit_test_setup_teardown(
            values_are_shown_to_people, registry_set_up, registry_tear_down),
        cmocka_unit_test_setup_teardown(
            failures_name_the_key_and_the_value, registry_set_up, registry_tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_no_failure_but_when_it_is_read,
            registry_set_up, registry_tear_down),
        cmocka_unit_test_setup_teardown(
            keys_in_keys_without_end_are_not_read, registry_set_up, registry_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
