#include "outputs/elasticsearch/es_limit.h"

enum { CAREFUL_MAX_BYTES = 1 << 26, CAREFUL_STEPS = 64 /* steps to double the limit, roughly */ };

void es_limit_init(struct es_limit *limit)
{
    *limit = (struct es_limit){.refused_bytes = UINT64_MAX, .careful_bytes = UINT64_MAX};
}

uint64_t es_limit_bytes(const struct es_limit *limit)
{
    return limit->refused_bytes < limit->careful_bytes ? limit->refused_bytes
                                                       : limit->careful_bytes;
}

void es_limit_taken(struct es_limit *limit, uint64_t bytes)
{
    limit->lost_in_a_row = 0;
    limit->taken_bytes = bytes > limit->taken_bytes ? bytes : limit->taken_bytes;
    if (limit->refused_bytes < limit->taken_bytes) {
        limit->refused_bytes = limit->taken_bytes;
    }
    if (limit->careful_bytes < CAREFUL_MAX_BYTES) {
        limit->careful_bytes += limit->careful_bytes / CAREFUL_STEPS + 1;
    } else {
        limit->careful_bytes = UINT64_MAX;
    }
}

void es_limit_refused(struct es_limit *limit, uint64_t bytes)
{
    uint64_t half = bytes / 2;
    limit->lost_in_a_row = 0;
    if (limit->taken_bytes >= bytes) { /* the server now accepts less */
        limit->taken_bytes = 0;
    }
    limit->refused_bytes = limit->taken_bytes > half ? limit->taken_bytes : half;
}

void es_limit_lost(struct es_limit *limit, uint64_t bytes)
{
    if (++limit->lost_in_a_row % ES_LIMIT_LOST_IN_A_ROW == 0) {
        limit->careful_bytes = bytes / 2;
    }
}
