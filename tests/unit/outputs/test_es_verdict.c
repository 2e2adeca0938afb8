#include "support/test.h"

#include "outputs/es_verdict.h"

/* Expected values: "Bulk API" of both servers' documentation for what exists, and for what it means
 * the delivery rules: nothing is lost, nothing that can never be taken is tried for ever. */

static void every_status_of_an_item_has_one_meaning(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *type;
        enum es_verdict verdict;
    } cases[] = {
        {200, "", ES_TAKEN},
        {201, "", ES_TAKEN},
        {202, "", ES_RETRY},
        {100, "", ES_RETRY},
        {301, "", ES_RETRY},
        {400, "mapper_parsing_exception", ES_REFUSED},
        {400, "illegal_argument_exception", ES_REFUSED},
        {400, "index_closed_exception", ES_RETRY_SLOWLY},
        {400, "validation_exception", ES_RETRY_SLOWLY},
        {400, "action_request_validation_exception", ES_REFUSED},
        {400, "", ES_REFUSED},
        {401, "security_exception", ES_RETRY_SLOWLY},
        {402, "", ES_REFUSED},
        {403, "security_exception", ES_RETRY_SLOWLY},
        {403, "cluster_block_exception", ES_RETRY},
        {403, "index_create_block_exception", ES_RETRY},
        {404, "index_not_found_exception", ES_RETRY_SLOWLY},
        {405, "", ES_REFUSED},
        {408, "", ES_RETRY},
        {409, "version_conflict_engine_exception", ES_DUPLICATE},
        {413, "", ES_REFUSED},
        {422, "", ES_REFUSED},
        {429, "es_rejected_execution_exception", ES_RETRY},
        {429, "cluster_block_exception", ES_RETRY},
        {499, "", ES_REFUSED},
        {500, "", ES_RETRY},
        {503, "unavailable_shards_exception", ES_RETRY},
        {599, "", ES_RETRY},
        {0, "", ES_RETRY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            es_verdict_item(cases[i].status, span_text(cases[i].type)), cases[i].verdict);
    }
}

static void every_status_of_a_request_has_one_meaning(void **state)
{
    (void)state;
    static const struct {
        int status;
        enum es_verdict verdict;
    } cases[] = {
        {200, ES_READ},
        {201, ES_RETRY},
        {204, ES_RETRY},
        {301, ES_RETRY_SLOWLY},
        {307, ES_RETRY_SLOWLY},
        {400, ES_BISECT},
        {401, ES_RETRY_SLOWLY},
        {403, ES_RETRY_SLOWLY},
        {404, ES_RETRY},
        {405, ES_RETRY_SLOWLY},
        {406, ES_RETRY_SLOWLY},
        {407, ES_RETRY_SLOWLY},
        {408, ES_RETRY},
        {413, ES_SPLIT},
        {415, ES_RETRY_SLOWLY},
        {429, ES_RETRY},
        {500, ES_RETRY},
        {501, ES_RETRY},
        {502, ES_FAIL_OVER},
        {503, ES_FAIL_OVER},
        {504, ES_FAIL_OVER},
        {507, ES_RETRY},
        {0, ES_RETRY},
        {999, ES_RETRY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(es_verdict_request(cases[i].status), cases[i].verdict);
    }
}

static void only_faults_of_set_up_come_with_advice(void **state)
{
    (void)state;
    for (int status = 0; status < 700; status++) {
        bool slowly = es_verdict_item(status, span_text("")) == ES_RETRY_SLOWLY;
        assert_int_equal(es_verdict_words(status, span_make(NULL, 0)) != NULL, slowly);
    }
}

static void the_reference_has_a_row_for_what_can_happen(void **state)
{
    (void)state;
    static const char *const rows[] = {"| 200 to 201 | ", "| 409 | ", "| 429 | ", "| 403 | ",
        "| 413 | ", "| 502 to 504 | ", "block_exception` | ", "dead letters |"};
    struct buf out;
    buf_init(&out, 1 << 16);
    es_verdict_write_reference(&out);
    buf_add_byte(&out, 0);
    assert_false(out.failed);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_non_null(strstr((const char *)out.data, rows[i]));
    }
    assert_null(strstr((const char *)out.data, "(null)"));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_of_an_item_has_one_meaning),
        cmocka_unit_test(every_status_of_a_request_has_one_meaning),
        cmocka_unit_test(only_faults_of_set_up_come_with_advice),
        cmocka_unit_test(the_reference_has_a_row_for_what_can_happen),
    };
    return cmocka_run_group_tests_name("outputs/es_verdict", tests, NULL, NULL);
}
