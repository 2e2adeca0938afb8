#include "pipeline/record/stack_join.h"

#include <stdlib.h>

#include "base/reader.h"
#include "pipeline/record/record_copy.h"
#include "pipeline/record/stack_keys.h"

/*
 * A ring of blocks in one piece of memory. A block is a held record or the frames of a stack; the
 * frames of an event lie after it in the ring, so they are still there when it is handed on. A
 * small hash table by time stamp finds the event for a stack; its chains run through the blocks,
 * newest first.
 *
 * A record that is left out has a small block, but counts as much as its copy would. So events are
 * held for as long, and the same stacks find them, whatever is left out.
 */
enum {
    HOOK_GROUP = 0x18,
    TYPE_STACK = 0x20,
    TYPE_KEY_FIRST = 0x22,
    TYPE_KEY_LAST = 0x24,
    TYPE_REFERENCE_KERNEL = 0x25,
    TYPE_REFERENCE_USER = 0x26,

    HELD_BYTES = 8 * 1024 * 1024,
    MAX_BLOCK_BYTES = 256 * 1024, /* more than any record has */
    RING_BYTES = HELD_BYTES +
                 MAX_BLOCK_BYTES, /* wherever it is cut, a block fits that may be held */
    SLACK_BYTES = 1024 * 1024,    /* kept free, so that no event leaves because its stack comes */
    MAX_EVENTS = 65536,
    BUCKETS = 16384, /* a power of two */
    MAX_FRAMES = STACK_KEYS_MAX_FRAMES,
    MAX_STEPS = 4096, /* along a chain: more events of one time stamp are not looked at */
    HOLD_100NS = 10000000,
    BLOCK_ALIGNMENT = _Alignof(max_align_t),
};

struct block {
    uint32_t size;    /* bytes in the ring, header included; 0: the ring continues at its start */
    uint32_t counted; /* bytes that it would have if nothing were left out */
    bool is_record;
    bool is_left_out;
    struct block *older; /* next in the chain of the bucket */
    uint64_t id;         /* ascending: tells whether `older` is still held */
    uint64_t older_id;
    uint32_t count;       /* of frames */
    struct block *frames; /* of a record: its joined stack */
    uint64_t tag;         /* … and what the caller gave with it */
};

/* The key by which a stack finds its event. */
struct stack_owner {
    const struct trace_info *trace;
    int64_t time_raw;
    uint32_t process_id;
    uint32_t thread_id;
    uint16_t cpu;
    uint16_t present; /* RECORD_HAS_*, of an event */
};

/* All that is kept of a record that is left out, in the place of its copy. */
struct left_out {
    struct stack_owner owner;
    uint64_t time; /* FILETIME */
};

struct stack_join {
    enum stack_walk_mode mode;
    stack_join_emit_fn *emit;
    stack_join_left_out_fn *left_out;
    void *self;
    struct stack_keys *keys;
    struct stack_join_counts counts;

    uint8_t *ring;
    size_t head; /* offset of the next block */
    size_t tail; /* offset of the oldest one */
    size_t held; /* bytes, as blocks count */
    size_t events;
    uint64_t next_id;
    uint64_t tail_id; /* id of the oldest block; next_id when empty */
    uint64_t newest;  /* FILETIME */
    struct bucket {
        struct block *newest;
        uint64_t id;
    } buckets[BUCKETS];
};

struct stack_join *stack_join_create(enum stack_walk_mode mode, stack_join_emit_fn *emit,
    stack_join_left_out_fn *left_out, void *self, struct error *err)
{
    struct stack_join *join = calloc(1, sizeof(*join));
    if (join) {
        join->mode = mode;
        join->emit = emit;
        join->left_out = left_out;
        join->self = self;
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

/* ---- the ring -------------------------------------------------------------------------------- */

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

static struct left_out *left_out_of(struct block *block)
{
    return (struct left_out *)(void *)record_of(block);
}

static uint64_t time_of(struct block *block)
{
    return block->is_left_out ? left_out_of(block)->time : record_of(block)->time;
}

static size_t block_size(size_t content)
{
    size_t header = (sizeof(struct block) + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT *
                    BLOCK_ALIGNMENT;
    return header + (content + BLOCK_ALIGNMENT - 1) / BLOCK_ALIGNMENT * BLOCK_ALIGNMENT;
}

/* The oldest block; there is one. */
static struct block *oldest(struct stack_join *join)
{
    if (join->tail == RING_BYTES || block_at(join, join->tail)->size == 0) {
        join->tail = 0;
    }
    return block_at(join, join->tail);
}

/* Drop the oldest block, handing it on if it is an event. */
static bool pop(struct stack_join *join)
{
    struct block *block = oldest(join);
    bool go_on = true;
    if (block->is_record) {
        join->events--;
        go_on = block->is_left_out ? join->left_out(join->self, time_of(block), block->tag)
                                   : join->emit(join->self, record_of(block),
                                         block->frames ? frames_of(block->frames) : NULL,
                                         block->frames ? block->frames->count : 0, block->tag);
    }
    join->tail += block->size;
    join->held -= block->counted;
    join->tail_id = block->id + 1;
    return go_on;
}

static bool fits(const struct stack_join *join, size_t counted)
{
    return counted <= HELD_BYTES - join->held;
}

/* A new block at the head, oldest ones handed on to make room for what it counts. NULL: a callback
 * stopped, or it can never fit (then *ret_go_on is true). */
static struct block *push_block(
    struct stack_join *join, size_t content, size_t counted_content, bool *ret_go_on)
{
    size_t size = block_size(content);
    size_t counted = block_size(counted_content);
    *ret_go_on = true;
    if (counted > MAX_BLOCK_BYTES) {
        return NULL;
    }
    while (!fits(join, counted)) {
        if (!pop(join)) {
            *ret_go_on = false;
            return NULL;
        }
    }
    if (join->held == 0) {
        join->head = 0;
        join->tail = 0;
    } else if (RING_BYTES - join->head < size) {
        if (join->head < RING_BYTES) {
            block_at(join, join->head)->size = 0;
        }
        join->head = 0;
    }
    struct block *block = block_at(join, join->head);
    *block = (struct block){
        .size = (uint32_t)size, .counted = (uint32_t)counted, .id = join->next_id++};
    join->head += size;
    join->held += counted;
    return block;
}

bool stack_join_flush(struct stack_join *join)
{
    while (join->held) {
        if (!pop(join)) {
            return false;
        }
    }
    return true;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Events come almost in the order of their time: stamps near each other have buckets near each
 * other, which are in the processor's cache. Steps of 32 are some microseconds at most. */
static struct bucket *bucket_of(struct stack_join *join, int64_t time_raw)
{
    uint64_t step = (uint64_t)time_raw >> 5;
    return &join->buckets[(step + step / BUCKETS) & (BUCKETS - 1)];
}

static struct stack_owner owner_in(const struct event_record *record)
{
    return (struct stack_owner){.trace = record->trace,
        .time_raw = record->time_raw,
        .process_id = record->process_id,
        .thread_id = record->thread_id,
        .cpu = record->cpu,
        .present = record->present};
}

static struct stack_owner owner_of(struct block *block)
{
    return block->is_left_out ? left_out_of(block)->owner : owner_in(record_of(block));
}

static bool is_owner(const struct stack_owner *event, const struct stack_owner *wanted)
{
    if (event->time_raw != wanted->time_raw || event->trace != wanted->trace) {
        return false;
    }
    if (event->present & RECORD_HAS_THREAD) {
        return event->thread_id == wanted->thread_id &&
               (!(event->present & RECORD_HAS_PROCESS) || event->process_id == wanted->process_id);
    }
    return event->cpu == wanted->cpu;
}

static struct block *find_owner(struct stack_join *join, const struct stack_owner *owner)
{
    const struct bucket *bucket = bucket_of(join, owner->time_raw);
    struct block *block = bucket->newest;
    uint64_t id = bucket->id;
    for (size_t steps = 0; block && id >= join->tail_id && steps < MAX_STEPS; steps++) {
        struct stack_owner held = owner_of(block);
        if (is_owner(&held, owner)) {
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
    struct block *block = fits(join, block_size(content))
                              ? push_block(join, content, content, &go_on)
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

/* Let the stacks of ${block}, an event of ${time_raw}, find it. */
static void link_owner(struct stack_join *join, struct block *block, int64_t time_raw)
{
    struct bucket *bucket = bucket_of(join, time_raw);
    block->older = bucket->newest;
    block->older_id = bucket->id;
    *bucket = (struct bucket){.newest = block, .id = block->id};
}

/* A record on its way, and whether it is left out. */
struct item {
    const struct event_record *record;
    uint64_t tag;
    bool is_left_out;
};

static bool hand_on(struct stack_join *join, const struct item *item)
{
    return item->is_left_out ? join->left_out(join->self, item->record->time, item->tag)
                             : join->emit(join->self, item->record, NULL, 0, item->tag);
}

static bool hold(struct stack_join *join, const struct item *item)
{
    const struct event_record *record = item->record;
    bool go_on;
    if (record->time + HOLD_100NS < join->newest) {
        /* Time starts again, with the next file: what is held belongs to the one before. */
        if (!stack_join_flush(join)) {
            return false;
        }
        stack_keys_remove_before(join->keys, UINT64_MAX);
        join->newest = record->time;
    }
    size_t counted = record_copy_size(record);
    struct block *block = push_block(
        join, item->is_left_out ? sizeof(struct left_out) : counted, counted, &go_on);
    if (!block) {
        /* Larger than the ring is meant for: keep the order, hand it on directly. */
        return go_on && stack_join_flush(join) && hand_on(join, item);
    }
    block->is_record = true;
    block->is_left_out = item->is_left_out;
    block->tag = item->tag;
    if (item->is_left_out) {
        *left_out_of(block) = (struct left_out){.owner = owner_in(record), .time = record->time};
    } else {
        record_copy_make(record, record_of(block));
    }
    if (!is_stack_walk(record)) {
        link_owner(join, block, record->time_raw);
    }
    join->events++;
    join->newest = record->time > join->newest ? record->time : join->newest;
    return true;
}

static bool oldest_is_due(struct stack_join *join)
{
    if (join->held == 0) {
        return false;
    }
    struct block *block = oldest(join);
    return !block->is_record || join->events > MAX_EVENTS ||
           join->held > HELD_BYTES - SLACK_BYTES || time_of(block) + HOLD_100NS < join->newest;
}

/* ---- records --------------------------------------------------------------------------------- */

/* The stack that a record of type 0x20, 0x25 or 0x26 carries or refers to; false if unknown. */
static bool read_stack(struct stack_join *join, const struct event_record *record,
    struct stack_owner *ret_owner, uint64_t *ret_frames, uint32_t *ret_count)
{
    struct reader r = reader_make(record->payload);
    ret_owner->trace = record->trace;
    ret_owner->time_raw = (int64_t)reader_u64(&r);
    ret_owner->process_id = reader_u32(&r);
    ret_owner->thread_id = reader_u32(&r);
    ret_owner->cpu = record->cpu;
    size_t width = record->pointer_size;
    if ((uint8_t)record->hook_id != TYPE_STACK) {
        const struct stack_reference reference = {.trace = record->trace,
            .key = width == 8 ? reader_u64(&r) : reader_u32(&r),
            .time_raw = record->time_raw,
            .cpu = record->cpu,
            .is_user = (uint8_t)record->hook_id == TYPE_REFERENCE_USER};
        return !r.failed && stack_keys_find(join->keys, &reference, ret_frames, ret_count);
    }
    uint32_t count = 0;
    while (reader_left(&r) >= width && count < MAX_FRAMES) {
        ret_frames[count++] = width == 8 ? reader_u64(&r) : reader_u32(&r);
    }
    *ret_count = count;
    return !r.failed;
}

/* Did the StackWalk record become part of an event (or of the key table, for one)? */
static bool joins(struct stack_join *join, const struct event_record *record)
{
    uint8_t type = (uint8_t)record->hook_id;
    if (type >= TYPE_KEY_FIRST && type <= TYPE_KEY_LAST) {
        bool is_used = stack_keys_pass(join->keys, record);
        if (join->newest > HOLD_100NS) {
            /* Events before that are not held any more, and their references come later still. */
            stack_keys_remove_before(join->keys, join->newest - HOLD_100NS);
        }
        return is_used;
    }
    if (type != TYPE_STACK && type != TYPE_REFERENCE_KERNEL && type != TYPE_REFERENCE_USER) {
        return false;
    }
    struct stack_owner owner;
    uint64_t frames[MAX_FRAMES];
    uint32_t count;
    if (!read_stack(join, record, &owner, frames, &count)) {
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

void stack_join_remove_trace(struct stack_join *join, const struct trace_info *trace)
{
    if (join->mode == STACK_WALK_JOIN) {
        stack_keys_remove_trace(join->keys, trace);
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
           (join->held == 0 && record->trace && !record->trace->has_stacks);
}

static bool keep(struct stack_join *join, const struct item *item)
{
    return hold(join, item) && release(join);
}

bool stack_join_push(struct stack_join *join, const struct event_record *record, uint64_t tag)
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
    return passes_by(join, record) ? join->emit(join->self, record, NULL, 0, tag)
                                   : keep(join, &(struct item){.record = record, .tag = tag});
}

bool stack_join_leave_out(struct stack_join *join, const struct event_record *record, uint64_t tag)
{
    return passes_by(join, record)
               ? join->left_out(join->self, record->time, tag)
               : keep(join, &(struct item){.record = record, .tag = tag, .is_left_out = true});
}

bool stack_join_wants(const struct event_record *record)
{
    return is_stack_walk(record);
}
