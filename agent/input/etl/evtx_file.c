#include "input/etl/evtx_file.h"

#include <stdlib.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "base/filetime.h"
#include "input/evtx/evtx_carve.h"
#include "input/evtx/evtx_format.h"
#include "input/evtx/evtx_hosts.h"

/* Hash the start of the file's header and of all chunk headers. */
static bool hash_chunks(struct etl_file *file, XXH3_state_t *hash, struct error *err)
{
    uint8_t head[EVTX_CHUNK_HEAD_BYTES];
    size_t got = sizeof(head);
    for (uint64_t at = 0; at < file->bytes.size && got == sizeof(head);) {
        if (!etl_bytes_read(&file->bytes, at, head, sizeof(head), &got, err)) {
            return false;
        }
        XXH3_128bits_update(hash, head, got);
        at += at ? EVTX_CHUNK_BYTES : EVTX_FILE_HEADER_BYTES;
    }
    return true;
}

/* Hash the number of the oldest chunk and the head of its first record. If all chunks are empty,
 * constants take their place. */
static bool hash_oldest(struct etl_file *file, XXH3_state_t *hash, struct error *err)
{
    struct etl_buffer oldest = {.sequence = UINT64_MAX};
    uint8_t record[EVTX_RECORD_HEAD_BYTES] = {0};
    size_t got;
    for (uint64_t at = EVTX_FILE_HEADER_BYTES; at < file->bytes.size; at += EVTX_CHUNK_BYTES) {
        struct etl_buffer chunk;
        bool found;
        if (!evtx_file_chunk(file, at, &chunk, &found, err)) {
            return false;
        }
        if (found && !chunk.empty && chunk.sequence < oldest.sequence) {
            oldest = chunk;
        }
    }
    if (oldest.offset && !etl_bytes_read(&file->bytes, oldest.offset + EVTX_CHUNK_HEADER_BYTES,
                             record, sizeof(record), &got, err)) {
        return false;
    }
    XXH3_128bits_update(hash, &oldest.sequence, sizeof(oldest.sequence));
    XXH3_128bits_update(hash, record, sizeof(record));
    return true;
}

static bool identify(struct etl_file *file, struct error *err)
{
    XXH3_state_t *hash = XXH3_createState();
    if (!hash) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
    }
    XXH3_128bits_reset(hash);
    bool good = file->naming.follows ? hash_oldest(file, hash, err) : hash_chunks(file, hash, err);
    XXH128_canonical_t id;
    XXH128_canonicalFromHash(&id, XXH3_128bits_digest(hash));
    memcpy(file->id, id.digest, sizeof(file->id));
    memcpy(file->records, id.digest, sizeof(file->records));
    XXH3_freeState(hash);
    return good;
}

bool evtx_file_begin(struct etl_file *file, struct error *err)
{
    struct etl_epoch *epoch = arena_alloc(file->arena, sizeof(*epoch));
    file->log = calloc(1, sizeof(*file->log));
    if (!epoch || !file->log) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
    }
    evtx_hosts_init(file->log, file->arena, file->naming.host.size != 0);
    epoch->info = (struct etl_info){.buffer_size = EVTX_CHUNK_BYTES, .pointer_size = 8};
    epoch->info.trace = (struct trace_info){.path = span_text(file->bytes.path),
        .file = etl_file_shown(&file->naming, span_text(file->bytes.path)),
        .host_name = file->naming.host,
        .clock = {.frequency = FILETIME_PER_S},
        .pointer_size = 8};
    message_numbers_init(&epoch->messages, 0, EVTX_CHUNK_BYTES);
    file->epochs[file->epoch_count++] = epoch;
    return identify(file, err);
}

bool evtx_file_is_dirty(struct etl_bytes *bytes, bool *ret_is_dirty, struct error *err)
{
    uint8_t flags[4] = {0};
    size_t got;
    if (!etl_bytes_read(bytes, EVTX_FILE_FLAGS_AT, flags, sizeof(flags), &got, err)) {
        return false;
    }
    *ret_is_dirty = load_le32(flags) & EVTX_FLAG_DIRTY;
    return true;
}

bool evtx_file_chunk(struct etl_file *file, uint64_t offset, struct etl_buffer *ret_buffer,
    bool *ret_found, struct error *err)
{
    uint8_t head[EVTX_CHUNK_HEAD_BYTES];
    struct evtx_place place;
    size_t got;
    if (!etl_bytes_read(&file->bytes, offset, head, sizeof(head), &got, err)) {
        return false;
    }
    *ret_found = got == sizeof(head) && evtx_chunk_parse(head, offset, &place);
    if (*ret_found) {
        *ret_buffer = (struct etl_buffer){.offset = offset,
            .size = EVTX_CHUNK_BYTES,
            .end = place.end,
            .sequence = place.first_number,
            .empty = place.empty};
    }
    return true;
}

bool evtx_file_leftover(struct etl_file *file, uint64_t offset, struct etl_buffer *ret_buffer,
    bool *ret_found, struct error *err)
{
    bool has_chunk;
    *ret_found = true;
    if (!evtx_file_chunk(file, offset, ret_buffer, &has_chunk, err)) {
        return false;
    }
    if (!has_chunk) {
        *ret_buffer = (struct etl_buffer){
            .offset = offset, .size = EVTX_CHUNK_BYTES, .end = EVTX_CHUNK_HEADER_BYTES};
    }
    ret_buffer->leftover = true;
    return true;
}

void evtx_file_open_chunk(struct evtx_chunk *reader, struct etl_file *file,
    const struct etl_buffer *chunk, const struct etl_scope *scope, enum evtx_file_pass pass)
{
    const struct evtx_place place = {.offset = chunk->offset,
        .first_number = chunk->sequence,
        .end = chunk->end,
        .empty = chunk->empty,
        .carves = chunk->leftover};
    const struct evtx_scope inherited = {.trace = scope->trace,
        .position = scope->position,
        .hosts = file->log,
        .checks_sums = pass == EVTX_FILE_FIRST_PASS,
        .carve = file->carve,
        .carves_again = pass == EVTX_FILE_SECOND_PASS};
    evtx_chunk_open(reader, &file->bytes, &place, &inherited);
}

/* ---- the walk -------------------------------------------------------------------------------- */

struct walk {
    struct etl_file *file;
    const struct etl_visitor *visitor;
    struct evtx_chunk *chunk;
    struct error *err;
    uint64_t open_chunk;    /* the one that Windows was writing; UINT64_MAX: none */
    uint64_t leftover_time; /* time of the first leftover of the current place; 0: none yet */
    bool stopped;
};

static void report(struct walk *w, uint64_t offset, const char *what)
{
    if (w->visitor->damage) {
        w->visitor->damage(w->visitor->self, &w->file->epochs[0]->info.trace, offset, what);
    }
}

/* True if only zeros are where a header should be: the log has not used this space yet. */
static bool is_unused(struct walk *w, uint64_t offset)
{
    static const uint8_t zeros[EVTX_CHUNK_HEAD_BYTES];
    uint8_t head[EVTX_CHUNK_HEAD_BYTES];
    size_t got;
    return etl_bytes_read(&w->file->bytes, offset, head, sizeof(head), &got, NULL) &&
           memcmp(head, zeros, got) == 0;
}

static void visit_record(
    struct walk *w, const struct etl_buffer *chunk, const struct event_record *record)
{
    if (w->file->carve && !chunk->leftover) {
        evtx_carve_note(w->file->carve, record->log_record_id, record->time);
    }
    if (chunk->leftover && !w->leftover_time) {
        w->leftover_time = record->time ? record->time : 1;
    }
    w->stopped = w->visitor->record && !w->visitor->record(w->visitor->self, record);
}

static bool visit_records(struct walk *w, const struct etl_buffer *chunk)
{
    struct etl_scope scope = etl_file_scope(w->file, chunk, 0);
    enum evtx_step step = EVTX_STEP_RECORD;
    evtx_file_open_chunk(w->chunk, w->file, chunk, &scope,
        chunk->offset == w->open_chunk ? EVTX_FILE_UNCHECKED_CHUNK : EVTX_FILE_FIRST_PASS);
    while (!w->stopped && step != EVTX_STEP_END) {
        step = evtx_chunk_next(w->chunk);
        if (step == EVTX_STEP_FAILED) {
            *w->err = *evtx_chunk_error(w->chunk);
            return false;
        }
        if (evtx_chunk_problem(w->chunk)) {
            report(w, evtx_chunk_offset(w->chunk), evtx_chunk_problem(w->chunk));
        }
        if (step == EVTX_STEP_RECORD) {
            visit_record(w, chunk, evtx_chunk_record(w->chunk));
        }
    }
    return true;
}

static bool visit(struct walk *w, uint64_t offset)
{
    struct etl_buffer chunk;
    bool found;
    if (!evtx_file_chunk(w->file, offset, &chunk, &found, w->err)) {
        return false;
    }
    if (!found) {
        if (!is_unused(w, offset)) {
            report(w, offset, "chunk skipped: it has no header");
        }
        return true;
    }
    if (w->file->bytes.size - offset < EVTX_CHUNK_BYTES) {
        report(w, offset, "the file ends inside this chunk");
        chunk.truncated = true;
    }
    w->stopped = w->visitor->buffer && !w->visitor->buffer(w->visitor->self, &chunk, 0);
    return w->stopped || visit_records(w, &chunk);
}

/* Called after all records were visited. Places are ordered by the time of their first leftover,
 * because not all have a number. */
static bool visit_leftovers(struct walk *w, uint64_t offset)
{
    struct etl_buffer chunk;
    bool found;
    if (!evtx_file_leftover(w->file, offset, &chunk, &found, w->err)) {
        return false;
    }
    w->leftover_time = 0;
    if (!visit_records(w, &chunk)) {
        return false;
    }
    enum { UNUSED_BITS = 8 /* an index keeps 56 bits */ };
    chunk.sequence = w->leftover_time >> UNUSED_BITS;
    w->stopped = w->stopped || (w->leftover_time && w->visitor->buffer &&
                                   !w->visitor->buffer(w->visitor->self, &chunk, 0));
    return true;
}

/* Call ${visit_one} for all places of chunks. */
static bool visit_all(struct walk *w, bool (*visit_one)(struct walk *w, uint64_t offset))
{
    const struct etl_visitor *visitor = w->visitor;
    bool good = true;
    for (uint64_t at = EVTX_FILE_HEADER_BYTES; good && at < w->file->bytes.size && !w->stopped;
         at += EVTX_CHUNK_BYTES) {
        good = visit_one(w, at);
        w->stopped |= visitor->is_stopped && visitor->is_stopped(visitor->self);
    }
    return good;
}

/* Find the newest chunk of a log that was never closed: its checksums may be those of an earlier
 * state. */
static bool find_open_chunk(struct walk *w)
{
    uint64_t newest = 0;
    bool is_dirty;
    w->open_chunk = UINT64_MAX;
    if (!evtx_file_is_dirty(&w->file->bytes, &is_dirty, w->err)) {
        return false;
    }
    for (uint64_t at = EVTX_FILE_HEADER_BYTES; is_dirty && at < w->file->bytes.size;
         at += EVTX_CHUNK_BYTES) {
        struct etl_buffer chunk;
        bool found;
        if (!evtx_file_chunk(w->file, at, &chunk, &found, w->err)) {
            return false;
        }
        if (found && !chunk.empty && chunk.sequence >= newest) {
            newest = chunk.sequence;
            w->open_chunk = at;
        }
    }
    return true;
}

bool evtx_file_walk(struct etl_file *file, const struct etl_visitor *visitor, struct error *err)
{
    struct error ignored;
    struct walk walk = {.file = file,
        .visitor = visitor,
        .chunk = evtx_chunk_create(),
        .err = err ? err : &ignored};
    bool carves = file->naming.carves;
    if (carves && !file->carve) {
        file->carve = evtx_carve_create();
    }
    bool good = walk.chunk && (file->carve || !carves);
    if (!good) {
        error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
    }
    if (file->carve) {
        evtx_carve_reset(file->carve);
    }
    good = good && find_open_chunk(&walk) && visit_all(&walk, visit) &&
           (!carves || visit_all(&walk, visit_leftovers));
    evtx_chunk_destroy(walk.chunk);
    return good;
}
