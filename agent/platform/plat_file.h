#ifndef ETWSHIP_PLATFORM_PLAT_FILE_H
#define ETWSHIP_PLATFORM_PLAT_FILE_H

#include "base/error.h"
#include "base/span.h"

/* Files. Paths are UTF-8. One thread at a time per handle, except plat_file_read_at. */
struct plat_file;

enum plat_file_mode {
    PLAT_FILE_READ,           /* must exist */
    PLAT_FILE_APPEND,         /* created if missing; writes go to the end */
    PLAT_FILE_CREATE,         /* created, or truncated */
    PLAT_FILE_CREATE_NEW,     /* created; ERR_BUSY if the name exists, even as a dangling link */
    PLAT_FILE_CREATE_PRIVATE, /* like CREATE_NEW; readable by its owner and administrators only */
    PLAT_FILE_READ_ITSELF,    /* must exist and not be a link, as for writing; see below */
};

/*
 * NULL on failure. Reading folders and devices is refused with a clear text.
 *
 * Another user may have put a link in a folder where we write, to make us change a file of their
 * choice. So for writing, a link as last part of ${path} is never followed, and a file with several
 * names is not changed (ERR_CONFIG). PLAT_FILE_READ_ITSELF applies these rules to files whose
 * content is disclosed. Folders in the path may be links, and devices and pipes may be written to
 * by name. On Linux, /dev/stdout, /dev/stderr, /dev/fd/N and /proc/self/fd/N are the system's own
 * links to files that this process has open; they are followed.
 */
struct plat_file *plat_file_open(const char *path, enum plat_file_mode mode, struct error *err);
void plat_file_close(struct plat_file *file); /* NULL is fine */

/* Present size in bytes. */
bool plat_file_size(struct plat_file *file, uint64_t *ret_bytes, struct error *err);

/* True if ${path} still names this open file. */
bool plat_file_is_at(struct plat_file *file, const char *path);

/* Identity of a file, independent of its name: stable across restarts and renames. Different from
 * that of a later file if the system reports creation times. */
struct plat_file_id {
    uint64_t file; /* inode, file index */
    uint64_t born; /* FILETIME; 0: unknown */
};

static inline bool plat_file_id_equal(const struct plat_file_id *a, const struct plat_file_id *b)
{
    return a->file == b->file && a->born == b->born;
}

/* False if it is not an ordinary file (a device, a pipe); plat_file_id_at also if it does not
 * exist. */
bool plat_file_id(struct plat_file *file, struct plat_file_id *ret_id);
bool plat_file_id_at(const char *path, struct plat_file_id *ret_id);

/* Lock for writing until it is closed; only other callers of this function respect it. False with
 * ERR_STOPPED if it is locked in this or another process. True if the system has no such locks. */
bool plat_file_lock(struct plat_file *file, struct error *err);

/* Read up to ${size} bytes at ${offset}; fewer only at the end of the file. */
bool plat_file_read_at(struct plat_file *file, uint64_t offset, void *data, size_t size,
    size_t *ret_read, struct error *err);

/* Offset of the first data at or after ${offset}: the file system keeps no data in between, and the
 * hole reads as zeros. The file size if there is none; ${offset} if the file system does not report
 * holes. For files open for reading. */
uint64_t plat_file_next_data(struct plat_file *file, uint64_t offset);

/* Write all of ${bytes}. */
bool plat_file_write(struct plat_file *file, struct span bytes, struct error *err);

/* Write all ${count} pieces in sequence. */
bool plat_file_write_pieces(
    struct plat_file *file, const struct span *pieces, size_t count, struct error *err);

/* Truncate the file, open for writing, to ${bytes}; the next append continues there. */
bool plat_file_truncate(struct plat_file *file, uint64_t bytes, struct error *err);

/* Force data and size to the disk; does nothing if there is no disk. After a failure, the content
 * on the disk is undefined, and a later success does not change that. */
bool plat_file_sync(struct plat_file *file, struct error *err);

/* Standard output as a file, for plat_file_write; closing it does nothing. A closed pipe fails with
 * ERR_STOPPED. */
struct plat_file *plat_file_stdout(void);

/* Standard output for plat_file_write_some, without blocking on an unread terminal or pipe and
 * without effect on other programs that share it. NULL on failure; the caller closes it. */
struct plat_file *plat_file_stdout_open(struct error *err);

/* Like plat_file_stdout_open for standard error. */
struct plat_file *plat_file_stderr_open(struct error *err);

/* Write as much of ${bytes} as possible within ${timeout_ms}; ${ret_written} may be less than their
 * size, even 0, without being a failure. It is set on failure, too. */
bool plat_file_write_some(struct plat_file *file, struct span bytes, unsigned timeout_ms,
    size_t *ret_written, struct error *err);

/* Read a whole file of at most ${max_bytes}; the caller frees ${ret_data}, which is followed by a
 * NUL. */
bool plat_file_load(
    const char *path, size_t max_bytes, char **ret_data, size_t *ret_size, struct error *err);

/* Replace the file ${path} atomically by ${bytes}, through ${path}.new. After success it survives a
 * power failure. */
bool plat_file_replace(const char *path, struct span bytes, struct error *err);

/* Create ${path} and its missing parents. */
bool plat_dir_create(const char *path, struct error *err);

/* Like plat_dir_create; if ${path} itself was missing, only its owner may access it. On Windows
 * also administrators, including everything in it; created parents are protected, too, because
 * inherited rights would let others in. */
bool plat_dir_create_private(const char *path, struct error *err);

enum plat_path_kind { PLAT_PATH_NONE, PLAT_PATH_FILE, PLAT_PATH_DIR };
enum plat_path_kind plat_path_kind(const char *path);

/* Call ${each} with the name of every ordinary file in ${folder}, including links to files, in any
 * order; it returns false to stop. */
bool plat_dir_files(
    const char *folder, bool (*each)(void *self, const char *name), void *self, struct error *err);

/* Like plat_dir_files for folders, excluding links to folders. */
bool plat_dir_folders(
    const char *folder, bool (*each)(void *self, const char *name), void *self, struct error *err);

/* Bytes that this process may still write to the file system of ${path}. */
bool plat_disk_free(const char *path, uint64_t *ret_bytes, struct error *err);

/* True if the operation failed because the disk is full or the quota is used up. */
bool plat_disk_is_full(const struct error *err);

/* True if only the owner, a group of the owner, and administrators may read the file. */
bool plat_file_is_private(const char *path, bool *ret_private, struct error *err);

/*
 * Call ${each} for every file that ${pattern} matches, in byte order of the paths. The pattern is a
 * plain path, or has * and ? inside components and ** for any number of folders. False if a folder
 * is unreadable or nothing matches; ${each} may return false to stop, which is no failure. ** does
 * not follow symbolic links to folders.
 */
bool plat_glob(
    const char *pattern, bool (*each)(void *self, const char *path), void *self, struct error *err);

#endif
