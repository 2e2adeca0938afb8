/* What the tests ask of a broker, over librdkafka:
 *
 *   kafka_tool BROKER read TOPIC          each committed message: "PARTITION KEY ID VALUE"
 *   kafka_tool BROKER create TOPIC PARTITIONS
 *   kafka_tool BROKER delete TOPIC
 *   kafka_tool BROKER config TOPIC NAME VALUE
 *   kafka_tool BROKER allow|forbid topic|id NAME     everything, to the user agent
 */
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 30000, POLL_MS = 500 };

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "kafka_tool: %s: %s\n", what, why ? why : "no answer");
    return 1;
}

static rd_kafka_t *make(rd_kafka_type_t type, const char *broker)
{
    static const char *const options[] = {
        "isolation.level", "read_committed", "enable.partition.eof", "true", NULL};
    char reason[200];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, NULL);
    rd_kafka_conf_set(conf, "bootstrap.servers", broker, reason, sizeof(reason));
    for (int i = 0; type == RD_KAFKA_CONSUMER && options[i]; i += 2) {
        rd_kafka_conf_set(conf, options[i], options[i + 1], reason, sizeof(reason));
    }
    return rd_kafka_new(type, conf, reason, sizeof(reason));
}

/* ---- reading --------------------------------------------------------------------------------- */

static void print(const rd_kafka_message_t *message)
{
    rd_kafka_headers_t *headers = NULL;
    const void *id = "-";
    size_t size = 1;
    if (!rd_kafka_message_headers(message, &headers)) {
        rd_kafka_header_get_last(headers, "id", &id, &size);
    }
    printf("%d %.*s %.*s %.*s\n", (int)message->partition,
        message->key_len ? (int)message->key_len : 1,
        message->key_len ? (const char *)message->key : "-", (int)size, (const char *)id,
        (int)message->len, (const char *)message->payload);
}

static int read_all(rd_kafka_t *rk, const char *name)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, name, NULL);
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 0, topic, &metadata, WAIT_MS);
    for (int i = 0; !code && i < metadata->topics[0].partition_cnt; i++) {
        int silent = 0;
        rd_kafka_consume_start(topic, i, RD_KAFKA_OFFSET_BEGINNING);
        for (int end = 0; !end && silent < WAIT_MS / POLL_MS;) {
            rd_kafka_message_t *message = rd_kafka_consume(topic, i, POLL_MS);
            silent = message ? 0 : silent + 1;
            if (message) {
                end = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
                if (!message->err) {
                    print(message);
                }
                rd_kafka_message_destroy(message);
            }
        }
        rd_kafka_consume_stop(topic, i);
    }
    rd_kafka_topic_destroy(topic);
    return code ? fail(name, rd_kafka_err2str(code)) : 0;
}

/* ---- changing -------------------------------------------------------------------------------- */

static int answer(rd_kafka_queue_t *queue, const char *what)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT_MS);
    if (!event || rd_kafka_event_error(event)) {
        return fail(what, event ? rd_kafka_event_error_string(event) : NULL);
    }
    const rd_kafka_topic_result_t **topics = NULL;
    size_t count = 0;
    const rd_kafka_CreateTopics_result_t *made = rd_kafka_event_CreateTopics_result(event);
    const rd_kafka_DeleteTopics_result_t *gone = rd_kafka_event_DeleteTopics_result(event);
    topics = made   ? rd_kafka_CreateTopics_result_topics(made, &count)
             : gone ? rd_kafka_DeleteTopics_result_topics(gone, &count)
                    : NULL;
    rd_kafka_resp_err_t code = count ? rd_kafka_topic_result_error(topics[0])
                                     : RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_event_destroy(event);
    return code ? fail(what, rd_kafka_err2str(code)) : 0;
}

static int change(rd_kafka_t *rk, const char *what, char **argument)
{
    char reason[200];
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    const char *name = argument[0];
    if (strcmp(what, "create") == 0) {
        rd_kafka_NewTopic_t *new = rd_kafka_NewTopic_new(
            name, atoi(argument[1]), 1, reason, sizeof(reason));
        rd_kafka_CreateTopics(rk, &new, 1, NULL, queue);
    } else if (strcmp(what, "delete") == 0) {
        rd_kafka_DeleteTopic_t *old = rd_kafka_DeleteTopic_new(name);
        rd_kafka_DeleteTopics(rk, &old, 1, NULL, queue);
    } else if (strcmp(what, "config") == 0) {
        rd_kafka_ConfigResource_t *resource = rd_kafka_ConfigResource_new(
            RD_KAFKA_RESOURCE_TOPIC, name);
        rd_kafka_ConfigResource_add_incremental_config(
            resource, argument[1], RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET, argument[2]);
        rd_kafka_IncrementalAlterConfigs(rk, &resource, 1, NULL, queue);
    } else {
        rd_kafka_ResourceType_t type = strcmp(name, "topic") == 0
                                           ? RD_KAFKA_RESOURCE_TOPIC
                                           : RD_KAFKA_RESOURCE_TRANSACTIONAL_ID;
        rd_kafka_AclBinding_t *rule = rd_kafka_AclBinding_new(type, argument[1],
            RD_KAFKA_RESOURCE_PATTERN_PREFIXED, "User:agent", "*", RD_KAFKA_ACL_OPERATION_ALL,
            RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, reason, sizeof(reason));
        rd_kafka_AclBindingFilter_t *same = rd_kafka_AclBindingFilter_new(type, argument[1],
            RD_KAFKA_RESOURCE_PATTERN_PREFIXED, "User:agent", "*", RD_KAFKA_ACL_OPERATION_ALL,
            RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, reason, sizeof(reason));
        if (strcmp(what, "allow") == 0) {
            rd_kafka_CreateAcls(rk, &rule, 1, NULL, queue);
        } else {
            rd_kafka_DeleteAcls(rk, &same, 1, NULL, queue);
        }
    }
    return answer(queue, what);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return fail("usage", "kafka_tool BROKER read|create|delete|config|allow|forbid …");
    }
    int reads = strcmp(argv[2], "read") == 0;
    rd_kafka_t *rk = make(reads ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER, argv[1]);
    if (!rk) {
        return fail("librdkafka", "cannot be used");
    }
    /* The process ends, and all open handles with it. */
    return reads ? read_all(rk, argv[3]) : change(rk, argv[2], argv + 3);
}
