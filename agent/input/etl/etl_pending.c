#include "input/etl/etl_pending.h"

#include <stdlib.h>

#include "base/grow.h"
#include "input/etl/etl_stream.h"

/*
 * Design: a row is the queue of one processor's buffers. A row with buffers is loaded: its stream
 * is at the next record, and that record's key is known. The best key is found by scanning all
 * loaded rows. Records of one row tend to follow each other, so the second-best key is remembered,
 * and the row continues without scanning as long as it stays ahead (as in etl_merge.c).
 *
 * If many rows are loaded but not started, they release their stream and read their first record
 * again when their turn comes.
 */
enum { MAX_IDLE_STREAMS = 64, ROWS = ETL_CPU_MASK + 2, HEADER_ROW = ETL_CPU_MASK + 1 };

struct key {
    uint64_t time;
    uint64_t buffer_offset;
    uint32_t record_offset;
};

struct waiting {
    struct etl_buffer buffer;
    size_t epoch;
    uint32_t from;
};

struct row {
    struct waiting *queue; /* [head, head + count) */
    size_t head;
    size_t count;
    size_t capacity;
    bool loaded; /* the next record is in the first buffer, with the key `key` */
    struct key key;
    struct etl_stream *stream; /* NULL: idle; the key is that of the first buffer's first record */
    bool has_scope;            /* `scope` has the last times of an earlier buffer */
    struct etl_scope scope;
};

struct etl_pending {
    struct etl_file *file;
    struct row *rows[ROWS];
    struct row *loaded[ROWS];
    size_t loaded_count;
    struct row *current; /* its record was delivered; advance first */
    struct key second;   /* best key of the other rows while `current` continues */
    bool second_known;
    size_t buffers;
    struct etl_stream_pool streams;
};

static inline bool is_before(const struct key *a, const struct key *b)
{
    if (a->time != b->time) {
        return a->time < b->time;
    }
    return a->buffer_offset != b->buffer_offset ? a->buffer_offset < b->buffer_offset
                                                : a->record_offset < b->record_offset;
}

struct etl_pending *etl_pending_create(struct etl_file *file, struct error *err)
{
    struct etl_pending *p = calloc(1, sizeof(*p));
    if (!p) {
        error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
        return NULL;
    }
    p->file = file;
    return p;
}

static void drop_stream(struct etl_pending *p, struct row *row)
{
    etl_stream_give_back(&p->streams, row->stream);
    row->stream = NULL;
}

void etl_pending_drop(struct etl_pending *p)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct row *row = p->rows[i];
        if (row) {
            drop_stream(p, row);
            row->head = 0;
            row->count = 0;
            row->loaded = false;
        }
    }
    p->loaded_count = 0;
    p->current = NULL;
    p->second_known = false;
    p->buffers = 0;
}

void etl_pending_destroy(struct etl_pending *p)
{
    if (!p) {
        return;
    }
    etl_pending_drop(p);
    for (size_t i = 0; i < ROWS; i++) {
        if (p->rows[i]) {
            free(p->rows[i]->queue);
            free(p->rows[i]);
        }
    }
    etl_stream_destroy(p->streams.spare);
    free(p);
}

size_t etl_pending_buffers(const struct etl_pending *p)
{
    return p->buffers;
}

static bool enqueue(struct row *row, const struct waiting *waiting)
{
    if (row->head + row->count == row->capacity) {
        if (row->head > row->capacity / 2) {
            memmove(row->queue, row->queue + row->head, row->count * sizeof(*row->queue));
            row->head = 0;
        } else {
            size_t capacity = row->capacity ? row->capacity * 2 : 16;
            if (!grow_to(&row->queue, capacity, &row->capacity, sizeof(*row->queue))) {
                return false;
            }
        }
    }
    row->queue[row->head + row->count++] = *waiting;
    return true;
}

/* Open the row's first buffer. */
static bool open_first(struct etl_pending *p, struct row *row, struct error *err)
{
    const struct waiting *first = &row->queue[row->head];
    if (!row->stream) {
        row->stream = etl_stream_take(&p->streams);
        if (!row->stream) {
            return error_set(err, ERR_MEMORY, "%s: out of memory for reading %zu processors",
                p->file->bytes.path, p->streams.taken + 1);
        }
    }
    struct etl_scope scope = etl_file_scope(p->file, &first->buffer, first->epoch);
    if (row->has_scope && row->scope.trace == scope.trace) {
        scope.has_last_time = row->scope.has_last_time;
        scope.last_raw = row->scope.last_raw;
        scope.last_time = row->scope.last_time;
    }
    etl_stream_open(row->stream, &p->file->bytes, &first->buffer,
        p->file->epochs[first->epoch]->format, &scope);
    return true;
}

static void pop_first(struct etl_pending *p, struct row *row)
{
    const struct waiting *first = &row->queue[row->head];
    row->scope = etl_file_scope(p->file, &first->buffer, first->epoch);
    etl_stream_last_time(row->stream, &row->scope);
    row->has_scope = true;
    row->head++;
    row->count--;
    p->buffers--;
}

/* Advance to the row's next record, in the open buffer or later ones. ${ret_more} false: there is
 * none. A damaged buffer ends where the walk that found the damage reported it. */
static bool advance(struct etl_pending *p, struct row *row, bool *ret_more, struct error *err)
{
    for (;;) {
        enum etl_step step = etl_stream_next(row->stream);
        if (step == ETL_STEP_FAILED) {
            *err = *etl_stream_error(row->stream);
            return false;
        }
        if (step == ETL_STEP_RECORD) {
            const struct event_record *record = etl_stream_record(row->stream);
            if (record->position.record_offset < row->queue[row->head].from) {
                continue;
            }
            row->key = (struct key){.time = record->time,
                .buffer_offset = record->position.buffer_offset,
                .record_offset = record->position.record_offset};
            *ret_more = true;
            return true;
        }
        pop_first(p, row);
        if (row->count == 0) {
            *ret_more = false;
            return true;
        }
        if (!open_first(p, row, err)) {
            return false;
        }
    }
}

static void unload(struct etl_pending *p, struct row *row)
{
    drop_stream(p, row);
    row->loaded = false;
    for (size_t i = 0; i < p->loaded_count; i++) {
        if (p->loaded[i] == row) {
            p->loaded[i] = p->loaded[--p->loaded_count];
            break;
        }
    }
    p->second_known = false;
}

/* Find the row's first record. */
static bool load(struct etl_pending *p, struct row *row, struct error *err)
{
    bool more;
    if (!open_first(p, row, err) || !advance(p, row, &more, err)) {
        return false;
    }
    if (!more) {
        drop_stream(p, row);
        return true;
    }
    row->loaded = true;
    p->loaded[p->loaded_count++] = row;
    p->second_known = false;
    if (p->streams.taken > MAX_IDLE_STREAMS) {
        drop_stream(p, row);
    }
    return true;
}

bool etl_pending_add(struct etl_pending *p, const struct etl_buffer *buffer, size_t epoch,
    uint32_t from, struct error *err)
{
    size_t index = buffer->type == ETL_TYPE_HEADER ? (size_t)HEADER_ROW : buffer->cpu;
    struct row *row = p->rows[index];
    if (!row) {
        row = calloc(1, sizeof(*row));
        p->rows[index] = row;
    }
    struct waiting waiting = {.buffer = *buffer, .epoch = epoch, .from = from};
    if (!row || !enqueue(row, &waiting)) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", p->file->bytes.path);
    }
    p->buffers++;
    return row->loaded || load(p, row, err);
}

/* The row with the best key, which has the next record. Remembers the second-best key. */
static struct row *find_best(struct etl_pending *p)
{
    struct row *best = NULL;
    p->second = (struct key){.time = UINT64_MAX, .buffer_offset = UINT64_MAX};
    for (size_t i = 0; i < p->loaded_count; i++) {
        struct row *row = p->loaded[i];
        if (!best || is_before(&row->key, &best->key)) {
            if (best) {
                p->second = best->key;
            }
            best = row;
        } else if (is_before(&row->key, &p->second)) {
            p->second = row->key;
        }
    }
    p->second_known = true;
    return best;
}

/* Advance past the record delivered last. */
static bool step_past_current(struct etl_pending *p, struct row **ret_row, struct error *err)
{
    struct row *row = p->current;
    bool more;
    *ret_row = NULL;
    if (!row) {
        return true;
    }
    p->current = NULL;
    if (!advance(p, row, &more, err)) {
        return false;
    }
    if (!more) {
        unload(p, row);
    } else if (p->second_known && is_before(&row->key, &p->second)) {
        *ret_row = row;
    }
    return true;
}

enum etl_pending_step etl_pending_next(struct etl_pending *p, uint64_t limit,
    const struct event_record **ret_record, struct error *err)
{
    struct error ignored;
    struct row *row;
    err = err ? err : &ignored;
    if (!step_past_current(p, &row, err)) {
        return ETL_PENDING_FAILED;
    }
    if (!row) {
        row = find_best(p);
    }
    if (!row || row->key.time > limit) {
        return ETL_PENDING_NONE;
    }
    if (!row->stream) { /* was idle: read its first record again */
        bool more;
        if (!open_first(p, row, err) || !advance(p, row, &more, err)) {
            return ETL_PENDING_FAILED;
        }
        if (!more) {
            error_set(err, ERR_IO, "%s: changed while it was read", p->file->bytes.path);
            return ETL_PENDING_FAILED;
        }
    }
    p->current = row;
    *ret_record = etl_stream_record(row->stream);
    return ETL_PENDING_RECORD;
}
