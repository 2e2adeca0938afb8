#ifndef ETWSHIP_OUTPUTS_OUT_KAFKA_H
#define ETWSHIP_OUTPUTS_OUT_KAFKA_H

#include "outputs/kafka/kafka_ring.h"
#include "outputs/kafka/kafka_send.h"

/* An output of type `kafka`: out_kafka.c makes and connects it, kafka_batch.c sends. */
struct out_kafka {
    struct arena kept;
    struct kafka_link link;
    struct kafka_send send;
    struct kafka_ring ring;
    enum kafka_delivery wanted;
    bool once; /* what is in force */
    bool told; /* … and was told */
    bool told_once;
    const char *id; /* of transactions; NULL: there are none */
    bool plain;     /* no compression: of two events the longer one is the longer message */
    bool one_topic; /* they all go to one topic */

    /* What goes together, at most: cut where brokers say that it is too much. */
    size_t batch_bytes;
    size_t link_bytes; /* … for the producer that there is */

    struct kafka_result *results;
    bool *skip;    /* not to be sent: delivered already, or refused */
    bool *refused; /* of these */
    size_t capacity;

    bool (*save)(void *host, struct error *err);
    void (*warn)(void *host, const char *text);
    void (*note)(void *host, const char *text);
    void *host;
};

enum { OUT_KAFKA_BATCH_BYTES = 1000000 };

/* Make a producer, in the place of the one that there is, that sends ${batch_bytes} at a time; read what was
 * delivered. False with ${err} set. */
bool out_kafka_open(
    struct out_kafka *self, size_t batch_bytes, rd_kafka_resp_err_t *ret_code, struct error *err);

/* The same in the mode that is wanted or, where that may be, in the other one. */
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
