#ifndef ETWSHIP_OUTPUTS_FILE_GZIP_H
#define ETWSHIP_OUTPUTS_FILE_GZIP_H

#include <stddef.h>

#include "outputs/file/file_marks.h"

/*
 * One file to PATH.gz in small steps. Whatever interrupts it, PATH or PATH.gz is whole: the bytes
 * go to PATH.gz.tmp, are forced to the disk, get their name, and only then PATH is removed. What an
 * interrupted one left is made anew or, where only the removal was missing, completed. Each of the three is
 * marked as ours before (file_marks.h); a file that has one of these names and no mark is somebody else's,
 * and stays as it is.
 */
struct file_gzip;

/*
 * ${path} is what a path of ${base_size} bytes was rotated to. ${marks} outlives the object. NULL with ${err}
 * set on failure. ERR_STOPPED: there is nothing to do, as ${path} is gone or not ours. ERR_BUSY: somebody
 * else's file has the name of the compressed one, so ${path} stays as it is.
 */
struct file_gzip *file_gzip_start(
    struct file_marks *marks, const char *path, size_t base_size, struct error *err);

enum file_gzip_result { FILE_GZIP_MORE, FILE_GZIP_DONE, FILE_GZIP_FAILED };

/* Compress about ${bytes} more. After anything but MORE there is only destroy. */
enum file_gzip_result file_gzip_step(struct file_gzip *self, size_t bytes, struct error *err);

/* One that is not done leaves PATH as it was. NULL is fine. */
void file_gzip_destroy(struct file_gzip *self);

#endif
