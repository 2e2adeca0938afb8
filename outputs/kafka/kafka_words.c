#include "outputs/kafka/kafka_words.h"

/* Apache Kafka, protocol guide, error codes; librdkafka, rdkafka.h, rd_kafka_resp_err_t. */
static const struct {
    rd_kafka_resp_err_t code;
    enum kafka_class class;
    const char *advice;
} known[] = {
    {RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, KAFKA_TOO_BIG, "raise max.message.bytes of the topic"},
    {RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, KAFKA_TOO_BIG, "raise segment.bytes of the topic"},
    {RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, KAFKA_MEND,
        "give the agent's user the rights Write and Describe on the topic"},
    {RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KAFKA_MEND,
        "give the agent's user the rights Write and Describe on the transactional id"},
    {RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, KAFKA_MEND,
        "give the agent's user the right IdempotentWrite on the cluster"},
    {RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, KAFKA_MEND,
        "give the agent's user the right Read"},
    {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, KAFKA_MEND,
        "create the topic with etwship setup, or give the agent's user the right Describe on it"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, KAFKA_MEND,
        "create the topic with etwship setup, or give the agent's user the right Describe on it"},
    {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, KAFKA_MEND, "create the topic with etwship setup"},
    {RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, KAFKA_MEND, "give the topic another name"},
    {RD_KAFKA_RESP_ERR_INVALID_RECORD, KAFKA_MEND,
        "a compacted topic takes no event without a key: write key, or use another topic"},
    {RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, KAFKA_MEND,
        "check the clock, or message.timestamp.after.max.ms of the topic"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE, KAFKA_MEND, "use another compression"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT, KAFKA_MEND,
        "raise the message format of the topic"},
    {RD_KAFKA_RESP_ERR_POLICY_VIOLATION, KAFKA_MEND, "see the policies of the cluster"},
    {RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED, KAFKA_MEND,
        "raise the quota of the agent's user"},
    {RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, KAFKA_MEND, "check sasl"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, KAFKA_MEND, "check sasl: {mechanism}"},
    {RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE, KAFKA_MEND, "check sasl and transport"},
    {RD_KAFKA_RESP_ERR__AUTHENTICATION, KAFKA_MEND, "check sasl"},
    {RD_KAFKA_RESP_ERR__SSL, KAFKA_MEND, "check tls, and whether transport should be tcp"},
    {RD_KAFKA_RESP_ERR_SECURITY_DISABLED, KAFKA_MEND, "see the settings of the cluster"},
    {RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT, KAFKA_MEND,
        "write a timeout below transaction.max.timeout.ms of the cluster"},
    {RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR, KAFKA_MEND,
        "write create: {replicas} that the cluster has brokers for"},
    {RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION, KAFKA_MEND, "Kafka 0.11 or newer is needed"},
    {RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE, KAFKA_MEND, "Kafka 0.11 or newer is needed"},
    {RD_KAFKA_RESP_ERR__FENCED, KAFKA_FENCED, ""},
    {RD_KAFKA_RESP_ERR_PRODUCER_FENCED, KAFKA_FENCED, ""},
    {RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH, KAFKA_FENCED, ""},
    {RD_KAFKA_RESP_ERR__RESOLVE, KAFKA_LATER, "check brokers and the name server"},
    {RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, KAFKA_LATER, "check brokers and the network"},
    {RD_KAFKA_RESP_ERR__TRANSPORT, KAFKA_LATER, "check brokers and the network"},
};

static const char fenced[] = "another producer uses the agent's transactional id. check for a "
                             "second agent with the same data folder or transactional_id";

enum { KNOWN_COUNT = sizeof(known) / sizeof(known[0]) };

enum kafka_class kafka_words_class(rd_kafka_resp_err_t code)
{
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        if (known[i].code == code) {
            return known[i].class;
        }
    }
    return KAFKA_LATER;
}

bool kafka_words_is_of_topic(rd_kafka_resp_err_t code)
{
    switch (code) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
        return true;
    default:
        return false;
    }
}

bool kafka_words_refuses_transactions(rd_kafka_resp_err_t code)
{
    switch (code) {
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR_SECURITY_DISABLED:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
        return true;
    default:
        return false;
    }
}

void kafka_words_tell(
    rd_kafka_resp_err_t code, const char *what, const char *detail, struct error *err)
{
    if (kafka_words_class(code) == KAFKA_FENCED) {
        error_set(err, ERR_IO, "%s: %s", what, fenced);
        return;
    }
    const char *advice = "";
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        advice = known[i].code == code ? known[i].advice : advice;
    }
    error_set(err, ERR_IO, "%s: %s%s%s", what, detail[0] ? detail : rd_kafka_err2str(code),
        advice[0] ? ". " : "", advice);
}
