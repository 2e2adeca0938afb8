#include "pipeline/stack_keys.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/reader.h"

enum {
    TYPE_CREATE = 0x22,
    TYPE_DELETE = 0x23,
    TYPE_RUNDOWN = 0x24,
    MAX_BYTES = 8 * 1024 * 1024,
    MAX_KEYS = 262144,
    MAX_FRAMES = 1024,
    MAX_STEPS = 4096, /* definitions of one key that are looked at */
};

struct definition {
    struct definition *next; /* of the same key, ascending by time */
    int64_t time;
    uint64_t key[2]; /* map key of the first one: stack key, trace */
    uint8_t type;
    bool used;
    uint32_t count;
    uint64_t frames[];
};

struct stack_keys {
    struct arena arena;
    struct map map; /* key -> first definition */
};

struct stack_keys *stack_keys_create(void)
{
    struct stack_keys *keys = calloc(1, sizeof(*keys));
    if (keys) {
        arena_init(&keys->arena, MAX_BYTES);
        map_init(&keys->map, MAX_KEYS);
    }
    return keys;
}

void stack_keys_destroy(struct stack_keys *keys)
{
    if (keys) {
        arena_fini(&keys->arena);
        map_fini(&keys->map);
        free(keys);
    }
}

static uint64_t read_pointer(struct reader *r, const struct event_record *record)
{
    return record->pointer_size == 8 ? reader_u64(r) : reader_u32(r);
}

static struct definition *first_of(
    const struct stack_keys *keys, const struct trace_info *trace, uint64_t key)
{
    uint64_t full[2] = {key, (uintptr_t)trace};
    return map_get(&keys->map, span_make(full, sizeof(full)));
}

static struct definition *make(
    struct stack_keys *keys, const struct event_record *record, uint64_t key, struct reader *r)
{
    size_t count = reader_left(r) / record->pointer_size;
    count = count > MAX_FRAMES ? MAX_FRAMES : count;
    struct definition *d = arena_alloc(&keys->arena, sizeof(*d) + count * sizeof(d->frames[0]));
    if (d) {
        d->time = record->time_raw;
        d->key[0] = key;
        d->key[1] = (uintptr_t)record->trace;
        d->type = (uint8_t)record->hook_id;
        d->count = (uint32_t)count;
        for (size_t i = 0; i < count; i++) {
            d->frames[i] = read_pointer(r, record);
        }
    }
    return d;
}

bool stack_keys_learn(struct stack_keys *keys, const struct event_record *record)
{
    uint8_t type = (uint8_t)record->hook_id;
    struct reader r = reader_make(record->payload);
    uint64_t key = read_pointer(&r, record);
    if (type < TYPE_CREATE || type > TYPE_RUNDOWN || r.failed) {
        return false;
    }
    struct definition *before = NULL;
    struct definition *after = first_of(keys, record->trace, key);
    for (size_t steps = 0; after && after->time < record->time_raw; steps++) {
        if (steps == MAX_STEPS) {
            return false;
        }
        before = after;
        after = after->next;
    }
    if (after && after->time == record->time_raw && after->type == type) {
        return true;
    }
    struct definition *d = make(keys, record, key, &r);
    if (!d) {
        return false;
    }
    d->next = after;
    if (before) {
        before->next = d;
        return true;
    }
    return map_put(&keys->map, span_make(d->key, sizeof(d->key)), d);
}

const uint64_t *stack_keys_find(struct stack_keys *keys, const struct trace_info *trace,
    uint64_t key, int64_t time, uint32_t *ret_count)
{
    struct definition *found = NULL;
    size_t steps = 0;
    for (struct definition *d = first_of(keys, trace, key); d && steps < MAX_STEPS; d = d->next) {
        steps++;
        if (d->time >= time && d->type != TYPE_CREATE) {
            found = d;
            break;
        }
        if (d->type == TYPE_CREATE) {
            if (found && d->time > time) {
                break; /* the key's next life */
            }
            found = d;
        } else if (d->type == TYPE_DELETE && d->time < time) {
            found = NULL;
        }
    }
    if (!found) {
        return NULL;
    }
    found->used = true;
    *ret_count = found->count;
    return found->frames;
}

bool stack_keys_used(const struct stack_keys *keys, const struct event_record *record)
{
    struct reader r = reader_make(record->payload);
    uint64_t key = read_pointer(&r, record);
    size_t steps = 0;
    for (struct definition *d = first_of(keys, record->trace, key); d && steps < MAX_STEPS;
         d = d->next) {
        steps++;
        if (d->time == record->time_raw && d->type == (uint8_t)record->hook_id) {
            return d->used;
        }
    }
    return false;
}
