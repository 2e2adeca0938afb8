#include "support/test.h"

#ifdef ETWSHIP_KAFKA

#include "outputs/kafka/kafka_position.h"
#include "unit/outputs/output_rig.h"

/* The parts that need no brokers. */

/* ---- positions ------------------------------------------------------------------------------- */

struct taken {
    char text[2048];
};

static bool take(void *self, struct span id)
{
    struct taken *taken = self;
    size_t at = strlen(taken->text);
    snprintf(taken->text + at, sizeof(taken->text) - at, "%.*s ", SPAN_ARG(id));
    return true;
}

static void a_position_is_read_as_it_was_written_and_nothing_else_is(void **state)
{
    (void)state;
    static const char *const ids[] = {"abc", "abd", "abd", "", "z", "zz", "abc"};
    struct kafka_position_writer writer;
    struct taken taken = {""};
    struct buf out;
    uint64_t number = 0;
    buf_init(&out, 4096);
    kafka_position_begin(&writer, &out, 12345678901234);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        kafka_position_add(&writer, span_text(ids[i]));
    }
    assert_true(kafka_position_read(buf_span(&out), &number, take, &taken));
    assert_int_equal(number, 12345678901234);
    assert_string_equal(taken.text, "abc abd abd  z zz abc ");
    for (size_t i = 0; i < out.size; i++) { /* cut at every byte */
        bool whole = i && out.data[i - 1] == '\n';
        struct taken rest = {""};
        assert_int_equal(kafka_position_read(span_make(out.data, i), &number, take, &rest), whole);
        assert_memory_equal(rest.text, taken.text, strlen(rest.text));
    }
    static const char *const wrong[] = {"etwship 1 1\n1a\n", "etwship 1 1\n\n", "etwship 2 1\n",
        "etwship 1 \n", "etwship 1 1x\n", "etwship 1 1234567890123456789\n", "etwship 1 1\n/a\n"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(kafka_position_read(span_text(wrong[i]), &number, take, &taken));
    }
    buf_fini(&out);
}

/* ---- settings -------------------------------------------------------------------------------- */

static void what_is_wrong_is_told_with_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *yaml;
        const char *words;
    } cases[] = {
        {"{brokers: [k], topic: t}", "not a host and port"},
        {"{brokers: ['k:0'], topic: t}", "not a host and port"},
        {"{brokers: ['k:1'], topic: 'a b'}", "' ' is not allowed in the name of a topic"},
        {"{brokers: ['k:1'], topic: '{provider.name}'}", "begin with literal text"},
        {"{brokers: ['k:1'], topic: 'x-{nope'}", "topic: "},
        {"{brokers: ['k:1'], topic: '..'}", "not a valid name of a topic"},
        {"{brokers: ['k:1'], topic: t, key: 'a|b'}", "are not allowed in it"},
        {"{brokers: ['k:1'], topic: t, key: '{nope.x}'}", "key: "},
        {"{brokers: ['k:1'], topic: t, positions_topic: t}", "write another one"},
        {"{brokers: ['k:1'], topic: t, headers: [id, none]}", "none excludes all others"},
        {"{brokers: ['k:1'], topic: t, sasl: {mechanism: PLAIN, user: u}}", "PLAIN needs password"},
        {"{brokers: ['k:1'], topic: t, sasl: {user: u}}", "has no effect without mechanism"},
        {"{brokers: ['k:1'], topic: t, sasl: {mechanism: OAUTHBEARER, user: u}}", "OAUTHBEARER"},
        {"{brokers: ['k:1'], topic: t, tls: {cert: c.pem}}", "tls: cert needs its key"},
        {"{brokers: ['k:1'], topic: t, tls: {ca: c.pem}, transport: tcp}", "does not use TLS"},
        {"{brokers: ['k:1'], topic: t, rdkafka: {socket.keepalive.enabl: true}}",
            "did you mean socket.keepalive.enable?"},
        {"{brokers: ['k:1'], topic: t, rdkafka: {client.dns.lookup: sometimes}}",
            "client.dns.lookup: librdkafka does not take this value"},
        {"{brokers: ['k:1'], topic: t, rdkafka: {sasl.password: x}}", "write sasl: {password}"},
        {"{brokers: ['k:1'], topic: t, rdkafka: {ssl.engine.location: x.so}}", "loads a library"},
        {"{brokers: ['k:1'], topic: t, rdkafka: {plugin.any: x.so}}", "loads a library"},
        {"{brokers: ['k:1'], topic: t, rdkafka: {acks: 1}}", "remove it"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        rig_assert_fault(&output_kafka, cases[i].yaml, cases[i].words);
    }
    /* Topic, key and headers share one route of 4096 bytes. */
    char text[800];
    snprintf(text, sizeof(text), "{brokers: ['k:1'], topic: 'x-{provider.name}%0600d'}", 0);
    rig_assert_fault(&output_kafka, text, "topic: a template has at most 512 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_is_read_as_it_was_written_and_nothing_else_is),
        cmocka_unit_test(what_is_wrong_is_told_with_what_to_do),
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
