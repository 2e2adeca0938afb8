#include "support/test.h"

#include "outputs/elasticsearch/es_verdict.h"

/* Expected values: "Bulk API" of both servers' documentation for the answers, and the delivery
 * rules for their meaning: nothing is lost, and no event that can never be accepted is tried for
 * ever. */

static struct es_answer answer_of(int status, const char *type, const char *reason)
{
    return (struct es_answer){
        .status = status, .type = span_text(type), .reason = span_text(reason)};
}

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
        struct es_answer answer = answer_of(cases[i].status, cases[i].type, "because");
        assert_int_equal(es_verdict_item(&answer), cases[i].verdict);
    }
}

/* Reasons as both servers give them, from their sources and from users' reports. */
static void what_one_index_keeps_out_is_told_from_what_the_cluster_does(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *type;
        const char *reason;
        bool of_index;
    } cases[] = {
        {403, "cluster_block_exception",
            "index [hol-2019] blocked by: [FORBIDDEN/8/index write (api)];", true},
        {403, "cluster_block_exception", "index [hol-2019] blocked by: [FORBIDDEN/4/index closed];",
            true},
        {429, "cluster_block_exception",
            "index [hol-2019] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage "
            "watermark, index has read-only-allow-delete block];",
            true},
        {403, "cluster_block_exception", "blocked by: [FORBIDDEN/6/cluster read-only (api)];",
            false},
        {503, "cluster_block_exception",
            "blocked by: [SERVICE_UNAVAILABLE/1/state not recovered / initialized];", false},
        {403, "index_create_block_exception",
            "blocked by: [FORBIDDEN/10/cluster create-index blocked (api)];", true},
        {400, "index_closed_exception", "closed", true},
        {403, "security_exception", "action [indices:data/write/bulk[s]] is unauthorized", true},
        {404, "index_not_found_exception", "no such index [hol-2019]", true},
        {400, "illegal_argument_exception", "no write index is defined for alias [hol-2019].",
            true},
        {400, "illegal_argument_exception",
            "Validation Failed: 1: this action would add [2] shards, but this cluster currently "
            "has "
            "[1000]/[1000] maximum normal shards open;",
            true},
        {503, "unavailable_shards_exception", "[hol-2019][0] primary shard is not active", true},
        {503, "process_cluster_event_timeout_exception", "failed to process cluster event", true},
        {500, "", "", true},
        {401, "security_exception", "missing authentication credentials", false},
        {429, "es_rejected_execution_exception", "rejected execution of primary operation", false},
        {429, "circuit_breaking_exception", "[parent] Data too large", false},
        {408, "", "", false},
        {400, "mapper_parsing_exception", "failed to parse", false},
        {400, "resource_already_exists_exception", "index [x] already exists", false},
        {201, "", "", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct es_answer answer = answer_of(cases[i].status, cases[i].type, cases[i].reason);
        assert_int_equal(es_verdict_is_of_index(&answer), cases[i].of_index);
    }
}

/* Types and reasons as OpenSearch 2.19.6 and Elasticsearch 8.19.21 gave them, those of
 * "documents" from their sources; `illegal_argument_exception` of a cluster without room, from
 * users' reports. */
static void a_state_of_the_cluster_is_told_from_a_fault_of_the_event(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *reason;
        enum es_verdict verdict;
        const char *words;
    } cases[] = {
        {"illegal_argument_exception",
            "Validation Failed: 1: this action would add [10] total shards, but this cluster "
            "currently has [2992]/[3000] maximum shards open;",
            ES_RETRY_SLOWLY, "free some"},
        {"validation_exception",
            "Validation Failed: 1: this action would add [2] shards, but this cluster currently "
            "has [30]/[1] maximum normal shards open; for more information, see https://…",
            ES_RETRY_SLOWLY, "free some"},
        {"validation_exception", "Validation Failed: 1: something else;", ES_RETRY_SLOWLY,
            "templates"},
        {"illegal_argument_exception", "pipeline with id [nope] does not exist", ES_RETRY_SLOWLY,
            "the ingest pipeline does not exist"},
        {"illegal_argument_exception",
            "no write index is defined for alias [multi]. The write index may be explicitly "
            "disabled using is_write_index=false or the alias points to multiple indices without "
            "one being designated as a write index",
            ES_RETRY_SLOWLY, "the alias has no write index"},
        {"illegal_argument_exception",
            "only write ops with an op_type of create are allowed in data streams", ES_RETRY_SLOWLY,
            "correct action"},
        {"illegal_argument_exception",
            "index request targeting data stream [logs-a] specifies a custom routing. target the "
            "backing indices directly or remove the custom routing.",
            ES_RETRY_SLOWLY, "routing"},
        {"illegal_argument_exception",
            "Alias [a] has index routing associated with it [q], and was provided with routing "
            "value [z], rejecting operation",
            ES_RETRY_SLOWLY, "remove routing"},
        {"routing_missing_exception", "routing is required for [rr]/[Fi87]", ES_RETRY_SLOWLY,
            "set it"},
        {"illegal_argument_exception",
            "Number of documents in shard [a][0] exceeds the limit of [2147483519] documents per "
            "shard",
            ES_RETRY_SLOWLY, "roll the index over"},
        {"illegal_argument_exception",
            "Number of documents in the shard cannot exceed [2147483519]; for more information, "
            "see [https://…]",
            ES_RETRY_SLOWLY, "roll the index over"},
        {"index_closed_exception", "closed", ES_RETRY_SLOWLY, "open it"},
        {"resource_already_exists_exception", "index [a/b] already exists", ES_RETRY, NULL},
        {"illegal_argument_exception", "Limit of total fields [1000] has been exceeded", ES_REFUSED,
            NULL},
        {"document_parsing_exception",
            "[1:31] failed to parse: Limit of total fields [3] has been exceeded while adding new "
            "fields [4]",
            ES_REFUSED, NULL},
        {"illegal_argument_exception", "Document contains at least one immense term in field=\"k\"",
            ES_REFUSED, NULL},
        {"illegal_argument_exception", "mapper [a] cannot be changed from type [long] to [text]",
            ES_REFUSED, NULL},
        {"strict_dynamic_mapping_exception", "mapping set to strict, dynamic introduction of [a]",
            ES_REFUSED, NULL},
        {"invalid_index_name_exception", "Invalid index name [Bad], must be lowercase", ES_REFUSED,
            NULL},
        /* The reason quotes the event, which must not hold up the output. */
        {"illegal_argument_exception",
            "unable to convert [pipeline with id [nope] does not exist] to integer", ES_REFUSED,
            NULL},
        {"mapper_parsing_exception", "pipeline with id [nope] does not exist", ES_REFUSED, NULL},
        {"illegal_argument_exception", "pipeline with", ES_REFUSED, NULL},
        {"illegal_argument_exception", "", ES_REFUSED, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct es_answer answer = answer_of(400, cases[i].type, cases[i].reason);
        assert_int_equal(es_verdict_item(&answer), cases[i].verdict);
        const char *words = es_verdict_words(&answer);
        assert_int_equal(words != NULL, cases[i].words != NULL);
        assert_true(!words || strstr(words, cases[i].words));
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
        {202, ES_RETRY},
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
        {502, ES_RETRY},
        {503, ES_RETRY},
        {504, ES_RETRY},
        {507, ES_RETRY},
        {0, ES_RETRY},
        {999, ES_RETRY},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct es_answer answer = answer_of(cases[i].status, "", "");
        assert_int_equal(es_verdict_request(&answer), cases[i].verdict);
    }
}

static void a_setting_that_the_server_does_not_know_is_no_fault_of_an_event(void **state)
{
    (void)state;
    struct es_answer answer = answer_of(400, "illegal_argument_exception",
        "Action/metadata line [1] contains an unknown parameter [require_data_stream]");
    assert_int_equal(es_verdict_request(&answer), ES_RETRY_SLOWLY);
    assert_non_null(strstr(es_verdict_request_words(&answer), "a setting of this output"));
    answer.reason = span_text("Malformed action/metadata line [3], expected START_OBJECT");
    assert_int_equal(es_verdict_request(&answer), ES_BISECT);
}

static void only_faults_of_set_up_come_with_advice(void **state)
{
    (void)state;
    for (int status = 0; status < 700; status++) {
        const struct es_answer answer = {.status = status};
        bool slowly = es_verdict_item(&answer) == ES_RETRY_SLOWLY;
        assert_int_equal(es_verdict_words(&answer) != NULL, slowly);
    }
}

static void the_reference_has_a_row_for_what_can_happen(void **state)
{
    (void)state;
    static const char *const rows[] = {"| 200 to 201 | ", "| 409 | ", "| 429 | ", "| 403 | ",
        "| 413 | ", "| 502 to 504 | ", "block_exception` | ", "dead letters |",
        "`illegal_argument_exception`, `pipeline with id […` | "};
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
        cmocka_unit_test(what_one_index_keeps_out_is_told_from_what_the_cluster_does),
        cmocka_unit_test(a_state_of_the_cluster_is_told_from_a_fault_of_the_event),
        cmocka_unit_test(every_status_of_a_request_has_one_meaning),
        cmocka_unit_test(a_setting_that_the_server_does_not_know_is_no_fault_of_an_event),
        cmocka_unit_test(only_faults_of_set_up_come_with_advice),
        cmocka_unit_test(the_reference_has_a_row_for_what_can_happen),
    };
    return cmocka_run_group_tests_name("outputs/elasticsearch/es_verdict", tests, NULL, NULL);
}
