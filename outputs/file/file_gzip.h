#ifndef ETWSHIP_OUTPUTS_FILE_GZIP_H
#define ETWSHIP_OUTPUTS_FILE_GZIP_H

#include <stddef.h>

#include "outputs/file/file_marks.h"

/*
 * One file to PATH.gz in small steps. After any interruption PATH or PATH.gz is complete: the bytes
 * go to PATH.gz.tmp, are forced to the disk and renamed, and only then PATH is removed. The next
 * run repeats an interrupted one, or only the removal if that was missing. Each of the three files
 * is marked first (file_marks.h); a file with one of these names and no mark belongs to another
 * program, and does not change.
 */
struct file_gzip;

/*
 * ${path} is the rotated file of a path of ${base_size} bytes. ${marks} outlives the object. NULL
 * with ${err} set on failure. ERR_STOPPED: nothing to do, as ${path} is gone or not marked.
 * ERR_BUSY: a file of another program has the name of the compressed file.
 */
struct file_gzip *file_gzip_start(
    struct file_marks *marks, const char *path, size_t base_size, struct error *err);

enum file_gzip_result { FILE_GZIP_MORE, FILE_GZIP_DONE, FILE_GZIP_FAILED };

/* Compress about ${bytes} more. After a result other than MORE, only destroy is allowed. */
enum file_gzip_result file_gzip_step(struct file_gzip *self, size_t bytes, struct error *err);

/* An unfinished run leaves PATH unchanged. NULL is fine. */
void file_gzip_destroy(struct file_gzip *self);

#endif
