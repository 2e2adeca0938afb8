/* `etwship setup` and `etwship test-output` of an output of type `kafka`. */
#include <stdio.h>

#include "outputs/kafka/kafka_topic.h"
#include "outputs/kafka/out_kafka.h"
#include "platform/plat_clock.h"

enum { TEXT_BYTES = 700, NUMBER_BYTES = 24, ASK_MS = 5000, SLICE_MS = 100 };

static void say(const struct output_talk *talk, enum output_finding finding, const char *text)
{
    talk->say(talk->host, finding, text);
}

/* ${transactional_id} NULL: without transactions. The agent's own id would fence a running
 * agent. */
static bool open_link(struct kafka_link *link, const struct kafka_settings *s,
    const char *transactional_id, rd_kafka_resp_err_t *ret_code, struct error *err)
{
    const struct kafka_conf_producer producer = {
        .transactional_id = transactional_id, .timeout_ms = s->timeout_ns / NS_PER_MS};
    return kafka_link_open(link, &producer, ret_code, err);
}

/* ---- setup ----------------------------------------------------------------------------------- */

static void show(
    const struct output_talk *talk, const char *name, const struct kafka_topic_shape *shape)
{
    struct buf body;
    buf_init(&body, TEXT_BYTES);
    buf_printf(&body, "partitions=%d replicas=%d", shape->partitions, shape->replicas);
    for (size_t i = 0; shape->options[i][0]; i++) {
        buf_printf(&body, " %s=%s", shape->options[i][0], shape->options[i][1]);
    }
    talk->show(talk->host, "CreateTopics", name, buf_span(&body));
    buf_fini(&body);
}

static bool make_topic(struct kafka_link *link, const struct output_talk *talk, const char *name,
    const struct kafka_topic_shape *shape)
{
    struct error err;
    rd_kafka_resp_err_t code;
    int32_t count;
    char text[TEXT_BYTES];
    if (kafka_topic_find(link, name, &count, &code, &err)) {
        snprintf(text, sizeof(text), "topic %s exists, with %d partitions", name, (int)count);
        say(talk, OUTPUT_FOUND_GOOD, text);
        return true;
    }
    if (code != RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART &&
        code != RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) {
        say(talk, OUTPUT_FOUND_FAULT, err.text);
        return false;
    }
    if (talk->dry_run) {
        show(talk, name, shape);
        return true;
    }
    if (!kafka_topic_make(link, name, shape, false, &code, &err)) {
        say(talk, OUTPUT_FOUND_FAULT, err.text);
        return false;
    }
    snprintf(text, sizeof(text), "topic %s was created", name);
    say(talk, OUTPUT_FOUND_GOOD, text);
    return true;
}

static bool make_own_topic(
    struct kafka_link *link, const struct kafka_settings *s, const struct output_talk *talk)
{
    char retention[NUMBER_BYTES];
    struct kafka_topic_shape shape = {.partitions = (int)s->create.partitions,
        .replicas = (int)s->create.replicas,
        .options = {{"cleanup.policy", s->create.cleanup ? "compact" : "delete"}}};
    if (kafka_settings_varies(s->topic)) {
        say(talk, OUTPUT_FOUND_NOTE,
            "the names of topics come from events. create these topics yourself, unless the "
            "brokers create them");
        return true;
    }
    if (s->create.retention_ns) {
        snprintf(retention, sizeof(retention), "%llu",
            (unsigned long long)(s->create.retention_ns / NS_PER_MS));
        shape.options[1][0] = "retention.ms";
        shape.options[1][1] = retention;
    }
    return make_topic(link, talk, s->topic, &shape);
}

/* In any case kafka_link_fini is allowed. */
static bool begin(struct kafka_link *link, const struct kafka_settings *s,
    const struct output_talk *talk, struct error *err)
{
    const struct output_env env = {.name = talk->name, .format = talk->format};
    rd_kafka_resp_err_t code;
    return kafka_link_init(link, s, &env, err) && open_link(link, s, NULL, &code, err);
}

bool kafka_talk_setup(const void *settings, const struct output_talk *talk)
{
    const struct kafka_settings *s = settings;
    struct kafka_link link;
    struct error err;
    bool good = begin(&link, s, talk, &err);
    if (!good) {
        say(talk, OUTPUT_FOUND_FAULT, err.text);
    } else {
        struct kafka_topic_shape positions = kafka_topic_positions;
        positions.replicas = (int)s->create.replicas;
        good = make_own_topic(&link, s, talk);
        if (s->delivery != KAFKA_AT_LEAST_ONCE) {
            good = make_topic(&link, talk, s->positions_topic, &positions) && good;
        }
    }
    kafka_link_fini(&link);
    return good;
}

/* ---- test-output ----------------------------------------------------------------------------- */

/* True if the brokers list Write, or all rights, among those of our user. ${ret_told} false: they
 * list no rights. */
static bool may_write(const rd_kafka_TopicDescription_t *topic, bool *ret_told)
{
    size_t count;
    const rd_kafka_AclOperation_t *operations = rd_kafka_TopicDescription_authorized_operations(
        topic, &count);
    *ret_told = operations != NULL;
    for (size_t i = 0; operations && i < count; i++) {
        if (operations[i] == RD_KAFKA_ACL_OPERATION_WRITE ||
            operations[i] == RD_KAFKA_ACL_OPERATION_ALL) {
            return true;
        }
    }
    return false;
}

static rd_kafka_event_t *describe(
    struct kafka_link *link, const char *name, rd_kafka_queue_t *queue)
{
    rd_kafka_TopicCollection_t *topics = rd_kafka_TopicCollection_of_topic_names(&name, 1);
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
        link->rk, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
    rd_kafka_error_destroy(rd_kafka_AdminOptions_set_include_authorized_operations(options, 1));
    rd_kafka_DescribeTopics(link->rk, topics, options, queue);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_TopicCollection_destroy(topics);
    rd_kafka_event_t *event = NULL;
    for (int waited = 0; !event && waited < ASK_MS; waited += SLICE_MS) {
        event = rd_kafka_queue_poll(queue, SLICE_MS);
    }
    return event;
}

static bool examine_right(struct kafka_link *link, const char *name, const struct output_talk *talk)
{
    char text[TEXT_BYTES];
    bool told = false, may = false;
    size_t count = 0;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(link->rk);
    rd_kafka_event_t *event = describe(link, name, queue);
    const rd_kafka_DescribeTopics_result_t *result =
        event ? rd_kafka_event_DescribeTopics_result(event) : NULL;
    const rd_kafka_TopicDescription_t **topics =
        result ? rd_kafka_DescribeTopics_result_topics(result, &count) : NULL;
    if (count) {
        may = may_write(topics[0], &told);
    }
    if (event) {
        rd_kafka_event_destroy(event);
    }
    rd_kafka_queue_destroy(queue);
    snprintf(text, sizeof(text), "topic %s: %s", name,
        may    ? "the agent's user may write to it"
        : told ? "the agent's user may not write to it. give it the right Write"
               : "the brokers do not say whether the agent's user may write to it");
    say(talk, may ? OUTPUT_FOUND_GOOD : told ? OUTPUT_FOUND_FAULT : OUTPUT_FOUND_NOTE, text);
    return may || !told;
}

static bool examine_topic(
    struct kafka_link *link, const struct kafka_settings *s, const struct output_talk *talk)
{
    struct error err;
    rd_kafka_resp_err_t code;
    int32_t count;
    char text[TEXT_BYTES];
    if (kafka_settings_varies(s->topic)) {
        say(talk, OUTPUT_FOUND_NOTE,
            "the names of topics come from events, so no topic was checked");
        return true;
    }
    if (!kafka_topic_find(link, s->topic, &count, &code, &err)) {
        say(talk, OUTPUT_FOUND_FAULT, err.text);
        return false;
    }
    snprintf(text, sizeof(text), "topic %s exists, with %d partitions", s->topic, (int)count);
    say(talk, OUTPUT_FOUND_GOOD, text);
    return examine_right(link, s->topic, talk);
}

static bool examine_positions(
    struct kafka_link *link, const struct kafka_settings *s, const struct output_talk *talk)
{
    enum output_finding lacking = s->delivery == KAFKA_EXACTLY_ONCE ? OUTPUT_FOUND_FAULT
                                                                    : OUTPUT_FOUND_NOTE;
    struct error err;
    rd_kafka_resp_err_t code;
    int32_t count;
    char text[TEXT_BYTES];
    if (kafka_topic_find(link, s->positions_topic, &count, &code, &err)) {
        snprintf(text, sizeof(text), "topic %s exists, with %d partitions", s->positions_topic,
            (int)count);
        say(talk, OUTPUT_FOUND_GOOD, text);
        return examine_right(link, s->positions_topic, talk) || lacking == OUTPUT_FOUND_NOTE;
    }
    if (kafka_topic_make(link, s->positions_topic, &kafka_topic_positions, true, &code, &err)) {
        snprintf(text, sizeof(text),
            "topic %s does not exist. etwship setup or the first delivery creates it",
            s->positions_topic);
        say(talk, OUTPUT_FOUND_NOTE, text);
        return true;
    }
    say(talk, lacking, err.text);
    return lacking == OUTPUT_FOUND_NOTE;
}

/* The id ends with "-test": with the agent's own id, the brokers would end the agent's producer. */
static bool examine_transactions(
    struct kafka_link *link, const struct kafka_settings *s, const struct output_talk *talk)
{
    struct error err;
    rd_kafka_resp_err_t code;
    char id[TEXT_BYTES - 200];
    char text[TEXT_BYTES];
    snprintf(id, sizeof(id), "%.200s%.200s-test",
        s->transactional_id ? s->transactional_id : "etwship-",
        s->transactional_id ? "" : talk->name);
    if (open_link(link, s, id, &code, &err)) {
        snprintf(text, sizeof(text), "the brokers allow transactions (tried as %s)", id);
        say(talk, OUTPUT_FOUND_GOOD, text);
        return examine_positions(link, s, talk);
    }
    bool must = s->delivery == KAFKA_EXACTLY_ONCE || !kafka_words_refuses_transactions(code);
    say(talk, must ? OUTPUT_FOUND_FAULT : OUTPUT_FOUND_NOTE, err.text);
    if (!must) {
        say(talk, OUTPUT_FOUND_NOTE, "without transactions, events are delivered at least once");
    }
    return !must;
}

bool kafka_talk_examine(const void *settings, const struct output_talk *talk)
{
    const struct kafka_settings *s = settings;
    struct kafka_link link;
    struct error err;
    bool good = begin(&link, s, talk, &err);
    say(talk, good ? OUTPUT_FOUND_GOOD : OUTPUT_FOUND_FAULT,
        good ? "a broker answers and accepts the agent's login" : err.text);
    if (good) {
        good = examine_topic(&link, s, talk);
        if (s->delivery != KAFKA_AT_LEAST_ONCE) {
            good = examine_transactions(&link, s, talk) && good;
        }
    }
    kafka_link_fini(&link);
    return good;
}
