#ifndef ETWSHIP_OUTPUTS_KAFKA_SEND_H
#define ETWSHIP_OUTPUTS_KAFKA_SEND_H

#include "base/map.h"
#include "outputs/kafka/kafka_link.h"

/* Records of a delivery as messages: topic, key and headers by their routes, the value
 * unchanged. */

/* The topic of the records of one route; views into the delivery's names and `topic_name`. */
struct kafka_target {
    bool known;
    rd_kafka_topic_t *topic; /* NULL: it cannot exist */
    struct span parts[KAFKA_PART_COUNT];
    struct kafka_spare *spare; /* NULL: each record needs headers of its own */
};

/* State of a record of the current delivery. */
struct kafka_mark {
    bool skip;    /* do not send it: delivered already, refused or blocked */
    bool refused; /* … refused */
    bool blocked; /* … blocked: its topic accepts nothing now */
    bool last;    /* the last one of an accepted group */
};

struct kafka_send {
    struct arena kept;
    struct span parts[KAFKA_PART_COUNT]; /* for outputs without routes */
    bool headers[KAFKA_HEADER_COUNT];
    const char *shape;
    const char *agent; /* "": unknown */
    struct kafka_target *targets;
    size_t target_capacity;
    char topic_name[KAFKA_TOPIC_MAX_BYTES + 1];

    /* Making a list of headers takes as long as everything else for a message, and lists differ in
     * the id only. So lists are kept; when there are more than one and a half batches need, all are
     * freed. */
    struct map spares; /* provider and code -> kafka_spare */
    struct arena spare_kept;
    size_t lists;       /* lists made and not freed */
    size_t most_events; /* maximum of a batch so far */
    int64_t now_ms;     /* Unix time when the current delivery was handed over */
};

/* False with ${err} set; kafka_send_fini must be called in either case. */
bool kafka_send_init(struct kafka_send *send, const struct kafka_settings *settings,
    const struct output_env *env, struct error *err);
void kafka_send_fini(struct kafka_send *send);

/* Call before the first record of ${delivery} is handed over, while no message waits for its
 * answer. False: out of memory. */
bool kafka_send_begin(struct kafka_send *send, const struct delivery *delivery);

/*
 * Hand record ${index} of ${delivery} to librdkafka. ${result} gets the answer, at once or during
 * kafka_link_wait; the bytes of the delivery and ${result} must stay until then.
 */
void kafka_send_put(struct kafka_send *send, struct kafka_link *link,
    const struct delivery *delivery, size_t index, struct kafka_result *result);

/* Hand a message for ${partition} of ${topic} to librdkafka. ${key}, ${value} and ${result} must
 * stay until the answer. */
void kafka_send_raw(struct kafka_link *link, rd_kafka_topic_t *topic, int32_t partition,
    struct span key, struct span value, struct kafka_result *result);

/* The topic of record ${index}, for people. Valid until the next call. */
const char *kafka_send_topic(
    struct kafka_send *send, const struct delivery *delivery, size_t index);

#endif
