#include "pipeline/slab/rollups.h"

#include <stdlib.h>

struct rollups {
    size_t session_count;
    size_t stream_count;
    struct rollup *items[]; /* [session * stream_count + stream] */
};

struct rollups *rollups_create(size_t session_count, size_t stream_count, struct error *err)
{
    size_t count = session_count * stream_count;
    struct rollups *rollups = calloc(1, sizeof(*rollups) + count * sizeof(rollups->items[0]));
    if (!rollups) {
        error_set(err, ERR_MEMORY, "out of memory for batches");
        return NULL;
    }
    rollups->session_count = session_count;
    rollups->stream_count = stream_count;
    return rollups;
}

void rollups_destroy(struct rollups *rollups)
{
    for (size_t i = 0; rollups && i < rollups->session_count * rollups->stream_count; i++) {
        rollup_destroy(rollups->items[i]);
    }
    free(rollups);
}

struct rollup *rollups_of(const struct rollups *rollups, size_t session, size_t stream)
{
    return rollups->items[session * rollups->stream_count + stream];
}

struct rolled rollups_take_slab(struct rollups *rollups, struct slab *slab, size_t piece,
    size_t stream, bool replayable, uint64_t now_ns)
{
    struct rolled rolled = {.events = 0};
    struct roll_list *list = slab->rolls[piece];
    struct rollup **rollup = &rollups->items[slab->session * rollups->stream_count + stream];
    if (list && !*rollup) {
        *rollup = rollup_create(list->texts.route_count, replayable);
    }
    if (*rollup) {
        rollup_feed(*rollup, now_ns);
    }
    size_t left = 0;
    for (size_t i = 0; list && i < list->count; i++) {
        uint64_t absorbed = list->items[i].count - 1;
        rolled.events += list->items[i].count;
        if (!*rollup || !rollup_add(*rollup, list, i, &absorbed)) {
            list->left[left++] = (uint16_t)i;
        }
        rolled.absorbed += absorbed;
    }
    if (list) {
        list->left_count = left;
    }
    return rolled;
}
