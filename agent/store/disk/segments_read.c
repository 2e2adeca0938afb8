/*
 * Reading, by any thread. A few files are kept open; a reader holds one of them, but not the lock.
 * A file that was removed meanwhile is closed by its last reader; where all are in use, one is
 * opened for one reading alone.
 */
#include "store/disk/segments_own.h"

static struct segment_handle *find_handle(struct segments *segments, uint64_t id)
{
    for (size_t i = 0; i < SEGMENTS_HANDLES; i++) {
        struct segment_handle *handle = &segments->handles[i];
        if (handle->file && handle->id == id && !handle->gone) {
            handle->users++;
            handle->used = ++segments->uses;
            return handle;
        }
    }
    return NULL;
}

/* One that is not in use, the longest unused. Its file is closed. */
static struct segment_handle *free_handle(struct segments *segments)
{
    struct disk *disk = segments->settings.disk;
    struct segment_handle *best = NULL;
    for (size_t i = 0; i < SEGMENTS_HANDLES; i++) {
        struct segment_handle *handle = &segments->handles[i];
        if (!handle->file) {
            return handle;
        }
        if (handle->users == 0 && (!best || handle->used < best->used)) {
            best = handle;
        }
    }
    if (best) {
        disk->ops->close(disk, best->file);
        *best = (struct segment_handle){.file = NULL};
    }
    return best;
}

/* Is the folder itself there, so that a file that is not there has really gone? */
static bool nothing(void *self, const char *name)
{
    (void)self;
    (void)name;
    return false;
}

static bool has_gone(struct segments *segments, const char *path)
{
    struct disk *disk = segments->settings.disk;
    bool there = true;
    uint64_t bytes;
    return disk->ops->find(disk, path, &there, &bytes, NULL) && !there &&
           disk->ops->list(disk, segments->settings.folder, nothing, NULL, NULL);
}

static struct disk_file *open_segment(struct segments *segments, uint64_t id, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    if (!segments_path(segments, id, path, err)) {
        return NULL;
    }
    struct disk_file *file = disk->ops->open_read(disk, path, err);
    if (!file && has_gone(segments, path)) {
        error_set(err, ERR_FORMAT, "%s: is missing", path);
    }
    return file;
}

/* Held while reading: a handle, or a private file. */
struct hold {
    struct segment_handle *handle;
    struct disk_file *file;
};

static bool hold(struct segments *segments, uint64_t id, struct hold *ret_hold, struct error *err)
{
    plat_mutex_lock(&segments->lock);
    struct segment_handle *handle = find_handle(segments, id);
    plat_mutex_unlock(&segments->lock);
    if (handle) {
        *ret_hold = (struct hold){handle, handle->file};
        return true;
    }
    struct disk_file *file = open_segment(segments, id, err);
    if (!file) {
        return false;
    }
    plat_mutex_lock(&segments->lock);
    handle = free_handle(segments);
    if (handle) {
        *handle = (struct segment_handle){
            .id = id, .file = file, .users = 1, .used = ++segments->uses};
    }
    plat_mutex_unlock(&segments->lock);
    *ret_hold = (struct hold){handle, file};
    return true;
}

static void let_go(struct segments *segments, struct hold *hold)
{
    struct disk *disk = segments->settings.disk;
    bool last = !hold->handle;
    if (hold->handle) {
        plat_mutex_lock(&segments->lock);
        last = --hold->handle->users == 0 && hold->handle->gone;
        if (last) {
            *hold->handle = (struct segment_handle){.file = NULL};
        }
        plat_mutex_unlock(&segments->lock);
    }
    if (last) {
        disk->ops->close(disk, hold->file);
    }
}

void segments_close_handles(struct segments *segments, uint64_t id)
{
    struct disk *disk = segments->settings.disk;
    plat_mutex_lock(&segments->lock);
    for (size_t i = 0; i < SEGMENTS_HANDLES; i++) {
        struct segment_handle *handle = &segments->handles[i];
        if (!handle->file || handle->id != id) {
            continue;
        }
        handle->gone = true;
        if (handle->users == 0) {
            disk->ops->close(disk, handle->file);
            *handle = (struct segment_handle){.file = NULL};
        }
    }
    plat_mutex_unlock(&segments->lock);
}

static bool no_room(const struct buf *room, size_t more, struct error *err)
{
    return more > room->max - room->size
               ? error_set(err, ERR_LIMIT, "a batch is larger than there is room for")
               : error_set(err, ERR_MEMORY, "out of memory");
}

static bool load(struct segments *segments, const struct segment_place *place, struct buf *room,
    struct error *err)
{
    struct disk *disk = segments->settings.disk;
    struct hold held;
    size_t got = 0;
    buf_reset(room);
    if (place->bytes < FRAME_HEAD_BYTES || place->bytes > FRAME_MAX_BYTES) {
        return error_set(err, ERR_FORMAT, "no frame has %u bytes", (unsigned)place->bytes);
    }
    if (!buf_reserve(room, place->bytes)) {
        return no_room(room, place->bytes, err);
    }
    if (!hold(segments, place->segment, &held, err)) {
        return false;
    }
    bool good = disk->ops->read_at(
        disk, held.file, place->offset, room->data, place->bytes, &got, err);
    let_go(segments, &held);
    room->size = got;
    return good && (got == place->bytes || error_set(err, ERR_FORMAT, "the segment is cut off"));
}

bool segments_unpack(struct frame *frame, struct buf *room, struct error *err)
{
    if (!frame->zstd) {
        return true;
    }
    buf_reset(room);
    if (!buf_reserve(room, frame->raw_bytes)) {
        return no_room(room, frame->raw_bytes, err);
    }
    if (!body_unpack(frame->body, room->data, frame->raw_bytes)) {
        return error_set(err, ERR_FORMAT, "the batch cannot be unpacked");
    }
    room->size = frame->raw_bytes;
    frame->body = buf_span(room);
    frame->zstd = false;
    return true;
}

/* The body goes after the frame, which may move meanwhile. */
static bool unpack_behind(struct frame *frame, struct buf *room, struct error *err)
{
    if (!frame->zstd) {
        return true;
    }
    const uint8_t *before = room->data;
    if (!buf_reserve(room, frame->raw_bytes)) {
        return no_room(room, frame->raw_bytes, err);
    }
    frame->sources.data = room->data + (frame->sources.data - before);
    frame->body.data = room->data + (frame->body.data - before);
    uint8_t *out = room->data + room->size;
    if (!body_unpack(frame->body, out, frame->raw_bytes)) {
        return error_set(err, ERR_FORMAT, "the batch cannot be unpacked");
    }
    room->size += frame->raw_bytes;
    frame->body = span_make(out, frame->raw_bytes);
    frame->zstd = false;
    return true;
}

bool segments_read(struct segments *segments, const struct segment_place *place, struct buf *room,
    struct frame *ret_frame, struct error *err)
{
    struct frame frame;
    if (!load(segments, place, room, err) || !frame_read(buf_span(room), &frame, err)) {
        return false;
    }
    if (frame.kind != FRAME_BATCH || frame.segment != place->segment ||
        frame.offset != place->offset || frame_bytes(&frame) != place->bytes ||
        frame.raw_bytes != place->raw_bytes) {
        return error_set(err, ERR_FORMAT, "another frame is there");
    }
    if (!unpack_behind(&frame, room, err)) {
        return false;
    }
    *ret_frame = frame;
    return true;
}

static bool scan_read_at(
    void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err)
{
    struct segments_scan *scan = self;
    struct disk *disk = scan->segments->settings.disk;
    return disk->ops->read_at(disk, scan->file, offset, data, size, ret_read, err);
}

bool segments_scan_begin(
    struct segments *segments, uint64_t id, struct segments_scan *ret_scan, struct error *err)
{
    struct disk *disk = segments->settings.disk;
    char path[SEGMENTS_PATH_BYTES];
    bool there;
    uint64_t bytes;
    if (!segments_path(segments, id, path, err) ||
        !disk->ops->find(disk, path, &there, &bytes, err)) {
        return false;
    }
    struct disk_file *file = open_segment(segments, id, err);
    if (!file) {
        return false;
    }
    ret_scan->segments = segments;
    ret_scan->file = file;
    frame_scan_init(&ret_scan->scan, scan_read_at, ret_scan, id, bytes);
    return true;
}

void segments_scan_end(struct segments_scan *scan)
{
    struct disk *disk = scan->segments->settings.disk;
    frame_scan_fini(&scan->scan);
    disk->ops->close(disk, scan->file);
}
