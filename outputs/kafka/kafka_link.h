#ifndef ETWSHIP_OUTPUTS_KAFKA_LINK_H
#define ETWSHIP_OUTPUTS_KAFKA_LINK_H

#include "base/map.h"
#include "outputs/kafka/kafka_conf.h"
#include "outputs/kafka/kafka_token.h"
#include "outputs/kafka/kafka_words.h"
#include "outputs/output.h"

/*
 * A producer of librdkafka and what was heard from it. It has threads of its own, which know nothing of us: all
 * that it has to say comes on our thread, while a function of this file waits for it. One thread at a time.
 */

/* What became of one message. `state` is first written when it is handed over. */
struct kafka_result {
    int16_t code;   /* rd_kafka_resp_err_t */
    bool known;     /* there is an answer, or it is given up */
    bool unsure;    /* it failed, and may have arrived */
    int64_t offset; /* where it is, if it arrived */
};

struct kafka_link {
    const char *name; /* of the output, in front of texts */
    rd_kafka_conf_t *base;
    struct kafka_token *token; /* NULL: none is needed */
    rd_kafka_t *rk;            /* NULL: not connected */
    struct map topics;         /* name -> rd_kafka_topic_t, of `rk` */
    struct arena topic_names;
    size_t waiting;    /* messages without an answer */
    bool transactions; /* of `rk` */
    bool broken;       /* `rk` takes nothing any more: make another */
    uint64_t connect_timeout_ns;
    uint64_t timeout_ns;
    uint32_t throttled_ms; /* the longest wait that brokers asked of us since it was cleared */

    /* The last trouble that brokers or the network made; cleared by who looks at it. */
    rd_kafka_resp_err_t trouble;
    bool down; /* no broker can be reached */
    char trouble_text[400];

    bool (*stopping)(void *host); /* may be NULL */
    void *host;
};

/* Reads no file and connects to nothing. False with ${err} set; then kafka_link_fini is fine. */
bool kafka_link_init(struct kafka_link *link, const struct kafka_settings *settings,
    const struct output_env *env, struct error *err);
void kafka_link_fini(struct kafka_link *link);

/* Make a producer and wait until a broker answers; with transactions until those before are at an end. False with
 * ${err} set and the reason in ${ret_code}. */
bool kafka_link_open(struct kafka_link *link, const struct kafka_conf_producer *producer,
    rd_kafka_resp_err_t *ret_code, struct error *err);

/* What has no answer yet is given up, and answered for as such. */
void kafka_link_close(struct kafka_link *link);

/* Listen for ${ms}. */
void kafka_link_poll(struct kafka_link *link, int ms);

bool kafka_link_stops(const struct kafka_link *link);

/* NULL: out of memory. */
rd_kafka_topic_t *kafka_link_topic(struct kafka_link *link, const char *name);

/* Wait until every message has its answer. False: not within the timeout, or it is time to stop; then what was left
 * is given up, and `broken` is set if any of it may still arrive. */
bool kafka_link_wait(struct kafka_link *link);

/* Begin, commit, or abort a transaction. Commit waits; false with the reason. `broken`: nobody knows its outcome
 * but the next producer. */
bool kafka_link_begin(struct kafka_link *link, rd_kafka_resp_err_t *ret_code, struct error *err);
bool kafka_link_commit(struct kafka_link *link, rd_kafka_resp_err_t *ret_code, struct error *err);
void kafka_link_abort(struct kafka_link *link);

/* Say in ${err} what ${code} means for ${what}, with the last trouble if it says more. */
void kafka_link_tell(
    struct kafka_link *link, rd_kafka_resp_err_t code, const char *what, struct error *err);

/* The same of the topic ${name}. */
void kafka_link_tell_topic(
    struct kafka_link *link, rd_kafka_resp_err_t code, const char *name, struct error *err);

#endif
