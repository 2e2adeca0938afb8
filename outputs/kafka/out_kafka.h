#ifndef ETWSHIP_OUTPUTS_OUT_KAFKA_H
#define ETWSHIP_OUTPUTS_OUT_KAFKA_H

#include "outputs/kafka/kafka_ring.h"
#include "outputs/kafka/kafka_send.h"

/*
 * Brokers refuse a request as a whole, and do not say which message is too large. So a delivery is
 * sent in groups: each after all earlier ones were answered. A refused group is sent again as
 * smaller groups, down to single messages. Sizes are in bytes of the event, with an allowance for
 * key and headers.
 */
struct kafka_groups {
    size_t most;  /* upper limit of a group */
    size_t usual; /* usual limit of a group; below `most` after brokers refused larger ones */
    /* messages of this size or more are sent alone: one was too large; SIZE_MAX: none */
    size_t suspect;

    /* For the current delivery. */
    size_t now;     /* limit of a group */
    bool alone;     /* the last group is one such message */
    bool smaller;   /* a group was refused */
    bool explained; /* and the too large message in it was found */
};

/* An output of type `kafka`: out_kafka.c makes and connects it, kafka_batch.c sends. */
struct out_kafka {
    struct arena kept;
    struct kafka_link link;
    struct kafka_send send;
    struct kafka_ring ring;
    enum kafka_delivery wanted;
    bool once; /* the current mode is exactly once */
    bool told; /* the mode in `told_once` was logged */
    bool told_once;
    const char *id; /* of transactions; NULL: there are none */
    bool one_topic; /* all events go to one topic */
    /* the producer remembers a refusal for minutes: the next delivery uses another one */
    bool stale;

    struct kafka_groups groups;
    struct kafka_result *results;
    struct kafka_mark *marks;
    size_t capacity;

    bool (*save)(void *host, struct error *err);
    void (*warn)(void *host, const char *text);
    void (*note)(void *host, const char *text);
    void (*guarantee)(void *host, const char *guarantee);
    void *host;
};

/* Open a producer in the configured mode. With `auto`, at least once if the brokers allow no
 * transactions. */
bool out_kafka_connect(struct out_kafka *self, rd_kafka_resp_err_t *ret_code, struct error *err);

/* output_ops.send */
enum output_verdict kafka_batch_send(
    void *self, const struct delivery *delivery, struct output_report *report);

/* output_ops.setup, examine */
bool kafka_talk_setup(const void *settings, const struct output_talk *talk);
bool kafka_talk_examine(const void *settings, const struct output_talk *talk);

/* output_ops.create, destroy */
void *out_kafka_create(const void *settings, const struct output_env *env, struct error *err);
void out_kafka_destroy(void *self);

#endif
