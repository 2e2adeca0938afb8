#include "store/state/stage.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/grow.h"
#include "base/map.h"
#include "store/state/stage_entry.h"

/* An item is one block: the entry, its key as bytes for the map, and copies of its texts. The map's
 * views of a key live as long as the item, which a newer one replaces in both places at once. */
struct stage_item {
    struct stage_entry entry;
    size_t place;
    size_t bytes;
    struct span key;
    uint8_t data[];
};

static const struct {
    size_t numbers;
    size_t texts;
    size_t rises; /* the number at this place, from 1, never goes back */
} keys[STAGE_KINDS] = {
    [STAGE_SOURCE] = {1, 1, 2},
    [STAGE_STATE] = {0, 1, 0},
    [STAGE_LIVE] = {0, 1, 1},
    [STAGE_DONE] = {0, 2, 0},
    [STAGE_GAP] = {0, 5, 0},
    [STAGE_LEFTOVER] = {2, 0, 0},
    [STAGE_REMOVED] = {1, 0, 0},
    [STAGE_PROGRESS] = {0, 1, 0},
};

/* Bytes of a key beside its texts: kind, numbers and the texts' sizes. */
enum { KEY_MAX_FIXED_BYTES = 1 + 2 * 8 + 5 * 8, MAX_ITEMS = 1 << 20 };

struct stage {
    struct stage_item **items;
    size_t count;
    size_t capacity;
    struct map by_key;
    size_t bytes;
    size_t max_bytes;
};

struct stage *stage_create(size_t max_bytes)
{
    struct stage *stage = malloc(sizeof(*stage));
    if (stage) {
        *stage = (struct stage){.max_bytes = max_bytes};
        map_init(&stage->by_key, MAX_ITEMS);
    }
    return stage;
}

void stage_destroy(struct stage *stage)
{
    if (stage) {
        stage_clear(stage, NULL);
        free(stage->items);
        map_fini(&stage->by_key);
        free(stage);
    }
}

size_t stage_bytes(const struct stage *stage)
{
    return stage->bytes;
}

static uint8_t *add(uint8_t *at, const void *data, size_t size)
{
    if (size) {
        memcpy(at, data, size);
    }
    return at + size;
}

static size_t key_bytes(const struct stage_entry *entry)
{
    size_t bytes = KEY_MAX_FIXED_BYTES;
    for (size_t i = 0; i < keys[entry->kind].texts; i++) {
        bytes += entry->texts[i].size;
    }
    return bytes;
}

/* Writes the key at ${at} and returns its end. */
static uint8_t *put_key(uint8_t *at, const struct stage_entry *entry)
{
    *at++ = (uint8_t)entry->kind;
    for (size_t i = 0; i < keys[entry->kind].numbers; i++) {
        at = add(at, &entry->numbers[i], sizeof(entry->numbers[i]));
    }
    for (size_t i = 0; i < keys[entry->kind].texts; i++) {
        uint64_t size = entry->texts[i].size;
        at = add(at, &size, sizeof(size));
        at = add(at, entry->texts[i].data, entry->texts[i].size);
    }
    return at;
}

static struct stage_item *make_item(const struct stage_entry *entry)
{
    size_t bytes = sizeof(struct stage_item) + key_bytes(entry);
    for (size_t i = 0; i < STAGE_TEXTS; i++) {
        bytes += entry->texts[i].size;
    }
    struct stage_item *item = malloc(bytes);
    if (!item) {
        return NULL;
    }
    item->entry = *entry;
    item->bytes = bytes;
    uint8_t *at = put_key(item->data, entry);
    item->key = span_make(item->data, (size_t)(at - item->data));
    for (size_t i = 0; i < STAGE_TEXTS; i++) {
        item->entry.texts[i] = span_make(at, entry->texts[i].size);
        at = add(at, entry->texts[i].data, entry->texts[i].size);
    }
    return item;
}

static bool is_behind(const struct stage_entry *entry, const struct stage_entry *old)
{
    size_t rises = keys[entry->kind].rises;
    bool may_fall = entry->kind == STAGE_SOURCE && entry->numbers[2];
    return rises && !may_fall && entry->numbers[rises - 1] < old->numbers[rises - 1];
}

bool stage_put(struct stage *stage, const struct stage_entry *entry, struct error *err)
{
    struct stage_item *item = make_item(entry);
    if (!item ||
        !grow_list(&stage->items, stage->count, &stage->capacity, sizeof(struct stage_item *))) {
        free(item);
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    struct stage_item *old = map_get(&stage->by_key, item->key);
    if (old && is_behind(entry, &old->entry)) {
        free(item);
        return true;
    }
    size_t bytes = stage->bytes - (old ? old->bytes : 0);
    if (item->bytes > stage->max_bytes || bytes > stage->max_bytes - item->bytes) {
        free(item);
        return error_set(
            err, ERR_LIMIT, "more than %zu bytes wait to be committed", stage->max_bytes);
    }
    if (!map_put(&stage->by_key, item->key, item)) {
        free(item);
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    item->place = old ? old->place : stage->count++;
    stage->items[item->place] = item;
    stage->bytes = bytes + item->bytes;
    free(old);
    return true;
}

/* With a key of numbers; ${second} is 0 for a key of one number. */
static const struct stage_entry *find(
    const struct stage *stage, enum stage_kind kind, uint64_t first, uint64_t second)
{
    const struct stage_entry entry = {.kind = kind, .numbers = {first, second}};
    uint8_t key[KEY_MAX_FIXED_BYTES];
    const uint8_t *end = put_key(key, &entry);
    const struct stage_item *item = map_get(&stage->by_key, span_make(key, (size_t)(end - key)));
    return item ? &item->entry : NULL;
}

bool stage_is_removed(const struct stage *stage, uint64_t batch)
{
    return find(stage, STAGE_REMOVED, batch, 0) != NULL;
}

const struct span *stage_left(const struct stage *stage, uint64_t output, uint64_t batch)
{
    const struct stage_entry *entry = find(stage, STAGE_LEFTOVER, output, batch);
    return entry ? &entry->texts[0] : NULL;
}

const struct stage_entry *stage_at(const struct stage *stage, size_t index)
{
    return index < stage->count ? &stage->items[index]->entry : NULL;
}

void stage_clear(struct stage *stage, bool (*keep)(const struct stage_entry *entry))
{
    size_t kept = 0;
    map_clear(&stage->by_key);
    stage->bytes = 0;
    for (size_t i = 0; i < stage->count; i++) {
        struct stage_item *item = stage->items[i];
        /* The map has room for what it has just held. */
        if (keep && keep(&item->entry) && map_put(&stage->by_key, item->key, item)) {
            item->place = kept;
            stage->items[kept++] = item;
            stage->bytes += item->bytes;
        } else {
            free(item);
        }
    }
    stage->count = kept;
}
