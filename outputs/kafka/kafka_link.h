#ifndef ETWSHIP_OUTPUTS_KAFKA_LINK_H
#define ETWSHIP_OUTPUTS_KAFKA_LINK_H

#include "base/map.h"
#include "outputs/kafka/kafka_conf.h"
#include "outputs/kafka/kafka_token.h"
#include "outputs/kafka/kafka_words.h"
#include "outputs/output.h"

/*
 * A producer of librdkafka, and its reports. librdkafka has its own threads, but calls us only on
 * our thread, while a function of this file waits. One thread at a time.
 */

/* Lists of headers that earlier messages used, for later messages with equal headers. `lists` has
 * space for every list that was made for it, so a message can always return its list. */
struct kafka_spare {
    rd_kafka_headers_t **lists;
    size_t count; /* number of lists that no message uses now */
    size_t made;
    size_t room;
};

/* Result of one message. Passing the message to librdkafka resets it. */
struct kafka_result {
    int16_t code; /* rd_kafka_resp_err_t */
    bool known;   /* librdkafka has reported it, or has given it up */
    bool unsure;  /* the message failed, but may have arrived */
    int32_t partition;
    int64_t offset;            /* where it is, if it arrived */
    struct kafka_spare *spare; /* gets the headers of the message; NULL: librdkafka frees them */
};

struct kafka_link {
    const char *name; /* of the output, before texts */
    rd_kafka_conf_t *base;
    struct kafka_token *token; /* NULL: none is needed */
    rd_kafka_t *rk;            /* NULL: not connected */
    struct map topics;         /* name -> rd_kafka_topic_t, of `rk` */
    struct arena topic_names;
    size_t waiting;    /* messages without an answer */
    bool transactions; /* of `rk` */
    bool broken;       /* `rk` is no longer usable: create another */
    uint64_t connect_timeout_ns;
    uint64_t timeout_ns;
    uint32_t throttled_ms; /* longest delay imposed by brokers since the caller cleared it */

    /* Last error about brokers or the network. The caller clears it. */
    rd_kafka_resp_err_t trouble;
    bool down; /* no broker can be reached */
    char trouble_text[400];

    bool (*stopping)(void *host); /* may be NULL */
    void *host;
};

/* Reads no file and connects to nothing. False with ${err} set; kafka_link_fini must be called in
 * either case. */
bool kafka_link_init(struct kafka_link *link, const struct kafka_settings *settings,
    const struct output_env *env, struct error *err);
void kafka_link_fini(struct kafka_link *link);

/* Create a producer and wait until a broker answers. With transactions, also wait until the brokers
 * have ended those of the previous producer with this id. False with ${err} set and the reason in
 * ${ret_code}. */
bool kafka_link_open(struct kafka_link *link, const struct kafka_conf_producer *producer,
    rd_kafka_resp_err_t *ret_code, struct error *err);

/* Messages without an answer are given up, and their results are set accordingly. */
void kafka_link_close(struct kafka_link *link);

/* Handle reports of librdkafka that arrive within ${ms}. */
void kafka_link_poll(struct kafka_link *link, int ms);

bool kafka_link_stops(const struct kafka_link *link);

/* NULL: out of memory. */
rd_kafka_topic_t *kafka_link_topic(struct kafka_link *link, const char *name);

/* Wait until every message has its answer. False: the timeout passed, or `stopping` is true; then
 * the remaining messages are given up and `broken` is set, because some may still arrive. */
bool kafka_link_wait(struct kafka_link *link);

/* Begin, commit, or abort a transaction. Commit and abort wait. False with the reason. If the
 * outcome is unknown, `broken` is set, and the next producer with the same id determines it. */
bool kafka_link_begin(struct kafka_link *link, rd_kafka_resp_err_t *ret_code, struct error *err);
bool kafka_link_commit(struct kafka_link *link, rd_kafka_resp_err_t *ret_code, struct error *err);
void kafka_link_abort(struct kafka_link *link);

/* Set ${err} to the meaning of ${code} for the topic ${name}. */
void kafka_link_tell_topic(
    struct kafka_link *link, rd_kafka_resp_err_t code, const char *name, struct error *err);

#endif
