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
    bool once; /* the mode in force is exactly once */
    bool told; /* the log has the mode `told_once` */
    bool told_once;
    const char *id; /* of transactions; NULL: there are none */
    bool plain;     /* no compression: of two events the longer one is the longer message */
    bool one_topic; /* all events go to one topic */
    bool stale; /* the producer remembers a refusal for minutes: the next delivery gets another */

    /* So much goes together at most; less after brokers found it too large. */
    size_t batch_bytes;
    size_t link_bytes; /* the same of the producer in use; 0: each message goes alone */

    struct kafka_result *results;
    bool *skip;    /* records that are not to be sent: delivered already, refused or blocked */
    bool *refused; /* those of them that were refused */
    bool *blocked; /* those whose topic takes nothing now */
    size_t capacity;

    bool (*save)(void *host, struct error *err);
    void (*warn)(void *host, const char *text);
    void (*note)(void *host, const char *text);
    void *host;
};

enum { OUT_KAFKA_BATCH_BYTES = 1000000 };

/* Replace the producer by a new one that sends ${batch_bytes} at a time. With transactions, read what was delivered.
 * False with ${err} set. */
bool out_kafka_open(
    struct out_kafka *self, size_t batch_bytes, rd_kafka_resp_err_t *ret_code, struct error *err);

/* Open a producer in the mode that the settings want. For `auto`, at least once where the brokers allow no transactions. */
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
