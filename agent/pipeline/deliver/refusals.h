#ifndef ETWSHIP_PIPELINE_REFUSALS_H
#define ETWSHIP_PIPELINE_REFUSALS_H

#include "outputs/output.h"

/*
 * The reasons of a destination for rejected records, collected during one call of send. The verdict
 * decides which of them count in the end. Bounded: long texts are cut, and without room only the
 * status is kept. One thread.
 */
struct refusal_note;

struct refusals {
    struct buf text;
    struct refusal_note *notes; /* by record of the delivery; NULL: nothing was ever refused */
    size_t capacity;
    uint64_t round; /* of the call: notes of earlier ones are void */
    const struct refusal_note *last;
};

enum {
    REFUSAL_TYPE_MAX_BYTES = 256,
    REFUSAL_REASON_MAX_BYTES = 4096,
    REFUSAL_INDEX_MAX_BYTES = 512,
    REFUSALS_MAX_BYTES = 1024 * 1024, /* all texts of a call */
};

void refusals_init(struct refusals *refusals);
void refusals_fini(struct refusals *refusals);

/* A call of send begins, for ${count} records: remove what earlier calls added. */
void refusals_begin(struct refusals *refusals, size_t count);

/* Record ${record} is refused; a later word on the same record replaces an earlier one. One that
 * the delivery has not is ignored. */
void refusals_add(struct refusals *refusals, size_t record, const struct output_rejection *why);

/* Record ${from} of the delivery became its record ${to}; records are moved in order, to the
 * front. */
void refusals_move(struct refusals *refusals, size_t from, size_t to);

/* Why record ${record} is refused: all zero where nothing was said. Valid until the next add. */
struct output_rejection refusals_why(const struct refusals *refusals, size_t record);

#endif
