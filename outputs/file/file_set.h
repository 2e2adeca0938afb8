#ifndef ETWSHIP_OUTPUTS_FILE_SET_H
#define ETWSHIP_OUTPUTS_FILE_SET_H

#include "base/buf.h"
#include "base/reader.h"
#include "outputs/file/file_marks.h"

/*
 * The files of one file output, each with its state after the last delivered batch, so that later
 * writes can be undone: after a failed write, and from a checkpoint after a kill. file_set.c
 * describes how.
 *
 * One thread at a time.
 */
enum file_state {
    FILE_UNKNOWN, /* not opened yet: its content counts as delivered */
    FILE_KNOWN,   /* `id` and `bytes` are its last known state */
    FILE_FRESH,   /* rotated in this batch, not created again yet */
};

struct file_entry {
    char *path;
    struct plat_file *file; /* NULL: closed */
    enum file_state state;
    bool ordinary;   /* a regular file: has an id, can be truncated */
    bool unfinished; /* ends in a partial line of another program */
    bool dirty;      /* differs from the delivered state */
    bool covered;    /* the stored checkpoint has its delivered state */
    bool unsynced;
    struct plat_file_id id;
    uint64_t bytes;

    /* State after the last delivered batch. */
    struct plat_file_id acked_id;
    uint64_t acked_bytes;

    uint64_t started_at;        /* FILETIME: when the file was made */
    uint64_t next_number;       /* of a rotated file; 0: unknown */
    bool surveyed;              /* the folder was searched for chores of earlier runs */
    uint64_t rotate_not_before; /* monotonic: no rotation before, after a failure */
    uint64_t used;              /* higher: later */
};

struct file_set {
    struct file_entry **entries;
    size_t count;
    size_t capacity;
    struct map by_path;
    struct file_marks *marks; /* marks for rotation and removal; NULL: neither is used */
    size_t open_count;
    uint64_t uses;
    bool syncs;   /* fsync is used, also for folders */
    bool shorter; /* a file is shorter than its delivered state */
};

/* Maximum number of open files; and about how many more are remembered, the last used. The files of
 * one batch are always remembered. */
enum {
    FILE_SET_MAX_OPEN = 64,
    FILE_SET_MAX_KNOWN = 4096,
    FILE_SET_MAX_PATHS_BYTES = 256 * 1024, /* so that all fit into a checkpoint, and a batch */
};

/* ${marks}, which may be NULL, outlives the set. */
void file_set_init(struct file_set *set, struct file_marks *marks, bool syncs);
void file_set_fini(struct file_set *set); /* closes files, undoes nothing */

/* The entry for ${path}, created if missing. NULL: out of memory. Valid until file_set_trim,
 * file_set_remove or file_set_fini. */
struct file_entry *file_set_get(struct file_set *set, struct span path, struct error *err);

/* NULL if there is none. */
struct file_entry *file_set_find(const struct file_set *set, struct span path);

/*
 * The entry of the same file as ${entry}, which is not opened yet, under another path: through a
 * link, or on a file system that ignores case. NULL: none. Two entries of one file would truncate
 * each other's batches.
 */
struct file_entry *file_set_find_same(const struct file_set *set, const struct file_entry *entry);

/*
 * Make sure that the file is open, still at its path, and has the size `bytes`. A removed file is
 * created again, and a changed one is accepted as it is: such a file is not covered any more.
 */
bool file_set_open(struct file_set *set, struct file_entry *entry, struct error *err);

/* Append to an open file. file_set_undo removes a partial write. */
bool file_set_write(struct file_entry *entry, struct span bytes, struct error *err);

void file_set_close(struct file_set *set, struct file_entry *entry);
void file_set_close_all(struct file_set *set);

/* Mark all files as covered: a checkpoint with the delivered state is stored, or never will be. */
void file_set_cover(struct file_set *set);

/* Everything written so far is delivered. */
void file_set_commit(struct file_set *set);

/* Undo writes and rotations since the last delivered batch. May be repeated after a failure. */
bool file_set_undo(struct file_set *set, struct error *err);

bool file_set_sync(struct file_set *set, struct error *err);
bool file_set_is_synced(const struct file_set *set);

/* Drop the least recently used entries beyond the limit. Only when nothing is dirty. */
void file_set_trim(struct file_set *set);

/* The file is no longer at its path. */
void file_set_remove(struct file_set *set, struct file_entry *entry);

/* Append the delivered state of each file; at most ${max_bytes}. */
void file_set_save(const struct file_set *set, size_t max_bytes, struct buf *out);

/* Load the output of file_set_save, for the paths that ${accept} accepts, as files to be undone.
 * ERR_FORMAT if it is damaged: then nothing is loaded. */
bool file_set_load(struct file_set *set, struct reader *in,
    bool (*accept)(void *self, struct span path), void *self, struct error *err);

#endif
