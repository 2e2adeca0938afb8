#include "outputs/kafka/kafka_topic.h"

#include <stdio.h>

#include "platform/plat_clock.h"

enum { SLICE_MS = 100, ASK_MS = 30000, REASON_BYTES = 300 };

const struct kafka_topic_shape kafka_topic_positions = {.partitions = 8,
    .replicas = -1,
    .options = {{"cleanup.policy", "compact"}, {"segment.bytes", "8388608"},
        {"min.cleanable.dirty.ratio", "0.1"}, {"max.compaction.lag.ms", "3600000"}, {NULL, NULL}}};

bool kafka_topic_find(struct kafka_link *link, const char *name, int32_t *ret_count,
    rd_kafka_resp_err_t *ret_code, struct error *err)
{
    uint64_t until = plat_monotonic_ns() + link->connect_timeout_ns;
    rd_kafka_topic_t *topic = kafka_link_topic(link, name);
    *ret_code = RD_KAFKA_RESP_ERR__INVALID_ARG;
    while (topic) {
        const struct rd_kafka_metadata *metadata;
        rd_kafka_resp_err_t code = rd_kafka_metadata(link->rk, 0, topic, &metadata, SLICE_MS * 5);
        if (!code) {
            bool there = metadata->topic_cnt == 1;
            code = there ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
            *ret_count = there ? metadata->topics[0].partition_cnt : 0;
            rd_kafka_metadata_destroy(metadata);
        }
        kafka_link_poll(link, 0);
        *ret_code = code;
        if (!code && *ret_count > 0) {
            return true;
        }
        bool passes = !code || code == RD_KAFKA_RESP_ERR__TIMED_OUT ||
                      code == RD_KAFKA_RESP_ERR__TRANSPORT ||
                      code == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
        if (!passes || kafka_link_stops(link) || plat_monotonic_ns() >= until) {
            break;
        }
        kafka_link_poll(link, SLICE_MS);
    }
    kafka_link_tell_topic(link, *ret_code, name, err);
    return false;
}

/* ${new} belongs to the caller. */
static rd_kafka_event_t *ask(
    struct kafka_link *link, rd_kafka_NewTopic_t *new, bool only_try, rd_kafka_queue_t *queue)
{
    char reason[REASON_BYTES];
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
        link->rk, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_AdminOptions_set_request_timeout(options, ASK_MS, reason, sizeof(reason));
    rd_kafka_AdminOptions_set_operation_timeout(options, ASK_MS, reason, sizeof(reason));
    rd_kafka_AdminOptions_set_validate_only(options, only_try, reason, sizeof(reason));
    rd_kafka_CreateTopics(link->rk, &new, 1, options, queue);
    rd_kafka_AdminOptions_destroy(options);
    for (int waited = 0; waited < 2 * ASK_MS && !kafka_link_stops(link); waited += SLICE_MS) {
        rd_kafka_event_t *event = rd_kafka_queue_poll(queue, SLICE_MS);
        if (event) {
            return event;
        }
        kafka_link_poll(link, 0);
    }
    return NULL;
}

static rd_kafka_resp_err_t read_answer(rd_kafka_event_t *event, char *reason, size_t size)
{
    const rd_kafka_CreateTopics_result_t *result = rd_kafka_event_CreateTopics_result(event);
    size_t count = 0;
    const rd_kafka_topic_result_t **topics =
        result ? rd_kafka_CreateTopics_result_topics(result, &count) : NULL;
    rd_kafka_resp_err_t code = rd_kafka_event_error(event);
    const char *text = code ? rd_kafka_event_error_string(event) : NULL;
    if (!code && count) {
        code = rd_kafka_topic_result_error(topics[0]);
        text = rd_kafka_topic_result_error_string(topics[0]);
    }
    snprintf(reason, size, "%s", text ? text : "");
    return code;
}

bool kafka_topic_make(struct kafka_link *link, const char *name,
    const struct kafka_topic_shape *shape, bool only_try, rd_kafka_resp_err_t *ret_code,
    struct error *err)
{
    char what[KAFKA_TOPIC_MAX_BYTES + 16];
    char reason[REASON_BYTES] = "";
    rd_kafka_NewTopic_t *new = rd_kafka_NewTopic_new(
        name, shape->partitions, shape->replicas, reason, sizeof(reason));
    snprintf(what, sizeof(what), "topic %s", name);
    *ret_code = RD_KAFKA_RESP_ERR_INVALID_CONFIG;
    if (!new) {
        return error_set(err, ERR_CONFIG, "%s: %s", what, reason);
    }
    for (size_t i = 0; shape->options[i][0]; i++) {
        rd_kafka_NewTopic_set_config(new, shape->options[i][0], shape->options[i][1]);
    }
    rd_kafka_queue_t *queue = rd_kafka_queue_new(link->rk);
    rd_kafka_event_t *event = ask(link, new, only_try, queue);
    *ret_code = event ? read_answer(event, reason, sizeof(reason)) : RD_KAFKA_RESP_ERR__TIMED_OUT;
    bool good = !*ret_code || *ret_code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS;
    if (!good) {
        kafka_words_tell(*ret_code, what, reason, err);
    }
    if (event) {
        rd_kafka_event_destroy(event);
    }
    rd_kafka_queue_destroy(queue);
    rd_kafka_NewTopic_destroy(new);
    return good;
}
