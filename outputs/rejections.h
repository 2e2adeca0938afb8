#ifndef ETWSHIP_OUTPUTS_REJECTIONS_H
#define ETWSHIP_OUTPUTS_REJECTIONS_H

#include "base/buf.h"
#include "outputs/output.h"

/*
 * Why records are refused, kept until it is certain that they are: a reply counts only as a whole.
 * Notes that find no room go without their texts or get lost; their records are rejected without a
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

/* What a later rejections_forget takes back: all that is noted from here on. */
static inline size_t rejections_mark(const struct rejections *notes)
{
    return notes->bytes.size;
}

void rejections_forget(struct rejections *notes, size_t mark);

/* Tell the host of every record that ${statuses} says is rejected, blocked or held. */
void rejections_tell(const struct rejections *notes, const enum record_status *statuses,
    const struct output_report *report);

#endif
