#ifndef ETWSHIP_OUTPUTS_FILE_GZIP_H
#define ETWSHIP_OUTPUTS_FILE_GZIP_H

#include <stddef.h>

#include "base/error.h"

/*
 * One file to PATH.gz in small steps. Whatever interrupts it, PATH or PATH.gz is whole: the bytes
 * go to PATH.gz.tmp, are forced to the disk, get their name, and only then PATH is removed. What an
 * interrupted one left is overwritten or, where only the removal was missing, completed.
 */
struct file_gzip;

/* NULL with ${err} set on failure. If ${path} is gone there is nothing to do: ERR_STOPPED. */
struct file_gzip *file_gzip_start(const char *path, struct error *err);

enum file_gzip_result { FILE_GZIP_MORE, FILE_GZIP_DONE, FILE_GZIP_FAILED };

/* Compress about ${bytes} more. After anything but MORE there is only destroy. */
enum file_gzip_result file_gzip_step(struct file_gzip *self, size_t bytes, struct error *err);

/* One that is not done leaves PATH as it was. NULL is fine. */
void file_gzip_destroy(struct file_gzip *self);

#endif
