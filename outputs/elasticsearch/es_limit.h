#ifndef ETWSHIP_OUTPUTS_ES_LIMIT_H
#define ETWSHIP_OUTPUTS_ES_LIMIT_H

#include <stdint.h>

/*
 * How large a request may be, as far as the answers to those before tell. Sizes are those of bodies
 * before compression, which is what servers count.
 *
 * A 413 is remembered: no request is made as large again, and the largest that was taken counts.
 * Many a server and proxy that finds a body too large closes the connection instead, or too early for
 * its 413 to arrive. So where connections break time and again, less is sent at a time, too; that
 * wears off with what is taken.
 */
struct es_limit {
    uint64_t refused_bytes; /* no request larger than this; UINT64_MAX: not known */
    uint64_t taken_bytes;   /* the largest that was taken */
    uint64_t careful_bytes; /* as refused_bytes, while connections break */
    unsigned lost_in_a_row;
};

enum { ES_LIMIT_LOST_IN_A_ROW = 3 };

void es_limit_init(struct es_limit *limit);

/* The largest request to try now. */
uint64_t es_limit_bytes(const struct es_limit *limit);

/* A request of ${bytes} was answered: each record got its item, 413, or nothing came. */
void es_limit_taken(struct es_limit *limit, uint64_t bytes);
void es_limit_refused(struct es_limit *limit, uint64_t bytes);
void es_limit_lost(struct es_limit *limit, uint64_t bytes);

#endif
