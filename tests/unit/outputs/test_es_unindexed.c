#include "outputs/elasticsearch/es_unindexed.h"

#include <stdio.h>

#include "support/test.h"

static void the_payload_gets_another_name(void **state)
{
    static const struct {
        bool is_ecs;
        const char *lines;
        const char *expected; /* NULL: there is no payload */
    } rows[] = {
        {false, "{\"create\":{}}\n{\"a\":{\"data\":1},\"data\":{\"b\":2},\"c\":3}\n",
            "{\"create\":{}}\n{\"a\":{\"data\":1},\"data_unindexed\":{\"b\":2},\"c\":3}\n"},
        {false, "{\"create\":{\"_index\":\"data\"}}\n{\"x\":\"\\\"data\\\":{\",\"data\":{}}\n",
            "{\"create\":{\"_index\":\"data\"}}\n{\"x\":\"\\\"data\\\":{\",\"data_unindexed\":{}}"
            "\n"},
        {false, "{\"create\":{}}\n{\"a\":{\"data\":{}}}\n", NULL},
        {false, "{\"create\":{}}\n{\"winlog\":{\"event_data\":{}}}\n", NULL},
        {false, "", NULL},
        {false, "{\"create\":{}}\n", NULL},
        {true, "{\"create\":{}}\n{\"winlog\":{\"a\":1,\"event_data\":{\"b\":\"2\"}},\"data\":1}\n",
            "{\"create\":{}}\n{\"winlog\":{\"a\":1,\"event_data_unindexed\":{\"b\":\"2\"}},"
            "\"data\":1}\n"},
        {true, "{\"create\":{}}\n{\"event_data\":{},\"winlog\":{\"a\":{\"event_data\":{}}}}\n",
            NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out;
        buf_init(&out, 4096);
        buf_add_text(&out, "before");
        bool has = es_unindexed_write(span_text(rows[i].lines), rows[i].is_ecs, &out);
        assert_int_equal(has, rows[i].expected != NULL);
        assert_span(span_from(buf_span(&out), 6), rows[i].expected ? rows[i].expected : "");
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_payload_gets_another_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
