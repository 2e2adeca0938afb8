#ifndef ETWSHIP_PLATFORM_PLAT_FILE_H
#define ETWSHIP_PLATFORM_PLAT_FILE_H

#include "base/error.h"
#include "base/span.h"

/* Files. Paths are UTF-8. Handles may be used by one thread at a time, plat_file_read_at by many. */
struct plat_file;

enum plat_file_mode {
    PLAT_FILE_READ,       /* must exist */
    PLAT_FILE_APPEND,     /* made if missing; writes go to the end */
    PLAT_FILE_CREATE,     /* made or emptied */
    PLAT_FILE_CREATE_NEW, /* made; ERR_BUSY if anything has that name, a link to nothing included */
    PLAT_FILE_CREATE_PRIVATE, /* as CREATE_NEW; only its owner and administrators may read it */
    PLAT_FILE_READ_ITSELF,    /* must exist, and be the file itself, as for writing: see below */
};

/*
 * NULL on failure. Folders and devices are refused for reading with a clear text.
 *
 * Somebody else may have put a link where we write, so that we change a file of his choice. For writing
 * the last part of ${path} is therefore never followed if it is a link, nor is a file changed that has
 * other names besides (ERR_CONFIG): a file must have been named itself. PLAT_FILE_READ_ITSELF does the same
 * where what is read is given away. Folders on the way may be links,
 * and devices and pipes may be written to by their names. Linux: /dev/stdout, /dev/stderr, /dev/fd/N and
 * /proc/self/fd/N are links of the system's own, to what this process has open: they are followed.
 */
struct plat_file *plat_file_open(const char *path, enum plat_file_mode mode, struct error *err);
void plat_file_close(struct plat_file *file); /* NULL is fine */

/* Size in bytes now. */
bool plat_file_size(struct plat_file *file, uint64_t *ret_bytes, struct error *err);

/* Does ${path} still name this open file, and not a newer one, or nothing? */
bool plat_file_is_at(struct plat_file *file, const char *path);

/* Which file it is, whatever its name: the same over restarts and renames, and not that of a later
 * file where the system tells when files were made. */
struct plat_file_id {
    uint64_t file; /* inode, file index */
    uint64_t born; /* FILETIME; 0: unknown */
};

static inline bool plat_file_id_equal(const struct plat_file_id *a, const struct plat_file_id *b)
{
    return a->file == b->file && a->born == b->born;
}

/* False for what is no ordinary file (a device, a pipe); plat_file_id_at: or is not there. */
bool plat_file_id(struct plat_file *file, struct plat_file_id *ret_id);
bool plat_file_id_at(const char *path, struct plat_file_id *ret_id);

/* Write to it alone until it is closed, as far as others ask, too. False with ERR_STOPPED if
 * somebody else does, in this process or another. Where the system has no such locks: true. */
bool plat_file_lock(struct plat_file *file, struct error *err);

/* Read up to ${size} bytes at ${offset}; fewer only at the end of the file. */
bool plat_file_read_at(struct plat_file *file, uint64_t offset, void *data, size_t size,
    size_t *ret_read, struct error *err);

/* Where the first byte at or behind ${offset} stands that the file system keeps data for: what lies
 * between is a hole and reads as zeros. The file's size if there is none, ${offset} itself where the
 * file system cannot tell. For files that are open for reading. */
uint64_t plat_file_next_data(struct plat_file *file, uint64_t offset);

/* Write all of ${bytes}. */
bool plat_file_write(struct plat_file *file, struct span bytes, struct error *err);

/* Write all of ${count} pieces, one behind the other. */
bool plat_file_write_pieces(
    struct plat_file *file, const struct span *pieces, size_t count, struct error *err);

/* Cut the file, open for writing, to ${bytes}; what is appended next follows there. */
bool plat_file_truncate(struct plat_file *file, uint64_t bytes, struct error *err);

/* Force written data, and the size, to the disk. Nothing happens where there is no disk behind it. After
 * a failure nobody knows what of it was written, and a later success says nothing about it. */
bool plat_file_sync(struct plat_file *file, struct error *err);

/* A file handle around standard output, for plat_file_write; closing it does nothing. A closed
 * pipe fails with ERR_STOPPED. */
struct plat_file *plat_file_stdout(void);

/* Standard output for plat_file_write_some: a terminal or pipe that nobody reads does not block it,
 * nor do other programs that share it notice. NULL on failure; to be closed. */
struct plat_file *plat_file_stdout_open(struct error *err);

/* The same for standard error. */
struct plat_file *plat_file_stderr_open(struct error *err);

/* Write as much of ${bytes} as goes within ${timeout_ms}; ${ret_written} may be less than their
 * size, and 0, which is no failure. A failure comes with ${ret_written}, too. */
bool plat_file_write_some(struct plat_file *file, struct span bytes, unsigned timeout_ms,
    size_t *ret_written, struct error *err);

/* Read a whole file of at most ${max_bytes}; the caller frees ${ret_data} (a NUL follows it). */
bool plat_file_load(
    const char *path, size_t max_bytes, char **ret_data, size_t *ret_size, struct error *err);

/* Make the file ${path} of ${bytes}, by way of ${path}.new: at every moment there is the old file or
 * the new one, whole. */
bool plat_file_replace(const char *path, struct span bytes, struct error *err);

/* Make ${path} and its missing parents. */
bool plat_dir_create(const char *path, struct error *err);

/* The same; ${path} itself, if it was missing, is its owner's alone. Windows: and administrators', with all
 * that will lie in it, and so are the parents that are made: what they would inherit lets others in. */
bool plat_dir_create_private(const char *path, struct error *err);

enum plat_path_kind { PLAT_PATH_NONE, PLAT_PATH_FILE, PLAT_PATH_DIR };
enum plat_path_kind plat_path_kind(const char *path);

/* Call ${each} with the name of every ordinary file in ${folder}, in any order, links to files among
 * them; it may return false to stop. */
bool plat_dir_files(
    const char *folder, bool (*each)(void *self, const char *name), void *self, struct error *err);

/* The same with the folders in it; links to folders are none. */
bool plat_dir_folders(
    const char *folder, bool (*each)(void *self, const char *name), void *self, struct error *err);

/* Bytes that this process may still write to the file system that ${path} is on. */
bool plat_disk_free(const char *path, uint64_t *ret_bytes, struct error *err);

/* Did the operation fail because the disk is full, or the quota used up? */
bool plat_disk_is_full(const struct error *err);

/* May nobody but the owner, a group of his, and administrators read the file? */
bool plat_file_is_private(const char *path, bool *ret_private, struct error *err);

/*
 * Call ${each} for every file that ${pattern} names, in byte order of the paths: a plain path, or
 * one with * and ? inside a component and ** for any number of folders. False if a folder cannot
 * be read or nothing matches; ${each} may return false to stop (which is no failure). Symbolic
 * links to folders are not followed by **.
 */
bool plat_glob(
    const char *pattern, bool (*each)(void *self, const char *path), void *self, struct error *err);

#endif
