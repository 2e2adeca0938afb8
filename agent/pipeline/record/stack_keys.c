#include "pipeline/record/stack_keys.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/reader.h"

/*
 * Definitions and what does not fit into them of their frames stand in chunks of one size, so that
 * memory can be given back in any order. Chunks are called by numbers from 1; 0 is none.
 *
 * Each definition is in a list of those with its hash, in the order of time. A trace is learned
 * from its start on, and definitions at the start are removed first, so new ones are sorted in
 * from the end of the list and searches begin at its start. Definitions that have passed by wait in
 * a queue until no reference to them can come any more.
 */
enum {
    TYPE_CREATE = 0x22,
    TYPE_DELETE = 0x23,
    TYPE_RUNDOWN = 0x24,

    FIRST_FRAMES = 8, /* that stand in the definition itself */
    MORE_FRAMES = 15, /* of each further chunk */
    CHUNK_BYTES = 128,
    BLOCK_CHUNKS = 512, /* allocated at once */
    MAX_BLOCKS = 128,
    MAX_CHUNKS = MAX_BLOCKS * BLOCK_CHUNKS,  /* 8 MB */
    MAX_CHUNKS_OF_LIFE = MAX_CHUNKS / 8 * 7, /* for definitions that are no rundown */
    BUCKETS = 16384,                         /* a power of two */
    MAX_STEPS = 4096,                        /* along a list */
};

struct definition {
    uint32_t more; /* chunk with the next frames */
    uint32_t older;
    uint32_t newer;
    uint32_t queue_next;
    uint16_t count; /* of frames */
    uint16_t cpu;
    uint8_t type;
    bool may_be_user;
    bool may_be_kernel;
    bool has_passed;
    bool is_queued;
    bool is_used;
    int64_t time_raw;
    uint64_t time; /* FILETIME */
    uint64_t key;
    const struct trace_info *trace;
    uint64_t frames[FIRST_FRAMES];
};

struct more_frames {
    uint32_t more;
    uint64_t frames[MORE_FRAMES];
};

union chunk {
    struct definition definition;
    struct more_frames frames;
    uint32_t next_free;
};

_Static_assert(sizeof(union chunk) <= CHUNK_BYTES, "the maximum is counted in chunks");

struct bucket {
    uint32_t oldest;
    uint32_t newest;
};

struct stack_keys {
    union chunk *blocks[MAX_BLOCKS];
    uint32_t touched; /* chunks that were in use at least once */
    uint32_t taken;   /* chunks in use */
    uint32_t first_free;
    uint32_t queue_first; /* definitions that have passed by, in that order */
    uint32_t queue_last;
    struct bucket buckets[BUCKETS];
};

struct stack_keys *stack_keys_create(void)
{
    return calloc(1, sizeof(struct stack_keys));
}

void stack_keys_destroy(struct stack_keys *keys)
{
    for (size_t i = 0; keys && i < MAX_BLOCKS; i++) {
        free(keys->blocks[i]);
    }
    free(keys);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static union chunk *chunk_at(const struct stack_keys *keys, uint32_t number)
{
    return &keys->blocks[(number - 1) / BLOCK_CHUNKS][(number - 1) % BLOCK_CHUNKS];
}

static struct definition *definition_at(const struct stack_keys *keys, uint32_t number)
{
    return number ? &chunk_at(keys, number)->definition : NULL;
}

/* 0: out of memory. The caller looks after the maximum. */
static uint32_t take_chunk(struct stack_keys *keys)
{
    uint32_t number = keys->first_free;
    if (number) {
        keys->first_free = chunk_at(keys, number)->next_free;
    } else {
        union chunk **block = &keys->blocks[keys->touched / BLOCK_CHUNKS];
        if (!*block && !(*block = malloc(BLOCK_CHUNKS * sizeof(**block)))) {
            return 0;
        }
        number = ++keys->touched;
    }
    keys->taken++;
    return number;
}

static void give_chunk(struct stack_keys *keys, uint32_t number)
{
    chunk_at(keys, number)->next_free = keys->first_free;
    keys->first_free = number;
    keys->taken--;
}

static void give_definition(struct stack_keys *keys, uint32_t number)
{
    uint32_t more = definition_at(keys, number)->more;
    give_chunk(keys, number);
    while (more) {
        uint32_t next = chunk_at(keys, more)->frames.more;
        give_chunk(keys, more);
        more = next;
    }
}

static bool has_room(const struct stack_keys *keys, uint8_t type, size_t frames)
{
    size_t more = frames > FIRST_FRAMES ? (frames - FIRST_FRAMES + MORE_FRAMES - 1) / MORE_FRAMES
                                        : 0;
    size_t max = type == TYPE_RUNDOWN ? MAX_CHUNKS : MAX_CHUNKS_OF_LIFE;
    return keys->taken + 1 + more <= max;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static struct bucket *bucket_of(
    struct stack_keys *keys, const struct trace_info *trace, uint64_t key)
{
    const uint64_t full[2] = {key, (uintptr_t)trace};
    return &keys->buckets[XXH3_64bits(full, sizeof(full)) & (BUCKETS - 1)];
}

/* Order at equal times: a key's life ends before its next one begins. */
static int rank_of(uint8_t type)
{
    return type == TYPE_DELETE ? 0 : type == TYPE_RUNDOWN ? 1 : 2;
}

static bool is_before(const struct definition *a, const struct definition *b)
{
    return a->time_raw != b->time_raw ? a->time_raw < b->time_raw
                                      : rank_of(a->type) < rank_of(b->type);
}

static bool has_key(const struct definition *d, const struct trace_info *trace, uint64_t key)
{
    return d->key == key && d->trace == trace;
}

/* Link the definition with ${number} after ${older}; 0: at the start. */
static void link_behind(
    struct stack_keys *keys, struct bucket *bucket, uint32_t number, uint32_t older)
{
    struct definition *d = definition_at(keys, number);
    struct definition *before = definition_at(keys, older);
    uint32_t newer = before ? before->newer : bucket->oldest;
    struct definition *after = definition_at(keys, newer);
    d->older = older;
    d->newer = newer;
    *(before ? &before->newer : &bucket->oldest) = number;
    *(after ? &after->older : &bucket->newest) = number;
}

static void unlink_from(struct stack_keys *keys, struct bucket *bucket, const struct definition *d)
{
    struct definition *before = definition_at(keys, d->older);
    struct definition *after = definition_at(keys, d->newer);
    *(before ? &before->newer : &bucket->oldest) = d->newer;
    *(after ? &after->older : &bucket->newest) = d->older;
}

/* ---- learning -------------------------------------------------------------------------------- */

static uint64_t read_pointer(struct reader *r, const struct event_record *record)
{
    return record->pointer_size == 8 ? reader_u64(r) : reader_u32(r);
}

/* Whose address the innermost frame is says whose stack it is: further out, a user's stack may go
 * through the kernel (KeUserModeCallback). A 32-bit kernel leaves its programs 2 GB, or up to 3
 * GB. */
static void tell_whose(struct definition *d, uint8_t pointer_size)
{
    uint64_t kernel_from = pointer_size == 8 ? UINT64_C(1) << 63 : UINT64_C(0x80000000);
    uint64_t user_to = pointer_size == 8 ? kernel_from : UINT64_C(0xc0000000);
    d->may_be_kernel = d->count == 0 || d->frames[0] >= kernel_from;
    d->may_be_user = d->count == 0 || d->frames[0] < user_to;
}

/* ${count} frames after the key. False: out of memory; what was taken is part of ${d}. */
static bool read_frames(struct stack_keys *keys, struct definition *d, size_t count,
    const struct event_record *record, struct reader *r)
{
    uint64_t *frames = d->frames;
    uint32_t *link = &d->more;
    size_t room = FIRST_FRAMES;
    d->count = (uint16_t)count;
    for (; count; count--) {
        if (room == 0) {
            uint32_t number = take_chunk(keys);
            if (!number) {
                return false;
            }
            struct more_frames *more = &chunk_at(keys, number)->frames;
            more->more = 0;
            *link = number;
            link = &more->more;
            frames = more->frames;
            room = MORE_FRAMES;
        }
        *frames++ = read_pointer(r, record);
        room--;
    }
    return true;
}

/* A definition of ${head}'s key, time and type with the frames that are
 * left in ${r}; 0: no room. */
static uint32_t make(struct stack_keys *keys, const struct definition *head,
    const struct event_record *record, struct reader *r)
{
    size_t count = reader_left(r) / record->pointer_size;
    count = count > STACK_KEYS_MAX_FRAMES ? STACK_KEYS_MAX_FRAMES : count;
    uint32_t number = has_room(keys, head->type, count) ? take_chunk(keys) : 0;
    if (!number) {
        return 0;
    }
    struct definition *d = definition_at(keys, number);
    *d = *head;
    if (!read_frames(keys, d, count, record, r)) {
        give_definition(keys, number);
        return 0;
    }
    tell_whose(d, record->pointer_size);
    return number;
}

/* Key, time and type of a definition record; false: it is none. */
static bool read_head(
    const struct event_record *record, struct reader *r, struct definition *ret_head)
{
    *r = reader_make(record->payload);
    *ret_head = (struct definition){.cpu = record->cpu,
        .type = (uint8_t)record->hook_id,
        .time_raw = record->time_raw,
        .time = record->time,
        .key = read_pointer(r, record),
        .trace = record->trace};
    return ret_head->type >= TYPE_CREATE && ret_head->type <= TYPE_RUNDOWN && !r->failed;
}

/* The definition that ${record} is, made if it is new; 0: it is none, or there is no room. */
static uint32_t learn(struct stack_keys *keys, const struct event_record *record)
{
    struct reader r;
    struct definition head;
    if (!read_head(record, &r, &head)) {
        return 0;
    }
    struct bucket *bucket = bucket_of(keys, head.trace, head.key);
    uint32_t older = bucket->newest;
    for (size_t steps = 0; older && !is_before(definition_at(keys, older), &head); steps++) {
        const struct definition *d = definition_at(keys, older);
        if (d->time_raw == head.time_raw && d->type == head.type &&
            has_key(d, head.trace, head.key)) {
            return older;
        }
        if (steps == MAX_STEPS) {
            return 0;
        }
        older = d->older;
    }
    uint32_t number = make(keys, &head, record, &r);
    if (number) {
        link_behind(keys, bucket, number, older);
    }
    return number;
}

bool stack_keys_learn(struct stack_keys *keys, const struct event_record *record)
{
    return learn(keys, record) != 0;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Is the life that ended with ${d} over for ${reference}? Within one tick of the clock the order of
 * the processor's records tells. */
static bool is_over(const struct definition *d, const struct stack_reference *reference)
{
    return d->time_raw < reference->time_raw ||
           (d->time_raw == reference->time_raw && d->type == TYPE_DELETE && d->has_passed &&
               d->cpu == reference->cpu);
}

static struct definition *find(struct stack_keys *keys, const struct stack_reference *reference)
{
    struct definition *found = NULL;
    uint32_t number = bucket_of(keys, reference->trace, reference->key)->oldest;
    for (size_t steps = 0; number && steps < MAX_STEPS; steps++) {
        struct definition *d = definition_at(keys, number);
        number = d->newer;
        if (!has_key(d, reference->trace, reference->key)) {
            continue;
        }
        if (d->type == TYPE_CREATE) {
            if (d->time_raw > reference->time_raw) {
                return found; /* the key's next life */
            }
            found = d;
        } else if (!is_over(d, reference)) {
            return d;
        } else {
            found = NULL;
        }
    }
    return number ? NULL : found;
}

bool stack_keys_find(struct stack_keys *keys, const struct stack_reference *reference,
    uint64_t *ret_frames, uint32_t *ret_count)
{
    struct definition *d = find(keys, reference);
    if (!d || !(reference->is_user ? d->may_be_user : d->may_be_kernel)) {
        return false; /* or the life's own end was lost, and this is a later one's */
    }
    d->is_used = true;
    size_t size = d->count < FIRST_FRAMES ? d->count : FIRST_FRAMES;
    memcpy(ret_frames, d->frames, size * sizeof(*ret_frames));
    for (uint32_t more = d->more; more; more = chunk_at(keys, more)->frames.more) {
        size_t left = d->count - size;
        size_t next = left < MORE_FRAMES ? left : MORE_FRAMES;
        memcpy(ret_frames + size, chunk_at(keys, more)->frames.frames, next * sizeof(*ret_frames));
        size += next;
    }
    *ret_count = d->count;
    return true;
}

/* ---- removal --------------------------------------------------------------------------------- */

bool stack_keys_pass(struct stack_keys *keys, const struct event_record *record)
{
    uint32_t number = learn(keys, record);
    struct definition *d = definition_at(keys, number);
    if (!d) {
        return false;
    }
    d->has_passed = true;
    if (!d->is_queued) {
        struct definition *last = definition_at(keys, keys->queue_last);
        d->is_queued = true;
        d->queue_next = 0;
        *(last ? &last->queue_next : &keys->queue_first) = number;
        keys->queue_last = number;
    }
    return d->is_used;
}

/* The definition with ${number} has ended the lives of its key before it. It goes with them, but a
 * creation itself lives on. */
static void remove_lives(struct stack_keys *keys, uint32_t number)
{
    const struct definition end = *definition_at(keys, number);
    struct bucket *bucket = bucket_of(keys, end.trace, end.key);
    if (end.type == TYPE_CREATE) {
        number = end.older;
    }
    for (size_t steps = 0; number && steps < MAX_STEPS; steps++) {
        const struct definition *d = definition_at(keys, number);
        uint32_t older = d->older;
        if (has_key(d, end.trace, end.key) && !d->is_queued) {
            unlink_from(keys, bucket, d);
            give_definition(keys, number);
        }
        number = older;
    }
}

void stack_keys_remove_before(struct stack_keys *keys, uint64_t time)
{
    struct definition *d;
    while ((d = definition_at(keys, keys->queue_first)) && d->time < time) {
        uint32_t number = keys->queue_first;
        keys->queue_first = d->queue_next;
        if (!keys->queue_first) {
            keys->queue_last = 0;
        }
        d->is_queued = false;
        remove_lives(keys, number);
    }
}

static void dequeue_trace(struct stack_keys *keys, const struct trace_info *trace)
{
    uint32_t kept = 0;
    uint32_t next;
    for (uint32_t number = keys->queue_first; number; number = next) {
        struct definition *d = definition_at(keys, number);
        next = d->queue_next;
        if (d->trace != trace) {
            kept = number;
            continue;
        }
        *(kept ? &definition_at(keys, kept)->queue_next : &keys->queue_first) = next;
    }
    keys->queue_last = kept;
}

void stack_keys_remove_trace(struct stack_keys *keys, const struct trace_info *trace)
{
    if (keys->taken == 0) {
        return;
    }
    dequeue_trace(keys, trace);
    for (size_t i = 0; i < BUCKETS; i++) {
        uint32_t number = keys->buckets[i].oldest;
        while (number) {
            const struct definition *d = definition_at(keys, number);
            uint32_t next = d->newer;
            if (d->trace == trace) {
                unlink_from(keys, &keys->buckets[i], d);
                give_definition(keys, number);
            }
            number = next;
        }
    }
}
