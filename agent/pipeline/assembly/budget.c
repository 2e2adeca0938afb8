#include "pipeline/assembly/budget.h"

#include "pipeline/slab/rollup.h"
#include "pipeline/work/limiter.h"

/*
 * One budget for the process. Fixed needs come first: the program, a session's stack join and
 * reading windows, memory of workers, open batches, a batch that an output must reassemble, and
 * libraries of outputs. The queue has a fixed share, and the spool has the rest. Blocks that are
 * kept for their next use need nothing of their own: they are part of what others do not use now.
 */
enum {
    MIN_QUEUE_BYTES = SLAB_BYTES,
    MAX_QUEUE_BYTES = 8 * 1024 * 1024,
    RECORDED_SLAB_BYTES = 384 * 1024, /* what is made of a larger one leaves the cache */
    /* For each worker: what is read waits in the cache. A source that is woken fills two. */
    RECORDED_QUEUE_BYTES = 3 * RECORDED_SLAB_BYTES,
    QUEUE_SHARE = 16,
    SLABS_PER_WORKER = 3,             /* one in work, two that wait for their turn */
    PROGRAM_BYTES = 16 * 1024 * 1024, /* measured: code, libraries, stacks of threads, schemas */
    SESSION_BYTES = 10 * 1024 * 1024, /* the ring of the stack join, and reading windows */
    COPIES_PER_WORKER = 2,            /* of a batch: its unsettled records, framed and packed */
    ALLOCATOR_SHARE = 16,             /* holes between blocks that the C library keeps */
    LEAST_SPOOL_SHARE = 8,            /* of budgets that are too small for all that */
    PROCESS_SHARE = 32,
    MAX_PROCESS_BYTES = 8 * 1024 * 1024,
    LEAST_PROCESS_BYTES = 128 * 1024,
    FILE_SHARE = 16,
    MAX_FILE_BYTES = 16 * 1024 * 1024,
    LEAST_FILE_BYTES = 256 * 1024,
    LEARNED_SHARE = 8,
    MAX_LEARNED_BYTES = 64 * 1024 * 1024,
    LEAST_LEARNED_BYTES = 4 * 1024 * 1024,
    LEAST_DEFINITION_SHARE = 16,
    LEAST_DEFINITION_BYTES = 4 * 1024 * 1024,
    ROLLUP_BYTES = ROLLUP_MAX_BYTES +
                   ROLLUP_MAX_WINDOWS * 1024, /* texts, and what is beside them */
    STORE_BYTES = 4 * 1024 * 1024, /* what waits for two segments, one of them just ended */
};

size_t budget_process_bytes(size_t memory_bytes, size_t tables)
{
    size_t bytes = memory_bytes / PROCESS_SHARE;
    bytes = bytes > MAX_PROCESS_BYTES ? MAX_PROCESS_BYTES : bytes;
    bytes /= tables ? tables : 1;
    return bytes < LEAST_PROCESS_BYTES ? LEAST_PROCESS_BYTES : bytes;
}

size_t budget_file_bytes(size_t memory_bytes, size_t tables)
{
    size_t bytes = memory_bytes / FILE_SHARE;
    bytes = bytes > MAX_FILE_BYTES ? MAX_FILE_BYTES : bytes;
    bytes /= tables ? tables : 1;
    return bytes < LEAST_FILE_BYTES ? LEAST_FILE_BYTES : bytes;
}

size_t budget_learned_bytes(size_t memory_bytes, size_t caches)
{
    size_t bytes = memory_bytes / LEARNED_SHARE;
    bytes = bytes > MAX_LEARNED_BYTES ? MAX_LEARNED_BYTES : bytes;
    bytes /= caches ? caches : 1;
    return bytes < LEAST_LEARNED_BYTES ? LEAST_LEARNED_BYTES : bytes;
}

bool budget_has_live(const struct pipeline_settings *s)
{
    bool live = !s->sessions;
    for (size_t i = 0; i < s->session_count && !live; i++) {
        live = !pipeline_session_can_wait(&s->sessions[i]);
    }
    return live;
}

size_t budget_queue_bytes(const struct pipeline_settings *s)
{
    if (s->queue_bytes) {
        return s->queue_bytes;
    }
    size_t bytes = s->memory_bytes / QUEUE_SHARE;
    size_t most = s->worker_count * RECORDED_QUEUE_BYTES;
    most = budget_has_live(s) || most > MAX_QUEUE_BYTES ? MAX_QUEUE_BYTES : most;
    bytes = bytes > most ? most : bytes;
    return bytes < MIN_QUEUE_BYTES ? MIN_QUEUE_BYTES : bytes;
}

size_t budget_slab_bytes(const struct pipeline_settings *s)
{
    bool is_large = !budget_has_live(s) && budget_queue_bytes(s) >= RECORDED_QUEUE_BYTES;
    return is_large ? RECORDED_SLAB_BYTES : SLAB_BYTES;
}

/* Slabs in work with their pieces, and open batches. */
static size_t work_bytes(const struct pipeline_settings *s)
{
    size_t slab = budget_slab_bytes(s);
    size_t open = 0;
    for (size_t i = 0; i < s->stream_count; i++) {
        size_t piece = s->streams[i].max_bytes;
        slab += piece < PIECE_FULL_BYTES ? piece : PIECE_FULL_BYTES;
        open += piece;
    }
    return s->worker_count * SLABS_PER_WORKER * slab + open;
}

/* The fixed needs. */
static size_t fixed_bytes(const struct pipeline_settings *s)
{
    size_t copies = 0;
    for (size_t i = 0; i < s->output_count; i++) {
        copies += COPIES_PER_WORKER * s->outputs[i].workers *
                  s->streams[s->outputs[i].stream].max_bytes;
        copies += s->outputs[i].workers * s->outputs[i].own_bytes;
    }
    size_t store = s->store.store ? STORE_BYTES : 0;
    size_t windows = s->rolls_up ? s->session_count * s->stream_count * ROLLUP_BYTES : 0;
    size_t processes = s->process_tables * budget_process_bytes(s->memory_bytes, s->process_tables);
    size_t files = s->process_tables * budget_file_bytes(s->memory_bytes, s->process_tables);
    size_t buckets = s->limiter_tables * LIMITER_BYTES;
    size_t caches = s->session_count * s->worker_count;
    size_t learned = caches * budget_learned_bytes(s->memory_bytes, caches);
    return PROGRAM_BYTES + s->definition_bytes + learned + store + windows + buckets + processes +
           files + s->session_count * SESSION_BYTES + budget_queue_bytes(s) + work_bytes(s) +
           copies + s->memory_bytes / ALLOCATOR_SHARE;
}

size_t budget_spool_bytes(const struct pipeline_settings *s)
{
    size_t fixed = fixed_bytes(s);
    size_t least = s->memory_bytes / LEAST_SPOOL_SHARE;
    return s->memory_bytes > fixed + least ? s->memory_bytes - fixed : least;
}

size_t budget_definition_bytes(const struct pipeline_settings *settings)
{
    struct pipeline_settings s = *settings;
    s.definition_bytes = 0;
    size_t taken = fixed_bytes(&s) + s.memory_bytes / LEAST_SPOOL_SHARE;
    size_t left = s.memory_bytes > taken ? s.memory_bytes - taken : 0;
    size_t least = s.memory_bytes / LEAST_DEFINITION_SHARE;
    least = least < LEAST_DEFINITION_BYTES ? LEAST_DEFINITION_BYTES : least;
    return left > least ? left : least;
}

size_t budget_block_bytes(const struct pipeline_settings *s)
{
    return budget_queue_bytes(s) + work_bytes(s) + budget_spool_bytes(s);
}

/* The share of what is fixed grows with the whole, but more slowly: this comes to an end. */
size_t budget_memory_needed(const struct pipeline_settings *settings)
{
    const size_t mb = 1024 * 1024;
    struct pipeline_settings s = *settings;
    size_t needed = 0;
    do {
        s.memory_bytes = needed;
        size_t least = fixed_bytes(&s) + needed / LEAST_SPOOL_SHARE;
        needed = (least / mb + 1) * mb;
    } while (needed > s.memory_bytes);
    return s.memory_bytes;
}
