#ifndef ETWSHIP_OUTPUTS_KAFKA_CONF_H
#define ETWSHIP_OUTPUTS_KAFKA_CONF_H

#include <librdkafka/rdkafka.h>

#include "outputs/kafka/kafka_settings.h"

/* Settings as options of librdkafka. */

/* The configuration of a connection: brokers, TLS, login, and the user's own options. NULL with
 * ${err} set. */
rd_kafka_conf_t *kafka_conf_create(const struct kafka_settings *settings, struct error *err);

/* Maximum bytes of messages for one partition in a request, unless one message is larger. */
enum { KAFKA_CONF_BATCH_BYTES = 1000000 };

/* How a producer sends. */
struct kafka_conf_producer {
    const char *transactional_id; /* NULL: no transactions */
    uint64_t timeout_ms;          /* of a transaction */
};

/* A copy of ${base} for a producer. NULL with ${err} set. */
rd_kafka_conf_t *kafka_conf_producer(
    const rd_kafka_conf_t *base, const struct kafka_conf_producer *producer, struct error *err);

/* A copy of ${base} for a consumer that reads committed messages. */
rd_kafka_conf_t *kafka_conf_reader(const rd_kafka_conf_t *base, struct error *err);

#endif
