#include "input/etl/etl_stream.h"

#include <stdlib.h>

#include "input/bytes/unpack.h"
#include "input/etl/evtx_file.h"

/*
 * Design: the window holds bytes [base, base + filled) of the unpacked buffer; the next record
 * starts at `at`. When the window does not contain a whole record (at most 64 KB), it slides: bytes
 * before `at` are dropped, except the history that matches may refer to (8 KB for XPRESS, 64 KB for
 * XPRESS_HUFF), and the rest is filled. Half of the window suffices for what must stay, so each
 * byte is moved at most twice.
 */
enum { WINDOW_BYTES = 128 * 1024, INPUT_BYTES = 16 * 1024 };

struct etl_stream {
    struct etl_bytes *bytes;
    struct etl_buffer buffer;
    struct etl_scope scope;
    uint32_t base;   /* offset in the unpacked buffer of window[0] */
    uint32_t at;     /* next record, in the window */
    uint32_t filled; /* bytes in the window */
    uint32_t record_at;
    uint32_t record_size;
    const char *problem;
    struct error error;

    struct evtx_chunk *log; /* allocated for the first chunk of an event log; else NULL */
    bool is_log;            /* the current buffer is such a chunk */

    struct event_record record;
    struct extended_item items[RECORD_MAX_EXTENDED];

    /* Compressed input: bytes [input_at, input_filled) are unread; the file continues at
     * input_offset. */
    bool packed;
    size_t history;
    uint32_t input_at;
    uint32_t input_filled;
    uint64_t input_offset;
    uint64_t input_left;

    struct unpack unpack;
    uint8_t input[INPUT_BYTES];
    uint8_t window[WINDOW_BYTES];
};

_Static_assert(sizeof(struct etl_stream) <= ETL_STREAM_MAX_BYTES, "the promise of etl_stream.h");
_Static_assert(WINDOW_BYTES >= UNPACK_MAX_HISTORY + ETL_MAX_RECORD_BYTES, "see the design note");

struct etl_stream *etl_stream_create(void)
{
    /* not cleared: untouched memory costs nothing; etl_stream_open sets all that is read */
    struct etl_stream *stream = malloc(sizeof(struct etl_stream));
    if (stream) {
        stream->log = NULL;
        stream->is_log = false;
    }
    return stream;
}

void etl_stream_destroy(struct etl_stream *stream)
{
    if (stream) {
        evtx_chunk_destroy(stream->log);
        free(stream);
    }
}

struct etl_stream *etl_stream_take(struct etl_stream_pool *pool)
{
    struct etl_stream *stream = pool->spare ? pool->spare : etl_stream_create();
    pool->spare = NULL;
    pool->taken += stream != NULL;
    return stream;
}

void etl_stream_give_back(struct etl_stream_pool *pool, struct etl_stream *stream)
{
    if (!stream) {
        return;
    }
    if (pool->spare) {
        etl_stream_destroy(stream);
    } else {
        pool->spare = stream;
    }
    pool->taken--;
}

void etl_stream_open(struct etl_stream *stream, struct etl_bytes *bytes,
    const struct etl_buffer *buffer, uint16_t format, const struct etl_scope *scope)
{
    stream->is_log = false;
    stream->bytes = bytes;
    stream->buffer = *buffer;
    stream->scope = *scope;
    stream->base = ETL_BUFFER_HEADER_SIZE;
    stream->at = 0;
    stream->filled = 0;
    stream->record_at = 0;
    stream->record_size = 0;
    stream->problem = NULL;
    stream->packed = buffer->flags & ETL_FLAG_COMPRESSED;
    stream->history = 0;
    if (stream->packed) {
        stream->history = unpack_history((enum unpack_format)format);
        stream->input_at = 0;
        stream->input_filled = 0;
        stream->input_offset = buffer->offset + ETL_BUFFER_HEADER_SIZE;
        stream->input_left = buffer->size - ETL_BUFFER_HEADER_SIZE;
        unpack_init(&stream->unpack, (enum unpack_format)format);
    }
}

void etl_stream_open_log(struct etl_stream *stream, struct etl_file *file,
    const struct etl_buffer *chunk, const struct etl_scope *scope)
{
    etl_stream_open(stream, &file->bytes, chunk, 0, scope);
    stream->is_log = true;
    if (!stream->log) {
        stream->log = evtx_chunk_create();
    }
    if (stream->log) {
        evtx_file_open_chunk(stream->log, file, chunk, scope, EVTX_FILE_SECOND_PASS);
    }
}

/* Bytes of the unpacked buffer that are not in the window yet. */
static uint32_t left_to_fill(const struct etl_stream *s)
{
    return s->buffer.end - s->base - s->filled;
}

static bool fill_plain(struct etl_stream *s)
{
    uint32_t room = WINDOW_BYTES - s->filled;
    uint32_t want = left_to_fill(s) < room ? left_to_fill(s) : room;
    size_t got;
    if (!etl_bytes_read(s->bytes, s->buffer.offset + s->base + s->filled, s->window + s->filled,
            want, &got, &s->error)) {
        return false;
    }
    s->filled += (uint32_t)got;
    return true;
}

static bool fill_input(struct etl_stream *s)
{
    uint32_t waiting = s->input_filled - s->input_at;
    memmove(s->input, s->input + s->input_at, waiting);
    uint32_t room = INPUT_BYTES - waiting;
    size_t want = s->input_left < room ? (size_t)s->input_left : room;
    size_t got;
    if (!etl_bytes_read(s->bytes, s->input_offset, s->input + waiting, want, &got, &s->error)) {
        return false;
    }
    s->input_at = 0;
    s->input_filled = waiting + (uint32_t)got;
    s->input_offset += got;
    /* a file that shrank since ends here */
    s->input_left = got == want ? s->input_left - got : 0;
    return true;
}

/* Unpack until the window is full, the buffer is complete, or its data is used up. */
static bool fill_packed(struct etl_stream *s)
{
    uint32_t room = WINDOW_BYTES - s->filled;
    uint32_t want = left_to_fill(s) < room ? left_to_fill(s) : room;
    struct unpack_window window = {
        .base = s->window, .at = s->filled, .limit = (size_t)s->filled + want};
    while (window.at < window.limit) {
        if (s->input_filled - s->input_at < UNPACK_MIN_INPUT && s->input_left && !fill_input(s)) {
            return false;
        }
        struct span in = span_make(s->input + s->input_at, s->input_filled - s->input_at);
        size_t before = window.at;
        size_t used;
        enum unpack_status status = unpack_run(&s->unpack, in, !s->input_left, &window, &used);
        s->input_at += (uint32_t)used;
        if (status == UNPACK_CORRUPT) {
            s->problem = "rest of the buffer skipped: its compressed data is corrupt";
            break;
        }
        if (status == UNPACK_END || (used == 0 && window.at == before)) {
            break;
        }
    }
    s->filled = (uint32_t)window.at;
    return true;
}

static bool slide(struct etl_stream *s)
{
    uint32_t kept_from = s->at;
    if (kept_from > s->filled) {
        kept_from = s->filled;
    }
    if (s->filled - kept_from < s->history) {
        kept_from = s->filled > s->history ? s->filled - (uint32_t)s->history : 0;
    }
    memmove(s->window, s->window + kept_from, s->filled - kept_from);
    s->base += kept_from;
    s->at -= kept_from;
    s->filled -= kept_from;
    return s->packed ? fill_packed(s) : fill_plain(s);
}

/* Bring ${need} bytes at `at` into the window; ${need} is at most 64 KB and within the records.
 * False only if the file cannot be read. If data is missing, fewer bytes are there. */
static inline bool fill(struct etl_stream *s, uint32_t need)
{
    return s->filled >= s->at + need || slide(s);
}

static inline uint32_t padded_size(uint32_t size)
{
    return (size + ETL_RECORD_ALIGNMENT - 1) & ~(uint32_t)(ETL_RECORD_ALIGNMENT - 1);
}

/* The buffer has fewer bytes than it should. */
static enum etl_step out_of_bytes(struct etl_stream *s)
{
    if (s->buffer.truncated) {
        return ETL_STEP_END; /* was reported with the buffer */
    }
    if (!s->problem) {
        s->problem = s->packed ? "rest of the buffer skipped: its compressed data is truncated"
                               : "rest of the buffer skipped: the file ends inside it";
    }
    return ETL_STEP_DAMAGED;
}

void etl_stream_last_time(const struct etl_stream *stream, struct etl_scope *scope)
{
    if (stream->scope.trace == scope->trace) {
        scope->has_last_time = stream->scope.has_last_time;
        scope->last_raw = stream->scope.last_raw;
        scope->last_time = stream->scope.last_time;
    }
}

void etl_stream_skip_plain_events(struct etl_stream *s)
{
    if (s->is_log) {
        return;
    }
    uint32_t end = s->buffer.end - s->base < s->filled ? s->buffer.end - s->base : s->filled;
    uint32_t size;
    while (s->at < end && end - s->at >= ETL_RECORD_START_SIZE &&
           etl_record_frame(s->window + s->at, &size) == ETL_FRAME_RECORD &&
           padded_size(size) <= end - s->at &&
           etl_record_is_plain_event(span_make(s->window + s->at, size))) {
        s->at += padded_size(size);
    }
}

static enum etl_step next_of_log(struct etl_stream *s)
{
    if (!s->log) {
        error_set(&s->error, ERR_MEMORY, "%s: out of memory", s->bytes->path);
        return ETL_STEP_FAILED;
    }
    enum evtx_step step;
    do { /* damaged parts are skipped */
        step = evtx_chunk_next(s->log);
    } while (step == EVTX_STEP_DAMAGED);
    return step == EVTX_STEP_RECORD ? ETL_STEP_RECORD
           : step == EVTX_STEP_END  ? ETL_STEP_END
                                    : ETL_STEP_FAILED;
}

enum etl_step etl_stream_next(struct etl_stream *s)
{
    if (s->is_log) {
        return next_of_log(s);
    }
    s->problem = NULL;
    s->record_at = s->at;
    uint32_t left = s->buffer.end - s->base - s->at;
    if (left < ETL_RECORD_START_SIZE) {
        return ETL_STEP_END;
    }
    if (!fill(s, ETL_RECORD_START_SIZE)) {
        return ETL_STEP_FAILED;
    }
    s->record_at = s->at;
    if (s->filled < s->at + ETL_RECORD_START_SIZE) {
        return out_of_bytes(s);
    }
    uint32_t size;
    enum etl_frame frame = etl_record_frame(s->window + s->at, &size);
    if (frame == ETL_FRAME_END) {
        return ETL_STEP_END;
    }
    if (frame == ETL_FRAME_BAD) {
        s->problem = "rest of the buffer skipped: missing record header";
        return ETL_STEP_DAMAGED;
    }
    if (size > left) {
        if (!s->buffer.truncated) {
            s->problem = "rest of the buffer skipped: a record reaches beyond it";
        }
        return s->buffer.truncated ? ETL_STEP_END : ETL_STEP_DAMAGED;
    }
    uint32_t step = padded_size(size) < left ? padded_size(size) : left;
    if (!fill(s, step)) {
        return ETL_STEP_FAILED;
    }
    s->record_at = s->at;
    if (s->filled < s->at + step) {
        return out_of_bytes(s);
    }
    s->record_size = size;
    s->problem = etl_record_read(
        span_make(s->window + s->at, size), &s->scope, s->items, &s->record);
    /* not in the scope before: reading back what was just written is slow */
    s->record.position.record_offset = s->base + s->at;
    s->at += step;
    return ETL_STEP_RECORD;
}

const struct event_record *etl_stream_record(const struct etl_stream *stream)
{
    return stream->is_log ? evtx_chunk_record(stream->log) : &stream->record;
}

struct span etl_stream_record_bytes(const struct etl_stream *stream)
{
    return span_make(stream->window + stream->record_at, stream->record_size);
}

const char *etl_stream_problem(const struct etl_stream *stream)
{
    return stream->problem;
}

bool etl_stream_is_complete(const struct etl_stream *stream)
{
    return stream->buffer.end - stream->base - stream->at < ETL_RECORD_START_SIZE;
}

uint64_t etl_stream_offset(const struct etl_stream *stream)
{
    uint64_t in_buffer = stream->packed ? 0 : (uint64_t)stream->base + stream->record_at;
    return stream->buffer.offset + in_buffer;
}

const struct error *etl_stream_error(const struct etl_stream *stream)
{
    bool is_its_own = !stream->is_log || !stream->log;
    return is_its_own ? &stream->error : evtx_chunk_error(stream->log);
}
