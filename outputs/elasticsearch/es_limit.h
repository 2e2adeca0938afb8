#ifndef ETWSHIP_OUTPUTS_ES_LIMIT_H
#define ETWSHIP_OUTPUTS_ES_LIMIT_H

#include <stdint.h>

/*
 * The maximum size of requests, learned from earlier answers. Sizes are those of uncompressed
 * bodies, which servers count.
 *
 * After a 413 no request is as large again, and the largest accepted size counts. Many servers and
 * proxies close the connection for a large body, or too early for their 413 to arrive. So repeated
 * broken connections reduce the size, too; accepted requests increase it again.
 */
struct es_limit {
    uint64_t refused_bytes; /* no request is larger than this; UINT64_MAX: unknown */
    uint64_t taken_bytes;   /* the largest accepted */
    uint64_t careful_bytes; /* as refused_bytes, while connections break */
    unsigned lost_in_a_row;
};

enum { ES_LIMIT_LOST_IN_A_ROW = 3 };

void es_limit_init(struct es_limit *limit);

/* The largest request to try now. */
uint64_t es_limit_bytes(const struct es_limit *limit);

/* Result of a request of ${bytes}: an item per record, 413, or no answer. */
void es_limit_taken(struct es_limit *limit, uint64_t bytes);
void es_limit_refused(struct es_limit *limit, uint64_t bytes);
void es_limit_lost(struct es_limit *limit, uint64_t bytes);

#endif
