/*
 * Writing. `writing` holds the files with something that is not durable, in order, and last the one
 * that is appended to unless it was ended. A file is begun by the first frame that is appended to
 * it. What is appended may wait in memory until the sync, and is written in any pieces; so a crash
 * leaves files that are empty, or end within a frame.
 *
 * When a sync fails, the system may have dropped what it could not write and call the next sync
 * good (P. Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020). So
 * nothing is ever synced twice: everything written since the last good sync, in every file, counts
 * as lost and is cut off, and these files are ended.
 */
#include "store/disk/segments_own.h"

#include "base/grow.h"

enum { MOST_PIECES = 6 };

void segments_begin(struct segments *segments, uint64_t epoch, uint64_t first_id)
{
    if (epoch != segments->epoch) {
        segments_end(segments);
    }
    segments->epoch = epoch;
    segments->next_id = first_id > segments->next_id ? first_id : segments->next_id;
}

static struct segment_stream *stream_of(const struct segments *segments, uint64_t id)
{
    for (size_t i = 0; i < segments->stream_count; i++) {
        if (segments->streams[i].id == id) {
            return &segments->streams[i];
        }
    }
    return NULL;
}

static struct segment_stream *add_stream(struct segments *segments, uint64_t id)
{
    if (!grow_array(&segments->streams, segments->stream_count + 1, sizeof(*segments->streams))) {
        return NULL;
    }
    struct segment_stream *stream = &segments->streams[segments->stream_count++];
    *stream = (struct segment_stream){.id = id};
    buf_init(&stream->body, FRAME_MAX_STREAM_BYTES + 12);
    return stream;
}

bool segments_describe(
    struct segments *segments, const struct frame_stream *stream, struct error *err)
{
    struct buf body;
    buf_init(&body, FRAME_MAX_STREAM_BYTES + 12);
    struct segment_stream *entry = NULL;
    if (stream->stream == 0) {
        error_set(err, ERR_LIMIT, "no stream has the number 0");
    } else if (frame_put_stream(&body, stream, err)) {
        entry = stream_of(segments, stream->stream);
        entry = entry ? entry : add_stream(segments, stream->stream);
        if (!entry) {
            error_set(err, ERR_MEMORY, "out of memory");
        }
    }
    if (!entry) {
        buf_fini(&body);
        return false;
    }
    buf_fini(&entry->body);
    entry->body = body;
    entry->in_segment = 0;
    return true;
}

static struct segment_writing *current(const struct segments *segments)
{
    return segments->ended ? NULL : &segments->writing[segments->writing_count - 1];
}

/* Forget one of the files that are written, and close it. */
static void drop(struct segments *segments, size_t index)
{
    struct disk *disk = segments->settings.disk;
    disk->ops->close(disk, segments->writing[index].file);
    if (index + 1 == segments->writing_count) {
        segments->ended = true;
    }
    segments->writing_count--;
    memmove(segments->writing + index, segments->writing + index + 1,
        (segments->writing_count - index) * sizeof(*segments->writing));
}

void segments_end(struct segments *segments)
{
    struct segment_writing *file = current(segments);
    if (file && file->durable == file->bytes) {
        drop(segments, segments->writing_count - 1);
    }
    segments->ended = true;
}

void segments_abandon(struct segments *segments, uint64_t id)
{
    for (size_t i = segments->writing_count; i-- > 0;) {
        if (segments->writing[i].id == id) {
            drop(segments, i);
        }
    }
}

/* Open a file for a number that none has. */
static bool begin_file(struct segments *segments, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    bool there = true;
    uint64_t bytes;
    if (!grow_list(&segments->writing, segments->writing_count, &segments->writing_capacity,
            sizeof(*segments->writing))) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    uint64_t id = segments->next_id;
    for (;; id++) {
        if (!segments_path(segments, id, path, err) ||
            !disk->ops->find(disk, path, &there, &bytes, err)) {
            return false;
        }
        if (!there) {
            break;
        }
    }
    segments_step(segments, "segment begin");
    struct disk_file *file = disk->ops->open_append(disk, path, err);
    if (!file) {
        return false;
    }
    if (!segments_set_file(segments, id, 0)) {
        disk->ops->close(disk, file);
        disk->ops->unlink(disk, path, NULL);
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    segments->folder_changed = true;
    segments->next_id = id + 1;
    segments->writing[segments->writing_count++] = (struct segment_writing){.file = file, .id = id};
    segments->ended = false;
    return true;
}

/* Close and remove a file without valid frames; bytes that wait for it need not be written. If that
 * fails it stays in the list, as void. */
static void discard(struct segments *segments, size_t index)
{
    struct disk *disk = segments->settings.disk;
    uint64_t id = segments->writing[index].id;
    char path[SEGMENTS_PATH_BYTES];
    disk->ops->truncate(disk, segments->writing[index].file, 0, NULL);
    drop(segments, index);
    segments_close_handles(segments, id);
    if (segments_path(segments, id, path, NULL) && disk->ops->unlink(disk, path, NULL)) {
        segments_remove_file(segments, id);
    } else {
        segments_set_void(segments, id);
    }
}

void segments_remove_void(struct segments *segments)
{
    struct segment_info file;
    for (size_t i = segments->void_count ? segments_count(segments) : 0; i-- > 0;) {
        if (segments_get(segments, i, &file) && file.is_void &&
            segments_unlink(segments, file.id, NULL)) {
            segments->folder_changed = true;
        }
    }
}

/* Only ${bytes} of the file count; so cut off the rest. */
static bool cut_back(struct segments *segments, size_t index, uint64_t bytes)
{
    struct disk *disk = segments->settings.disk;
    struct segment_writing *file = &segments->writing[index];
    file->bytes = bytes;
    return disk->ops->truncate(disk, file->file, bytes, NULL) &&
           segments_set_file(segments, file->id, bytes);
}

/* All that is written at once for a batch. */
struct writing {
    struct span pieces[MOST_PIECES];
    size_t count;
    uint64_t bytes;
    uint8_t segment_head[FRAME_SEGMENT_HEAD_BYTES];
    uint8_t stream_head[FRAME_HEAD_BYTES];
    uint8_t batch_head[FRAME_HEAD_BYTES];
};

static void add_piece(struct writing *out, struct span bytes)
{
    out->pieces[out->count++] = bytes;
    out->bytes += bytes.size;
}

static bool prepare(const struct segments *segments, const struct segment_writing *file,
    const struct segment_stream *stream, struct frame *frame, struct writing *out,
    struct error *err)
{
    out->count = 0;
    out->bytes = 0;
    if (file->bytes == 0) {
        frame_put_segment_head(file->id, segments->epoch, out->segment_head);
        add_piece(out, span_make(out->segment_head, FRAME_SEGMENT_HEAD_BYTES));
    }
    if (stream->in_segment != file->id) {
        struct frame about = {.kind = FRAME_STREAM,
            .segment = file->id,
            .offset = file->bytes + out->bytes,
            .epoch = segments->epoch,
            .stream = stream->id,
            .body = buf_span(&stream->body),
            .raw_bytes = (uint32_t)stream->body.size};
        if (!frame_put_head(&about, out->stream_head, err)) {
            return false;
        }
        add_piece(out, span_make(out->stream_head, FRAME_HEAD_BYTES));
        add_piece(out, about.body);
    }
    frame->segment = file->id;
    frame->offset = file->bytes + out->bytes;
    if (!frame_put_head(frame, out->batch_head, err)) {
        return false;
    }
    add_piece(out, span_make(out->batch_head, FRAME_HEAD_BYTES));
    add_piece(out, frame->sources);
    add_piece(out, frame->body);
    return true;
}

static bool write_frame(struct segments *segments, struct segment_stream *stream,
    struct frame *frame, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    struct writing out;
    /* Without its stream's frame, which may come with it: files may be larger by that. */
    uint64_t bytes = frame_bytes(frame);
    struct segment_writing *file = current(segments);
    if (file && (file->bytes >= segments->settings.segment_bytes ||
                    bytes > segments->settings.segment_bytes - file->bytes)) {
        segments_step(segments, "segment rotate");
        segments_end(segments);
        file = NULL;
    }
    if (!file && !begin_file(segments, err)) {
        return false;
    }
    file = current(segments);
    uint64_t before = file->bytes;
    segments_step(segments, "segment append");
    disk->ops->expect_reads(disk, file->file, segments->reads_expected);
    if (!prepare(segments, file, stream, frame, &out, err) ||
        !disk->ops->append(disk, file->file, out.pieces, out.count, err)) {
        if (before == 0) {
            discard(segments, segments->writing_count - 1);
        } else if (!cut_back(segments, segments->writing_count - 1, before)) {
            segments_end(segments);
        }
        return false;
    }
    file->bytes += out.bytes;
    stream->in_segment = file->id;
    segments_set_file(segments, file->id, file->bytes); /* it is in the list */
    segments_step(segments, "segment appended");
    return true;
}

/* All of the frame but where it stands and its sources. */
static struct frame frame_of(const struct segments_batch *batch)
{
    return (struct frame){.kind = FRAME_BATCH,
        .stream = batch->stream,
        .batch = batch->id,
        .first_record = batch->first_record,
        .records = batch->records,
        .first_time = batch->first_time,
        .last_time = batch->last_time,
        .entered = batch->entered,
        .body = batch->body,
        .raw_bytes = (uint32_t)batch->body.size};
}

bool segments_fits(const struct segments_batch *batch, struct error *err)
{
    if (batch->body.size > FRAME_MAX_BODY_BYTES) {
        return error_set(err, ERR_LIMIT, "a batch has %zu bytes: at most %d", batch->body.size,
            FRAME_MAX_BODY_BYTES);
    }
    struct buf sources;
    buf_init(&sources, FRAME_MAX_SOURCES_BYTES);
    struct frame frame = frame_of(batch);
    bool good = frame_put_sources(&sources, batch->sources, batch->source_count, err);
    frame.sources = buf_span(&sources);
    good = good && frame_check(&frame, err);
    buf_fini(&sources);
    return good;
}

bool segments_append(struct segments *segments, const struct segments_batch *batch,
    struct segment_place *ret_place, struct error *err)
{
    struct segment_stream *stream = stream_of(segments, batch->stream);
    if (!stream) {
        return error_set(err, ERR_LIMIT, "a batch of a stream that was not described");
    }
    if (batch->body.size > FRAME_MAX_BODY_BYTES) {
        return segments_fits(batch, err);
    }
    buf_reset(&segments->sources);
    if (!frame_put_sources(&segments->sources, batch->sources, batch->source_count, err)) {
        return false;
    }
    struct frame frame = frame_of(batch);
    frame.epoch = segments->epoch;
    frame.sources = buf_span(&segments->sources);
    frame.zstd = segments->packer && body_pack(segments->packer, batch->body, &frame.body);
    if (!write_frame(segments, stream, &frame, err)) {
        return false;
    }
    *ret_place = (struct segment_place){.segment = frame.segment,
        .offset = frame.offset,
        .bytes = frame_bytes(&frame),
        .raw_bytes = frame.raw_bytes};
    return true;
}

void segments_expect_reads(struct segments *segments, bool expected)
{
    segments->reads_expected = expected;
}

/* Another program may have removed or emptied the file,
 * while ours stays open and can be written to. */
static bool is_still_there(
    const struct segments *segments, const struct segment_writing *file, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    bool there;
    uint64_t bytes;
    if (!segments_path(segments, file->id, path, err) ||
        !disk->ops->find(disk, path, &there, &bytes, err)) {
        return false;
    }
    return (there && bytes >= file->bytes) ||
           error_set(err, there ? ERR_DAMAGED : ERR_MISSING, "%s: another program has %s it", path,
               there ? "cut" : "removed");
}

static bool sync_all(struct segments *segments, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    for (size_t i = 0; i < segments->writing_count; i++) {
        const struct segment_writing *file = &segments->writing[i];
        if (file->durable < file->bytes &&
            (!disk->ops->sync(disk, file->file, err) || !is_still_there(segments, file, err))) {
            return false;
        }
    }
    return !segments->folder_changed || segments_sync_folder(segments, err);
}

/* Everything is durable: only the file that is being written stays open. */
static void keep_durable(struct segments *segments)
{
    for (size_t i = segments->writing_count; i-- > 0;) {
        segments->writing[i].durable = segments->writing[i].bytes;
        if (segments->ended || i + 1 < segments->writing_count) {
            drop(segments, i);
        }
    }
    segments->folder_changed = false;
}

void segments_undo(struct segments *segments)
{
    for (size_t i = segments->writing_count; i-- > 0;) {
        uint64_t durable = segments->writing[i].durable;
        if (durable == 0) {
            discard(segments, i);
            continue;
        }
        cut_back(segments, i, durable);
        drop(segments, i);
    }
}

bool segments_sync(struct segments *segments, struct error *err)
{
    segments_step(segments, "segment sync");
    if (!sync_all(segments, err)) {
        segments_undo(segments);
        return false;
    }
    keep_durable(segments);
    segments_step(segments, "segment synced");
    return true;
}
