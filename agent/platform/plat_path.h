#ifndef ETWSHIP_PLATFORM_PLAT_PATH_H
#define ETWSHIP_PLATFORM_PLAT_PATH_H

#include <stddef.h>

#include "base/error.h"

/* Names of files: what must be done in one piece, or survive a power failure. Paths are UTF-8. */

/* What changes when a file is written to, or its name comes to mean another one. */
struct plat_stamp {
    uint64_t id; /* 0: unknown */
    uint64_t size;
    uint64_t modified; /* in the system's own unit */
};

/* Zero for a name that means nothing. */
struct plat_stamp plat_path_stamp(const char *path);

/* Is there an ordinary file called ${path}, and how large? False if that cannot be told, as in a folder
 * that may not be read or on a disk that fails. */
bool plat_path_find(const char *path, bool *ret_there, uint64_t *ret_bytes, struct error *err);

/* Give the file ${from} the name ${to}, in place of a file that has it: at every moment ${to} names
 * the old or the new one, whole. */
bool plat_path_rename(const char *from, const char *to, struct error *err);

/* Give the file ${from} the name ${to}, which nothing has: ERR_BUSY if something does, be it a link, and
 * nothing has changed then. */
bool plat_path_rename_new(const char *from, const char *to, struct error *err);

/* Remove a file. One that is not there is no failure. */
bool plat_path_remove(const char *path, struct error *err);

/* ${path} from the root on, in the system's own form, for who looks it up from another folder; it need
 * not be there. ERR_LIMIT if it does not fit ${capacity}. */
bool plat_path_absolute(const char *path, char *ret_path, size_t capacity, struct error *err);

/* Force what was made, renamed and removed in ${folder} to the disk. Where the system does so by
 * itself (Windows) nothing happens. */
bool plat_path_sync_folder(const char *folder, struct error *err);

/* The file ${path} held by this process alone, until it is closed or the process ends. */
struct plat_lock;

/*
 * Make ${path} if it is missing, hold it and write our process id into it. NULL on failure; if
 * another process (or another lock of this one) holds it, the error is ERR_STOPPED and
 * ${ret_holder} the id that it wrote, 0 if that cannot be read.
 */
struct plat_lock *plat_lock_take(const char *path, uint64_t *ret_holder, struct error *err);

/* Let go of it; the file stays. NULL is fine. */
void plat_lock_drop(struct plat_lock *lock);

#endif
