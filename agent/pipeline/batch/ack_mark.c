#include "pipeline/batch/ack_mark.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum { MAX_EARLY = 8192 };

/* A batch that is settled while an earlier one is not. */
struct ack_mark_early {
    uint64_t number;
    struct batch_segment *segments;
    size_t segment_count;
};

bool ack_mark_init(struct ack_mark *mark, size_t session_count, const uint64_t *resume)
{
    *mark = (struct ack_mark){.next_number = 1};
    mark->acked = calloc(session_count + 1, sizeof(*mark->acked));
    for (size_t i = 0; mark->acked && resume && i < session_count; i++) {
        mark->acked[i] = resume[i];
    }
    return mark->acked != NULL;
}

void ack_mark_fini(struct ack_mark *mark)
{
    for (size_t i = 0; i < mark->early_count; i++) {
        free(mark->early[i].segments);
    }
    free(mark->early);
    free(mark->acked);
}

static void apply(struct ack_mark *mark, const struct batch_segment *segments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t *acked = &mark->acked[segments[i].session];
        *acked = segments[i].last_sequence > *acked ? segments[i].last_sequence : *acked;
    }
}

/* Apply the batch that is next by now, if it is among those that were early. */
static bool apply_early(struct ack_mark *mark)
{
    for (size_t i = 0; i < mark->early_count; i++) {
        struct ack_mark_early early = mark->early[i];
        if (early.number == mark->next_number) {
            size_t last = --mark->early_count;
            mark->early[i] = mark->early[last];
            mark->early[last] = (struct ack_mark_early){.segments = NULL};
            apply(mark, early.segments, early.segment_count);
            free(early.segments);
            mark->next_number++;
            return true;
        }
    }
    return false;
}

static bool add_early(struct ack_mark *mark, const struct batch *batch)
{
    if (mark->early_count == MAX_EARLY ||
        !grow_list(&mark->early, mark->early_count, &mark->early_capacity, sizeof(*mark->early))) {
        return false;
    }
    struct ack_mark_early early = {.number = batch->number, .segment_count = batch->segment_count};
    size_t size = batch->segment_count * sizeof(*early.segments);
    early.segments = malloc(size ? size : 1);
    if (!early.segments) {
        return false;
    }
    if (size) {
        memcpy(early.segments, batch->segments, size);
    }
    mark->early[mark->early_count++] = early;
    return true;
}

bool ack_mark_settle(struct ack_mark *mark, const struct batch *batch)
{
    if (batch->number != mark->next_number) {
        return add_early(mark, batch);
    }
    apply(mark, batch->segments, batch->segment_count);
    mark->next_number++;
    while (apply_early(mark)) {}
    return true;
}

bool ack_mark_has_room(const struct ack_mark *mark, size_t batches)
{
    return mark->early_count + batches <= MAX_EARLY;
}

void ack_mark_settle_segments(struct ack_mark *mark, const struct batch *batch, size_t count)
{
    if (batch->number == mark->next_number) {
        apply(mark, batch->segments, count);
    }
}
