#include "input/etl/etl_merge.h"

#include <stdlib.h>

#include "input/etl/etl_stream.h"
#include "input/etl/evtx_file.h"

/*
 * Design: a chain is the sequence of buffers of one processor in one file. The chains form a heap,
 * ordered by the key of their next record. Records of one chain tend to follow each other, so the
 * second-best chain is remembered, and the best one continues without heap operations as long as it
 * stays ahead.
 *
 * A chain owns a window only while it needs one. All chains read their first record at the start.
 * Beyond MAX_IDLE_STREAMS they then release their window until their turn comes, so that hundreds
 * of consecutive files need only the memory of those that overlap in time.
 *
 * A buffer that is left out needs no window: its notes give the times of its records.
 *
 * The first pass reported damage; here damaged parts are skipped in the same way.
 */

enum { MAX_IDLE_STREAMS = 64, MAX_LEFT_OUT = 16384, FEW_CHAINS = 8 };

struct key {
    uint64_t time;
    uint64_t buffer_offset;
    uint32_t record_offset;
    uint32_t file;
};

struct chain {
    struct key key;                        /* of the current record */
    const struct etl_index_entry *current; /* buffer of the record */
    const struct etl_index_entry *next;
    const struct etl_index_entry *end;
    const struct etl_left_out_buffer *left_out; /* the buffer entered last, if it is left out */
    struct etl_left_out_reader notes;
    struct etl_stream *stream; /* NULL: not needed yet, or idle */
};

struct etl_merge {
    struct etl_file *const *files;
    size_t file_count;
    size_t *open_chains; /* per file */
    size_t next_empty;   /* lower files were already checked for having no records */

    struct chain *chains;
    size_t chain_count;
    struct chain **heap;
    size_t heap_count;
    const struct chain *second; /* best chain after the top of the heap; NULL: none */
    bool top_delivered;         /* the top's current record was delivered; advance first */
    size_t ended_file;          /* file whose last record was delivered, or SIZE_MAX */

    struct etl_merge_left_out counted; /* since the last step */
    struct etl_stream_pool streams;
    uint64_t bytes;
};

static inline bool is_before(const struct key *a, const struct key *b)
{
    if (a->time != b->time) {
        return a->time < b->time;
    }
    if (a->file != b->file) {
        return a->file < b->file;
    }
    return a->buffer_offset != b->buffer_offset ? a->buffer_offset < b->buffer_offset
                                                : a->record_offset < b->record_offset;
}

static bool take_stream(struct etl_merge *merge, struct chain *chain, struct error *err)
{
    if (!chain->stream) {
        chain->stream = etl_stream_take(&merge->streams);
    }
    if (!chain->stream) {
        return error_set(err, ERR_MEMORY, "out of memory for reading %zu processors at once",
            merge->streams.taken + 1);
    }
    return true;
}

static void drop_stream(struct etl_merge *merge, struct chain *chain)
{
    etl_stream_give_back(&merge->streams, chain->stream);
    chain->stream = NULL;
}

/* Like open_buffer(), for an event log. */
static bool open_chunk(
    struct etl_merge *merge, struct chain *chain, bool *ret_open, struct error *err)
{
    struct etl_file *file = merge->files[chain->key.file];
    const struct etl_index_entry *entry = chain->next++;
    struct etl_buffer chunk;
    bool is_leftover = etl_index_chain(entry) == ETL_INDEX_LEFTOVER_CHAIN;
    if (!take_stream(merge, chain, err) ||
        !(is_leftover ? evtx_file_leftover : evtx_file_chunk)(
            file, etl_index_offset(entry), &chunk, ret_open, err)) {
        return false;
    }
    if (*ret_open) {
        struct etl_scope scope = etl_file_scope(file, &chunk, 0);
        etl_stream_open_log(chain->stream, file, &chunk, &scope);
        chain->current = entry;
        merge->bytes += is_leftover ? 0 : chunk.size;
    }
    return true;
}

/* Set the last time in ${scope} to that of the previous buffer, if it belongs to the same trace. */
static void continue_time(const struct chain *chain, struct etl_scope *scope)
{
    const struct etl_left_out_buffer *before = chain->left_out;
    if (!before) {
        etl_stream_last_time(chain->stream, scope);
    } else if (before->trace == scope->trace) {
        scope->has_last_time = true;
        scope->last_raw = before->last_raw;
        scope->last_time = before->last_time;
    }
}

/* Like open_buffer(), for a buffer that is left out: its notes are read instead. */
static void open_left_out(
    struct etl_merge *merge, struct chain *chain, const struct etl_left_out_buffer *buffer)
{
    chain->left_out = buffer;
    chain->notes = etl_left_out_read(&merge->files[chain->key.file]->left_out, buffer);
    chain->current = chain->next++;
    merge->bytes += buffer->size;
}

/* Open the chain's next buffer. One that cannot be opened any more has no records. ${continues}:
 * the chain just ended the previous buffer, whose last time applies to records without a time. */
static bool open_buffer(
    struct etl_merge *merge, struct chain *chain, bool continues, bool *ret_open, struct error *err)
{
    struct etl_file *file = merge->files[chain->key.file];
    if (evtx_file_is_one(file)) {
        return open_chunk(merge, chain, ret_open, err);
    }
    const struct etl_left_out_buffer *left_out = etl_left_out_find(
        &file->left_out, etl_index_offset(chain->next));
    if (left_out) {
        open_left_out(merge, chain, left_out);
        *ret_open = true;
        return true;
    }
    if (!take_stream(merge, chain, err)) {
        return false;
    }
    const struct etl_index_entry *entry = chain->next++;
    uint8_t header[ETL_BUFFER_HEADER_SIZE];
    size_t got;
    struct etl_buffer buffer;
    const char *problem = NULL;
    if (!etl_bytes_read(&file->bytes, etl_index_offset(entry), header, sizeof(header), &got, err)) {
        return false;
    }
    *ret_open = got == sizeof(header) &&
                etl_buffer_parse(header, etl_index_offset(entry), &buffer, &problem) && !problem &&
                etl_file_clip(file, &buffer);
    if (*ret_open) {
        size_t epoch = etl_index_epoch(entry);
        struct etl_scope scope = etl_file_scope(file, &buffer, epoch);
        if (continues) {
            continue_time(chain, &scope);
        }
        etl_stream_open(chain->stream, &file->bytes, &buffer, file->epochs[epoch]->format, &scope);
        chain->left_out = NULL;
        chain->current = entry;
        merge->bytes += buffer.size;
    }
    return true;
}

/* True if the chain's current record is left out. */
static inline bool is_left_out(const struct chain *chain)
{
    return chain->current && chain->left_out;
}

/* Advance to the next record in the chain's current buffer. ETL_STEP_END: there is none. */
static inline enum etl_step advance_in_buffer(struct chain *chain)
{
    chain->key.buffer_offset = etl_index_offset(chain->current);
    if (chain->left_out) {
        bool more = etl_left_out_next(&chain->notes);
        chain->key.time = more ? chain->notes.time : chain->key.time;
        chain->key.record_offset = 0; /* the buffer alone orders it among the other chains */
        return more ? ETL_STEP_RECORD : ETL_STEP_END;
    }
    enum etl_step step = etl_stream_next(chain->stream);
    if (step == ETL_STEP_RECORD) {
        const struct event_record *record = etl_stream_record(chain->stream);
        chain->key.time = record->time;
        chain->key.record_offset = record->position.record_offset;
    }
    return step;
}

/* The chain has no buffer, or its buffer gave ${step} instead of a record: advance to the next
 * buffer that has one. */
static enum etl_step advance_to_next_buffer(
    struct etl_merge *merge, struct chain *chain, enum etl_step step, struct error *err)
{
    bool continues = chain->current != NULL;
    while (step != ETL_STEP_RECORD && step != ETL_STEP_FAILED) {
        bool open = false;
        chain->current = NULL;
        if (chain->next == chain->end) {
            return ETL_STEP_END;
        }
        if (!open_buffer(merge, chain, continues, &open, err)) {
            return ETL_STEP_FAILED;
        }
        if (open) {
            step = advance_in_buffer(chain);
            continues = true;
        }
    }
    if (step == ETL_STEP_FAILED && err) {
        *err = *etl_stream_error(chain->stream);
    }
    return step;
}

/* Advance to the chain's next record. ETL_STEP_END: there is none. ETL_STEP_FAILED: ${err} is
 * set. */
static inline enum etl_step advance(struct etl_merge *merge, struct chain *chain, struct error *err)
{
    enum etl_step step = chain->current ? advance_in_buffer(chain) : ETL_STEP_END;
    return step == ETL_STEP_RECORD ? step : advance_to_next_buffer(merge, chain, step, err);
}

static void sift_down(struct etl_merge *merge, size_t at)
{
    struct chain **heap = merge->heap;
    struct chain *moving = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= merge->heap_count) {
            break;
        }
        if (child + 1 < merge->heap_count) { /* branch-free, because the outcome is unpredictable */
            child += is_before(&heap[child + 1]->key, &heap[child]->key);
        }
        if (!is_before(&heap[child]->key, &moving->key)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static void find_second(struct etl_merge *merge)
{
    struct chain **heap = merge->heap;
    bool is_right = merge->heap_count > 2 && is_before(&heap[2]->key, &heap[1]->key);
    merge->second = merge->heap_count < 2 ? NULL : heap[1 + is_right];
}

static void order(struct etl_merge *merge)
{
    for (size_t i = merge->heap_count / 2; i-- > 0;) {
        sift_down(merge, i);
    }
    find_second(merge);
}

/* Count the chains of all files and give each its range of the index, which is sorted by chain. */
static bool make_chains(struct etl_merge *merge)
{
    size_t count = 0;
    for (int fill = 0; fill < 2; fill++) {
        count = 0;
        for (size_t f = 0; f < merge->file_count; f++) {
            const struct etl_index *index = &merge->files[f]->index;
            for (size_t i = 0; i < index->count; i++) {
                const struct etl_index_entry *entry = &index->entries[i];
                bool first = i == 0 || etl_index_chain(entry) != etl_index_chain(entry - 1);
                if (first && fill) {
                    merge->chains[count] = (struct chain){
                        .key = {.file = (uint32_t)f}, .next = entry};
                    merge->open_chains[f]++;
                }
                count += first;
                if (fill) {
                    merge->chains[count - 1].end = entry + 1;
                }
            }
        }
        if (!fill) {
            merge->chains = calloc(count ? count : 1, sizeof(*merge->chains));
            merge->heap = calloc(count ? count : 1, sizeof(*merge->heap));
            if (!merge->chains || !merge->heap) {
                return false;
            }
        }
    }
    merge->chain_count = count;
    return true;
}

/* Find the chain's first record and append the chain to the still unordered heap. */
static bool prime(struct etl_merge *merge, struct chain *chain, struct error *err)
{
    const struct etl_index_entry *first = chain->next;
    enum etl_step step = advance(merge, chain, err);
    if (step == ETL_STEP_FAILED) {
        return false;
    }
    if (step == ETL_STEP_END) {
        drop_stream(merge, chain);
        merge->open_chains[chain->key.file]--;
        return true;
    }
    merge->heap[merge->heap_count++] = chain;
    if (merge->streams.taken > MAX_IDLE_STREAMS && !is_left_out(chain)) {
        drop_stream(merge, chain);
        chain->next = first;
        chain->current = NULL;
    }
    return true;
}

struct etl_merge *etl_merge_create(
    struct etl_file *const *files, size_t file_count, struct error *err)
{
    struct etl_merge *merge = calloc(1, sizeof(*merge));
    if (!merge) {
        error_set(err, ERR_MEMORY, "out of memory");
        return NULL;
    }
    merge->files = files;
    merge->file_count = file_count;
    merge->ended_file = SIZE_MAX;
    merge->open_chains = calloc(file_count ? file_count : 1, sizeof(*merge->open_chains));
    if (!merge->open_chains || !make_chains(merge)) {
        error_set(err, ERR_MEMORY, "out of memory for merging %zu files", file_count);
        etl_merge_destroy(merge);
        return NULL;
    }
    for (size_t i = 0; i < merge->chain_count; i++) {
        if (!prime(merge, &merge->chains[i], err)) {
            etl_merge_destroy(merge);
            return NULL;
        }
    }
    merge->bytes = 0;
    order(merge);
    return merge;
}

void etl_merge_destroy(struct etl_merge *merge)
{
    if (!merge) {
        return;
    }
    for (size_t i = 0; i < merge->chain_count; i++) {
        etl_stream_destroy(merge->chains[i].stream);
    }
    etl_stream_destroy(merge->streams.spare);
    free(merge->chains);
    free(merge->heap);
    free(merge->open_chains);
    free(merge);
}

/* All records of the chain were delivered. */
static void end_chain(struct etl_merge *merge, struct chain *chain)
{
    drop_stream(merge, chain);
    if (--merge->open_chains[chain->key.file] == 0) {
        merge->ended_file = chain->key.file;
    }
}

/* Advance past the record delivered last. */
static bool step_past_top(struct etl_merge *merge, struct error *err)
{
    struct chain *top = merge->heap[0];
    enum etl_step step = advance(merge, top, err);
    merge->top_delivered = false;
    if (step == ETL_STEP_FAILED) {
        return false;
    }
    if (step == ETL_STEP_RECORD && (!merge->second || is_before(&top->key, &merge->second->key))) {
        return true;
    }
    if (step == ETL_STEP_END) {
        end_chain(merge, top);
        merge->heap[0] = merge->heap[--merge->heap_count];
    }
    if (merge->heap_count) {
        sift_down(merge, 0);
    }
    find_second(merge);
    return true;
}

/* Files without records end before the first record. */
static bool next_empty_file(struct etl_merge *merge, size_t *ret_file)
{
    while (merge->next_empty < merge->file_count) {
        size_t file = merge->next_empty++;
        if (merge->open_chains[file] == 0) {
            *ret_file = file;
            return true;
        }
    }
    return false;
}

/* Count the current record of ${chain}, which is left out. */
static inline void count_one(struct etl_merge *merge, const struct chain *chain)
{
    struct etl_merge_left_out *counted = &merge->counted;
    if (counted->total++ == 0) {
        *counted = (struct etl_merge_left_out){.total = 1};
    }
    counted->counts[chain->notes.reason]++;
    counted->newest = chain->notes.time > counted->newest ? chain->notes.time : counted->newest;
}

/* All records of the chain before this key are known. */
static struct key known_until(const struct chain *chain)
{
    struct key end = chain->key;
    if (is_left_out(chain)) {
        end.time = chain->left_out->latest;
        end.record_offset = UINT32_MAX;
    }
    return end;
}

/* The chain whose known records end first. */
static size_t find_horizon(const struct etl_merge *merge, struct key *ret_end)
{
    size_t first = 0;
    *ret_end = known_until(merge->heap[0]);
    for (size_t i = 1; i < merge->heap_count; i++) {
        struct key end = known_until(merge->heap[i]);
        if (is_before(&end, ret_end)) {
            *ret_end = end;
            first = i;
        }
    }
    return first;
}

/* Count the chain's records before ${end}, if its buffer is left out. */
static void count_until(struct etl_merge *merge, struct chain *chain, const struct key *end)
{
    bool more = is_left_out(chain);
    while (more && is_before(&chain->key, end)) {
        count_one(merge, chain);
        more = advance_in_buffer(chain) == ETL_STEP_RECORD;
    }
}

/* The chain at ${at} of the heap, whose order is not maintained here, has reached the end of its
 * buffer. */
static bool step_past_end(struct etl_merge *merge, size_t at, struct error *err)
{
    struct chain *chain = merge->heap[at];
    enum etl_step step = advance(merge, chain, err);
    if (step == ETL_STEP_FAILED) {
        return false;
    }
    if (step == ETL_STEP_END) {
        end_chain(merge, chain);
        merge->heap[at] = merge->heap[--merge->heap_count];
    }
    return true;
}

/*
 * Count left-out records up to the next record to deliver, or the end of a file. Their order does
 * not matter, so the heap is not needed: all records before the next end of a buffer of any chain
 * are known. Scanning all chains pays if there are few.
 */
static bool count_in_few(struct etl_merge *merge, struct error *err)
{
    bool more = true;
    while (more && merge->heap_count && merge->ended_file == SIZE_MAX &&
           merge->counted.total < MAX_LEFT_OUT) {
        struct key end;
        size_t horizon = find_horizon(merge, &end);
        for (size_t i = 0; i < merge->heap_count; i++) {
            count_until(merge, merge->heap[i], &end);
        }
        more = is_left_out(merge->heap[horizon]);
        if (more && !step_past_end(merge, horizon, err)) {
            return false;
        }
    }
    order(merge);
    return true;
}

/* Count left-out records one by one, up to the next record to deliver, or the end of a file. */
static bool count_in_many(struct etl_merge *merge, struct error *err)
{
    while (merge->heap_count && is_left_out(merge->heap[0]) && merge->ended_file == SIZE_MAX &&
           merge->counted.total < MAX_LEFT_OUT) {
        count_one(merge, merge->heap[0]);
        if (!step_past_top(merge, err)) {
            return false;
        }
    }
    return true;
}

enum etl_merge_step etl_merge_next(struct etl_merge *merge, const struct event_record **ret_record,
    size_t *ret_file, struct error *err)
{
    if (next_empty_file(merge, ret_file)) {
        return ETL_MERGE_FILE_END;
    }
    if (merge->top_delivered && !step_past_top(merge, err)) {
        return ETL_MERGE_FAILED;
    }
    if (merge->heap_count && is_left_out(merge->heap[0]) && merge->ended_file == SIZE_MAX) {
        bool few = merge->heap_count <= FEW_CHAINS;
        merge->counted.total = 0;
        return (few ? count_in_few : count_in_many)(merge, err) ? ETL_MERGE_LEFT_OUT
                                                                : ETL_MERGE_FAILED;
    }
    if (merge->ended_file != SIZE_MAX) {
        *ret_file = merge->ended_file;
        merge->ended_file = SIZE_MAX;
        return ETL_MERGE_FILE_END;
    }
    if (merge->heap_count == 0) {
        return ETL_MERGE_END;
    }
    struct chain *top = merge->heap[0];
    if (!top->current) { /* was idle: read its first record again */
        enum etl_step step = advance(merge, top, err);
        if (step == ETL_STEP_FAILED) {
            return ETL_MERGE_FAILED;
        }
        if (step == ETL_STEP_END) { /* the file changed during reading */
            error_set(err, ERR_IO, "%s: changed while it was read",
                merge->files[top->key.file]->bytes.path);
            return ETL_MERGE_FAILED;
        }
    }
    merge->top_delivered = true;
    *ret_record = etl_stream_record(top->stream);
    *ret_file = top->key.file;
    return ETL_MERGE_RECORD;
}

const struct etl_merge_left_out *etl_merge_left_out(const struct etl_merge *merge)
{
    return &merge->counted;
}

uint64_t etl_merge_bytes(const struct etl_merge *merge)
{
    return merge->bytes;
}
