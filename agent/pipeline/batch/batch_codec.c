#include "pipeline/batch/batch_codec.h"

#include <stdlib.h>

#include "base/reader.h"

/*
 * The records come first, so that a batch that is read can keep them in the memory they were read
 * into, and one that is written need not be copied beside its tail.
 *
 * Input is hostile: every count is checked against the remaining bytes before memory is allocated,
 * and every index against its table, so users of the batch need no further checks.
 */
enum {
    FLAG_OWN = 1,
    FLAG_POSITIONS = 2,
    FOOTER_BYTES = 8,
    SEGMENT_BYTES = 33,
    FILE_ID_BYTES = 16,
    POSITION_BYTES = 16,
    MAX_TEMPLATES = 256,
    MAX_ROUTES = 65536, /* as many names as `routes` takes */
    FILES_LOOKED_BACK = 8,
};

static bool no_memory(struct error *err)
{
    return error_set(err, ERR_MEMORY, "out of memory for a batch");
}

/* ---- writing --------------------------------------------------------------------------------- */

static void add_u32(struct buf *out, size_t value)
{
    buf_add_le32(out, (uint32_t)value);
}

static void add_list(struct buf *out, const uint32_t *values, size_t count)
{
    if (buf_reserve(out, count * sizeof(*values))) {
        uint8_t *at = out->data + out->size;
        for (size_t i = 0; i < count; i++) {
            store_le32(at + i * sizeof(*values), values[i]);
        }
        out->size += count * sizeof(*values);
    }
}

/* One that is not of this run has none. */
static struct span name_of(const struct batch_codec *codec, uint32_t session)
{
    return session < codec->session_count ? span_text(codec->sessions[session])
                                          : span_make(NULL, 0);
}

/* The names of the sessions that the batch is of, each once. ${places}: by session the place of its
 * name, from 1, all 0 before. */
static void add_sessions(
    const struct batch_codec *codec, const struct batch *batch, uint32_t *places, struct buf *out)
{
    size_t at = out->size;
    uint32_t count = 0;
    add_u32(out, 0);
    for (size_t i = 0; i < batch->segment_count; i++) {
        uint32_t session = batch->segments[i].session;
        uint32_t *place = &places[session < codec->session_count ? session : codec->session_count];
        if (!*place) {
            struct span name = span_first(name_of(codec, session), UINT16_MAX);
            *place = ++count;
            buf_add_le16(out, (uint16_t)name.size);
            buf_add_span(out, name);
        }
    }
    if (!out->failed) {
        store_le32(out->data + at, count);
    }
}

static bool add_segments(
    const struct batch_codec *codec, const struct batch *batch, struct buf *out)
{
    uint32_t *places = calloc(codec->session_count + 1, sizeof(*places));
    if (!places) {
        return false;
    }
    add_sessions(codec, batch, places, out);
    add_u32(out, batch->segment_count);
    for (size_t i = 0; i < batch->segment_count; i++) {
        const struct batch_segment *segment = &batch->segments[i];
        uint32_t session = segment->session;
        add_u32(out, places[session < codec->session_count ? session : codec->session_count] - 1);
        buf_add_byte(out, segment->cut);
        buf_add_le64(out, segment->last_sequence);
        add_u32(out, segment->record_end);
        buf_add_le64(out, segment->times.from);
        buf_add_le64(out, segment->times.to);
    }
    free(places);
    return true;
}

static void add_routes(const struct routes *routes, struct buf *out)
{
    add_u32(out, routes->name_count);
    for (size_t i = 0; i < routes->name_count; i++) {
        add_u32(out, routes->names[i].size);
        buf_add_span(out, routes->names[i]);
    }
    add_list(out, routes->indexes, routes->count);
}

/* The place of a file among the ${count} in ${files}, from 1; as a rule it is the last one. 0: it
 * is not among those looked at. */
static uint32_t find_file(const struct buf *files, uint32_t count, const uint8_t *id)
{
    for (uint32_t i = count; i > 0 && i + FILES_LOOKED_BACK > count; i--) {
        if (memcmp(files->data + (size_t)(i - 1) * FILE_ID_BYTES, id, FILE_ID_BYTES) == 0) {
            return i;
        }
    }
    return 0;
}

static bool add_positions(const struct piece *piece, struct buf *out)
{
    struct buf files;
    struct buf places;
    uint32_t count = 0;
    buf_init(&files, piece->count * FILE_ID_BYTES);
    buf_init(&places, piece->count * POSITION_BYTES);
    for (size_t i = 0; i < piece->count && !files.failed; i++) {
        const struct record_position *position = &piece->positions[i];
        uint32_t file = 0;
        if (record_position_is_known(position)) {
            file = find_file(&files, count, position->file_id);
        }
        if (!file && record_position_is_known(position)) {
            buf_add(&files, position->file_id, FILE_ID_BYTES);
            file = ++count;
        }
        add_u32(&places, file);
        buf_add_le64(&places, position->buffer_offset);
        add_u32(&places, position->record_offset);
    }
    bool ok = !files.failed && !places.failed;
    add_u32(out, count);
    buf_add_span(out, buf_span(&files));
    buf_add_span(out, buf_span(&places));
    buf_fini(&files);
    buf_fini(&places);
    return ok;
}

static bool write_tail(const struct batch_codec *codec, const struct batch *batch, struct buf *out)
{
    const struct piece *piece = &batch->piece;
    size_t size = piece->bytes.size;
    bool positions = piece->positions && piece->position_count >= piece->count;
    buf_add_byte(out, (uint8_t)((batch->own ? FLAG_OWN : 0) | (positions ? FLAG_POSITIONS : 0)));
    add_u32(out, piece->count);
    add_list(out, piece->ends, piece->count);
    bool ok = add_segments(codec, batch, out);
    add_u32(out, piece->route_count);
    for (size_t i = 0; i < piece->route_count; i++) {
        add_routes(&piece->routes[i], out);
    }
    ok = ok && (!positions || add_positions(piece, out));
    add_u32(out, size);
    add_u32(out, BATCH_CODEC_VERSION);
    return ok && !out->failed;
}

/* Never less than the tail takes. */
static size_t most_tail_bytes(const struct batch_codec *codec, const struct batch *batch)
{
    enum { COUNTS_BYTES = 64 };
    const struct piece *piece = &batch->piece;
    size_t size = COUNTS_BYTES + piece->count * sizeof(uint32_t) +
                  batch->segment_count * SEGMENT_BYTES;
    for (size_t i = 0; i <= codec->session_count; i++) {
        size += sizeof(uint16_t) + name_of(codec, (uint32_t)i).size;
    }
    for (size_t i = 0; i < piece->route_count; i++) {
        const struct routes *routes = &piece->routes[i];
        size += sizeof(uint32_t) + routes->count * sizeof(uint32_t);
        for (size_t k = 0; k < routes->name_count; k++) {
            size += sizeof(uint32_t) + routes->names[k].size;
        }
    }
    for (size_t i = 0; i < piece->count && piece->positions; i++) {
        bool same = i && memcmp(piece->positions[i].file_id, piece->positions[i - 1].file_id,
                             FILE_ID_BYTES) == 0;
        size += (size_t)POSITION_BYTES + (same ? 0U : FILE_ID_BYTES);
    }
    return size;
}

bool batch_codec_write(
    const struct batch_codec *codec, struct batch *batch, struct span *ret_body, struct error *err)
{
    struct buf *bytes = &batch->piece.bytes;
    size_t most = bytes->size + most_tail_bytes(codec, batch);
    if (most > BATCH_CODEC_MAX_BYTES) {
        return error_set(err, ERR_LIMIT, "a batch is longer than %d bytes", BATCH_CODEC_MAX_BYTES);
    }
    if (most > bytes->allocated) {
        uint8_t *data = realloc(bytes->data, most);
        if (!data) {
            return no_memory(err);
        }
        buf_adopt(bytes, data, most);
    }
    struct buf body = {.max = most, .size = bytes->size};
    buf_adopt(&body, bytes->data, most);
    if (!write_tail(codec, batch, &body)) {
        return no_memory(err);
    }
    *ret_body = buf_span(&body);
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A count of things of at least ${least} bytes each, which are there. */
static uint32_t read_count(struct reader *r, size_t least)
{
    uint32_t count = reader_u32(r);
    if (count > reader_left(r) / least) {
        r->failed = true;
    }
    return r->failed ? 0 : count;
}

static bool damaged(struct error *err, const char *what)
{
    return error_set(err, ERR_FORMAT, "a batch is damaged: %s", what);
}

/* ${size}: of all records. */
static bool read_ends(struct reader *r, struct piece *piece, uint32_t size, struct error *err)
{
    uint32_t count = read_count(r, sizeof(uint32_t));
    if (r->failed) {
        return damaged(err, "it has too few records");
    }
    piece->ends = malloc((count + (size_t)1) * sizeof(*piece->ends));
    if (!piece->ends) {
        return no_memory(err);
    }
    piece->capacity = count + (size_t)1;
    uint32_t before = 0;
    for (; piece->count < count; piece->count++) {
        uint32_t end = reader_u32(r);
        if (end < before || end > size) {
            return damaged(err, "its records overlap");
        }
        piece->ends[piece->count] = end;
        before = end;
    }
    return before == size || damaged(err, "its records do not cover all of its bytes");
}

/* The number that the session called ${name} has in this run. */
static uint32_t session_called(const struct batch_codec *codec, struct span name)
{
    for (size_t i = 0; i < codec->session_count; i++) {
        if (span_is(name, codec->sessions[i])) {
            return (uint32_t)i;
        }
    }
    return codec->other;
}

static bool read_segment(struct reader *r, const uint32_t *sessions, uint32_t session_count,
    const struct batch *batch, struct batch_segment *segment)
{
    uint32_t session = reader_u32(r);
    uint32_t before = batch->segment_count ? (uint32_t)segment[-1].record_end : 0;
    segment->cut = reader_u8(r) != 0;
    segment->last_sequence = reader_u64(r);
    segment->record_end = reader_u32(r);
    segment->times.from = reader_u64(r);
    segment->times.to = reader_u64(r);
    if (r->failed || session >= session_count || segment->record_end < before ||
        segment->record_end > batch->piece.count) {
        return false;
    }
    segment->session = sessions[session];
    return true;
}

static bool read_segment_list(struct reader *r, const uint32_t *sessions, uint32_t session_count,
    struct batch *batch, struct error *err)
{
    uint32_t count = read_count(r, SEGMENT_BYTES);
    if (r->failed) {
        return damaged(err, "segments are missing");
    }
    batch->segments = calloc(count + (size_t)1, sizeof(*batch->segments));
    if (!batch->segments) {
        return no_memory(err);
    }
    batch->segment_capacity = count + (size_t)1;
    for (; batch->segment_count < count; batch->segment_count++) {
        struct batch_segment *segment = &batch->segments[batch->segment_count];
        if (!read_segment(r, sessions, session_count, batch, segment)) {
            return damaged(err, "a segment lies outside of it");
        }
    }
    size_t covered = count ? batch->segments[count - 1].record_end : 0;
    return batch->own || covered == batch->piece.count ||
           damaged(err, "records belong to no session");
}

static bool read_segments(
    const struct batch_codec *codec, struct reader *r, struct batch *batch, struct error *err)
{
    uint32_t count = read_count(r, sizeof(uint16_t));
    if (r->failed) {
        return damaged(err, "sessions are missing");
    }
    uint32_t *sessions = malloc((count + (size_t)1) * sizeof(*sessions));
    if (!sessions) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < count; i++) {
        sessions[i] = session_called(codec, reader_take(r, reader_u16(r)));
    }
    bool ok = read_segment_list(r, sessions, count, batch, err);
    free(sessions);
    return ok;
}

static bool read_route_names(
    struct reader *r, struct span *names, uint32_t count, struct routes *routes, size_t records)
{
    for (uint32_t i = 0; i < count; i++) {
        names[i] = reader_take(r, reader_u32(r));
    }
    struct reader indexes = reader_make(reader_take(r, records * sizeof(uint32_t)));
    for (size_t i = 0; i < records && !r->failed; i++) {
        uint32_t index = reader_u32(&indexes);
        if (index >= count) {
            r->failed = true;
        } else if (!routes_add(routes, names[index])) {
            return false;
        }
    }
    return true;
}

static bool read_routes(struct reader *r, struct routes *routes, size_t records, struct error *err)
{
    uint32_t count = read_count(r, sizeof(uint32_t));
    if (r->failed || count > MAX_ROUTES) {
        return damaged(err, "it has too many routes");
    }
    struct span *names = malloc((count + (size_t)1) * sizeof(*names));
    bool ok = names && read_route_names(r, names, count, routes, records);
    free(names);
    if (!ok) {
        return no_memory(err);
    }
    return !r->failed || damaged(err, "a record has no route");
}

static bool read_all_routes(struct reader *r, struct piece *piece, struct error *err)
{
    uint32_t count = read_count(r, sizeof(uint32_t));
    if (r->failed || count > MAX_TEMPLATES) {
        return damaged(err, "it has too many templates");
    }
    piece->routes = calloc(count + (size_t)1, sizeof(*piece->routes));
    if (!piece->routes) {
        return no_memory(err);
    }
    for (; piece->route_count < count; piece->route_count++) {
        routes_init(&piece->routes[piece->route_count]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!read_routes(r, &piece->routes[i], piece->count, err)) {
            return false;
        }
    }
    return true;
}

static bool read_positions(struct reader *r, struct piece *piece, struct error *err)
{
    uint32_t count = read_count(r, FILE_ID_BYTES);
    struct span files = reader_take(r, (size_t)count * FILE_ID_BYTES);
    if (r->failed || reader_left(r) / POSITION_BYTES < piece->count) {
        return damaged(err, "positions are missing");
    }
    piece->positions = calloc(piece->count + 1, sizeof(*piece->positions));
    if (!piece->positions) {
        return no_memory(err);
    }
    piece->position_capacity = piece->count + 1;
    for (; piece->position_count < piece->count; piece->position_count++) {
        struct record_position *position = &piece->positions[piece->position_count];
        uint32_t file = reader_u32(r);
        if (file > count) {
            return damaged(err, "a record belongs to no file");
        }
        if (file) {
            memcpy(
                position->file_id, files.data + (size_t)(file - 1) * FILE_ID_BYTES, FILE_ID_BYTES);
        }
        position->buffer_offset = reader_u64(r);
        position->record_offset = reader_u32(r);
    }
    return true;
}

static bool read_tail(const struct batch_codec *codec, struct reader *r, uint32_t size,
    struct batch *batch, struct error *err)
{
    struct piece *piece = &batch->piece;
    uint8_t flags = reader_u8(r);
    if (flags & ~(FLAG_OWN | FLAG_POSITIONS)) {
        return damaged(err, "it has unknown marks");
    }
    batch->own = flags & FLAG_OWN;
    bool ok = read_ends(r, piece, size, err) && read_segments(codec, r, batch, err) &&
              read_all_routes(r, piece, err) &&
              (!(flags & FLAG_POSITIONS) || read_positions(r, piece, err));
    return ok && (reader_left(r) == 0 || damaged(err, "bytes follow its end"));
}

/* The batch gets the memory that its records lie in, as much of it as they need. */
static void take_records(struct batch *batch, struct buf *room, struct span records)
{
    struct buf *bytes = &batch->piece.bytes;
    if (records.size) {
        memmove(room->data, records.data, records.size);
    }
    bytes->size = records.size;
    buf_adopt(bytes, room->data, room->allocated);
    *room = (struct buf){.max = room->max};
    piece_trim(&batch->piece);
}

struct batch *batch_codec_read(
    const struct batch_codec *codec, struct buf *room, struct span body, struct error *err)
{
    if (body.size < FOOTER_BYTES) {
        damaged(err, "it is too short");
        return NULL;
    }
    size_t end = body.size - FOOTER_BYTES;
    uint32_t size = load_le32(body.data + end);
    uint32_t version = load_le32(body.data + end + sizeof(uint32_t));
    if (version == 0 || version > BATCH_CODEC_VERSION) {
        error_set(err, version ? ERR_UNSUPPORTED : ERR_FORMAT, "a batch is of version %u, not %d",
            (unsigned)version, BATCH_CODEC_VERSION);
        return NULL;
    }
    if (size > end) {
        damaged(err, "it is shorter than its records");
        return NULL;
    }
    struct batch *batch = batch_create(0, NULL, 0);
    if (!batch) {
        no_memory(err);
        return NULL;
    }
    struct reader r = reader_make(span_make(body.data + size, end - size));
    if (!read_tail(codec, &r, size, batch, err)) {
        batch_destroy(batch);
        return NULL;
    }
    take_records(batch, room, span_first(body, size));
    return batch;
}
