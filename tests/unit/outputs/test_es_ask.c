#include "support/test.h"

#include "outputs/elasticsearch/es_ask.h"

static void a_value_is_found_by_its_path_and_nowhere_else(void **state)
{
    static const struct {
        const char *body;
        const char *path;
        const char *value;
    } rows[] = {
        {"{\"a\":1}", "a", "1"},
        {"{\"b\":{\"a\":1},\"a\":2}", "a", "2"},
        {"{\"x\":{\"b\":0},\"a\":{\"c\":{\"b\":3},\"b\":\"4\"}}", "a.b", "4"},
        {"{\"a\":[{\"b\":1}],\"a\":{\"b\":2}}", "a.b", "2"},
        {"{\"a\":{\"b\":1}}", "a", ""},
        {"{\"a\":1}", "a.b", ""},
        {"{\"a\":{},\"b\":1}", "a.b", ""},
        {"[{\"a\":1}]", "a", ""},
        {"{\"a\":", "a", ""},
        {"", "a", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct es_response response;
        char value[8] = "";
        es_response_init(&response);
        buf_add_text(&response.body, rows[i].body);
        assert_int_equal(es_response_value(&response, rows[i].path, value, sizeof(value)),
            strlen(rows[i].value));
        assert_string_equal(value, rows[i].value);
        es_response_fini(&response);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_found_by_its_path_and_nowhere_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
