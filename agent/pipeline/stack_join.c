#include "pipeline/stack_join.h"

#include <stdlib.h>

#include "base/reader.h"
#include "pipeline/record_copy.h"
#include "pipeline/stack_keys.h"

/*
 * A ring of blocks in one piece of memory. A block is a held record or the frames of a stack; the
 * frames of an event lie behind it in the ring, so they are still there when it is handed on. A
 * small hash table by time stamp finds the event for a stack; its chains run through the blocks,
 * newest first.
 */
enum {
    HOOK_GROUP = 0x18,
    TYPE_STACK = 0x20,
    TYPE_KEY_FIRST = 0x22,
    TYPE_KEY_LAST = 0x24,
    TYPE_REFERENCE_KERNEL = 0x25,
    TYPE_REFERENCE_USER = 0x26,

    RING_BYTES = 8 * 1024 * 1024,
    SLACK_BYTES = 1024 * 1024, /* kept free, so that no event leaves because its stack comes */
    MAX_EVENTS = 65536,
    BUCKETS = 16384, /* a power of two */
    MAX_FRAMES = 1024,
    MAX_STEPS = 4096, /* along a chain: more events of one time stamp are not looked at */
    HOLD_100NS = 10000000,
    BLOCK_ALIGNMENT = _Alignof(max_align_t),
};

struct block {
    uint32_t size; /* bytes, header included; 0: the ring continues at its start */
    bool is_record;
    struct block *older; /* next in the chain of the bucket */
    uint64_t id;         /* ascending: tells whether `older` is still held */
    uint64_t older_id;
    struct block *frames; /* of a record: its joined stack */
    uint32_t count;       /* of frames */
};

struct stack_join {
    enum stack_walk_mode mode;
    stack_join_emit_fn *emit;
    void *emit_self;
    struct stack_keys *keys;
    struct stack_join_counts counts;

    uint8_t *ring;
    size_t head; /* offset of the next block */
    size_t tail; /* offset of the oldest one */
    size_t used; /* bytes, skipped ends included */
    size_t events;
    uint64_t next_id;
    uint64_t tail_id; /* id of the oldest block; next_id when empty */
    uint64_t newest;  /* FILETIME */
    struct block *buckets[BUCKETS];
    uint64_t bucket_ids[BUCKETS];
};

struct stack_join *stack_join_create(
    enum stack_walk_mode mode, stack_join_emit_fn *emit, void *emit_self, struct error *err)
{
    struct stack_join *join = calloc(1, sizeof(*join));
    if (join) {
        join->mode = mode;
        join->emit = emit;
        join->emit_self = emit_self;
        join->next_id = 1;
        join->tail_id = 1;
    }
    if (join && mode == STACK_WALK_JOIN) {
        join->keys = stack_keys_create();
        join->ring = malloc(RING_BYTES);
    }
    if (!join || (mode == STACK_WALK_JOIN && (!join->keys || !join->ring))) {
        stack_join_destroy(join);
        error_set(err, ERR_MEMORY, "out of memory for joining call stacks");
        return NULL;
    }
    return join;
}

void stack_join_destroy(struct stack_join *join)
{
    if (join) {
        stack_keys_destroy(join->keys);
        free(join->ring);
        free(join);
    }
}

struct stack_join_counts stack_join_counts(const struct stack_join *join)
{
    return join->counts;
}

/* ---- the ring ------------------------------------------------------------------------------------ */

static struct block *block_at(struct stack_join *join, size_t offset)
{
    return (struct block *)(void *)(join->ring + offset);
}

static struct event_record *record_of(struct block *block)
{
    return (
        struct event_record *)(void *)((uint8_t *)block + (sizeof(*block) + BLOCK_ALIGNMENT - 1) /
                                                              BLOCK_ALIGNMENT * BLOCK_ALIGNMENT);
}

static uint64_t *frames_of(struct block *block)
{
    return (uint64_t *)(void *)record_of(block);
}

static size_t block_size(size_t content)
{
    size_t header = (sizeof(struct block) + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT *
                    BLOCK_ALIGNMENT;
    return header + (content + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
}

/* Drop the oldest block, handing it on if it is an event. */
static bool pop(struct stack_join *join)
{
    struct block *block = block_at(join, join->tail);
    if (block->size == 0) {
        join->used -= RING_BYTES - join->tail;
        join->tail = 0;
        return true;
    }
    bool go_on = true;
    if (block->is_record) {
        join->events--;
        go_on = join->emit(join->emit_self, record_of(block),
            block->frames ? frames_of(block->frames) : NULL,
            block->frames ? block->frames->count : 0);
    }
    join->tail += block->size;
    join->used -= block->size;
    join->tail_id = block->id + 1;
    if (join->tail == RING_BYTES) {
        join->tail = 0;
    }
    return go_on;
}

/* Is there a gap of ${size} bytes at the head? Marks the end of the ring as skipped if needed. */
static bool fits(struct stack_join *join, size_t size)
{
    if (join->used == 0) {
        join->head = 0;
        join->tail = 0;
    }
    size_t free_bytes = RING_BYTES - join->used;
    if (join->head < join->tail || join->used == RING_BYTES) {
        return size <= free_bytes;
    }
    size_t to_end = RING_BYTES - join->head;
    if (size <= to_end) {
        return true;
    }
    if (size > free_bytes - to_end) {
        return false;
    }
    block_at(join, join->head)->size = 0;
    join->used += to_end;
    join->head = 0;
    return true;
}

/* A new block at the head, oldest ones handed on to make room. NULL: emit stopped, or it can never
 * fit (then *ret_go_on is true). */
static struct block *push_block(struct stack_join *join, size_t content, bool *ret_go_on)
{
    size_t size = block_size(content);
    *ret_go_on = true;
    if (size > RING_BYTES / 4) {
        return NULL;
    }
    while (!fits(join, size)) {
        if (!pop(join)) {
            *ret_go_on = false;
            return NULL;
        }
    }
    struct block *block = block_at(join, join->head);
    *block = (struct block){.size = (uint32_t)size, .id = join->next_id++};
    join->head += size;
    join->used += size;
    if (join->head == RING_BYTES) {
        join->head = 0;
    }
    return block;
}

bool stack_join_flush(struct stack_join *join)
{
    while (join->used) {
        if (!pop(join)) {
            return false;
        }
    }
    return true;
}

/* ---- matching ------------------------------------------------------------------------------------- */

static size_t bucket_of(int64_t time_raw)
{
    return (size_t)((uint64_t)time_raw * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (BUCKETS - 1);
}

struct stack_owner {
    const struct trace_info *trace;
    int64_t time_raw;
    uint32_t process_id;
    uint32_t thread_id;
    uint16_t cpu;
};

static bool is_owner(const struct event_record *record, const struct stack_owner *owner)
{
    if (record->time_raw != owner->time_raw || record->trace != owner->trace) {
        return false;
    }
    if (record->present & RECORD_HAS_THREAD) {
        return record->thread_id == owner->thread_id &&
               (!(record->present & RECORD_HAS_PROCESS) || record->process_id == owner->process_id);
    }
    return record->cpu == owner->cpu;
}

static struct block *find_owner(struct stack_join *join, const struct stack_owner *owner)
{
    size_t bucket = bucket_of(owner->time_raw);
    struct block *block = join->buckets[bucket];
    uint64_t id = join->bucket_ids[bucket];
    for (size_t steps = 0; block && id >= join->tail_id && steps < MAX_STEPS; steps++) {
        if (is_owner(record_of(block), owner)) {
            return block;
        }
        id = block->older_id;
        block = block->older;
    }
    return NULL;
}

/* Append frames to the event's stack: the kernel's part comes first, the user's second. */
static bool attach(
    struct stack_join *join, struct block *owner, const uint64_t *frames, uint32_t count)
{
    struct block *before = owner->frames;
    uint32_t kept = before ? before->count : 0;
    if (kept + count > MAX_FRAMES) {
        count = MAX_FRAMES - kept;
    }
    if (before && count == 0) {
        return true;
    }
    /* There is always room (SLACK_BYTES): the owner must not be handed on to make some. */
    size_t content = (kept + (size_t)count) * sizeof(*frames);
    bool go_on;
    struct block *block = fits(join, block_size(content)) ? push_block(join, content, &go_on)
                                                          : NULL;
    if (!block) {
        return false;
    }
    if (kept) {
        memcpy(frames_of(block), frames_of(before), kept * sizeof(*frames));
    }
    if (count) {
        memcpy(frames_of(block) + kept, frames, count * sizeof(*frames));
    }
    block->count = kept + count;
    owner->frames = block;
    return true;
}

static bool is_stack_walk(const struct event_record *record)
{
    return record->kind == RECORD_KERNEL && record->hook_id >> 8 == HOOK_GROUP;
}

/* Let the stacks of ${block} find it. */
static void link_owner(struct stack_join *join, struct block *block)
{
    size_t bucket = bucket_of(record_of(block)->time_raw);
    block->older = join->buckets[bucket];
    block->older_id = join->bucket_ids[bucket];
    join->buckets[bucket] = block;
    join->bucket_ids[bucket] = block->id;
}

static bool hold(struct stack_join *join, const struct event_record *record)
{
    bool go_on;
    if (record->time + HOLD_100NS < join->newest) {
        /* Time starts again, with the next file: what is held belongs to the one before. */
        if (!stack_join_flush(join)) {
            return false;
        }
        join->newest = record->time;
    }
    struct block *block = push_block(join, record_copy_size(record), &go_on);
    if (!block) {
        /* Larger than the ring is meant for: keep the order, hand it on directly. */
        return go_on && stack_join_flush(join) && join->emit(join->emit_self, record, NULL, 0);
    }
    record_copy_make(record, record_of(block));
    block->is_record = true;
    if (!is_stack_walk(record)) {
        link_owner(join, block);
    }
    join->events++;
    join->newest = record->time > join->newest ? record->time : join->newest;
    return true;
}

static bool oldest_is_due(struct stack_join *join)
{
    if (join->used == 0) {
        return false;
    }
    struct block *block = block_at(join, join->tail);
    if (block->size == 0 || !block->is_record) {
        return true;
    }
    return join->events > MAX_EVENTS || join->used > RING_BYTES - SLACK_BYTES ||
           record_of(block)->time + HOLD_100NS < join->newest;
}

/* ---- records ------------------------------------------------------------------------------------------ */

/* The stack that a record of type 0x20, 0x25 or 0x26 carries or refers to; false if unknown. */
static bool read_stack(struct stack_join *join, const struct event_record *record,
    struct stack_owner *ret_owner, uint64_t *own_frames, const uint64_t **ret_frames,
    uint32_t *ret_count)
{
    struct reader r = reader_make(record->payload);
    ret_owner->trace = record->trace;
    ret_owner->time_raw = (int64_t)reader_u64(&r);
    ret_owner->process_id = reader_u32(&r);
    ret_owner->thread_id = reader_u32(&r);
    ret_owner->cpu = record->cpu;
    size_t width = record->pointer_size;
    if ((uint8_t)record->hook_id != TYPE_STACK) {
        uint64_t key = width == 8 ? reader_u64(&r) : reader_u32(&r);
        *ret_frames = r.failed ? NULL
                               : stack_keys_find(join->keys, ret_owner->trace, key,
                                     ret_owner->time_raw, ret_count);
        return *ret_frames != NULL;
    }
    uint32_t count = 0;
    while (reader_left(&r) >= width && count < MAX_FRAMES) {
        own_frames[count++] = width == 8 ? reader_u64(&r) : reader_u32(&r);
    }
    *ret_frames = own_frames;
    *ret_count = count;
    return !r.failed;
}

/* Did the StackWalk record become part of an event (or of the key table, for one)? */
static bool joins(struct stack_join *join, const struct event_record *record)
{
    uint8_t type = (uint8_t)record->hook_id;
    if (type >= TYPE_KEY_FIRST && type <= TYPE_KEY_LAST) {
        stack_keys_learn(join->keys, record);
        return stack_keys_used(join->keys, record);
    }
    if (type != TYPE_STACK && type != TYPE_REFERENCE_KERNEL && type != TYPE_REFERENCE_USER) {
        return false;
    }
    struct stack_owner owner;
    uint64_t own_frames[MAX_FRAMES];
    const uint64_t *frames;
    uint32_t count;
    if (!read_stack(join, record, &owner, own_frames, &frames, &count)) {
        return false;
    }
    struct block *block = find_owner(join, &owner);
    return block && attach(join, block, frames, count);
}

void stack_join_learn(struct stack_join *join, const struct event_record *record)
{
    if (join->mode == STACK_WALK_JOIN && is_stack_walk(record)) {
        stack_keys_learn(join->keys, record);
    }
}

/* Hand on what need not be held any longer. False if emit stopped. */
static bool release(struct stack_join *join)
{
    while (oldest_is_due(join)) {
        if (!pop(join)) {
            return false;
        }
    }
    return true;
}

/* Nothing joins to ${record}, and nothing that is held stands before it. */
static bool passes_by(const struct stack_join *join, const struct event_record *record)
{
    return join->mode != STACK_WALK_JOIN ||
           (join->used == 0 && record->trace && !record->trace->has_stacks);
}

bool stack_join_push(struct stack_join *join, const struct event_record *record)
{
    if (join->mode != STACK_WALK_EVENTS && is_stack_walk(record)) {
        if (join->mode == STACK_WALK_DROP) {
            join->counts.dropped++;
            return true;
        }
        if (joins(join, record)) {
            join->counts.joined++;
            return release(join);
        }
        join->counts.unmatched++;
    }
    if (passes_by(join, record)) {
        return join->emit(join->emit_self, record, NULL, 0);
    }
    return hold(join, record) && release(join);
}
