#ifndef ETWSHIP_STORE_FRAME_SCAN_H
#define ETWSHIP_STORE_FRAME_SCAN_H

#include "store/disk/frame.h"

/*
 * Read every intact frame of a segment file, in order, whatever happened to the file: after damage
 * the scan searches for the next head, and reports the skipped bytes exactly. Memory: the largest
 * frame at most. Time: proportional to the file, however hostile.
 */
struct frame_scan {
    bool (*read_at)(
        void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err);
    void *self;
    uint64_t segment; /* that the file is by its name */
    uint64_t end;     /* bytes of the file */
    uint64_t at;
    uint64_t epoch; /* of the segment's head */
    bool has_epoch;
    uint64_t in_vain; /* bytes of frames that turned out to be damaged */
    struct buf room;
};

enum frame_found {
    FRAME_FOUND,   /* a good frame; its views are valid until the next call */
    FRAME_DAMAGED, /* one whose head is good, and says what was lost, but whose rest is not */
    FRAME_SKIPPED, /* bytes of which nothing can be said */
    FRAME_END,
    FRAME_FAILED, /* could not be read: ERR_IO, ERR_MEMORY; ERR_UNSUPPORTED: of a newer version */
};

/* Place of the frame in the file. A damaged frame ends where the next one begins. */
struct frame_extent {
    uint64_t offset;
    uint64_t bytes;
};

/* ${read_at} as in disk_ops. */
void frame_scan_init(struct frame_scan *scan,
    bool (*read_at)(
        void *self, uint64_t offset, void *data, size_t size, size_t *ret_read, struct error *err),
    void *self, uint64_t segment, uint64_t file_bytes);
void frame_scan_fini(struct frame_scan *scan);

/* FRAME_FOUND and FRAME_DAMAGED fill ${ret_frame}, these and FRAME_SKIPPED ${ret_extent}. */
enum frame_found frame_scan_next(struct frame_scan *scan, struct frame *ret_frame,
    struct frame_extent *ret_extent, struct error *err);

#endif
