#ifndef ETWSHIP_OUTPUTS_REJECTIONS_H
#define ETWSHIP_OUTPUTS_REJECTIONS_H

#include "base/buf.h"
#include "outputs/output.h"

/*
 * Reasons of refused records, kept until the refusal is final: only a complete reply counts. Beyond
 * the memory limit, notes lose their texts or are dropped; their records are rejected without a
 * reason. One thread.
 */
struct rejections {
    struct buf bytes;
};

void rejections_init(struct rejections *notes);
void rejections_fini(struct rejections *notes);
void rejections_reset(struct rejections *notes);

/* ${why} is copied. */
void rejections_add(struct rejections *notes, size_t record, const struct output_rejection *why);

/* A mark: rejections_remove_after drops all notes added after it. */
static inline size_t rejections_mark(const struct rejections *notes)
{
    return notes->bytes.size;
}

void rejections_remove_after(struct rejections *notes, size_t mark);

/* Report every record that is rejected, blocked or held in ${statuses} to the host. */
void rejections_tell(const struct rejections *notes, const enum record_status *statuses,
    const struct output_report *report);

#endif
