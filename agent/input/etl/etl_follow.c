#include "input/etl/etl_follow.h"

#include <stdlib.h>

#include "input/etl/etl_pending.h"
#include "input/etl/etl_probe.h"
#include "input/etl/etl_ring.h"
#include "input/etl/etl_stream.h"
#include "input/etl/etl_walk.h"
#include "input/etl/evtx_file.h"
#include "input/etl/evtx_follow.h"
#include "platform/plat_file.h"

/*
 * Design. An ordinary trace grows at its end. A walk (etl_walk.h) advances over whole buffers; each
 * is added to etl_pending, and then the records up to a limit are delivered. The limit depends only
 * on the buffers read so far, not on when the file was polled, so that the order can be reproduced.
 * If nothing is written for a while, the caller flushes with etl_follow_flush and records that in
 * its schedule.
 *
 * Windows writes the buffers of one processor in time order. Between processors they lag; without a
 * flush timer, buffers of an idle processor may be hours late.
 *
 * A circular trace is read through etl_ring, buffer by buffer: a buffer that waited for others
 * could be overwritten.
 *
 * An event log has one order, so nothing waits: evtx_follow reads it.
 *
 * The file has its own pool of handles, so that its handle stays open: the path may later name
 * another file.
 */
enum { FLUSH_MARKER = 0x0001, NO_PER_PROCESSOR = 0x10000000, MAX_WAITING_BUFFERS = 65536 };

static const uint64_t hold = 15000000; /* 1.5 s: a flush timer of 1 s plus time for the writer */

struct etl_follow {
    struct etl_file *file;
    struct etl_handles handles;
    struct etl_follow_events events;
    uint8_t *constant; /* of the header record, from etl_header_constant_part */
    size_t constant_size;
    uint32_t header_end;
    struct etl_buffer header;

    struct etl_walk *walk;
    struct etl_pending *pending;
    struct etl_ring *ring;   /* used instead of the walk for a circular trace */
    struct evtx_follow *log; /* used instead of walk and ring for an event log */
    struct etl_stream *stream;
    bool closed;
    uint64_t buffers; /* visited in the last epoch */

    /* The buffer that the walk has reached. */
    bool arrived;
    struct etl_buffer buffer;
    size_t epoch;
    uint64_t latest; /* latest time in it */

    uint64_t reached[ETL_CPU_MASK + 1]; /* per processor; 0: no buffer yet */
    size_t processors_seen;
};

/* ---- opening --------------------------------------------------------------------------------- */

/* Called before any record of the epoch is delivered. */
static void expect_more(struct etl_follow *f, size_t epoch)
{
    struct trace_info *trace = &f->file->epochs[epoch]->info.trace;
    if (!trace->grows) {
        trace->grows = true;
        trace->has_stacks = true; /* stacks may follow */
    }
}

static bool on_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    struct etl_follow *f = self;
    f->buffers = epoch == f->epoch ? f->buffers + 1 : 1;
    f->arrived = true;
    f->buffer = *buffer;
    f->epoch = epoch;
    expect_more(f, epoch);
    f->latest = 0;
    return true;
}

static bool on_record(void *self, const struct event_record *record)
{
    struct etl_follow *f = self;
    f->latest = record->time > f->latest ? record->time : f->latest;
    return true;
}

static void on_damage(void *self, const struct trace_info *trace, uint64_t offset, const char *what)
{
    struct etl_follow *f = self;
    if (f->events.damage) {
        f->events.damage(f->events.self, trace, offset, what);
    }
}

/* Keep the header, which identifies the file. */
static bool keep_header(struct etl_follow *f, uint32_t header_end, struct error *err)
{
    enum { HEADER_BYTES = 512 * 1024 };
    struct arena arena;
    struct etl_probe_header header;
    arena_init(&arena, HEADER_BYTES);
    enum etl_header_state state = etl_probe_header(&f->file->bytes, 0, &arena, &header, err);
    bool good = state == ETL_HEADER_FOUND;
    if (good) {
        f->header = header.buffer;
        f->header_end = header_end && header_end < header.buffer.end ? header_end
                                                                     : header.buffer.end;
        f->constant_size = header.record.size;
        f->constant = malloc(header.record.size);
        if (f->constant) {
            etl_header_constant_part(header.record, f->constant);
        } else {
            good = error_set(err, ERR_MEMORY, "%s: out of memory", f->file->bytes.path);
        }
    } else if (state == ETL_HEADER_MISSING) {
        error_set(err, ERR_FORMAT, "%s: the trace header is missing", f->file->bytes.path);
    }
    arena_fini(&arena);
    return good;
}

static bool on_search(void *self)
{
    const struct etl_follow_events *events = &((struct etl_follow *)self)->events;
    return events->is_stopped && events->is_stopped(events->self);
}

static bool make_parts(struct etl_follow *f, struct error *err)
{
    const struct etl_visitor visitor = {.self = f,
        .buffer = on_buffer,
        .record = on_record,
        .damage = on_damage,
        .is_stopped = on_search,
        .leaves_trace = true};
    f->walk = etl_walk_create(f->file, &visitor, err);
    f->pending = f->walk ? etl_pending_create(f->file, err) : NULL;
    f->stream = f->pending ? etl_stream_create() : NULL;
    if (f->pending && !f->stream) {
        error_set(err, ERR_MEMORY, "%s: out of memory", f->file->bytes.path);
    }
    bool circular = etl_file_info(f->file)->mode & ETL_MODE_CIRCULAR;
    if (f->stream && circular) {
        f->ring = etl_ring_create(f->file, err);
        return f->ring != NULL;
    }
    return f->stream != NULL;
}

struct etl_follow *etl_follow_open(const char *path, const struct trace_naming *naming,
    struct arena *arena, uint32_t header_end, const struct etl_follow_events *events,
    struct error *err)
{
    struct error ignored;
    err = err ? err : &ignored;
    struct etl_follow *f = calloc(1, sizeof(*f));
    if (!f) {
        error_set(err, ERR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    f->events = *events;
    f->file = etl_file_open(path, naming, &f->handles, arena, err);
    if (f->file) {
        expect_more(f, 0);
    }
    bool is_log = f->file && evtx_file_is_one(f->file);
    if (is_log) {
        f->log = evtx_follow_create(f->file, err);
    }
    if (f->log || (f->file && !is_log && keep_header(f, header_end, err) && make_parts(f, err))) {
        return f;
    }
    etl_follow_destroy(f);
    return NULL;
}

void etl_follow_destroy(struct etl_follow *f)
{
    if (f) {
        etl_stream_destroy(f->stream);
        evtx_follow_destroy(f->log);
        etl_ring_destroy(f->ring);
        etl_pending_destroy(f->pending);
        etl_walk_destroy(f->walk);
        free(f->constant);
        etl_file_destroy(f->file);
        free(f);
    }
}

const struct etl_file *etl_follow_file(const struct etl_follow *f)
{
    return f->file;
}

void etl_follow_set_id(struct etl_follow *f, const uint8_t id[16], const uint8_t records[16])
{
    memcpy(f->file->id, id, sizeof(f->file->id));
    memcpy(f->file->records, records, sizeof(f->file->records));
}

uint32_t etl_follow_header_end(const struct etl_follow *f)
{
    return f->header_end;
}

bool etl_follow_is_at(const struct etl_follow *f, const char *path)
{
    return plat_file_is_at(f->file->bytes.file, path);
}

bool etl_follow_is_waiting(const struct etl_follow *f)
{
    return f->pending && etl_pending_buffers(f->pending) != 0;
}

static bool teach_record(void *self, const struct event_record *record)
{
    struct etl_follow *f = self;
    f->events.metadata(f->events.self, record);
    return true;
}

static bool teach_buffer(void *self, const struct etl_buffer *buffer, size_t epoch)
{
    (void)buffer;
    (void)epoch;
    return !on_search(self);
}

enum etl_follow_end etl_follow_teach(struct etl_follow *f, struct error *err)
{
    if (f->log) {
        return ETL_FOLLOW_DONE; /* no record of a log describes others */
    }
    const struct etl_visitor visitor = {.self = f,
        .buffer = teach_buffer,
        .record = f->events.metadata ? teach_record : NULL,
        .is_stopped = on_search};
    struct etl_walk *walk = etl_walk_create(f->file, &visitor, err);
    if (!walk) {
        return ETL_FOLLOW_FAILED;
    }
    enum etl_walk_step step;
    do {
        step = etl_walk_next(walk, ETL_WALK_GROWING, err);
    } while (step == ETL_WALK_ON);
    etl_walk_destroy(walk);
    return step == ETL_WALK_FAILED    ? ETL_FOLLOW_FAILED
           : step == ETL_WALK_STOPPED ? ETL_FOLLOW_STOPPED
                                      : ETL_FOLLOW_DONE;
}

/* ---- checking for changes -------------------------------------------------------------------- */

/* Copy the header fields that change while a session runs and when it is closed. */
static void update_info(struct etl_info *info, const struct etl_info *now)
{
    info->end_time = now->end_time;
    info->buffers_written = now->buffers_written;
    info->events_lost = now->events_lost;
    info->buffers_lost = now->buffers_lost;
}

/* True if the header belongs to this file. */
static bool is_ours(const struct etl_follow *f, const struct etl_probe_header *header)
{
    if (header->record.size != f->constant_size) {
        return false;
    }
    uint8_t *constant = malloc(header->record.size);
    if (constant) {
        etl_header_constant_part(header->record, constant);
    }
    bool same = constant && memcmp(constant, f->constant, f->constant_size) == 0;
    free(constant);
    return same;
}

static bool look_at_headers(
    struct etl_follow *f, struct arena *arena, struct etl_follow_look *look, struct error *err)
{
    struct etl_bytes *bytes = &f->file->bytes;
    struct etl_probe_header header;
    size_t last = f->file->epoch_count - 1;
    enum etl_header_state state = etl_probe_header(bytes, 0, arena, &header, err);
    if (state == ETL_HEADER_FAILED) {
        return false;
    }
    if (state != ETL_HEADER_FOUND || !is_ours(f, &header)) {
        look->replaced = true;
        return true;
    }
    look->header_end = header.buffer.end;
    update_info(&f->file->epochs[0]->info, &header.info);
    if (last > 0) {
        state = etl_probe_header(bytes, f->file->epochs[last]->offset, arena, &header, err);
        if (state == ETL_HEADER_FOUND) {
            update_info(&f->file->epochs[last]->info, &header.info);
        }
    }
    return state != ETL_HEADER_FAILED;
}

bool etl_follow_look(
    struct etl_follow *f, const char *path, struct etl_follow_look *ret_look, struct error *err)
{
    enum { LOOK_BYTES = 1024 * 1024 };
    struct etl_follow_look look = {.closed = false};
    struct error ignored;
    struct arena arena;
    uint64_t size;
    err = err ? err : &ignored;
    if (f->log) {
        return evtx_follow_look(f->log, path, ret_look, err);
    }
    if (!plat_file_size(f->file->bytes.file, &size, err)) {
        return false;
    }
    look.moved = !etl_follow_is_at(f, path);
    f->file->bytes.size = size;
    arena_init(&arena, LOOK_BYTES);
    bool good = look_at_headers(f, &arena, &look, err);
    arena_fini(&arena);
    if (!good) {
        return false;
    }
    look.replaced = look.replaced || (!f->ring && size < etl_walk_offset(f->walk));
    if (look.replaced) {
        etl_pending_drop(f->pending);
    }
    const struct etl_info *info = &f->file->epochs[f->file->epoch_count - 1]->info;
    f->closed = info->end_time != 0;
    look.closed = f->closed && (f->ring || f->buffers >= info->buffers_written);
    *ret_look = look;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static enum etl_follow_end give(struct etl_follow *f, uint64_t limit, struct error *err)
{
    for (;;) {
        const struct event_record *record;
        switch (etl_pending_next(f->pending, limit, &record, err)) {
        case ETL_PENDING_NONE:
            return ETL_FOLLOW_DONE;
        case ETL_PENDING_FAILED:
            return ETL_FOLLOW_FAILED;
        case ETL_PENDING_RECORD:
            if (!f->events.record(f->events.self, record)) {
                return ETL_FOLLOW_STOPPED;
            }
            break;
        }
    }
}

/* Time up to which records may be delivered after a buffer arrived; see the header file. */
static uint64_t limit_after(struct etl_follow *f)
{
    const struct etl_info *info = &f->file->epochs[f->epoch]->info;
    if (f->buffer.flags & FLUSH_MARKER || etl_pending_buffers(f->pending) > MAX_WAITING_BUFFERS) {
        return UINT64_MAX;
    }
    uint64_t *reached = &f->reached[f->buffer.cpu];
    f->processors_seen += *reached == 0 && f->latest != 0;
    *reached = f->latest > *reached ? f->latest : *reached;
    size_t expected = info->mode & NO_PER_PROCESSOR ? 1 : info->processors;
    uint64_t flushed = trace_clock_filetime(&info->trace.clock, f->buffer.time_raw);
    uint64_t limit = flushed > hold ? flushed - hold : 0;
    if (f->processors_seen >= expected) {
        uint64_t common = UINT64_MAX;
        for (size_t i = 0; i <= ETL_CPU_MASK; i++) {
            common = f->reached[i] && f->reached[i] < common ? f->reached[i] : common;
        }
        limit = common > limit ? common : limit;
    }
    return limit;
}

static void tell_flush(
    const struct etl_follow *f, const struct etl_buffer *buffer, enum etl_follow_end end)
{
    if (buffer->flags & FLUSH_MARKER && end == ETL_FOLLOW_DONE && f->events.flushed) {
        f->events.flushed(f->events.self);
    }
}

/* Process the buffer that the walk has reached. */
static enum etl_follow_end take_arrived(struct etl_follow *f, struct error *err)
{
    bool is_first = f->buffer.offset == 0;
    if (is_first) {
        f->buffer.end = f->header_end;
    }
    if (!etl_pending_add(f->pending, &f->buffer, f->epoch, 0, err)) {
        return ETL_FOLLOW_FAILED;
    }
    if (!f->events.reads(f->events.self, etl_walk_offset(f->walk))) {
        return ETL_FOLLOW_STOPPED;
    }
    if (f->buffer.type == ETL_TYPE_HEADER) {
        return ETL_FOLLOW_DONE;
    }
    enum etl_follow_end end = give(f, limit_after(f), err);
    tell_flush(f, &f->buffer, end);
    return end;
}

static enum etl_follow_end read_walk(struct etl_follow *f, uint64_t to, struct error *err)
{
    uint64_t size = f->file->bytes.size;
    enum etl_walk_mode mode = f->closed ? ETL_WALK_CLOSED : ETL_WALK_GROWING;
    if (to < size) {
        f->file->bytes.size = to; /* ignore what was written since */
        mode = ETL_WALK_CLOSED;
    }
    enum etl_follow_end end = ETL_FOLLOW_DONE;
    enum etl_walk_step step = ETL_WALK_ON;
    while (end == ETL_FOLLOW_DONE && step == ETL_WALK_ON) {
        f->arrived = false;
        step = etl_walk_next(f->walk, mode, err);
        if (step == ETL_WALK_FAILED) {
            end = ETL_FOLLOW_FAILED;
        } else if (f->arrived) {
            end = take_arrived(f, err);
        }
    }
    f->file->bytes.size = size;
    return end;
}

/* Deliver all records of a copied buffer. */
static enum etl_follow_end give_copy(struct etl_follow *f, struct etl_bytes *bytes,
    const struct etl_buffer *buffer, struct error *err)
{
    uint64_t offset = etl_ring_offset(f->ring);
    struct etl_scope scope = etl_file_scope(f->file, buffer, 0);
    scope.position.buffer_offset = etl_file_place(f->file, offset, buffer->sequence);
    etl_stream_open(f->stream, bytes, buffer, 0, &scope);
    for (;;) {
        enum etl_step step = etl_stream_next(f->stream);
        if (step == ETL_STEP_FAILED) {
            *err = *etl_stream_error(f->stream);
            return ETL_FOLLOW_FAILED;
        }
        if (etl_stream_problem(f->stream)) {
            on_damage(f, &etl_file_info(f->file)->trace, offset, etl_stream_problem(f->stream));
        }
        if (step != ETL_STEP_RECORD) {
            return ETL_FOLLOW_DONE;
        }
        if (!f->events.record(f->events.self, etl_stream_record(f->stream))) {
            return ETL_FOLLOW_STOPPED;
        }
    }
}

/* Deliver the records of the header buffer, once, before all others. */
static enum etl_follow_end read_ring_header(struct etl_follow *f, struct error *err)
{
    f->buffers = 1;
    struct etl_buffer header = f->header;
    header.end = f->header_end;
    return etl_pending_add(f->pending, &header, 0, 0, err) ? give(f, UINT64_MAX, err)
                                                           : ETL_FOLLOW_FAILED;
}

static enum etl_follow_end read_ring(struct etl_follow *f, uint64_t to, struct error *err)
{
    enum etl_follow_end end = f->buffers ? ETL_FOLLOW_DONE : read_ring_header(f, err);
    while (end == ETL_FOLLOW_DONE) {
        struct etl_buffer buffer;
        struct etl_bytes *bytes;
        uint64_t skipped;
        enum etl_ring_step step = etl_ring_next(
            f->ring, to, f->closed || to != UINT64_MAX, &buffer, &bytes, &skipped, err);
        if (step == ETL_RING_FAILED) {
            return ETL_FOLLOW_FAILED;
        }
        if (step == ETL_RING_NONE) {
            break;
        }
        if (!f->events.reads(f->events.self, buffer.sequence)) {
            return ETL_FOLLOW_STOPPED;
        }
        if (skipped && to == UINT64_MAX && f->events.overwritten) {
            f->events.overwritten(
                f->events.self, &etl_file_info(f->file)->trace, skipped, "buffers");
        }
        end = give_copy(f, bytes, &buffer, err);
        tell_flush(f, &buffer, end);
    }
    if (end == ETL_FOLLOW_DONE && to != UINT64_MAX) {
        etl_ring_skip(f->ring, to);
    }
    return end;
}

enum etl_follow_end etl_follow_read(struct etl_follow *f, uint64_t to, struct error *err)
{
    struct error ignored;
    err = err ? err : &ignored;
    if (f->log) {
        return evtx_follow_read(f->log, &f->events, to, err);
    }
    return f->ring ? read_ring(f, to, err) : read_walk(f, to, err);
}

enum etl_follow_end etl_follow_grow_header(struct etl_follow *f, uint32_t end, struct error *err)
{
    struct error ignored;
    err = err ? err : &ignored;
    if (end <= f->header_end) {
        return ETL_FOLLOW_DONE;
    }
    struct etl_buffer header = f->header;
    uint32_t from = f->header_end;
    header.end = end < header.size ? end : header.size;
    f->header_end = header.end;
    if (!etl_pending_add(f->pending, &header, 0, from, err)) {
        return ETL_FOLLOW_FAILED;
    }
    return f->ring ? give(f, UINT64_MAX, err) : ETL_FOLLOW_DONE;
}

enum etl_follow_end etl_follow_flush(struct etl_follow *f, struct error *err)
{
    struct error ignored;
    return f->log ? ETL_FOLLOW_DONE : give(f, UINT64_MAX, err ? err : &ignored);
}
