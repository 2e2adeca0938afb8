#ifndef ETWSHIP_PLATFORM_PLAT_APPEND_H
#define ETWSHIP_PLATFORM_PLAT_APPEND_H

#include <stdbool.h>

#include "base/error.h"
#include "base/span.h"

/*
 * A file that grows at its end by megabytes, is made durable now and then, and is rarely read.
 * Written data may wait in memory and may bypass the page cache, which saves copying and cache
 * management. So other readers see it only after plat_append_sync or plat_append_close, and a full
 * disk may be reported only then. Not thread-safe.
 */
struct plat_append;

/* Open for appending; created if missing. NULL on failure. */
struct plat_append *plat_append_open(const char *path, struct error *err);

/* Writes waiting data, as far as possible. NULL is fine. */
void plat_append_close(struct plat_append *file);

/* Write all ${count} pieces in sequence. After a failure, plat_append_truncate restores the state
 * before. */
bool plat_append_write(
    struct plat_append *file, const struct span *pieces, size_t count, struct error *err);

/* Whether data written from now on will be read soon (initially not). If so, it is kept in the page
 * cache. */
void plat_append_expect_reads(struct plat_append *file, bool expected);

/* Truncate the file to ${bytes}, within what was written; the next write continues there. */
bool plat_append_truncate(struct plat_append *file, uint64_t bytes, struct error *err);

/* Force the data and the size to the disk. After a failure, the content on the disk is undefined,
 * and a later success does not change that. ERR_DAMAGED: another program truncated the file. */
bool plat_append_sync(struct plat_append *file, struct error *err);

#endif
