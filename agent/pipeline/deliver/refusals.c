#include "pipeline/deliver/refusals.h"

#include <stdlib.h>

/* A text is a place in `text`: one reason for thousands of records is kept once. */
struct place {
    uint32_t start;
    uint32_t size;
};

struct refusal_note {
    uint64_t round;
    int status;
    struct place type;
    struct place reason;
    struct place index;
};

void refusals_init(struct refusals *refusals)
{
    *refusals = (struct refusals){.notes = NULL};
    buf_init(&refusals->text, REFUSALS_MAX_BYTES);
}

void refusals_fini(struct refusals *refusals)
{
    buf_fini(&refusals->text);
    free(refusals->notes);
}

void refusals_begin(struct refusals *refusals, size_t count)
{
    buf_reset(&refusals->text);
    refusals->round++;
    refusals->last = NULL;
    if (count > refusals->capacity) {
        free(refusals->notes); /* made anew, so large, when it is needed */
        refusals->notes = NULL;
        refusals->capacity = count;
    }
}

static struct span text_at(const struct refusals *refusals, struct place place)
{
    return place.size ? span_make(refusals->text.data + place.start, place.size)
                      : span_make(NULL, 0);
}

/* Without its last character where that is cut. */
static struct span cut(struct span text, size_t max)
{
    if (text.size <= max) {
        return text;
    }
    size_t end = max;
    while (end && (text.data[end] & 0xc0) == 0x80) {
        end--;
    }
    return span_first(text, end ? end : max);
}

static struct place keep(struct refusals *refusals, struct span text, struct place last)
{
    if (refusals->last && span_equal(text_at(refusals, last), text)) {
        return last;
    }
    if (text.size == 0 || !buf_reserve(&refusals->text, text.size)) {
        return (struct place){.size = 0};
    }
    struct place place = {.start = (uint32_t)refusals->text.size, .size = (uint32_t)text.size};
    buf_add_span(&refusals->text, text);
    return place;
}

void refusals_add(struct refusals *refusals, size_t record, const struct output_rejection *why)
{
    if (!refusals->notes) {
        refusals->notes = calloc(refusals->capacity + 1, sizeof(*refusals->notes));
    }
    if (!refusals->notes || record >= refusals->capacity) {
        return;
    }
    struct refusal_note last = refusals->last ? *refusals->last : (struct refusal_note){.round = 0};
    struct refusal_note *note = &refusals->notes[record];
    *note = (struct refusal_note){.round = refusals->round,
        .status = why->status,
        .type = keep(refusals, cut(why->type, REFUSAL_TYPE_MAX_BYTES), last.type),
        .reason = keep(refusals, cut(why->reason, REFUSAL_REASON_MAX_BYTES), last.reason),
        .index = keep(refusals, cut(why->index, REFUSAL_INDEX_MAX_BYTES), last.index)};
    refusals->last = note;
}

void refusals_move(struct refusals *refusals, size_t from, size_t to)
{
    if (refusals->notes && from < refusals->capacity && to <= from) {
        refusals->notes[to] = refusals->notes[from];
    }
}

struct output_rejection refusals_why(const struct refusals *refusals, size_t record)
{
    struct output_rejection why = {.status = 0};
    if (!refusals->notes || record >= refusals->capacity) {
        return why;
    }
    const struct refusal_note *note = &refusals->notes[record];
    if (note->round == refusals->round) {
        why.status = note->status;
        why.type = text_at(refusals, note->type);
        why.reason = text_at(refusals, note->reason);
        why.index = text_at(refusals, note->index);
    }
    return why;
}
