/*
 * A window of the file lies in `room`; whole frames are read into it, too. After damage every byte
 * that begins like a frame is tried: its head must have a good CRC, name this segment and this
 * offset, and the epoch of the file's own head where that could be read.
 *
 * A hostile file could have overlapping good heads of damaged frames, so that checking them would
 * take time quadratic in its size. So after as many bytes as the file has were checked without
 * success, the scan skips a damaged frame by the size in its head.
 */
#include "store/disk/frame_scan.h"

enum { FIRST_WINDOW_BYTES = 4 << 10, WINDOW_BYTES = 256 << 10 };

void frame_scan_init(struct frame_scan *scan,
    bool (*read_at)(
        void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err),
    void *self, uint64_t segment, uint64_t file_bytes)
{
    *scan = (struct frame_scan){
        .read_at = read_at, .self = self, .segment = segment, .end = file_bytes};
    buf_init(&scan->room, (size_t)FRAME_MAX_BYTES + WINDOW_BYTES);
}

void frame_scan_fini(struct frame_scan *scan)
{
    buf_fini(&scan->room);
}

/* Up to ${size} bytes at ${offset}, into room. A file that has become shorter ends there. */
static bool load(struct frame_scan *scan, uint64_t offset, size_t size, struct error *err)
{
    uint64_t left = offset < scan->end ? scan->end - offset : 0;
    size = size < left ? size : (size_t)left;
    buf_reset(&scan->room);
    if (!buf_reserve(&scan->room, size)) {
        return error_set(err, ERR_MEMORY, "out of memory");
    }
    size_t got = 0;
    if (size && !scan->read_at(scan->self, offset, scan->room.data, size, &got, err)) {
        return false;
    }
    scan->room.size = got;
    if (got < size) {
        scan->end = offset + got;
    }
    return true;
}

/* Is there a head that belongs at ${offset} of this file? */
static bool is_here(
    const struct frame_scan *scan, struct span bytes, uint64_t offset, struct frame *ret_frame)
{
    return frame_read_head(bytes, ret_frame, NULL) && ret_frame->segment == scan->segment &&
           ret_frame->offset == offset && (!scan->has_epoch || ret_frame->epoch == scan->epoch);
}

/* The offset of the next head from ${from} on; the file's end if there is none. */
static bool seek(struct frame_scan *scan, uint64_t from, uint64_t *ret_offset, struct error *err)
{
    size_t size = FIRST_WINDOW_BYTES;
    while (from + FRAME_HEAD_BYTES <= scan->end) {
        if (!load(scan, from, size, err)) {
            return false;
        }
        size = size < WINDOW_BYTES ? 2 * size : size;
        struct span window = buf_span(&scan->room);
        while (window.size >= FRAME_HEAD_BYTES) {
            const uint8_t *at = memchr(window.data, 0xf5, window.size);
            window = at ? span_from(window, (size_t)(at - window.data))
                        : span_from(window, window.size);
            uint64_t offset = from + (scan->room.size - window.size);
            struct frame frame;
            if (window.size >= FRAME_HEAD_BYTES && is_here(scan, window, offset, &frame)) {
                *ret_offset = offset;
                return true;
            }
            window = window.size >= FRAME_HEAD_BYTES ? span_from(window, 1) : window;
        }
        /* The rest may be the beginning of a head. */
        from += scan->room.size - window.size;
    }
    *ret_offset = scan->end;
    return true;
}

/* At scan->at there is damage: go to the next head from ${from} on. */
static enum frame_found pass(struct frame_scan *scan, uint64_t from, enum frame_found what,
    struct frame_extent *ret_extent, struct error *err)
{
    uint64_t next;
    if (!seek(scan, from, &next, err)) {
        return FRAME_FAILED;
    }
    *ret_extent = (struct frame_extent){.offset = scan->at, .bytes = next - scan->at};
    scan->at = next;
    return what;
}

static enum frame_found begin(
    struct frame_scan *scan, struct frame_extent *ret_extent, struct error *err)
{
    if (!load(scan, 0, WINDOW_BYTES, err)) {
        return FRAME_FAILED;
    }
    struct error why = {.code = ERR_NONE};
    struct span bytes = buf_span(&scan->room);
    scan->has_epoch = frame_read_segment_head(bytes, scan->segment, &scan->epoch, &why);
    if (scan->has_epoch) {
        scan->at = FRAME_SEGMENT_HEAD_BYTES;
        return FRAME_FOUND;
    }
    if (why.code == ERR_UNSUPPORTED) {
        error_set(err, why.code, "%s", why.text);
        return FRAME_FAILED;
    }
    return scan->end == 0 ? FRAME_END : pass(scan, 1, FRAME_SKIPPED, ret_extent, err);
}

enum frame_found frame_scan_next(struct frame_scan *scan, struct frame *ret_frame,
    struct frame_extent *ret_extent, struct error *err)
{
    if (scan->at >= scan->end) {
        return FRAME_END;
    }
    if (scan->at == 0) {
        enum frame_found found = begin(scan, ret_extent, err);
        if (found != FRAME_FOUND) {
            return found;
        }
    }
    if (scan->at >= scan->end) {
        return FRAME_END;
    }
    struct frame frame;
    if (!load(scan, scan->at, FRAME_HEAD_BYTES, err)) {
        return FRAME_FAILED;
    }
    if (scan->at >= scan->end) {
        return FRAME_END; /* it became shorter meanwhile */
    }
    if (!is_here(scan, buf_span(&scan->room), scan->at, &frame)) {
        return pass(scan, scan->at + 1, FRAME_SKIPPED, ret_extent, err);
    }
    uint32_t size = frame_bytes(&frame);
    if (!load(scan, scan->at, size, err)) {
        return FRAME_FAILED;
    }
    struct frame whole;
    if (frame_read(buf_span(&scan->room), &whole, NULL)) {
        *ret_frame = whole;
        *ret_extent = (struct frame_extent){.offset = scan->at, .bytes = size};
        scan->at += size;
        return FRAME_FOUND;
    }
    bool again = scan->in_vain < scan->end;
    scan->in_vain += scan->room.size;
    *ret_frame = frame;
    return pass(scan, scan->at + (again ? (uint32_t)FRAME_HEAD_BYTES : size), FRAME_DAMAGED,
        ret_extent, err);
}
