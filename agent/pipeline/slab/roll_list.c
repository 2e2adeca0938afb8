#include "pipeline/slab/roll_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct roll_list *roll_list_create(size_t route_count)
{
    struct roll_list *list = calloc(1, sizeof(*list));
    if (list && !piece_init(&list->texts, route_count, NULL)) {
        roll_list_destroy(list);
        return NULL;
    }
    return list;
}

void roll_list_destroy(struct roll_list *list)
{
    if (list) {
        piece_fini(&list->texts);
        free(list->items);
        free(list);
    }
}

bool roll_key_equal(const struct roll_key *a, const struct roll_key *b)
{
    return a->values == b->values && a->begin == b->begin && a->length == b->length &&
           a->gate == b->gate && a->rule == b->rule;
}

uint64_t roll_key_hash(const struct roll_key *key)
{
    /* `values` is a hash. The others tell few keys apart. */
    uint64_t hash = key->values ^ (key->begin / key->length + 1) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= ((uint64_t)key->gate << 32 | key->rule) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return hash ^ hash >> 29;
}

/* The slot that the key is at, or may have. */
static uint16_t *slot_of(struct roll_list *list, const struct roll_key *key)
{
    size_t at = (size_t)(roll_key_hash(key) % ROLL_LIST_SLOTS);
    while (list->slots[at] && !roll_key_equal(&list->items[list->slots[at] - 1].key, key)) {
        at = (at + 1) % ROLL_LIST_SLOTS;
    }
    return &list->slots[at];
}

bool roll_list_count(struct roll_list *list, const struct roll_key *key, uint64_t time)
{
    uint16_t index = *slot_of(list, key);
    if (!index) {
        return false;
    }
    struct roll *roll = &list->items[index - 1];
    roll->count++;
    time_range_add(&roll->times, (struct time_range){.from = time, .to = time});
    return true;
}

bool roll_list_has_room(struct roll_list *list)
{
    return list->count < ROLL_LIST_MAX && list->texts.bytes.size <= PIECE_FULL_BYTES &&
           grow_list(&list->items, list->count, &list->capacity, sizeof(*list->items));
}

void roll_list_add(
    struct roll_list *list, const struct roll_key *key, uint64_t sequence, uint64_t time)
{
    list->items[list->count] = (struct roll){
        .key = *key, .count = 1, .sequence = sequence, .times = {.from = time, .to = time}};
    uint16_t *slot = slot_of(list, key);
    *slot = (uint16_t)(++list->count);
}
