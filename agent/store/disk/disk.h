#ifndef ETWSHIP_STORE_DISK_H
#define ETWSHIP_STORE_DISK_H

#include "base/error.h"
#include "base/span.h"

/*
 * File operations of the store as a table: those of the operating system, or a test's model of a
 * disk that is full, fails or loses power. Paths are UTF-8. A failure has a code:
 *   ERR_FULL    there is no room on the disk, or the quota is used up
 *   ERR_IO      anything else that the system refused; os_code says why
 *   ERR_MEMORY
 * Any thread; one file is appended to, cut, synced and closed by one thread at a time, and read by
 * many.
 */
struct disk;
struct disk_file; /* each disk's own */

struct disk_ops {
    /* NULL on failure. For reading the file must be there; while it is open, other programs may
     * write to it, rename and unlink it. */
    struct disk_file *(*open_read)(struct disk *disk, const char *path, struct error *err);

    /* Made if it is missing, which is durable after sync_folder. */
    struct disk_file *(*open_append)(struct disk *disk, const char *path, struct error *err);
    void (*close)(struct disk *disk, struct disk_file *file);

    /* Read up to ${size} bytes at ${offset}; fewer only at the end of the file. */
    bool (*read_at)(struct disk *disk, struct disk_file *file, uint64_t offset, void *data,
        size_t size, size_t *ret_read, struct error *err);

    /* Append ${count} pieces. After a failure any part of them may be in the file. Others may see
     * them only after a sync or the close of the file, and only the sync may report a full disk. */
    bool (*append)(struct disk *disk, struct disk_file *file, const struct span *pieces,
        size_t count, struct error *err);

    /* Is what is appended from now on to be read before long (at first: no)? The system may keep it
     * in memory then. */
    void (*expect_reads)(struct disk *disk, struct disk_file *file, bool expected);

    /* Cut the file, open for appending, to ${bytes}. */
    bool (*truncate)(struct disk *disk, struct disk_file *file, uint64_t bytes, struct error *err);

    /* Content and size survive a power failure from now on. After a failure the data since the last
     * success is unknown, and a later success does not change that. ERR_DAMAGED: another program
     * has cut the file. */
    bool (*sync)(struct disk *disk, struct disk_file *file, struct error *err);

    /* Find out whether there is an ordinary file ${path}, and its size. False: that cannot be
     * determined. */
    bool (*find)(struct disk *disk, const char *path, bool *ret_there, uint64_t *ret_bytes,
        struct error *err);

    /* One that is not there is no failure. */
    bool (*unlink)(struct disk *disk, const char *path, struct error *err);

    /* In place of a file that is called ${to}: at every moment there is the old or the new one. */
    bool (*rename)(struct disk *disk, const char *from, const char *to, struct error *err);

    /* The names of the ordinary files in ${folder}, in any order.
     * ${each} may return false to stop. */
    bool (*list)(struct disk *disk, const char *folder, bool (*each)(void *self, const char *name),
        void *self, struct error *err);

    /* With those above it. Those that were missing are durable where the
     * system lets us see to it. */
    bool (*make_folder)(struct disk *disk, const char *folder, struct error *err);

    /* Files created, renamed and unlinked in ${folder} stay so after a
     * power failure from now on. */
    bool (*sync_folder)(struct disk *disk, const char *folder, struct error *err);

    /* Bytes that this process may still write to the file system of ${folder}. */
    bool (*free_bytes)(
        struct disk *disk, const char *folder, uint64_t *ret_bytes, struct error *err);
};

struct disk {
    const struct disk_ops *ops;
};

/* The operating system's files. Static. */
struct disk *disk_system(void);

/* One on which there is no file, and none can be made. Static. */
struct disk *disk_none(void);

#endif
