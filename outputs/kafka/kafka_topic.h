#ifndef ETWSHIP_OUTPUTS_KAFKA_TOPIC_H
#define ETWSHIP_OUTPUTS_KAFKA_TOPIC_H

#include "outputs/kafka/kafka_link.h"

/* Topics of the cluster: whether they are there, and making them. */

/* What a new topic is like. */
struct kafka_topic_shape {
    int partitions;            /* -1: as the brokers have it */
    int replicas;              /* the same */
    const char *options[8][2]; /* key and value; ends with NULL */
};

/* The positions of all agents. They are read again at each start, so what is out of date goes soon. */
extern const struct kafka_topic_shape kafka_topic_positions;

/* How many partitions ${name} has, in ${ret_count}. False with the reason: RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART where
 * there is none. */
bool kafka_topic_find(struct kafka_link *link, const char *name, int32_t *ret_count,
    rd_kafka_resp_err_t *ret_code, struct error *err);

/* Make it. One that is there is fine. ${only_try}: the brokers look at the request, and make nothing. */
bool kafka_topic_make(struct kafka_link *link, const char *name,
    const struct kafka_topic_shape *shape, bool only_try, rd_kafka_resp_err_t *ret_code,
    struct error *err);

#endif
