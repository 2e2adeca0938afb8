#include "input/etl/etl_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

#include "input/bytes/unpack.h"
#include "input/etl/etl_stream.h"
#include "input/etl/evtx_file.h"
#include "input/evtx/evtx_carve.h"
#include "input/evtx/evtx_chunk.h"
#include "input/evtx/evtx_hosts.h"

/* Opens a trace: the first buffer must hold a trace header, which gives the identity. etl_walk.c
 * has the walk. */

static bool no_trace(
    const struct etl_file *file, uint64_t offset, const char *what, struct error *err)
{
    return error_set(err, ERR_FORMAT, "%s: not an .etl trace: %s at offset %" PRIu64,
        file->bytes.path, what, offset);
}

uint64_t etl_file_place(const struct etl_file *file, uint64_t offset, uint64_t sequence)
{
    enum { PART_BITS = 24, PART_MASK = (1 << PART_BITS) - 1 };
    const struct etl_info *info = etl_file_info(file);
    if (!(info->mode & ETL_MODE_CIRCULAR) || info->buffer_size == 0) {
        return offset;
    }
    uint64_t part = offset / info->buffer_size + (offset % info->buffer_size != 0);
    return (sequence & PART_MASK) << PART_BITS | (part & PART_MASK);
}

struct etl_scope etl_file_scope(
    const struct etl_file *file, const struct etl_buffer *buffer, size_t epoch)
{
    const struct etl_info *info = &file->epochs[epoch]->info;
    struct etl_scope scope = {
        .trace = &info->trace,
        .cpu = buffer->cpu,
        .private_session = info->mode & (ETL_MODE_PRIVATE_LOGGER | ETL_MODE_PRIVATE_IN_PROC),
    };
    memcpy(scope.position.file_id, file->records, sizeof(file->records));
    scope.position.buffer_offset = etl_file_place(file, buffer->offset, buffer->sequence);
    return scope;
}

bool etl_file_clip(const struct etl_file *file, struct etl_buffer *buffer)
{
    uint64_t available = file->bytes.size - buffer->offset;
    if (buffer->size <= available) {
        return true;
    }
    buffer->truncated = true;
    if (buffer->flags & ETL_FLAG_COMPRESSED) {
        return false;
    }
    if (buffer->end > available) {
        buffer->end = (uint32_t)available;
    }
    return true;
}

/* Add the epoch that a header buffer starts; its first record is in ${stream}. */
static bool add_epoch(struct etl_file *file, const struct etl_buffer *buffer,
    const struct etl_stream *stream, struct error *err)
{
    struct etl_epoch *epoch = arena_alloc(file->arena, sizeof(*epoch));
    if (!epoch) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
    }
    struct error why;
    if (!etl_header_parse(etl_stream_record_bytes(stream), file->arena, &epoch->info, &why)) {
        return why.code == ERR_FORMAT
                   ? no_trace(file, etl_stream_offset(stream), why.text, err)
                   : error_set(err, why.code, "%s: %s", file->bytes.path, why.text);
    }
    epoch->offset = buffer->offset;
    /* low half of the header buffer's State, valid only in compressed files */
    uint16_t format = (uint16_t)buffer->state;
    bool known = format >= UNPACK_LZNT1 && format <= UNPACK_XPRESS_HUFF;
    bool told = epoch->info.mode & ETL_MODE_COMPRESSED;
    epoch->format = told ? (known ? format : 0) : UNPACK_XPRESS;
    epoch->info.trace.path = span_text(file->bytes.path);
    epoch->info.trace.file = etl_file_shown(&file->naming, epoch->info.trace.path);
    epoch->info.trace.host_name = file->naming.host;
    message_numbers_init(&epoch->messages, epoch->info.mode, epoch->info.buffer_size);
    file->epochs[file->epoch_count++] = epoch;
    return true;
}

bool etl_file_add_epoch(struct etl_file *file, struct etl_stream *stream,
    const struct etl_buffer *buffer, struct error *err)
{
    /* the clock is unknown before the header record is read; any works for framing */
    static const struct trace_info unknown = {.clock = {.frequency = 1}, .pointer_size = 8};
    struct etl_scope scope = {.trace = &unknown};
    etl_stream_open(stream, &file->bytes, buffer, 0, &scope);
    switch (etl_stream_next(stream)) {
    case ETL_STEP_RECORD:
        return add_epoch(file, buffer, stream, err);
    case ETL_STEP_FAILED:
        *err = *etl_stream_error(stream);
        return false;
    case ETL_STEP_DAMAGED:
    case ETL_STEP_END:
        break;
    }
    return no_trace(file, buffer->offset + ETL_BUFFER_HEADER_SIZE, "there is no trace header", err);
}

/* Read the buffer header at ${offset}; false with ${ret_buffer} unchanged if there is none. */
static bool read_buffer(
    struct etl_file *file, uint64_t offset, struct etl_buffer *ret_buffer, struct error *err)
{
    uint8_t header[ETL_BUFFER_HEADER_SIZE];
    size_t got;
    const char *problem = NULL;
    *err = (struct error){.code = ERR_NONE};
    if (!etl_bytes_read(&file->bytes, offset, header, sizeof(header), &got, err)) {
        return false;
    }
    return got == sizeof(header) && etl_buffer_parse(header, offset, ret_buffer, &problem) &&
           !problem;
}

/* Hash the records of the buffer after the header buffer, if there is one. Of a damaged buffer only
 * the records before the damage count. */
static bool hash_first_data(struct etl_file *file, struct etl_stream *stream, uint64_t offset,
    XXH3_state_t *hash, struct error *err)
{
    struct etl_buffer buffer;
    if (!read_buffer(file, offset, &buffer, err)) {
        return err->code == ERR_NONE;
    }
    if (!etl_file_clip(file, &buffer) ||
        (buffer.flags & ETL_FLAG_COMPRESSED && !file->epochs[0]->format)) {
        return true;
    }
    struct etl_scope scope = etl_file_scope(file, &buffer, 0);
    etl_stream_open(stream, &file->bytes, &buffer, file->epochs[0]->format, &scope);
    enum etl_step step;
    while ((step = etl_stream_next(stream)) == ETL_STEP_RECORD) {
        struct span record = etl_stream_record_bytes(stream);
        XXH3_128bits_update(hash, record.data, record.size);
    }
    if (step == ETL_STEP_FAILED) {
        *err = *etl_stream_error(stream);
        return false;
    }
    return true;
}

static bool identify(
    struct etl_file *file, struct etl_stream *stream, uint64_t next, struct error *err)
{
    struct span record = etl_stream_record_bytes(stream);
    uint8_t *constant = malloc(record.size);
    XXH3_state_t *hash = XXH3_createState();
    bool ok = constant && hash;
    if (ok) {
        etl_header_constant_part(record, constant);
        XXH3_128bits_reset(hash);
        XXH3_128bits_update(hash, constant, record.size);
        if (!(file->epochs[0]->info.mode & ETL_MODE_CIRCULAR)) {
            ok = hash_first_data(file, stream, next, hash, err);
        }
        XXH128_canonical_t id;
        XXH128_canonicalFromHash(&id, XXH3_128bits_digest(hash));
        memcpy(file->id, id.digest, sizeof(file->id));
        memcpy(file->records, id.digest, sizeof(file->records));
    } else {
        error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
    }
    XXH3_freeState(hash);
    free(constant);
    return ok;
}

/* Detect an event log. False: the file cannot be read. */
static bool begins_log(struct etl_file *file, bool *ret_is_log, struct error *err)
{
    enum { HEAD_BYTES = 8 };
    uint8_t head[HEAD_BYTES];
    size_t got;
    if (!etl_bytes_read(&file->bytes, 0, head, sizeof(head), &got, err)) {
        return false;
    }
    *ret_is_log = evtx_chunk_is_log(span_make(head, got));
    return true;
}

/* Read the header and compute the identity of an open file. */
static bool begin(struct etl_file *file, struct error *err)
{
    if (file->bytes.size == 0) {
        return error_set(err, ERR_FORMAT, "%s: not an .etl trace: the file is empty (offset 0)",
            file->bytes.path);
    }
    if (file->bytes.size >> 48) {
        return error_set(err, ERR_LIMIT, "%s: larger than 256 TB", file->bytes.path);
    }
    struct etl_buffer buffer;
    bool is_log;
    if (!begins_log(file, &is_log, err)) {
        return false;
    }
    if (is_log) {
        return evtx_file_begin(file, err);
    }
    if (!read_buffer(file, 0, &buffer, err)) {
        return err->code == ERR_NONE ? no_trace(file, 0, "there is no buffer header", err) : false;
    }
    if (buffer.flags & ETL_FLAG_COMPRESSED) {
        return no_trace(file, 0, "the header buffer is compressed", err);
    }
    etl_file_clip(file, &buffer);
    struct etl_stream *stream = etl_stream_create();
    if (!stream) {
        return error_set(err, ERR_MEMORY, "%s: out of memory", file->bytes.path);
    }
    bool ok = etl_file_add_epoch(file, stream, &buffer, err) &&
              identify(file, stream, buffer.size, err);
    etl_stream_destroy(stream);
    return ok;
}

struct span etl_file_shown(const struct trace_naming *naming, struct span path)
{
    size_t start = path.size;
    while (start && path.data[start - 1] != '/' && path.data[start - 1] != '\\') {
        start--;
    }
    return naming->whole_path || start == path.size ? path : span_from(path, start);
}

static struct etl_file *create(
    const char *name, const struct trace_naming *naming, struct arena *arena, struct error *err)
{
    struct etl_file *file = calloc(1, sizeof(*file));
    struct span path;
    if (!file || !arena_copy(arena, span_text(name), &path)) {
        free(file);
        error_set(err, ERR_MEMORY, "%s: out of memory", name);
        return NULL;
    }
    file->arena = arena;
    if (naming) {
        file->naming = *naming;
    }
    file->bytes.path = (const char *)path.data;
    return file;
}

struct etl_file *etl_file_open(const char *path, const struct trace_naming *naming,
    struct etl_handles *handles, struct arena *arena, struct error *err)
{
    struct error why;
    struct etl_file *file = create(path, naming, arena, &why);
    if (file && etl_bytes_open(&file->bytes, file->bytes.path, handles, &why) &&
        begin(file, &why)) {
        return file;
    }
    if (err) {
        *err = why;
    }
    etl_file_destroy(file);
    return NULL;
}

struct etl_file *etl_file_open_part(const struct etl_part *part, const char *name,
    const struct trace_naming *naming, struct arena *arena, struct error *err)
{
    struct error why;
    struct etl_file *file = create(name, naming, arena, &why);
    if (file) {
        etl_bytes_use_part(&file->bytes, part, file->bytes.path);
        if (begin(file, &why)) {
            return file;
        }
    }
    if (err) {
        *err = why;
    }
    etl_file_destroy(file);
    return NULL;
}

struct etl_file *etl_file_open_memory(
    struct span memory, const char *name, struct arena *arena, struct error *err)
{
    struct error why;
    struct etl_file *file = create(name, NULL, arena, &why);
    if (file) {
        etl_bytes_use_memory(&file->bytes, memory, file->bytes.path);
        if (begin(file, &why)) {
            return file;
        }
    }
    if (err) {
        *err = why;
    }
    etl_file_destroy(file);
    return NULL;
}

void etl_file_destroy(struct etl_file *file)
{
    if (file) {
        etl_bytes_close(&file->bytes);
        etl_index_fini(&file->index);
        etl_left_out_fini(&file->left_out);
        evtx_carve_destroy(file->carve);
        if (file->log) {
            evtx_hosts_fini(file->log);
            free(file->log);
        }
        free(file);
    }
}

const struct etl_info *etl_file_info(const struct etl_file *file)
{
    return &file->epochs[0]->info;
}
