#ifndef ETWSHIP_OUTPUTS_KAFKA_TOPIC_H
#define ETWSHIP_OUTPUTS_KAFKA_TOPIC_H

#include "outputs/kafka/kafka_link.h"

/* Finds and makes topics of the cluster. */

/* Properties of a new topic. */
struct kafka_topic_shape {
    int partitions;            /* -1: default of the brokers */
    int replicas;              /* -1: default of the brokers */
    const char *options[8][2]; /* key and value; ends with NULL */
};

/* The topic for the positions of all agents. Each start reads it, so the brokers compact it
 * often. */
extern const struct kafka_topic_shape kafka_topic_positions;

/* Count the partitions of the topic ${name}. False with the reason; for a missing topic that is
 * RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART. */
bool kafka_topic_find(struct kafka_link *link, const char *name, int32_t *ret_count,
    rd_kafka_resp_err_t *ret_code, struct error *err);

/* Create the topic; true also if it exists. ${only_try}: the brokers check the request, and create
 * nothing. */
bool kafka_topic_make(struct kafka_link *link, const char *name,
    const struct kafka_topic_shape *shape, bool only_try, rd_kafka_resp_err_t *ret_code,
    struct error *err);

#endif
