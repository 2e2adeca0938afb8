#ifndef ETWSHIP_PLATFORM_PLAT_APPEND_H
#define ETWSHIP_PLATFORM_PLAT_APPEND_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

/*
 * A file that grows at its end by megabytes, is made durable now and then, and as a rule is never read.
 * What is written may wait in memory, and may go to the disk past the system's cache, which saves the
 * copy there, its pages and their end. So others see it after plat_append_sync or plat_append_close,
 * and a full disk may be told only then. One thread at a time.
 */
struct plat_append;

/* Made if missing; writes go to the end. NULL on failure. */
struct plat_append *plat_append_open(const char *path, struct error *err);

/* Writes what waits, as far as that goes. NULL is fine. */
void plat_append_close(struct plat_append *file);

/* Write all of ${count} pieces, one behind the other. After a failure plat_append_truncate takes the file
 * back to what was written before. */
bool plat_append_write(
    struct plat_append *file, const struct span *pieces, size_t count, struct error *err);

/* Is what is written from now on to be read before long (at first: no)? Then the system's cache is to have
 * it. */
void plat_append_expect_reads(struct plat_append *file, bool expected);

/* Cut the file to ${bytes}, of those that were written; what is written next follows there. */
bool plat_append_truncate(struct plat_append *file, uint64_t bytes, struct error *err);

/* Force what was written, and the size, to the disk. After a failure nobody knows what of it stands there,
 * and a later success says nothing about it. ERR_DAMAGED: somebody else has cut the file. */
bool plat_append_sync(struct plat_append *file, struct error *err);

#endif
