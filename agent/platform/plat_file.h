#ifndef ETWSHIP_PLATFORM_PLAT_FILE_H
#define ETWSHIP_PLATFORM_PLAT_FILE_H

#include "base/error.h"
#include "base/span.h"

/* Files. Paths are UTF-8. Handles may be used by one thread at a time, plat_file_read_at by many. */
struct plat_file;

enum plat_file_mode {
    PLAT_FILE_READ,   /* must exist */
    PLAT_FILE_APPEND, /* made if missing; writes go to the end */
    PLAT_FILE_CREATE, /* made or emptied */
};

/* NULL on failure. Folders and devices are refused for reading with a clear text. */
struct plat_file *plat_file_open(const char *path, enum plat_file_mode mode, struct error *err);
void plat_file_close(struct plat_file *file); /* NULL is fine */

/* Size in bytes now. */
bool plat_file_size(struct plat_file *file, uint64_t *ret_bytes, struct error *err);

/* Does ${path} still name this open file, and not a newer one, or nothing? */
bool plat_file_is_at(struct plat_file *file, const char *path);

/* Read up to ${size} bytes at ${offset}; fewer only at the end of the file. */
bool plat_file_read_at(struct plat_file *file, uint64_t offset, void *data, size_t size,
    size_t *ret_read, struct error *err);

/* Write all of ${bytes}. */
bool plat_file_write(struct plat_file *file, struct span bytes, struct error *err);

/* Cut the file, open for writing, to ${bytes}; what is appended next follows there. */
bool plat_file_truncate(struct plat_file *file, uint64_t bytes, struct error *err);

/* Force written data to the disk. */
bool plat_file_sync(struct plat_file *file, struct error *err);

/* A file handle around standard output, for plat_file_write; closing it does nothing. A closed
 * pipe fails with ERR_STOPPED. */
struct plat_file *plat_file_stdout(void);

/* Read a whole file of at most ${max_bytes}; the caller frees ${ret_data} (a NUL follows it). */
bool plat_file_load(
    const char *path, size_t max_bytes, char **ret_data, size_t *ret_size, struct error *err);

/* Make ${path} and its missing parents. */
bool plat_dir_create(const char *path, struct error *err);

enum plat_path_kind { PLAT_PATH_NONE, PLAT_PATH_FILE, PLAT_PATH_DIR };
enum plat_path_kind plat_path_kind(const char *path);

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
