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
 * The first pass reported damage; here damaged parts are skipped in the same way.
 */

enum { MAX_IDLE_STREAMS = 64 };

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
    struct etl_stream *stream; /* NULL: idle; the current record is the first of the chain */
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
    chain->stream = etl_stream_take(&merge->streams);
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
    if (!(is_leftover ? evtx_file_leftover : evtx_file_chunk)(
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

/* Open the chain's next buffer. One that cannot be opened any more has no records. ${continues}:
 * the stream just ended the previous buffer, whose last time applies to records without a time. */
static bool open_buffer(
    struct etl_merge *merge, struct chain *chain, bool continues, bool *ret_open, struct error *err)
{
    struct etl_file *file = merge->files[chain->key.file];
    if (evtx_file_is_one(file)) {
        return open_chunk(merge, chain, ret_open, err);
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
            etl_stream_last_time(chain->stream, &scope);
        }
        etl_stream_open(chain->stream, &file->bytes, &buffer, file->epochs[epoch]->format, &scope);
        chain->current = entry;
        merge->bytes += buffer.size;
    }
    return true;
}

/* Advance to the chain's next record. ${ret_more} false: there is none. */
static bool advance(struct etl_merge *merge, struct chain *chain, bool *ret_more, struct error *err)
{
    bool continues = false;
    for (;;) {
        if (chain->current) {
            enum etl_step step = etl_stream_next(chain->stream);
            if (step == ETL_STEP_RECORD) {
                const struct event_record *record = etl_stream_record(chain->stream);
                chain->key.time = record->time;
                chain->key.buffer_offset = etl_index_offset(chain->current);
                chain->key.record_offset = record->position.record_offset;
                *ret_more = true;
                return true;
            }
            if (step == ETL_STEP_FAILED) {
                if (err) {
                    *err = *etl_stream_error(chain->stream);
                }
                return false;
            }
            chain->current = NULL;
            continues = true;
        }
        bool open = false;
        if (chain->next == chain->end) {
            *ret_more = false;
            return true;
        }
        if (!open_buffer(merge, chain, continues, &open, err)) {
            return false;
        }
    }
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
    bool more;
    if (!take_stream(merge, chain, err) || !advance(merge, chain, &more, err)) {
        return false;
    }
    if (!more) {
        drop_stream(merge, chain);
        merge->open_chains[chain->key.file]--;
        return true;
    }
    merge->heap[merge->heap_count++] = chain;
    if (merge->streams.taken > MAX_IDLE_STREAMS) {
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
    for (size_t i = merge->heap_count / 2; i-- > 0;) {
        sift_down(merge, i);
    }
    find_second(merge);
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

/* Advance past the record delivered last. */
static bool step_past_top(struct etl_merge *merge, struct error *err)
{
    struct chain *top = merge->heap[0];
    bool more;
    merge->top_delivered = false;
    if (!advance(merge, top, &more, err)) {
        return false;
    }
    if (more && (!merge->second || is_before(&top->key, &merge->second->key))) {
        return true;
    }
    if (!more) {
        drop_stream(merge, top);
        if (--merge->open_chains[top->key.file] == 0) {
            merge->ended_file = top->key.file;
        }
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

enum etl_merge_step etl_merge_next(struct etl_merge *merge, const struct event_record **ret_record,
    size_t *ret_file, struct error *err)
{
    if (next_empty_file(merge, ret_file)) {
        return ETL_MERGE_FILE_END;
    }
    if (merge->top_delivered && !step_past_top(merge, err)) {
        return ETL_MERGE_FAILED;
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
    if (!top->stream) { /* was idle: read its first record again */
        bool more;
        if (!take_stream(merge, top, err) || !advance(merge, top, &more, err)) {
            return ETL_MERGE_FAILED;
        }
        if (!more) { /* the file changed during reading */
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

uint64_t etl_merge_bytes(const struct etl_merge *merge)
{
    return merge->bytes;
}
