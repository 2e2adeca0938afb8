#ifndef ETWSHIP_OUTPUTS_FILE_SET_H
#define ETWSHIP_OUTPUTS_FILE_SET_H

#include "base/buf.h"
#include "base/reader.h"
#include "outputs/file/file_marks.h"

/*
 * The files that one file output writes to. Of each the set knows what it held after the last
 * batch that was delivered, so that what came later can be taken back: after a failed write, and
 * from a checkpoint after a kill. See file_set.c for how.
 *
 * One thread at a time.
 */
enum file_state {
    FILE_UNKNOWN, /* never looked at: what is there counts as delivered */
    FILE_KNOWN,   /* `id` and `bytes` are what we left */
    FILE_FRESH,   /* rotated away in this batch, not made again yet */
};

struct file_entry {
    char *path;
    struct plat_file *file; /* NULL: closed */
    enum file_state state;
    bool ordinary;   /* no device and no pipe: has an id, can be cut */
    bool unfinished; /* ends in the middle of a line that somebody else left */
    bool dirty;      /* differs from what was delivered */
    bool covered;    /* a stored checkpoint knows what was delivered to it */
    bool unsynced;
    struct plat_file_id id;
    uint64_t bytes;

    /* After the last delivered batch. */
    struct plat_file_id acked_id;
    uint64_t acked_bytes;

    uint64_t started_at;        /* FILETIME: when the file was made */
    uint64_t next_number;       /* of a rotated file; 0: not known */
    bool surveyed;              /* the folder has been read for what a run before left to do */
    uint64_t rotate_not_before; /* monotonic: after a rotation that failed */
    uint64_t used;              /* higher: later */
};

struct file_set {
    struct file_entry **entries;
    size_t count;
    size_t capacity;
    struct map by_path;
    struct file_marks *marks; /* of files that are rotated or removed; NULL: none is */
    size_t open_count;
    uint64_t uses;
    bool syncs;   /* is the disk forced at all? Then folders are, too */
    bool shorter; /* a file was found shorter than what was delivered to it */
};

/* At most this many files are open at a time; more are only remembered, and of those about so many,
 * the last used. The files of one batch are remembered in any case. */
enum {
    FILE_SET_MAX_OPEN = 64,
    FILE_SET_MAX_KNOWN = 4096,
    FILE_SET_MAX_PATHS_BYTES = 256 * 1024, /* so that a checkpoint has room for all, and a batch */
};

/* ${marks}, which may be NULL, outlives the set. */
void file_set_init(struct file_set *set, struct file_marks *marks, bool syncs);
void file_set_fini(struct file_set *set); /* closes, takes nothing back */

/* The entry for ${path}, made if it is new. NULL: out of memory. Valid until file_set_trim,
 * file_set_forget or file_set_fini. */
struct file_entry *file_set_get(struct file_set *set, struct span path, struct error *err);

/* NULL if there is none. */
struct file_entry *file_set_find(const struct file_set *set, struct span path);

/*
 * The entry of the file that ${entry}, never looked at, leads to by another path: through a link, or
 * where case does not tell names apart. NULL: there is none. Two entries of one file would cut each
 * other's batches.
 */
struct file_entry *file_set_find_twin(const struct file_set *set, const struct file_entry *entry);

/*
 * Make sure that the file is open, is still where its path leads, and that `bytes` is its size. One
 * that somebody else removed is made again, one that they changed is taken as it is: such a file is
 * not covered any more.
 */
bool file_set_open(struct file_set *set, struct file_entry *entry, struct error *err);

/* Append to an open file. What was written in part is for file_set_undo to take back. */
bool file_set_write(struct file_entry *entry, struct span bytes, struct error *err);

void file_set_close(struct file_set *set, struct file_entry *entry);
void file_set_close_all(struct file_set *set);

/* A checkpoint with what was delivered so far is stored, or never will be. */
void file_set_cover(struct file_set *set);

/* Everything written so far is delivered. */
void file_set_commit(struct file_set *set);

/* Take back what was written or rotated since. May be tried again after a failure. */
bool file_set_undo(struct file_set *set, struct error *err);

bool file_set_sync(struct file_set *set, struct error *err);
bool file_set_is_synced(const struct file_set *set);

/* Remember fewer files, the last used, if there are too many. Only when nothing is dirty. */
void file_set_trim(struct file_set *set);

/* The file is no longer at its path. */
void file_set_forget(struct file_set *set, struct file_entry *entry);

/* What was delivered to each file, as bytes to keep; at most ${max_bytes}. */
void file_set_save(const struct file_set *set, size_t max_bytes, struct buf *out);

/* Take what file_set_save wrote back, for the paths that ${accept} accepts, as files to be undone.
 * ERR_FORMAT if it is damaged: nothing is taken then. */
bool file_set_load(struct file_set *set, struct reader *in,
    bool (*accept)(void *self, struct span path), void *self, struct error *err);

#endif
