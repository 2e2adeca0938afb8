#ifndef ETWSHIP_TESTS_SUPPORT_ETL_MIX_PAYLOAD_H
#define ETWSHIP_TESTS_SUPPORT_ETL_MIX_PAYLOAD_H

#include "support/etl_mix.h"

/* The state from which a payload is made. */
struct etl_mix_source {
    uint64_t random; /* state */
    uint64_t sequence;
    uint8_t pointer_size;
    int64_t time_raw;
    uint64_t time; /* FILETIME */
    uint32_t process_id;
    uint32_t thread_id;
    uint64_t last_address; /* of the last sample, at which its stack begins */
    int64_t last_time_raw;
};

/* The next random number below ${limit}. */
uint32_t etl_mix_payload_random(struct etl_mix_source *source, uint32_t limit);

/* Append the payload of an event of ${kind}, but for metadata. */
void etl_mix_payload_add(struct etl_mix_source *source, enum etl_mix_kind kind, struct buf *out);

/* A user's SID. */
void etl_mix_payload_sid(struct etl_mix_source *source, struct buf *out);

#endif
