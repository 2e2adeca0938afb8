#ifndef ETWSHIP_STORE_SEGMENTS_OWN_H
#define ETWSHIP_STORE_SEGMENTS_OWN_H

#include "platform/plat_thread.h"
#include "store/disk/body.h"
#include "store/disk/segments.h"

/* Shared by the files segments*.c; not for other modules. */

enum { SEGMENTS_HANDLES = 8, SEGMENTS_PATH_BYTES = 4096 };

/* A file that was opened for reading. */
struct segment_handle {
    uint64_t id;
    struct disk_file *file; /* NULL: free */
    unsigned users;
    uint64_t used; /* when, counted */
    bool gone;     /* to be closed by its last user */
};

/* A file of this run that is not ended, or holds what is not durable. */
struct segment_writing {
    struct disk_file *file;
    uint64_t id;
    uint64_t bytes;   /* whole frames */
    uint64_t durable; /* of these */
};

struct segment_stream {
    uint64_t id;
    struct buf body;     /* of the frame that describes it */
    uint64_t in_segment; /* the last one that holds the frame; 0: none, as no segment is called 0 */
};

struct segments {
    struct segments_settings settings; /* folder: own copy */
    struct plat_mutex lock;            /* of the files and the handles */
    struct segment_info *files;        /* by id */
    size_t file_count;
    size_t file_capacity;
    size_t void_count; /* of them */
    struct segment_handle handles[SEGMENTS_HANDLES];
    uint64_t uses;
    bool has_ballast;

    /* Of the one that writes. */
    uint64_t epoch;
    uint64_t next_id;
    struct segment_writing *writing; /* all but the last one are ended, and that, too, if `ended` */
    size_t writing_count;
    size_t writing_capacity;
    bool ended;
    bool folder_changed; /* since it was synced */
    bool reads_expected; /* of what is appended */
    struct segment_stream *streams;
    size_t stream_count;
    struct buf sources;
    struct body_packer *packer; /* NULL: bodies go as they are */
};

/* The path of a segment's file. False with ${err} set if it is too long. */
bool segments_path(const struct segments *segments, uint64_t id, char ret_path[SEGMENTS_PATH_BYTES],
    struct error *err);

/* A place for tests to crash at. */
void segments_step(const struct segments *segments, const char *name);

/* Note how large the file is now; a new one is the last. False: out of memory. */
bool segments_set_file(struct segments *segments, uint64_t id, uint64_t bytes);
void segments_remove_file(struct segments *segments, uint64_t id);
void segments_set_void(struct segments *segments, uint64_t id);

/* Close what readers have of a file, at the latest when they are done. */
void segments_close_handles(struct segments *segments, uint64_t id);

/* Is the ballast there? */
void segments_find_ballast(struct segments *segments);

/* End the file that is being written, and stop writing to segment ${id}. */
void segments_end(struct segments *segments);
void segments_abandon(struct segments *segments, uint64_t id);

#endif
