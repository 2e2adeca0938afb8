#ifndef ETWSHIP_STORE_SEGMENTS_H
#define ETWSHIP_STORE_SEGMENTS_H

#include "store/disk/disk.h"
#include "store/disk/frame.h"
#include "store/disk/frame_scan.h"

/*
 * The segment files of a spool, `folder/<id, 16 hex digits>.seg`: frames (frame.h) one after the
 * other. One run of the agent writes a file, ends it when it is full, and never changes it again.
 * The catalogue says which frames count; this module does not know it.
 *
 * Threads: segments_read, segments_usage, segments_count, segments_get any;
 * all others one at a time.
 *
 * Frames are durable if they were appended before the last segments_sync that returned true. After
 * a false one, everything appended since the last good sync is void: it is cut off as far as the
 * disk allows, its file is never written again, and the caller appends it again, with the same ids,
 * to a new file.
 */
struct segments;

struct segments_settings {
    struct disk *disk;
    const char *folder; /* made if it is missing */
    uint64_t
        segment_bytes; /* a file that would become larger is ended, except with one frame alone */
    uint64_t ballast_bytes; /* 0: none */
    bool zstd;              /* bodies are packed where that makes them smaller */
    void (*step)(void *self, const char *name); /* for tests: a place to crash at. NULL: none */
    void *step_self;
};

/* The place of a frame, as the catalogue keeps it. */
struct segment_place {
    uint64_t segment;
    uint64_t offset;
    uint32_t bytes;     /* on the disk, head and all */
    uint32_t raw_bytes; /* of the body, unpacked */
};

struct segment_info {
    uint64_t id;
    uint64_t bytes; /* of the file */
    bool is_void;   /* nothing in it counts, and it could not be removed when that was found */
};

struct segments_batch {
    uint64_t id; /* not 0 */
    uint64_t stream;
    uint64_t first_record;
    uint32_t records;
    uint64_t first_time; /* FILETIME */
    uint64_t last_time;
    uint64_t entered;
    const struct frame_source *sources;
    size_t source_count;
    struct span body;
};

/* Find the files that are there; nothing is changed but that the folder is made.
 * NULL on failure. */
struct segments *segments_create(const struct segments_settings *settings, struct error *err);

/* NULL is fine. Appended frames are written, but not synced. */
void segments_destroy(struct segments *segments);

/* The files in the order of their ids, as they are now.
 * segments_get: false if there are not as many. */
size_t segments_count(struct segments *segments);
bool segments_get(struct segments *segments, size_t index, struct segment_info *ret_info);

/* Before the first append, and again whenever the epoch changes: the epoch of the frames to come (a
 * file has one, so the one that is being written is ended), and the smallest id that a new file may
 * have, so that no id which the catalogue knows comes a second time, even if its file has gone. */
void segments_begin(struct segments *segments, uint64_t epoch, uint64_t first_id);

/* Describe ${stream}. Each file gets the description before the stream's first batch in it, so that
 * the catalogue can be rebuilt from files alone. Copied. Required before a batch of the stream; a
 * second call replaces it. ERR_LIMIT: key and about are longer than FRAME_MAX_STREAM_BYTES. */
bool segments_describe(
    struct segments *segments, const struct frame_stream *stream, struct error *err);

/*
 * Append a batch; the body is not copied. On failure nothing is appended and earlier frames stay
 * good. ERR_FULL (of the disk), ERR_IO, ERR_MEMORY: may be tried again. ERR_LIMIT: the batch
 * exceeds the limits of frame.h; segments_fits checks that beforehand.
 */
bool segments_append(struct segments *segments, const struct segments_batch *batch,
    struct segment_place *ret_place, struct error *err);

/* Is what is appended from now on to be read before long? At first it is not. */
void segments_expect_reads(struct segments *segments, bool expected);

/* Is the batch within the limits of frame.h, so that segments_append can succeed at all? */
bool segments_fits(const struct segments_batch *batch, struct error *err);

/* Make all that was appended durable. False: see above; also with ERR_MISSING or ERR_DAMAGED where
 * another program has removed or cut the file meanwhile. */
bool segments_sync(struct segments *segments, struct error *err);

/* Discard what was appended since the last good sync, as after a failed one. */
void segments_undo(struct segments *segments);

/*
 * The durable frame at ${place}, checked, its body unpacked: ${ret_frame}'s views point into
 * ${room}, which is reset before and holds the frame and the unpacked body. The frame's `zstd` is
 * false then. ERR_FORMAT: damaged, cut off, another frame or no file at all: it will never be
 * readable. ERR_IO, ERR_MEMORY, ERR_LIMIT (of ${room}): perhaps later.
 */
bool segments_read(struct segments *segments, const struct segment_place *place, struct buf *room,
    struct frame *ret_frame, struct error *err);

/* Unpack the body of a frame that frame_scan_next found, into ${room}, which is reset; where it is
 * not packed nothing happens. ERR_FORMAT: it is not what its head says. */
bool segments_unpack(struct frame *frame, struct buf *room, struct error *err);

/* At the start: whatever lies after ${bytes} of segment ${id} was never committed: cut it off,
 * durably. ERR_FORMAT: there is no such file, or it is shorter. */
bool segments_cut(struct segments *segments, uint64_t id, uint64_t bytes, struct error *err);

/* Has another program removed the file of segment ${id}? Then it leaves the list. */
bool segments_is_missing(struct segments *segments, uint64_t id);

/* Remove the file of a segment that is not needed any more; not the one that is being written,
 * which is ended first. One that has gone is no failure. False: another program holds it; to be
 * tried again later. */
bool segments_unlink(struct segments *segments, uint64_t id, struct error *err);

/* Try again to remove files that are void: what could not be written in full to a disk that took no
 * change then. */
void segments_remove_void(struct segments *segments);

/* Files that were created and removed stay so after a power failure. */
bool segments_sync_folder(struct segments *segments, struct error *err);

/* Move a segment's file out of the way, to ${folder} (made if missing) under ${name}. */
bool segments_set_aside(struct segments *segments, uint64_t id, const char *folder,
    const char *name, struct error *err);

/* Prepare ${ret_scan} (frame_scan_next, frame_scan_fini) for the file of segment ${id}; it holds
 * the file open until segments_scan_end. */
struct segments_scan {
    struct frame_scan scan;
    struct segments *segments;
    struct disk_file *file;
};

bool segments_scan_begin(
    struct segments *segments, uint64_t id, struct segments_scan *ret_scan, struct error *err);
void segments_scan_end(struct segments_scan *scan);

struct segments_usage {
    uint64_t files;
    uint64_t bytes; /* of all of them, without the ballast */
    bool ballast;   /* is there one? */
};

void segments_usage(struct segments *segments, struct segments_usage *ret_usage);

/* Bytes that may still be written to this disk. */
bool segments_free_bytes(struct segments *segments, uint64_t *ret_bytes, struct error *err);

/* Give up the ballast, so that there is room for what frees more: commits that move cursors.
 * True if there was one. */
bool segments_release_ballast(struct segments *segments);

/* Create the ballast file if it is missing and ${floor_bytes} plus its size would stay free with
 * it. False: it is missing and could not be created; no reason to report. */
bool segments_keep_ballast(struct segments *segments, uint64_t floor_bytes);

#endif
