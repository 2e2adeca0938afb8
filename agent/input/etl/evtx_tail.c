#include "input/etl/evtx_tail.h"

#include <stdlib.h>
#include <xxhash.h>

#include "input/etl/evtx_file.h"
#include "input/evtx/evtx_format.h"

/*
 * Design: the reader lists all chunks by number and walks the list. At its end the reader lists
 * them again, but only if something has changed that a writer changes with each chunk: the header
 * of the file, of the chunk read last, of the next place, or of the first place, to which a
 * circular log returns. If the number in a chunk's header differs from the list after the chunk was
 * copied, the chunk was overwritten meanwhile and the list is out of date.
 *
 * Only the newest chunk may contain a partially written record. That record is left for the next
 * call, which lists the chunks again, because no header changes when the rest of the record is
 * written.
 */
enum { MAX_LISTS = 4 /* per call: the writer may be faster than the reader */ };

struct evtx_tail {
    struct etl_file *file;
    struct evtx_chunk *chunk;
    struct etl_index list;
    size_t next;       /* index in the list */
    uint64_t done;     /* mark of what was read; 0: nothing */
    uint64_t expected; /* number of the next record; 0: nothing was read */
    uint64_t place;    /* offset of the chunk read last; 0: none */
    uint64_t state;    /* hash of the headers when the list was made */
    bool is_listed;
    bool is_partial; /* the newest chunk ends with a partially written record */
    bool is_replaced;
};

static uint64_t mark_of(uint64_t number, uint32_t end)
{
    return number << 16 | (end - 1);
}

static uint64_t number_of(uint64_t mark)
{
    return mark >> 16;
}

static uint32_t end_of(uint64_t mark)
{
    return (uint32_t)(mark & UINT16_MAX) + 1;
}

struct evtx_tail *evtx_tail_create(struct etl_file *file, struct error *err)
{
    struct evtx_tail *tail = calloc(1, sizeof(*tail));
    struct evtx_chunk *chunk = tail ? evtx_chunk_create() : NULL;
    if (!chunk) {
        free(tail);
        error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
        return NULL;
    }
    tail->file = file;
    tail->chunk = chunk;
    return tail;
}

void evtx_tail_destroy(struct evtx_tail *tail)
{
    if (tail) {
        etl_index_fini(&tail->list);
        evtx_chunk_destroy(tail->chunk);
        free(tail);
    }
}

/* ---- the list of chunks ---------------------------------------------------------------------- */

/* Hash the headers that a writer changes. */
static bool look(struct evtx_tail *tail, uint64_t *ret_state, struct error *err)
{
    const uint64_t places[] = {
        0, EVTX_FILE_HEADER_BYTES, tail->place, tail->place + EVTX_CHUNK_BYTES};
    enum { PLACES = sizeof(places) / sizeof(places[0]) };
    uint8_t heads[PLACES][EVTX_CHUNK_HEAD_BYTES] = {{0}};
    for (size_t i = 0; i < PLACES; i++) {
        size_t got;
        if (!etl_bytes_read(
                &tail->file->bytes, places[i], heads[i], EVTX_CHUNK_HEAD_BYTES, &got, err)) {
            return false;
        }
    }
    *ret_state = XXH3_64bits_withSeed(heads, sizeof(heads), tail->file->bytes.size ^ tail->place);
    return true;
}

static bool list_chunks(struct evtx_tail *tail, struct error *err)
{
    etl_index_fini(&tail->list);
    for (uint64_t at = EVTX_FILE_HEADER_BYTES; at < tail->file->bytes.size;
         at += EVTX_CHUNK_BYTES) {
        struct etl_buffer chunk;
        bool found;
        if (!evtx_file_chunk(tail->file, at, &chunk, &found, err)) {
            return false;
        }
        if (found && !chunk.empty && !etl_index_add(&tail->list, at, 0, 0, chunk.sequence)) {
            return error_set(err, ERR_MEMORY, "%s: out of memory", tail->file->bytes.path);
        }
    }
    etl_index_sort(&tail->list);
    return true;
}

static uint64_t number_at(const struct evtx_tail *tail, size_t index)
{
    return tail->list.entries[index].order & (UINT64_MAX >> 16);
}

/* List the chunks again if they may have changed. ${ret_made} false: they have not. */
static bool renew(struct evtx_tail *tail, bool *ret_made, struct error *err)
{
    uint64_t state;
    if (!look(tail, &state, err)) {
        return false;
    }
    *ret_made = !tail->is_listed || state != tail->state;
    if (!*ret_made) {
        return true;
    }
    tail->is_listed = false;
    if (!list_chunks(tail, err)) {
        return false;
    }
    tail->is_listed = true;
    tail->state = state;
    tail->next = 0;
    while (tail->next < tail->list.count && number_at(tail, tail->next) < number_of(tail->done)) {
        tail->next++;
    }
    tail->is_replaced = tail->done && tail->list.count && tail->next == tail->list.count;
    return true;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

enum copied { COPY_MADE, COPY_STALE /* the place now contains another chunk */, COPY_FAILED };

/* Copy the chunk at ${offset} and open it at ${from}. ${ret_place}: the chunk, with the end of its
 * records. */
static enum copied copy_chunk(struct evtx_tail *tail, uint64_t offset, uint64_t number,
    uint32_t from, struct evtx_place *ret_place, struct error *err)
{
    struct etl_buffer before;
    struct etl_buffer after;
    bool found;
    if (!evtx_file_chunk(tail->file, offset, &before, &found, err)) {
        return COPY_FAILED;
    }
    if (!found || before.sequence != number) {
        return COPY_STALE;
    }
    struct etl_scope scope = etl_file_scope(tail->file, &before, 0);
    scope.position.buffer_offset = number & (UINT64_MAX >> 16);
    evtx_file_open_chunk(tail->chunk, tail->file, &before, &scope, EVTX_FILE_SECOND_PASS);
    if (!evtx_chunk_load(tail->chunk, from, ret_place)) {
        if (err) {
            *err = *evtx_chunk_error(tail->chunk);
        }
        return COPY_FAILED;
    }
    if (!evtx_file_chunk(tail->file, offset, &after, &found, err)) {
        return COPY_FAILED;
    }
    bool is_same = found && after.sequence == number && ret_place->first_number == number;
    ret_place->end = before.end < ret_place->end ? before.end : ret_place->end;
    return is_same ? COPY_MADE : COPY_STALE;
}

/* Set ${ret_found} to the records of the copied chunk from ${from} to ${end}. */
static void take(struct evtx_tail *tail, const struct evtx_place *place, uint32_t from,
    uint32_t end, struct evtx_tail_found *ret_found)
{
    bool has_gap = tail->expected && place->first_number > tail->expected;
    evtx_chunk_cut(tail->chunk, end);
    tail->done = mark_of(place->first_number, end);
    *ret_found = (struct evtx_tail_found){.chunk = tail->chunk,
        .mark = tail->done,
        .lost = has_gap && from == EVTX_CHUNK_HEADER_BYTES ? place->first_number - tail->expected
                                                           : 0};
    tail->expected = place->last_number + 1;
    tail->place = place->offset;
}

/* Read the next chunk of the list. NONE: it has nothing new, or the list is out of date
 * (${ret_stale}). */
static enum evtx_tail_step try_chunk(struct evtx_tail *tail, uint64_t to, bool is_final,
    bool *ret_stale, struct evtx_tail_found *ret_found, struct error *err)
{
    uint64_t number = number_at(tail, tail->next);
    bool is_newest = tail->next + 1 == tail->list.count;
    bool goes_on = tail->done && number == number_of(tail->done);
    uint32_t from = goes_on ? end_of(tail->done) : EVTX_CHUNK_HEADER_BYTES;
    struct evtx_place place;
    switch (copy_chunk(
        tail, etl_index_offset(&tail->list.entries[tail->next]), number, from, &place, err)) {
    case COPY_FAILED:
        return EVTX_TAIL_FAILED;
    case COPY_STALE:
        *ret_stale = true;
        return EVTX_TAIL_NONE;
    case COPY_MADE:
        break;
    }
    uint32_t end = place.end;
    if (to != UINT64_MAX && number == number_of(to)) {
        end = end < end_of(to) ? end : end_of(to);
    } else if (is_newest && !is_final) {
        uint32_t whole = evtx_chunk_whole(tail->chunk);
        tail->is_partial = whole < end;
        end = end < whole ? end : whole;
    }
    if (end <= from) {
        return EVTX_TAIL_NONE;
    }
    take(tail, &place, from, end, ret_found);
    return EVTX_TAIL_CHUNK;
}

enum evtx_tail_step evtx_tail_next(struct evtx_tail *tail, uint64_t to, bool is_final,
    struct evtx_tail_found *ret_found, struct error *err)
{
    unsigned lists = 0;
    tail->is_listed = tail->is_listed && !tail->is_partial;
    tail->is_partial = false;
    for (;;) {
        bool is_stale = false;
        bool is_new = true;
        if (!tail->is_listed || tail->next == tail->list.count) {
            if (lists++ == MAX_LISTS) {
                return EVTX_TAIL_NONE;
            }
            if (!renew(tail, &is_new, err)) {
                return EVTX_TAIL_FAILED;
            }
        }
        if (!is_new || tail->next == tail->list.count ||
            (to != UINT64_MAX && number_at(tail, tail->next) > number_of(to))) {
            return EVTX_TAIL_NONE;
        }
        enum evtx_tail_step step = try_chunk(tail, to, is_final, &is_stale, ret_found, err);
        tail->next++;
        tail->is_listed = tail->is_listed && !is_stale;
        if (step != EVTX_TAIL_NONE) {
            return step;
        }
    }
}

void evtx_tail_leave(struct evtx_tail *tail, uint64_t to)
{
    tail->done = to > tail->done ? to : tail->done;
    tail->is_listed = false;
}

bool evtx_tail_is_replaced(const struct evtx_tail *tail)
{
    return tail->is_replaced;
}

bool evtx_tail_has(struct evtx_tail *tail, uint64_t start)
{
    bool is_made;
    return renew(tail, &is_made, NULL) && tail->list.count &&
           number_at(tail, 0) <= number_of(start) &&
           number_at(tail, tail->list.count - 1) >= number_of(start);
}
