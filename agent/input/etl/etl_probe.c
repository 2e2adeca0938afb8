#include "input/etl/etl_probe.h"

#include "input/bytes/packed.h"
#include "input/etl/evtx_file.h"
#include "input/evtx/evtx_format.h"
#include "input/record/etl_format.h"
#include "input/record/etl_record.h"

/* ---- the header ------------------------------------------------------------------------------ */

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i]) {
            return false;
        }
    }
    return true;
}

/* There is no header at ${offset}. If nothing follows it, it is a partially written header in a
 * preallocated file. */
static enum etl_header_state wrong(
    struct etl_bytes *bytes, uint64_t offset, const char *what, struct error *err)
{
    enum { AFTER_RECORD = ETL_BUFFER_HEADER_SIZE + ETL_SYSTEM_SIZE + 8 };
    uint8_t after[16];
    size_t got;
    if (etl_bytes_read(bytes, offset + AFTER_RECORD, after, sizeof(after), &got, NULL) &&
        got == sizeof(after) && is_zero(after, sizeof(after))) {
        return ETL_HEADER_MISSING;
    }
    error_set(err, ERR_FORMAT, "%s: not an .etl trace: %s at offset %llu", bytes->path, what,
        (unsigned long long)offset);
    return ETL_HEADER_WRONG;
}

/* Read the record after the buffer header into the arena. */
static enum etl_header_state read_header_record(struct etl_bytes *bytes, struct arena *arena,
    struct etl_probe_header *header, struct error *err)
{
    uint8_t start[ETL_RECORD_START_SIZE];
    uint64_t at = header->buffer.offset + ETL_BUFFER_HEADER_SIZE;
    uint32_t size;
    size_t got;
    if (!etl_bytes_read(bytes, at, start, sizeof(start), &got, err)) {
        return ETL_HEADER_FAILED;
    }
    if (got < sizeof(start) || is_zero(start, sizeof(start))) {
        return ETL_HEADER_MISSING;
    }
    if (etl_record_frame(start, &size) != ETL_FRAME_RECORD) {
        return wrong(bytes, header->buffer.offset, "there is no trace header", err);
    }
    uint8_t *record = arena_alloc(arena, size);
    if (!record || !etl_bytes_read(bytes, at, record, size, &got, err)) {
        if (!record) {
            error_set(err, ERR_MEMORY, "%s: out of memory", bytes->path);
        }
        return ETL_HEADER_FAILED;
    }
    if (got < size) {
        return ETL_HEADER_MISSING;
    }
    header->record = span_make(record, size);
    struct error why;
    if (!etl_header_parse(header->record, arena, &header->info, &why)) {
        return wrong(bytes, header->buffer.offset, why.text, err);
    }
    return ETL_HEADER_FOUND;
}

enum etl_header_state etl_probe_header(struct etl_bytes *bytes, uint64_t offset,
    struct arena *arena, struct etl_probe_header *ret_header, struct error *err)
{
    uint8_t bytes_of_it[ETL_BUFFER_HEADER_SIZE];
    const char *problem = NULL;
    size_t got;
    if (!etl_bytes_read(bytes, offset, bytes_of_it, sizeof(bytes_of_it), &got, err)) {
        return ETL_HEADER_FAILED;
    }
    if (got < sizeof(bytes_of_it) || is_zero(bytes_of_it, sizeof(bytes_of_it))) {
        return ETL_HEADER_MISSING;
    }
    if (!etl_buffer_parse(bytes_of_it, offset, &ret_header->buffer, &problem) || problem) {
        return wrong(bytes, offset, "there is no buffer header", err);
    }
    if (ret_header->buffer.size > bytes->size - offset) {
        return ETL_HEADER_MISSING;
    }
    return read_header_record(bytes, arena, ret_header, err);
}

/* ---- the probe ------------------------------------------------------------------------------- */

/* True if there are records up to the end that the buffer's header states. The header may be
 * written before them. */
static bool has_all_records(struct etl_bytes *bytes, const struct etl_buffer *buffer)
{
    uint32_t at = ETL_BUFFER_HEADER_SIZE;
    while (buffer->end - at >= ETL_RECORD_START_SIZE) {
        uint8_t start[ETL_RECORD_START_SIZE];
        uint32_t size;
        size_t got;
        uint32_t left = buffer->end - at;
        if (!etl_bytes_read(bytes, buffer->offset + at, start, sizeof(start), &got, NULL) ||
            got < sizeof(start) || etl_record_frame(start, &size) != ETL_FRAME_RECORD ||
            size > left) {
            return false;
        }
        uint32_t padded = (size + ETL_RECORD_ALIGNMENT - 1) & ~(ETL_RECORD_ALIGNMENT - 1U);
        at += padded < left ? padded : left;
    }
    return true;
}

/* True if a whole data buffer follows the header buffer, which the file's identity needs. */
static bool has_data(struct etl_bytes *bytes, const struct etl_probe_header *header)
{
    uint8_t next[ETL_BUFFER_HEADER_SIZE];
    struct etl_buffer buffer;
    const char *problem;
    size_t got;
    if (!etl_bytes_read(bytes, header->buffer.size, next, sizeof(next), &got, NULL) ||
        got < sizeof(next) || !etl_buffer_parse(next, header->buffer.size, &buffer, &problem) ||
        buffer.size > bytes->size - buffer.offset) {
        return false;
    }
    uint64_t after = buffer.offset + buffer.size;
    if (!etl_bytes_read(bytes, after, next, sizeof(next), &got, NULL)) {
        return false;
    }
    bool is_last = got == 0 || is_zero(next, got);
    return !is_last || problem || buffer.flags & ETL_FLAG_COMPRESSED ||
           has_all_records(bytes, &buffer);
}

/* True if there are as many buffers as a closed header states. */
static bool has_all_buffers(struct etl_bytes *bytes, const struct etl_info *info)
{
    uint64_t count = 0;
    for (uint64_t at = 0; at < bytes->size && count < info->buffers_written; count++) {
        uint8_t header[ETL_BUFFER_HEADER_SIZE];
        struct etl_buffer buffer;
        const char *problem;
        size_t got;
        if (!etl_bytes_read(bytes, at, header, sizeof(header), &got, NULL) ||
            got < sizeof(header) || !etl_buffer_parse(header, at, &buffer, &problem) ||
            buffer.size > bytes->size - at) {
            break;
        }
        at += buffer.size;
    }
    return count >= info->buffers_written;
}

static enum etl_probe probe(struct etl_bytes *bytes, struct arena *arena, struct error *err)
{
    struct etl_probe_header header;
    switch (etl_probe_header(bytes, 0, arena, &header, err)) {
    case ETL_HEADER_MISSING:
        return ETL_PROBE_WAIT;
    case ETL_HEADER_WRONG:
    case ETL_HEADER_FAILED:
        return ETL_PROBE_NO_TRACE;
    case ETL_HEADER_FOUND:
        break;
    }
    bool circular = header.info.mode & ETL_MODE_CIRCULAR;
    if (header.info.end_time && (circular || has_all_buffers(bytes, &header.info))) {
        return ETL_PROBE_WHOLE;
    }
    return has_data(bytes, &header) ? ETL_PROBE_GROWING : ETL_PROBE_WAIT;
}

/* True if the file begins with the magic number of a packed format. */
static bool is_packed(struct etl_bytes *bytes, struct error *err)
{
    uint8_t head[PACKED_HEAD_BYTES];
    size_t got = 0;
    const char *name;
    if (!etl_bytes_read(bytes, 0, head, sizeof(head), &got, NULL) ||
        packed_kind_of(span_make(head, got), &name) == PACKED_NONE) {
        return false;
    }
    error_set(err, ERR_FORMAT,
        "%s: is packed with %s; packed files do not grow. read it in a session without follow "
        "or unpack it",
        bytes->path, name);
    return true;
}

/* An event log grows as long as Windows has it open, which a flag in its header states. */
static enum etl_probe probe_log(struct etl_bytes *bytes, struct error *err)
{
    uint64_t first = EVTX_FILE_HEADER_BYTES + EVTX_CHUNK_HEADER_BYTES + EVTX_RECORD_HEAD_BYTES;
    bool is_dirty;
    if (!evtx_file_is_dirty(bytes, &is_dirty, err)) {
        return ETL_PROBE_NO_TRACE;
    }
    return !is_dirty ? ETL_PROBE_WHOLE : bytes->size < first ? ETL_PROBE_WAIT : ETL_PROBE_GROWING;
}

static bool is_log(struct etl_bytes *bytes)
{
    enum { HEAD_BYTES = 8 };
    uint8_t head[HEAD_BYTES];
    size_t got;
    return etl_bytes_read(bytes, 0, head, sizeof(head), &got, NULL) &&
           evtx_chunk_is_log(span_make(head, got));
}

enum etl_probe etl_probe_path(const char *path, struct error *err)
{
    enum { PROBE_BYTES = 512 * 1024 };
    struct etl_handles handles = {.open = 0};
    struct etl_bytes bytes;
    struct arena arena;
    if (!etl_bytes_open(&bytes, path, &handles, err)) {
        return ETL_PROBE_NO_TRACE;
    }
    if (is_log(&bytes)) {
        enum etl_probe found = probe_log(&bytes, err);
        etl_bytes_close(&bytes);
        return found;
    }
    arena_init(&arena, PROBE_BYTES);
    enum etl_probe found = is_packed(&bytes, err) ? ETL_PROBE_NO_TRACE : probe(&bytes, &arena, err);
    arena_fini(&arena);
    etl_bytes_close(&bytes);
    return found;
}
