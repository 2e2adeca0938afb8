#ifndef ETWSHIP_OUTPUTS_KAFKA_WORDS_H
#define ETWSHIP_OUTPUTS_KAFKA_WORDS_H

#include <librdkafka/rdkafka.h>

#include "base/error.h"

/* What an error of librdkafka or of a broker leads to. */
enum kafka_class {
    KAFKA_LATER,   /* passes by itself */
    KAFKA_TOO_BIG, /* of this message, or of those that were sent with it */
    KAFKA_MEND,    /* every event fails so until somebody mends the set-up */
    KAFKA_FENCED,  /* another producer has our transactional id */
};

enum kafka_class kafka_words_class(rd_kafka_resp_err_t code);

/* Is it that brokers, or their rules, let nobody like us have transactions? Then at_least_once may still work. */
bool kafka_words_refuses_transactions(rd_kafka_resp_err_t code);

/* "${what}: what happened. what to do", with ${detail} in the place of the first where it is not empty. */
void kafka_words_tell(
    rd_kafka_resp_err_t code, const char *what, const char *detail, struct error *err);

#endif
