#ifndef ETWSHIP_INPUT_ETL_BYTES_H
#define ETWSHIP_INPUT_ETL_BYTES_H

#include "base/error.h"
#include "base/span.h"

/*
 * The bytes of one trace: a file, a part of an open one, or memory. Files share a pool of open handles, so that hundreds
 * of traces can be merged: a handle is closed when others need its place, and opened again at the
 * next read. One thread at a time for a pool and all that belongs to it.
 */
struct plat_file;

/* A stretch of an open file, which is borrowed. */
struct etl_part {
    struct plat_file *file;
    uint64_t base;
    uint64_t size;
};

struct etl_bytes {
    const char *path;     /* as the user gave it; borrowed */
    uint64_t size;        /* at the time of opening; later growth is not seen */
    struct span memory;   /* data is NULL for a file */
    struct etl_part part; /* file is NULL for one of its own */
    struct plat_file *file;
    struct etl_handles *handles;
    struct etl_bytes *newer; /* neighbours among the open files, by last use */
    struct etl_bytes *older;
};

enum { ETL_HANDLES_MAX = 64 };

/* Zero-initialised is empty. */
struct etl_handles {
    struct etl_bytes *newest;
    struct etl_bytes *oldest;
    size_t open;
};

/* Open the file ${path}; both pointers are borrowed for the life of ${bytes}. */
bool etl_bytes_open(
    struct etl_bytes *bytes, const char *path, struct etl_handles *handles, struct error *err);

/* Read from ${memory}, which is borrowed; ${name} stands in for the path. */
void etl_bytes_use_memory(struct etl_bytes *bytes, struct span memory, const char *name);

/* Read from ${part}, whose file is open for as long; ${name} stands in for the path. */
void etl_bytes_use_part(struct etl_bytes *bytes, const struct etl_part *part, const char *name);

/* As plat_file_next_data, within the trace: its size if there is no more data. */
uint64_t etl_bytes_next_data(struct etl_bytes *bytes, uint64_t offset);

/* Close the handle if there is one; a later read opens it again. */
void etl_bytes_close(struct etl_bytes *bytes);

/* Read up to ${size} bytes at ${offset}; fewer only at the end. The error names path and offset. */
bool etl_bytes_read(struct etl_bytes *bytes, uint64_t offset, void *data, size_t size,
    size_t *ret_read, struct error *err);

#endif
