#include "input/etl/etl_walk.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "input/etl/etl_stream.h"
#include "input/etl/evtx_file.h"
#include "input/record/host_facts.h"

/*
 * The walk over a file. Buffers follow each other without gaps, and each states its size, so a
 * damaged size loses the position of the next one. The rule: a buffer counts if something plausible
 * follows it (a buffer, the end of the file, or zeros) or if it has the session's size. Otherwise
 * the file is searched for the next bytes that look like a buffer. If those lie inside the buffer,
 * its size was wrong and it is skipped; if they lie after it, it counts and the gap is skipped. The
 * position only moves forward, no byte belongs to two buffers, and none is searched twice, so the
 * time is linear in the file size.
 *
 * Holes of sparse files are not read. A search gives up after more data than any session leaves
 * between two buffers: a sparse file can be too large to read in a day.
 */
enum {
    SEARCH_BYTES = 64 * 1024,
    /* bytes needed to recognise a buffer */
    START_BYTES = ETL_BUFFER_HEADER_SIZE + ETL_RECORD_START_SIZE,
};

/* Limit of data per search. While a file grows, the next poll searches again. */
static const uint64_t search_max_bytes = 4ULL << 30;
static const uint64_t search_growing_max_bytes = 64ULL << 20;

struct etl_walk {
    struct etl_file *file;
    struct etl_visitor visitor;
    struct etl_stream *stream;
    struct error *err;
    uint64_t offset;
    size_t epoch;
    bool stopped;
    bool failed;

    /* The start of a buffer read last: it is needed again as the next buffer. Only for files that
     * do not change. */
    bool is_whole;
    uint64_t start_offset; /* UINT64_MAX: none */
    uint8_t start[START_BYTES];

    /* Result of the last search: between search_from and search_found there is no buffer. Kept so
     * that no range is searched twice. */
    uint8_t *search; /* SEARCH_BYTES, allocated at the first damage */
    uint64_t search_from;
    uint64_t search_found;
    uint64_t search_max;
    bool gave_up; /* the last search gave up before the end of the file */
};

static void report(struct etl_walk *w, uint64_t offset, const char *what)
{
    if (w->visitor.damage) {
        w->visitor.damage(w->visitor.self, &w->file->epochs[w->epoch]->info.trace, offset, what);
    }
}

static uint64_t file_size(const struct etl_walk *w)
{
    return w->file->bytes.size;
}

/* Read ${size} bytes; bytes beyond the end of the file become zero. */
static bool read_bytes(struct etl_walk *w, uint64_t offset, uint8_t *data, size_t size)
{
    size_t got;
    if (!etl_bytes_read(&w->file->bytes, offset, data, size, &got, w->err)) {
        w->failed = true;
        return false;
    }
    memset(data + got, 0, size - got);
    return true;
}

/* Read START_BYTES at ${offset}, valid until the next call. NULL: the file cannot be read. */
static const uint8_t *read_start(struct etl_walk *w, uint64_t offset)
{
    if (!w->is_whole || w->start_offset != offset) {
        w->start_offset = UINT64_MAX;
        if (!read_bytes(w, offset, w->start, sizeof(w->start))) {
            return NULL;
        }
        w->start_offset = offset;
    }
    return w->start;
}

/* True if the START_BYTES at ${start}, found at ${offset}, are strictly plausible as a buffer that
 * begins, unless compressed, with a record. */
static bool makes_sense(const uint8_t *start, uint64_t offset, struct etl_buffer *ret_buffer)
{
    const char *problem;
    uint32_t size;
    return etl_buffer_plausible(start) && etl_buffer_parse(start, offset, ret_buffer, &problem) &&
           (ret_buffer->flags & ETL_FLAG_COMPRESSED || ret_buffer->empty ||
               etl_record_frame(start + ETL_BUFFER_HEADER_SIZE, &size) == ETL_FRAME_RECORD);
}

static bool has_buffer(struct etl_walk *w, uint64_t offset)
{
    const uint8_t *start = offset < file_size(w) ? read_start(w, offset) : NULL;
    struct etl_buffer buffer;
    return start && makes_sense(start, offset, &buffer);
}

/* True if there are only zeros in place of a header. */
static bool has_zeros(struct etl_walk *w, uint64_t offset)
{
    static const uint8_t zeros[ETL_BUFFER_HEADER_SIZE];
    const uint8_t *start = offset < file_size(w) ? read_start(w, offset) : NULL;
    return start && memcmp(start, zeros, sizeof(zeros)) == 0;
}

/* True for a plain buffer of the session's size: all but the first, unless the file was
 * rewritten. */
static bool is_of_session_size(const struct etl_walk *w, const struct etl_buffer *buffer)
{
    return !(buffer->flags & ETL_FLAG_COMPRESSED) &&
           buffer->size == w->file->epochs[w->epoch]->info.buffer_size;
}

/* True if a search result is a buffer: it has the session's size, or another buffer or the end of
 * the file follows. */
static bool is_buffer(struct etl_walk *w, const uint8_t *start, uint64_t offset)
{
    struct etl_buffer buffer;
    if (!makes_sense(start, offset, &buffer)) {
        return false;
    }
    uint64_t next = offset + buffer.size;
    return is_of_session_size(w, &buffer) || next == file_size(w) || has_buffer(w, next);
}

/* Skip a hole. A buffer starts with its size, so at most three of its bytes lie in a hole. */
static uint64_t skip_hole(struct etl_walk *w, uint64_t at)
{
    enum { ZEROS_OF_SIZE = 3 };
    uint64_t data = etl_bytes_next_data(&w->file->bytes, at);
    return data > at + ZEROS_OF_SIZE ? data - ZEROS_OF_SIZE : at;
}

/* Search ${size} bytes at ${at} for the start of a buffer; the bytes it may extend to were read,
 * too. */
static bool search_bytes(struct etl_walk *w, uint64_t at, size_t size)
{
    for (size_t i = 0; i < size && !w->failed; i++) {
        uint32_t buffer_size = load_le32(w->search + i);
        if (buffer_size >= ETL_BUFFER_HEADER_SIZE && buffer_size <= ETL_MAX_BUFFER_BYTES &&
            is_buffer(w, w->search + i, at + i)) {
            w->search_found = at + i;
            return true;
        }
    }
    return false;
}

/* Offset of the first buffer at or after ${from}; the file size if there is none or the search gave
 * up or was stopped. */
static uint64_t search(struct etl_walk *w, uint64_t from)
{
    if (from >= w->search_from && from <= w->search_found) {
        return w->search_found;
    }
    if (!w->search && !(w->search = malloc(SEARCH_BYTES))) {
        w->failed = true;
        error_set(w->err, ERR_MEMORY, "%s: out of memory", w->file->bytes.path);
        return file_size(w);
    }
    w->search_from = from;
    w->search_found = file_size(w);
    w->gave_up = false;
    const size_t step = SEARCH_BYTES - START_BYTES + 1;
    uint64_t searched = 0;
    uint64_t at = skip_hole(w, from);
    while (at + ETL_BUFFER_HEADER_SIZE <= file_size(w) && !w->stopped && !w->gave_up &&
           read_bytes(w, at, w->search, SEARCH_BYTES) && !search_bytes(w, at, step)) {
        searched += step;
        at = skip_hole(w, at + step);
        w->gave_up = searched >= w->search_max;
        w->stopped = w->visitor.is_stopped && w->visitor.is_stopped(w->visitor.self);
    }
    return w->search_found;
}

enum { GROUP_STACK_WALK = 0x18 };

/* Learn facts about the trace from the record. True if they change which records may be left out;
 * all notes so far are then discarded. */
static bool learn_trace(struct etl_walk *w, const struct event_record *record)
{
    struct trace_info *trace = &w->file->epochs[w->epoch]->info.trace;
    bool is_news = host_facts_learn(trace, record, w->file->arena);
    if (record->kind == RECORD_KERNEL && record->hook_id >> 8 == GROUP_STACK_WALK) {
        is_news |= !trace->has_stacks;
        trace->has_stacks = true;
    }
    if (is_news) {
        etl_left_out_clear(&w->file->left_out);
    }
    return is_news;
}

/* True if the buffer gets notes, provided that all of its records are left out. */
static bool may_note(struct etl_walk *w, const struct etl_buffer *buffer)
{
    return w->visitor.leaves_out && !w->file->epochs[w->epoch]->info.trace.has_stacks &&
           etl_left_out_open(&w->file->left_out, buffer);
}

static bool note(struct etl_walk *w, const struct event_record *record)
{
    uint8_t reason;
    return etl_record_has_own_time(record) &&
           w->visitor.leaves_out(w->visitor.self, record, &reason) &&
           etl_left_out_add(&w->file->left_out, record->time, reason);
}

static void visit_records(struct etl_walk *w, const struct etl_buffer *buffer)
{
    const struct etl_visitor *visitor = &w->visitor;
    struct etl_scope scope = etl_file_scope(w->file, buffer, w->epoch);
    etl_stream_open(w->stream, &w->file->bytes, buffer, w->file->epochs[w->epoch]->format, &scope);
    bool skips = !visitor->record || visitor->skips_plain_events;
    bool notes = may_note(w, buffer); /* until a record is not left out */
    while (!w->stopped) {
        if (skips && !notes) {
            etl_stream_skip_plain_events(w->stream);
        }
        enum etl_step step = etl_stream_next(w->stream);
        if (step == ETL_STEP_FAILED) {
            *w->err = *etl_stream_error(w->stream);
            w->failed = true;
            return;
        }
        if (etl_stream_problem(w->stream)) {
            report(w, etl_stream_offset(w->stream), etl_stream_problem(w->stream));
        }
        if (step != ETL_STEP_RECORD) {
            break;
        }
        const struct event_record *record = etl_stream_record(w->stream);
        bool is_news = !visitor->leaves_trace && learn_trace(w, record);
        w->stopped = visitor->record && !visitor->record(visitor->self, record);
        notes = notes && !is_news && note(w, record);
    }
    if (notes && !w->stopped) {
        etl_stream_last_time(w->stream, &scope);
        etl_left_out_close(&w->file->left_out, &scope);
    }
}

/* A further header buffer starts an appended session. An earlier walk has already added sessions
 * with a trace header, in order. */
static void enter_epoch(struct etl_walk *w, const struct etl_buffer *buffer)
{
    static const char no_header[] = "a header buffer without a trace header";
    struct etl_file *file = w->file;
    bool is_known = w->epoch + 1 < file->epoch_count;
    if (is_known && file->epochs[w->epoch + 1]->offset == buffer->offset) {
        w->epoch++;
    } else if (is_known) {
        report(w, buffer->offset, no_header);
    } else if (file->epoch_count == ETL_INDEX_MAX_EPOCHS) {
        report(w, buffer->offset, "too many appended sessions; times may be wrong from here on");
    } else if (etl_file_add_epoch(file, w->stream, buffer, w->err)) {
        w->epoch++;
    } else if (w->err->code == ERR_FORMAT || w->err->code == ERR_UNSUPPORTED) {
        report(w, buffer->offset, no_header);
    } else {
        w->failed = true;
    }
}

static void visit(struct etl_walk *w, const struct etl_buffer *found)
{
    struct etl_buffer buffer = *found;
    if (!etl_file_clip(w->file, &buffer)) {
        report(w, buffer.offset, "buffer skipped: the file ends inside its compressed data");
        return;
    }
    if (buffer.type == ETL_TYPE_HEADER && buffer.offset != 0) {
        enter_epoch(w, &buffer);
        if (w->failed) {
            return;
        }
    }
    if (buffer.flags & ETL_FLAG_COMPRESSED && !w->file->epochs[w->epoch]->format) {
        report(w, buffer.offset, "buffer skipped: unknown compression format");
        return;
    }
    if (buffer.truncated) {
        report(w, buffer.offset, "the file ends inside this buffer");
    }
    if (w->visitor.buffer && !w->visitor.buffer(w->visitor.self, &buffer, w->epoch)) {
        w->stopped = true;
        return;
    }
    visit_records(w, &buffer);
}

/* There is no buffer at ${offset} or after it. Zeros are no damage: the session preallocated more
 * than it used, or did not truncate the file. */
static void report_tail(struct etl_walk *w, uint64_t offset)
{
    const struct etl_info *info = &w->file->epochs[w->epoch]->info;
    if (w->gave_up) {
        report(w, offset, "no buffer in the next 4 GB of data; the rest of the file is not read");
        return;
    }
    bool unfinished = info->end_time == 0 || info->mode & ETL_MODE_PREALLOCATE;
    if (!(unfinished && has_zeros(w, offset))) {
        report(w, offset, "no buffer from here to the end of the file");
    }
}

/* Process what is at ${offset} and return the next offset. */
static uint64_t step(struct etl_walk *w, uint64_t offset)
{
    const uint8_t *start = read_start(w, offset);
    struct etl_buffer buffer;
    const char *problem;
    if (!start) {
        return offset;
    }
    if (offset + ETL_BUFFER_HEADER_SIZE > file_size(w) ||
        !etl_buffer_parse(start, offset, &buffer, &problem)) {
        uint64_t found = search(w, offset + 1);
        if (w->failed || w->stopped) {
            return offset;
        }
        if (found == file_size(w)) {
            report_tail(w, offset);
        } else {
            report(w, offset, "no buffer header; skipped to the next buffer");
        }
        return found;
    }
    uint64_t next = offset + buffer.size;
    bool trusted = is_of_session_size(w, &buffer);
    bool sound = next == file_size(w) || has_buffer(w, next) || has_zeros(w, next) ||
                 (next > file_size(w) && trusted);
    uint64_t found = sound ? next : search(w, trusted ? next : offset + 1);
    if (w->failed || w->stopped) {
        return offset;
    }
    if (problem) {
        report(w, offset, problem);
        return found;
    }
    if (found < next && found < file_size(w)) {
        report(w, offset, "buffer skipped: its size is wrong");
        return found;
    }
    visit(w, &buffer);
    return next;
}

/* True if all records of the buffer are there. Its header may be written before them. */
static bool has_all_records(struct etl_walk *w, const struct etl_buffer *buffer)
{
    struct etl_scope scope = etl_file_scope(w->file, buffer, w->epoch);
    etl_stream_open(w->stream, &w->file->bytes, buffer, w->file->epochs[w->epoch]->format, &scope);
    enum etl_step step;
    do {
        step = etl_stream_next(w->stream);
    } while (step == ETL_STEP_RECORD);
    if (step == ETL_STEP_FAILED) {
        *w->err = *etl_stream_error(w->stream);
        w->failed = true;
    }
    return step == ETL_STEP_END && etl_stream_is_complete(w->stream);
}

/* True if the buffer at the walk's offset is final, in a file that is still being written. */
static bool is_ready(struct etl_walk *w, enum etl_walk_mode mode)
{
    uint8_t header[ETL_BUFFER_HEADER_SIZE];
    struct etl_buffer buffer;
    const char *problem = NULL;
    if (w->offset + sizeof(header) > file_size(w) || has_zeros(w, w->offset) ||
        !read_bytes(w, w->offset, header, sizeof(header))) {
        return false;
    }
    if (!etl_buffer_parse(header, w->offset, &buffer, &problem)) {
        return search(w, w->offset + 1) < file_size(w);
    }
    uint64_t next = w->offset + buffer.size;
    if (next > file_size(w) || mode == ETL_WALK_CLOSED) {
        return next <= file_size(w);
    }
    /* nothing follows it yet, so it may be partially written */
    bool is_last = next == file_size(w) || has_zeros(w, next);
    return !is_last || (!problem && has_all_records(w, &buffer));
}

struct etl_walk *etl_walk_create(
    struct etl_file *file, const struct etl_visitor *visitor, struct error *err)
{
    struct etl_walk *walk = calloc(1, sizeof(*walk));
    struct etl_stream *stream = walk ? etl_stream_create() : NULL;
    if (!stream) {
        free(walk);
        error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
        return NULL;
    }
    *walk = (struct etl_walk){.file = file,
        .visitor = *visitor,
        .stream = stream,
        .start_offset = UINT64_MAX,
        .search_from = UINT64_MAX};
    return walk;
}

void etl_walk_destroy(struct etl_walk *walk)
{
    if (walk) {
        free(walk->search);
        etl_stream_destroy(walk->stream);
        free(walk);
    }
}

uint64_t etl_walk_offset(const struct etl_walk *walk)
{
    return walk->offset;
}

enum etl_walk_step etl_walk_next(struct etl_walk *walk, enum etl_walk_mode mode, struct error *err)
{
    struct error ignored;
    walk->err = err ? err : &ignored;
    walk->is_whole = mode == ETL_WALK_WHOLE;
    walk->search_max = mode == ETL_WALK_GROWING ? search_growing_max_bytes : search_max_bytes;
    bool ready = walk->offset < file_size(walk) && (mode == ETL_WALK_WHOLE || is_ready(walk, mode));
    if (ready && !walk->failed) {
        walk->offset = step(walk, walk->offset);
    }
    if (walk->failed) {
        walk->failed = false;
        return ETL_WALK_FAILED;
    }
    if (!ready) {
        walk->search_from = UINT64_MAX; /* search again: the missing buffer may exist next time */
    }
    return walk->stopped ? ETL_WALK_STOPPED : ready ? ETL_WALK_ON : ETL_WALK_END;
}

bool etl_file_walk(struct etl_file *file, const struct etl_visitor *visitor, struct error *err)
{
    if (evtx_file_is_one(file)) {
        return evtx_file_walk(file, visitor, err);
    }
    struct etl_walk *walk = etl_walk_create(file, visitor, err);
    if (!walk) {
        return false;
    }
    enum etl_walk_step step;
    do {
        step = etl_walk_next(walk, ETL_WALK_WHOLE, err);
    } while (step == ETL_WALK_ON);
    etl_walk_destroy(walk);
    return step != ETL_WALK_FAILED;
}

struct index_walk {
    struct etl_file *file;
    const struct etl_visitor *inner;
    bool out_of_memory;
};

static bool index_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    struct index_walk *walk = self;
    uint16_t chain = buffer->cpu;
    if (buffer->type == ETL_TYPE_HEADER) {
        chain |= ETL_INDEX_HEADER_CHAIN;
    }
    if (buffer->leftover) {
        chain = ETL_INDEX_LEFTOVER_CHAIN;
    }
    if (!etl_index_add(&walk->file->index, buffer->offset, chain, epoch, buffer->sequence)) {
        walk->out_of_memory = true;
        return false;
    }
    return !walk->inner->buffer || walk->inner->buffer(walk->inner->self, buffer, epoch);
}

static bool index_record(void *self, const struct event_record *record)
{
    struct index_walk *walk = self;
    return !walk->inner->record || walk->inner->record(walk->inner->self, record);
}

static bool index_leaves_out(void *self, const struct event_record *record, uint8_t *ret_reason)
{
    struct index_walk *walk = self;
    return walk->inner->leaves_out(walk->inner->self, record, ret_reason);
}

static void index_damage(
    void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct index_walk *walk = self;
    if (walk->inner->damage) {
        walk->inner->damage(walk->inner->self, trace, offset, what);
    }
}

static bool index_is_stopped(void *self)
{
    struct index_walk *walk = self;
    return walk->inner->is_stopped && walk->inner->is_stopped(walk->inner->self);
}

bool etl_file_index(struct etl_file *file, const struct etl_visitor *visitor, struct error *err)
{
    static const struct etl_visitor no_visitor;
    struct index_walk walk = {.file = file, .inner = visitor ? visitor : &no_visitor};
    const struct etl_visitor indexing = {
        .self = &walk,
        .buffer = index_buffer,
        .record = index_record,
        .skips_plain_events = walk.inner->skips_plain_events || !walk.inner->record,
        .leaves_out = walk.inner->leaves_out ? index_leaves_out : NULL,
        .damage = index_damage,
        .is_stopped = index_is_stopped,
    };
    etl_index_fini(&file->index);
    etl_left_out_clear(&file->left_out);
    if (!etl_file_walk(file, &indexing, err)) {
        return false;
    }
    if (walk.out_of_memory) {
        return error_set(err, ERR_MEMORY, "%s: out of memory for its index", file->bytes.path);
    }
    etl_index_sort(&file->index);
    return true;
}
