#ifndef ETWSHIP_OUTPUTS_KAFKA_WORDS_H
#define ETWSHIP_OUTPUTS_KAFKA_WORDS_H

#include <librdkafka/rdkafka.h>

#include "base/error.h"

/* Consequence of an error of librdkafka or of a broker. */
enum kafka_class {
    KAFKA_LATER,   /* temporary */
    KAFKA_TOO_BIG, /* this message, or the group with it, is too large */
    KAFKA_MEND,    /* fails every event until a person corrects the set-up */
    KAFKA_FENCED,  /* another producer uses our transactional id */
};

enum kafka_class kafka_words_class(rd_kafka_resp_err_t code);

/* True if ${code} means that the topic accepts nothing until a person corrects it. Other topics may
 * accept events. */
bool kafka_words_is_of_topic(rd_kafka_resp_err_t code);

/* True if ${code} means that the brokers, or their rules, allow our user no transactions.
 * at_least_once may still work. */
bool kafka_words_refuses_transactions(rd_kafka_resp_err_t code);

/* Set ${err} to "${what}: what happened. what to do". ${detail}, if it is not empty, says what
 * happened. */
void kafka_words_tell(
    rd_kafka_resp_err_t code, const char *what, const char *detail, struct error *err);

#endif
