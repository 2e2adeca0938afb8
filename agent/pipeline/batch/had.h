#ifndef ETWSHIP_PIPELINE_HAD_H
#define ETWSHIP_PIPELINE_HAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What an output had of a session in earlier runs, and so leaves out of what it is given again: events up
 * to a number, but none of batches up to the one that was the last then, as those waited for it meanwhile.
 * Where that happens again before it has taken them, what was said first still holds: for batches between
 * the two.
 */
enum {
    HAD_STEPS = 4
}; /* of more the one before the last is dropped: what it covers may come twice */

struct had_step {
    uint64_t number; /* up to here it had everything … */
    uint64_t behind; /* … but of no batch up to this one */
};

struct had {
    struct had_step steps[HAD_STEPS]; /* ascending in both */
    size_t count;
};

/* The highest number; 0: it had nothing. */
static inline uint64_t had_number(const struct had *had)
{
    return had->count ? had->steps[had->count - 1].number : 0;
}

/* It had everything up to ${number}, and ${behind} is the last batch that there is. Where it was known to
 * have had less, that stays; where more, it is no more than this; where as much, nothing changes. */
void had_set(struct had *had, uint64_t number, uint64_t behind);

/* Had it what batch ${batch} has of its session, up to ${number}? */
bool had_covers(const struct had *had, uint64_t batch, uint64_t number);

#endif
