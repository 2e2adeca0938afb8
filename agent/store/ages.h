#ifndef ETWSHIP_STORE_AGES_H
#define ETWSHIP_STORE_AGES_H

#include "store/chains.h"
#include "store/pending.h"
#include "store/report.h"
#include "store/state/numbers.h"

/* How old batches are, and for how long outputs were not open, whatever happens to the clock. One
 * thread at a time. */
struct ages;

/* Of ${settings}: the clock and max_age. A step of the clock changes ${chains} and ${pending} at
 * once and begins an epoch. NULL: out of memory. */
struct ages *ages_create(const struct store_settings *settings, struct chains *chains,
    struct pending *pending, struct numbers *numbers, const struct report *report);
void ages_destroy(struct ages *ages);

/* The time as FILETIME. A clock change is reported, and the next commit handles it. */
uint64_t ages_now(struct ages *ages);
uint64_t ages_monotonic_ms(const struct ages *ages);

/* At the start: nothing entered in the future. */
bool ages_begin(struct ages *ages, struct catalogue *catalogue, struct error *err);

/* What the catalogue says of ages is to be changed: inside a transaction; that was committed. */
bool ages_are_changed(const struct ages *ages);
bool ages_write(const struct ages *ages, struct catalogue *catalogue, struct error *err);
void ages_written(struct ages *ages);

/* Batches that entered before this time are too old; 0: none. */
uint64_t ages_oldest_allowed(struct ages *ages);

#endif
