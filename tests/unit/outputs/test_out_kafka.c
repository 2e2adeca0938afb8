#include "support/test.h"

#ifdef ETWSHIP_KAFKA

#include "support/http_fake.h"
#include "support/kafka_fake.h"
#include "unit/outputs/output_rig.h"

/* librdkafka's own mock plays the brokers. integration.kafka uses a real one. */
static struct output_rig rig;
static struct kafka_fake *fake;
static char told[4096]; /* notes and warnings */
static const char *guarantee;
static unsigned saves;
static uint8_t checkpoint[256];
static size_t checkpoint_size;

static const char id_of_agent[] = "6f1c";

static void tell(void *host, const char *text)
{
    (void)host;
    strncat(told, text, sizeof(told) - strlen(told) - 2);
    strcat(told, "\n");
}

static void take_guarantee(void *host, const char *what)
{
    (void)host;
    guarantee = what;
}

static bool save(void *host, struct error *err)
{
    (void)host;
    (void)err;
    saves++;
    return true;
}

static const char *yaml(const char *more)
{
    static char text[700];
    snprintf(text, sizeof(text), "{brokers: ['%s'], %stransport: tcp, connect_timeout: 20s%s}",
        kafka_fake_broker(fake), strstr(more, "topic:") ? "" : "topic: t, ", more);
    return text;
}

static void make(const char *more, bool remembers)
{
    struct error err = {0};
    struct config *config = config_create(NULL, NULL);
    rig = (struct output_rig){.ops = &output_kafka};
    void *settings = rig_settings(config, &output_kafka, yaml(more), &err);
    assert_string_equal(err.text, "");
    const struct output_env env = {.name = "siem",
        .format = "native",
        .agent_id = id_of_agent,
        .checkpoint = span_make(checkpoint, checkpoint_size),
        .save = remembers ? save : NULL,
        .note = tell,
        .warn = tell,
        .guarantee = take_guarantee,
        .host = &rig};
    guarantee = NULL;
    rig.self = output_kafka.create(settings, &env, &err);
    assert_string_equal(err.text, "");
    config_destroy(config);
}

static void begin(const char *more, bool remembers)
{
    fake = kafka_fake_start();
    kafka_fake_make_topic(fake, "t", 1);
    if (remembers) {
        kafka_fake_make_topic(fake, "etwship-positions", 4);
    }
    told[0] = '\0';
    saves = 0;
    checkpoint_size = 0;
    make(more, remembers);
}

static void end(void)
{
    rig_teardown(&rig);
    kafka_fake_stop(fake);
}

/* Records of a live session from number ${first} on. */
static enum output_verdict send(const char *lines, uint64_t first, bool repeated)
{
    static const struct span names[] = {{(const uint8_t *)"t|/pc1|/Prov|/7", 15}};
    static const uint32_t routes[RIG_RECORDS];
    const struct delivery_ids ids = {.epoch = 0xab, .first_number = first};
    uint32_t ends[RIG_RECORDS];
    struct delivery delivery = {.bytes = span_text(lines),
        .record_ends = ends,
        .routes = routes,
        .route_names = names,
        .route_count = 1,
        .ids = &ids,
        .repeated = repeated};
    for (uint32_t i = 0; lines[i]; i++) {
        if (lines[i] == '\n') {
            ends[delivery.record_count++] = i + 1;
        }
    }
    memset(rig.records, 0x5a, sizeof(rig.records));
    rig.rejected_count = 0;
    rig.report = (struct output_report){.records = rig.records, .reject = rig_reject, .host = &rig};
    enum output_verdict verdict = rig.ops->send(rig.self, &delivery, &rig.report);
    assert_int_equal(verdict == OUTPUT_DELIVERED, rig.report.error.code == ERR_NONE);
    return verdict;
}

static void assert_topic(const char *topic, const char *expected)
{
    char *text = kafka_fake_messages(fake, topic, true);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_says(const char *text, const char *words)
{
    if (!strstr(text, words)) {
        fail_msg("\"%s\" is not in \"%s\"", words, text);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static void an_event_is_a_message_with_key_and_headers(void **state)
{
    (void)state;
    begin("", false);
    assert_int_equal(send("{\"a\":1}\n{\"b\":2}\n", 0x10, false), OUTPUT_DELIVERED);
    char *text = kafka_fake_messages(fake, "t", false);
    assert_string_equal(text, "pc1|provider=Prov,code=7,shape=native,agent=6f1c,id="
                              "00000000000000ab0000000000000010|{\"a\":1}\n"
                              "pc1|provider=Prov,code=7,shape=native,agent=6f1c,id="
                              "00000000000000ab0000000000000011|{\"b\":2}\n");
    free(text);
    end();
}

static void headers_of_earlier_messages_change_with_the_event(void **state)
{
    (void)state;
    static const struct span names[] = {
        {(const uint8_t *)"t|/k|/A|/7", 10}, {(const uint8_t *)"t|/k|/B|/unknown", 16}};
    static const uint32_t routes[][3] = {{0, 1, 0}, {1, 1, 0}};
    begin(", headers: [provider, code]", false);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            rig_send_routed(&rig, "1\n2\n3\n", routes[i], names, 2, NULL), OUTPUT_DELIVERED);
    }
    char *text = kafka_fake_messages(fake, "t", false);
    assert_string_equal(text, "k|provider=A,code=7|1\nk|provider=B|2\nk|provider=A,code=7|3\n"
                              "k|provider=B|1\nk|provider=B|2\nk|provider=A,code=7|3\n");
    free(text);
    end();
}

static void each_message_has_its_own_id(void **state)
{
    (void)state;
    begin(", headers: [code, id]", false);
    assert_int_equal(send("1\n2\n", 0x10, false), OUTPUT_DELIVERED);
    assert_int_equal(send("3\n", 0x12, false), OUTPUT_DELIVERED);
    char *text = kafka_fake_messages(fake, "t", false);
    assert_string_equal(text, "pc1|code=7,id=00000000000000ab0000000000000010|1\n"
                              "pc1|code=7,id=00000000000000ab0000000000000011|2\n"
                              "pc1|code=7,id=00000000000000ab0000000000000012|3\n");
    free(text);
    end();
}

static void the_header_id_may_stand_alone(void **state)
{
    (void)state;
    begin(", headers: [id]", false);
    assert_int_equal(send("{\"a\":1}\n", 0x10, false), OUTPUT_DELIVERED);
    char *text = kafka_fake_messages(fake, "t", false);
    assert_string_equal(text, "pc1|id=00000000000000ab0000000000000010|{\"a\":1}\n");
    free(text);
    end();
}

static void topics_are_named_by_events_in_letters_that_topics_have(void **state)
{
    (void)state;
    static const struct span names[] = {{(const uint8_t *)"etw-A B\xc3\xa4|/|/|/", 16},
        {(const uint8_t *)"etw-x.Y_z-1|/k|/|/unknown", 25}};
    static const uint32_t routes[] = {0, 1, 0};
    begin(", headers: [provider, code]", false);
    kafka_fake_make_topic(fake, "etw-A_B__", 1);
    assert_int_equal(rig_send_routed(&rig, "1\n2\n3\n", routes, names, 2, NULL), OUTPUT_DELIVERED);
    assert_topic("etw-A_B__", "1\n3\n");
    char *text = kafka_fake_messages(fake, "etw-x.Y_z-1", false);
    assert_string_equal(text, "k||2\n");
    free(text);
    end();
}

/* ${more}: further keys of the configuration. */
static void check_blocked(const char *more, bool remembers)
{
    static const struct span names[] = {
        {(const uint8_t *)"etw-a|/|/|/", 11}, {(const uint8_t *)"etw-b|/|/|/", 11}};
    static const uint32_t routes[] = {0, 1, 0};
    const struct delivery_ids ids = {.epoch = 0xab, .first_number = 1};
    begin(more, remembers);
    kafka_fake_make_topic(fake, "etw-a", 1);
    kafka_fake_make_topic(fake, "etw-b", 1);
    kafka_fake_topic_error(fake, "etw-b", KAFKA_FAKE_TOPIC_AUTHORIZATION_FAILED);
    assert_int_equal(rig_send_routed(&rig, "1\n2\n3\n", routes, names, 2, &ids), OUTPUT_MIXED);
    assert_int_equal(rig.records[0], RECORD_DELIVERED);
    assert_int_equal(rig.records[1], RECORD_BLOCKED);
    assert_int_equal(rig.records[2], RECORD_DELIVERED);
    assert_false(rig.report.degraded);
    assert_says(rig.report.error.text, "topic etw-b");
    assert_says(rig.report.error.text, "rights Write and Describe");
    kafka_fake_topic_error(fake, "etw-b", 0);
    assert_int_equal(rig_send_routed(&rig, "2\n", &routes[1], names, 2, &ids), OUTPUT_DELIVERED);
    assert_topic("etw-b", "2\n");
    end();
}

static void a_topic_that_takes_nothing_blocks_its_own_events_alone(void **state)
{
    (void)state;
    check_blocked(", topic: 'etw-{event.name}', delivery: at_least_once", false);
    check_blocked(", topic: 'etw-{event.name}', delivery: exactly_once", true);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static void what_brokers_pass_by_themselves_arrives_at_the_first_try(void **state)
{
    (void)state;
    static const int errors[] = {KAFKA_FAKE_NOT_LEADER, KAFKA_FAKE_UNKNOWN_TOPIC};
    begin("", false);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        kafka_fake_fail(fake, KAFKA_FAKE_PRODUCE, 2, errors[i]);
        assert_int_equal(send("1\n2\n", 1, false), OUTPUT_DELIVERED);
    }
    assert_topic("t", "1\n2\n1\n2\n");
    end();
}

static void an_event_that_is_too_large_is_refused_alone(void **state)
{
    (void)state;
    begin("", false);
    kafka_fake_fail(fake, KAFKA_FAKE_PRODUCE, 2, KAFKA_FAKE_MSG_SIZE_TOO_LARGE);
    assert_int_equal(send("12345678\n2\n3\n", 1, false), OUTPUT_MIXED);
    assert_int_equal(rig.rejected_count, 1);
    assert_int_equal(rig.rejected[0].record, 0);
    assert_says(rig.rejected[0].reason, "no event of 9 bytes");
    assert_says(rig.rejected[0].reason, "max.message.bytes");
    assert_int_equal(rig.records[0], RECORD_REJECTED);
    assert_int_equal(rig.records[1], RECORD_DELIVERED);
    assert_int_equal(rig.records[2], RECORD_DELIVERED);
    assert_false(rig.report.degraded);
    assert_int_equal(send("4\n", 4, false), OUTPUT_DELIVERED);
    assert_topic("t", "2\n3\n4\n");
    end();
}

/* Both records of the last delivery are in one request: alone each would be refused. */
static void a_size_that_was_taken_alone_is_sent_with_others_again(void **state)
{
    (void)state;
    begin("", false);
    kafka_fake_fail(fake, KAFKA_FAKE_PRODUCE, 2, KAFKA_FAKE_MSG_SIZE_TOO_LARGE);
    assert_int_equal(send("12345678\n2\n3\n", 1, false), OUTPUT_MIXED);
    assert_int_equal(send("abcdefgh\n5\n", 4, false), OUTPUT_DELIVERED);
    kafka_fake_fail(fake, KAFKA_FAKE_PRODUCE, 1, KAFKA_FAKE_MSG_SIZE_TOO_LARGE);
    assert_int_equal(send("ABCDEFGH\nIJKLMNOP\n", 6, false), OUTPUT_DELIVERED);
    assert_int_equal(rig.rejected_count, 0);
    assert_topic("t", "2\n3\nabcdefgh\n5\nABCDEFGH\nIJKLMNOP\n");
    end();
}

static void a_batch_that_is_too_large_arrives_in_parts(void **state)
{
    (void)state;
    begin("", false);
    kafka_fake_fail(fake, KAFKA_FAKE_PRODUCE, 1, KAFKA_FAKE_MSG_SIZE_TOO_LARGE);
    assert_int_equal(send("1\n2\n3\n", 1, false), OUTPUT_DELIVERED);
    assert_int_equal(rig.rejected_count, 0);
    assert_topic("t", "1\n2\n3\n");
    end();
}

static void a_set_up_that_is_wrong_degrades_and_mends_by_itself(void **state)
{
    (void)state;
    static const struct {
        int error;
        const char *words;
    } cases[] = {{KAFKA_FAKE_TOPIC_AUTHORIZATION_FAILED, "rights Write and Describe"},
        {KAFKA_FAKE_POLICY_VIOLATION, "policies of the cluster"}};
    begin("", false);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int k = 0; k < 2; k++) {
            kafka_fake_fail(fake, KAFKA_FAKE_PRODUCE, 1, cases[i].error);
            assert_int_equal(send("1\n", 1, k > 0), OUTPUT_RETRY);
            assert_true(rig.report.degraded);
            assert_says(rig.report.error.text, cases[i].words);
            assert_says(rig.report.error.text, "topic t");
            assert_int_equal(rig.report.maybe_duplicates, 0);
        }
        assert_int_equal(send("1\n", 1, true), OUTPUT_DELIVERED);
    }
    assert_topic("t", "1\n1\n");
    end();
}

static void brokers_that_say_nothing_are_given_up_in_time(void **state)
{
    (void)state;
    begin(", timeout: 5s", false);
    assert_int_equal(send("1\n", 1, false), OUTPUT_DELIVERED);
    kafka_fake_slow(fake, 60000);
    assert_int_equal(send("2\n", 2, false), OUTPUT_RETRY);
    assert_int_equal(rig.report.maybe_duplicates, 1);
    kafka_fake_slow(fake, 0);
    assert_int_equal(send("3\n", 3, true), OUTPUT_DELIVERED);
    end();
}

static void a_cluster_that_is_not_there_says_so(void **state)
{
    (void)state;
    begin("", false);
    rig_teardown(&rig);
    rig_setup(&rig, &output_kafka, "{brokers: ['127.0.0.1:1'], topic: t, transport: tcp}");
    assert_int_equal(rig_send(&rig, "1\n"), OUTPUT_RETRY);
    assert_false(rig.report.degraded);
    assert_says(rig.report.error.text, "127.0.0.1:1");
    assert_says(rig.report.error.text, "refused");
    end();
}

/* The form is that of RFC 6749, 4.4.2. */
static void a_server_that_gives_no_token_is_told_without_any_secret(void **state)
{
    (void)state;
    static const struct http_fake_reply replies[] = {
        {.status = 401, .body = "bad client_secret=pass%2Bof%2Ftests%26word"},
        {.status = 400, .body = "x {\"access_token\" : \"eyJ.tests\"}"},
        {.status = 200, .body = "{\"access_token\":\"eyJ.tests\",\"expires_in\":\"soon\"}"}};
    static const char *const words[] = {"***", "check token_url", "holds no token"};
    struct http_fake *server = http_fake_start();
    http_fake_script(server, replies, sizeof(replies) / sizeof(replies[0]));
    char sasl[300];
    snprintf(sasl, sizeof(sasl),
        ", sasl: {mechanism: OAUTHBEARER, token_url: '%s', client_id: 'c d', scope: s, "
        "client_secret: 'pass+of/tests&word'}",
        http_fake_url(server));
    begin(sasl, false);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_int_equal(send("1\n", 1, i > 0), OUTPUT_RETRY);
        assert_true(rig.report.degraded);
        assert_says(rig.report.error.text, words[i]);
        assert_null(strstr(rig.report.error.text, "tests"));
    }
    const struct http_fake_request *request = http_fake_request(server, 0);
    assert_memory_equal(request->head, "POST / ", 7);
    assert_true(http_fake_has(request, "Content-Type", "application/x-www-form-urlencoded"));
    assert_string_equal((const char *)request->body.data,
        "grant_type=client_credentials&client_id=c%20d&client_secret=pass%2Bof%2Ftests%26word"
        "&scope=s");
    end();
    http_fake_stop(server);
}

/* ---- exactly once ---------------------------------------------------------------------------- */

static void take_checkpoint(void)
{
    struct error err = {0};
    struct buf out;
    buf_init(&out, sizeof(checkpoint));
    assert_true(rig.ops->checkpoint(rig.self, &out, &err));
    checkpoint_size = out.size;
    if (out.size) {
        memcpy(checkpoint, out.data, out.size);
    }
    buf_fini(&out);
}

static void a_batch_is_a_transaction_with_its_position(void **state)
{
    (void)state;
    begin("", true);
    assert_int_equal(send("1\n2\n", 0x1f, false), OUTPUT_DELIVERED);
    assert_says(told, "delivers exactly once, as etwship-6f1c-siem");
    assert_string_equal(guarantee, "exactly_once");
    assert_int_equal(saves, 1);
    char *text = kafka_fake_messages(fake, "etwship-positions", false);
    assert_says(text, "etwship-6f1c-siem/begin||");
    assert_says(text, "etwship-6f1c-siem/1/0||etwship 1 1\n"
                      "000000000000000ab000000000000001f\nN20\n");
    free(text);
    assert_int_equal(kafka_fake_requests(fake, KAFKA_FAKE_END_TXN), 2);
    end();
}

static void what_was_committed_before_a_kill_does_not_come_again(void **state)
{
    (void)state;
    begin("", true);
    assert_int_equal(send("1\n2\n", 1, false), OUTPUT_DELIVERED);
    take_checkpoint();
    assert_int_equal(send("3\n4\n", 3, false), OUTPUT_DELIVERED);
    for (int lives = 0; lives < 3; lives++) {
        rig_teardown(&rig);
        make("", true);
        assert_int_equal(send("3\n4\n", 3, true), OUTPUT_DELIVERED);
    }
    /* In other batches than before, and with new events. */
    assert_int_equal(send("4\n5\n", 4, true), OUTPUT_DELIVERED);
    assert_int_equal(send("6\n", 6, false), OUTPUT_DELIVERED);
    assert_topic("t", "1\n2\n3\n4\n5\n6\n");
    end();
}

static void the_host_stores_its_position_before_the_ring_comes_round(void **state)
{
    (void)state;
    begin("", true);
    for (unsigned i = 0; i < 33; i++) {
        assert_int_equal(send("1\n", i, false), OUTPUT_DELIVERED);
    }
    assert_int_equal(saves, 5); /* before the first transaction, and before every eighth after it */
    assert_int_equal(kafka_fake_requests(fake, KAFKA_FAKE_END_TXN), 34);
    end();
}

static void a_commit_without_an_answer_is_looked_up(void **state)
{
    (void)state;
    begin(", timeout: 10s", true);
    assert_int_equal(send("1\n", 1, false), OUTPUT_DELIVERED);
    kafka_fake_fail(fake, KAFKA_FAKE_END_TXN, 1, KAFKA_FAKE_TRANSPORT);
    enum output_verdict verdict = send("2\n", 2, false);
    for (int tries = 0; verdict != OUTPUT_DELIVERED && tries < 5; tries++) {
        verdict = send("2\n", 2, true);
    }
    assert_int_equal(verdict, OUTPUT_DELIVERED);
    assert_topic("t", "1\n2\n");
    end();
}

static void a_twin_is_told_of_and_survived(void **state)
{
    (void)state;
    begin("", true);
    assert_int_equal(send("1\n", 1, false), OUTPUT_DELIVERED);
    kafka_fake_fail(fake, KAFKA_FAKE_ADD_PARTITIONS_TO_TXN, 1, KAFKA_FAKE_PRODUCER_FENCED);
    assert_int_equal(send("2\n", 2, false), OUTPUT_RETRY);
    assert_says(rig.report.error.text, "another producer uses the agent's transactional id");
    assert_true(rig.report.degraded);
    assert_int_equal(send("2\n", 2, true), OUTPUT_DELIVERED);
    assert_topic("t", "1\n2\n");
    end();
}

static void without_a_right_to_transactions_auto_goes_on_without_them(void **state)
{
    (void)state;
    begin("", true);
    kafka_fake_fail(
        fake, KAFKA_FAKE_INIT_PRODUCER_ID, 1, KAFKA_FAKE_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    assert_int_equal(send("1\n", 1, false), OUTPUT_DELIVERED);
    assert_says(told, "delivers at least once, as the brokers do not allow transactions");
    assert_says(told, "on the transactional id");
    assert_string_equal(guarantee, "at_least_once");
    rig_teardown(&rig);
    make(", delivery: exactly_once", true);
    kafka_fake_fail(
        fake, KAFKA_FAKE_INIT_PRODUCER_ID, 1, KAFKA_FAKE_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    assert_int_equal(send("2\n", 2, false), OUTPUT_RETRY);
    assert_true(rig.report.degraded);
    assert_null(guarantee);
    assert_int_equal(send("2\n", 2, true), OUTPUT_DELIVERED);
    assert_string_equal(guarantee, "exactly_once");
    assert_topic("t", "1\n2\n");
    end();
}

static void a_checkpoint_of_others_is_as_good_as_none(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "2 0 1", "1 ", "1 99999999999 5", "1 3", "1 x y"};
    begin("", true);
    assert_int_equal(send("1\n", 1, false), OUTPUT_DELIVERED);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        rig_teardown(&rig);
        checkpoint_size = strlen(texts[i]);
        memcpy(checkpoint, texts[i], checkpoint_size);
        make("", true);
        assert_int_equal(send("1\n", 1, true), OUTPUT_DELIVERED);
    }
    assert_topic("t", "1\n");
    end();
}

/* ---- setup and test-output ------------------------------------------------------------------- */

static void an_examination_says_what_is_there_and_what_is_missing(void **state)
{
    (void)state;
    fake = kafka_fake_start();
    kafka_fake_make_topic(fake, "t", 1);
    kafka_fake_make_topic(fake, "etwship-positions", 4);
    assert_true(rig_examine(&rig, &output_kafka, yaml("")));
    assert_says(rig.findings, "good: a broker answers");
    assert_says(rig.findings, "good: topic t exists, with 1 partitions");
    assert_says(rig.findings, "good: the brokers allow transactions (tried as etwship-test-test)");
    assert_says(rig.findings, "good: topic etwship-positions exists, with 4 partitions");
    assert_false(
        rig_examine(&rig, &output_kafka, "{brokers: ['127.0.0.1:1'], topic: t, transport: tcp}"));
    assert_says(rig.findings, "fault: kafka: ");
    assert_says(rig.findings, "refused");
    kafka_fake_stop(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_a_message_with_key_and_headers),
        cmocka_unit_test(headers_of_earlier_messages_change_with_the_event),
        cmocka_unit_test(each_message_has_its_own_id),
        cmocka_unit_test(the_header_id_may_stand_alone),
        cmocka_unit_test(a_topic_that_takes_nothing_blocks_its_own_events_alone),
        cmocka_unit_test(topics_are_named_by_events_in_letters_that_topics_have),
        cmocka_unit_test(what_brokers_pass_by_themselves_arrives_at_the_first_try),
        cmocka_unit_test(an_event_that_is_too_large_is_refused_alone),
        cmocka_unit_test(a_size_that_was_taken_alone_is_sent_with_others_again),
        cmocka_unit_test(a_batch_that_is_too_large_arrives_in_parts),
        cmocka_unit_test(a_set_up_that_is_wrong_degrades_and_mends_by_itself),
        cmocka_unit_test(brokers_that_say_nothing_are_given_up_in_time),
        cmocka_unit_test(a_cluster_that_is_not_there_says_so),
        cmocka_unit_test(a_server_that_gives_no_token_is_told_without_any_secret),
        cmocka_unit_test(a_batch_is_a_transaction_with_its_position),
        cmocka_unit_test(what_was_committed_before_a_kill_does_not_come_again),
        cmocka_unit_test(the_host_stores_its_position_before_the_ring_comes_round),
        cmocka_unit_test(a_commit_without_an_answer_is_looked_up),
        cmocka_unit_test(a_twin_is_told_of_and_survived),
        cmocka_unit_test(without_a_right_to_transactions_auto_goes_on_without_them),
        cmocka_unit_test(a_checkpoint_of_others_is_as_good_as_none),
        cmocka_unit_test(an_examination_says_what_is_there_and_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* This build has no librdkafka. */
int main(void)
{
    return 77;
}

#endif
