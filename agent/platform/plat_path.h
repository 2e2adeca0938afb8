#ifndef ETWSHIP_PLATFORM_PLAT_PATH_H
#define ETWSHIP_PLATFORM_PLAT_PATH_H

#include <stddef.h>

#include "base/error.h"

/* File names: operations that must be atomic or survive a power failure. Paths are UTF-8. */

/* Changes when a file is written to, or when its name refers to another file. */
struct plat_stamp {
    uint64_t id; /* 0: unknown */
    uint64_t size;
    uint64_t modified; /* in the system's own unit */
};

/* Zero if the name does not exist. */
struct plat_stamp plat_path_stamp(const char *path);

/* Whether an ordinary file ${path} exists, and its size. False if that cannot be determined, as in
 * an unreadable folder or on a failing disk. */
bool plat_path_find(const char *path, bool *ret_there, uint64_t *ret_bytes, struct error *err);

/* Rename the file ${from} to ${to}, replacing a file of that name atomically. On Windows this, like
 * the next one, waits up to a third of a second for a program that has one of them open. */
bool plat_path_rename(const char *from, const char *to, struct error *err);

/* Rename the file ${from} to ${to}, which must not exist: ERR_BUSY, without any change, if it does,
 * even as a link. */
bool plat_path_rename_new(const char *from, const char *to, struct error *err);

/* Remove a file. A missing file is no failure. */
bool plat_path_remove(const char *path, struct error *err);

/* Absolute form of ${path} in the system's notation, for use from another folder; it need not
 * exist. ERR_LIMIT if it does not fit into ${capacity}. */
bool plat_path_absolute(const char *path, char *ret_path, size_t capacity, struct error *err);

/* Force creations, renames and removals in ${folder} to the disk. Does nothing on Windows, where
 * the system does that. */
bool plat_path_sync_folder(const char *folder, struct error *err);

/* Force the folder of the file ${path} to the disk. A new or renamed file may be gone after a power
 * failure until this is done. */
bool plat_path_sync_name(const char *path, struct error *err);

/* A lock on the file ${path}, held until it is dropped or the process ends. */
struct plat_lock;

/*
 * Create ${path} if it is missing, lock it, and write our process id into it. NULL on failure. If
 * it is locked by another process, or by another lock of this one, the error is ERR_STOPPED and
 * ${ret_holder} the id in it, 0 if unreadable.
 */
struct plat_lock *plat_lock_take(const char *path, uint64_t *ret_holder, struct error *err);

/* Release the lock; the file stays. NULL is fine. */
void plat_lock_drop(struct plat_lock *lock);

#endif
