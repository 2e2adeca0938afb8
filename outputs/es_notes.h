#ifndef ETWSHIP_OUTPUTS_ES_NOTES_H
#define ETWSHIP_OUTPUTS_ES_NOTES_H

#include "base/buf.h"
#include "outputs/output.h"

/*
 * Why records are refused, kept until it is certain that they are: a reply counts only as a whole.
 * Notes that find no room go without their texts or get lost; their records are rejected without a
 * reason. One thread.
 */
struct es_notes {
    struct buf bytes;
};

void es_notes_init(struct es_notes *notes);
void es_notes_fini(struct es_notes *notes);
void es_notes_reset(struct es_notes *notes);

/* ${why} is copied. */
void es_notes_add(struct es_notes *notes, size_t record, const struct output_rejection *why);

/* What a later es_notes_forget takes back: all that is noted from here on. */
static inline size_t es_notes_mark(const struct es_notes *notes)
{
    return notes->bytes.size;
}

void es_notes_forget(struct es_notes *notes, size_t mark);

/* Tell the host of every record that ${statuses} says is rejected. */
void es_notes_tell(const struct es_notes *notes, const enum record_status *statuses,
    const struct output_report *report);

#endif
