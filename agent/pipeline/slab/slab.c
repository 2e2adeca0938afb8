#include "pipeline/slab/slab.h"

#include <stdlib.h>

#include "pipeline/record/record_copy.h"

struct item_head {
    size_t size; /* of all of it: head, record, frames */
    uint32_t frame_count;
};

enum { ALIGNMENT = _Alignof(max_align_t) };

static size_t align(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

struct slab *slab_create(
    enum slab_kind kind, uint32_t session, size_t capacity, struct block_pool *pool)
{
    size_t block_bytes;
    struct slab *slab = block_pool_take(pool, sizeof(*slab) + capacity, &block_bytes);
    if (slab) {
        *slab = (struct slab){.kind = kind,
            .session = session,
            .capacity = capacity,
            .pool = pool,
            .block_bytes = block_bytes};
    }
    return slab;
}

void slab_clear_pieces(struct slab *slab)
{
    for (size_t i = 0; i < slab->piece_count; i++) {
        piece_fini(&slab->pieces[i]);
        roll_list_destroy(slab->rolls[i]);
    }
    free(slab->pieces);
    free(slab->rolls);
    slab->pieces = NULL;
    slab->rolls = NULL;
    slab->piece_count = 0;
}

void slab_destroy(struct slab *slab)
{
    if (slab) {
        slab_clear_pieces(slab);
        if (slab->in_flight) {
            atomic_fetch_sub(slab->in_flight, 1);
        }
        block_pool_give(slab->pool, slab, slab->block_bytes, slab->block_bytes);
    }
}

size_t slab_item_size(const struct event_record *record, uint32_t frame_count)
{
    return align(align(sizeof(struct item_head)) + record_copy_size(record) +
                 frame_count * sizeof(uint64_t));
}

void slab_add(struct slab *slab, const struct event_record *record, const uint64_t *frames,
    uint32_t frame_count, size_t size, uint64_t sequence)
{
    uint8_t *at = (uint8_t *)slab->memory + slab->used;
    struct item_head *head = (struct item_head *)(void *)at;
    head->size = size;
    head->frame_count = frame_count;
    uint8_t *copy = at + align(sizeof(*head));
    record_copy_make(record, copy)->sequence = sequence;
    time_range_add(&slab->times, (struct time_range){record->time, record->time});
    if (frame_count) {
        memcpy(copy + record_copy_size(record), frames, frame_count * sizeof(*frames));
    }
    slab->used += size;
    slab->count++;
}

bool slab_next(const struct slab *slab, size_t *cursor, struct slab_item *ret_item)
{
    if (*cursor >= slab->used) {
        return false;
    }
    const uint8_t *at = (const uint8_t *)slab->memory + *cursor;
    const struct item_head *head = (const struct item_head *)(const void *)at;
    const uint8_t *copy = at + align(sizeof(*head));
    ret_item->record = (const struct event_record *)(const void *)copy;
    ret_item->frame_count = head->frame_count;
    ret_item->frames = NULL;
    if (head->frame_count) {
        ret_item->frames = (const uint64_t *)(const void *)(copy +
                                                            record_copy_size(ret_item->record));
    }
    *cursor += head->size;
    return true;
}
