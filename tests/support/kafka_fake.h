#ifndef ETWSHIP_TESTS_SUPPORT_KAFKA_FAKE_H
#define ETWSHIP_TESTS_SUPPORT_KAFKA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A cluster of Kafka in this process, on loopback: librdkafka's own mock. It knows transactions,
 * but shows readers what was aborted, too. Not in builds without librdkafka (ETWSHIP_KAFKA). */
struct kafka_fake;

/* Numbers of requests (Apache Kafka, protocol guide, API keys) and errors. */
enum {
    KAFKA_FAKE_PRODUCE = 0,
    KAFKA_FAKE_INIT_PRODUCER_ID = 22,
    KAFKA_FAKE_END_TXN = 26,
    KAFKA_FAKE_ADD_PARTITIONS_TO_TXN = 24,
    KAFKA_FAKE_NOT_LEADER = 6,
    KAFKA_FAKE_TIMED_OUT = 7,
    KAFKA_FAKE_MSG_SIZE_TOO_LARGE = 10,
    KAFKA_FAKE_TOPIC_AUTHORIZATION_FAILED = 29,
    KAFKA_FAKE_UNKNOWN_TOPIC = 3,
    KAFKA_FAKE_POLICY_VIOLATION = 44,
    KAFKA_FAKE_OUT_OF_ORDER = 45,
    KAFKA_FAKE_INVALID_PRODUCER_EPOCH = 47,
    KAFKA_FAKE_TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53,
    KAFKA_FAKE_PRODUCER_FENCED = 90,
    KAFKA_FAKE_TRANSPORT = -195, /* closes the connection instead of an answer */
};

struct kafka_fake *kafka_fake_start(void);
void kafka_fake_stop(struct kafka_fake *fake); /* NULL is fine */

/* host:port */
const char *kafka_fake_broker(const struct kafka_fake *fake);

/* Answer the next ${count} requests ${api} with ${error}, and do not obey them. */
void kafka_fake_fail(struct kafka_fake *fake, int api, size_t count, int error);
void kafka_fake_obey(struct kafka_fake *fake, int api);

/* Answer no request for ${ms}, or 0: at once. */
void kafka_fake_slow(struct kafka_fake *fake, int ms);

void kafka_fake_make_topic(struct kafka_fake *fake, const char *topic, int partitions);

/* Every request for ${topic} fails so; 0: none. */
void kafka_fake_topic_error(struct kafka_fake *fake, const char *topic, int error);

/* How many requests ${api} came since the start. */
size_t kafka_fake_requests(struct kafka_fake *fake, int api);

/* Each message of a topic, partition by partition: "KEY|NAME=VALUE,…|VALUE\n", or with ${plain}
 * "VALUE\n". Freed by the caller. */
char *kafka_fake_messages(struct kafka_fake *fake, const char *topic, bool plain);

#endif
