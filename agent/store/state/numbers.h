#ifndef ETWSHIP_STORE_NUMBERS_H
#define ETWSHIP_STORE_NUMBERS_H

#include "store/catalogue/catalogue.h"
#include "store/disk/segments.h"

/*
 * The numbers of batches and records, and the epoch that makes them unlike those of other spools.
 *
 * Numbers are given out when a batch is appended. Before the first frame of a run is written, the
 * catalogue says, in a transaction of its own, which epoch it is and up to where numbers may be
 * given out, and again when they are used up. So a run that ends without a word leaves a hole, and
 * none begins within the numbers of another, whatever became of files that were not committed.
 *
 * One thread at a time.
 */
struct numbers;

/* Numbers are below this, as the catalogue wants it, with room to add them. */
#define NUMBERS_END (UINT64_C(1) << 61)

/* False with ${err} set: the catalogue would refuse the number. */
bool numbers_check(uint64_t number, struct error *err);

struct numbers *numbers_create(void); /* NULL: out of memory */
void numbers_destroy(struct numbers *numbers);

/* At the start: numbers continue after all that may have been given out, in a new epoch. */
bool numbers_begin(struct numbers *numbers, struct catalogue *catalogue, struct segments *segments,
    struct error *err);

uint64_t numbers_epoch(const struct numbers *numbers);

/* Of the committed batches, or an id without a batch after them. */
uint64_t numbers_last_id(const struct numbers *numbers);

/* Those of the next batch, which get used by numbers_take. False with ${err} set: none are left. */
bool numbers_next(
    const struct numbers *numbers, uint64_t *ret_id, uint64_t *ret_first_record, struct error *err);
void numbers_take(struct numbers *numbers, uint32_t records);

/* Does the catalogue know the epoch, and all numbers that were given out? If not it gets both, in a
 * transaction of its own. */
bool numbers_are_reserved(const struct numbers *numbers);
bool numbers_reserve(struct numbers *numbers, struct catalogue *catalogue, struct error *err);

/* Batches up to ${last_id} were committed. */
void numbers_committed(struct numbers *numbers, uint64_t last_id);

/* The catalogue was made again: it does not know the epoch. */
void numbers_unwritten(struct numbers *numbers);

/* The clock was set: a new epoch is to begin. numbers_turn begins it, where nothing is pending. */
void numbers_want_epoch(struct numbers *numbers);
void numbers_turn(struct numbers *numbers, struct segments *segments);

#endif
