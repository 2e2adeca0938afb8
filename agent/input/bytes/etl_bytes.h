#ifndef ETWSHIP_INPUT_ETL_BYTES_H
#define ETWSHIP_INPUT_ETL_BYTES_H

#include "base/error.h"
#include "base/span.h"

/*
 * The bytes of a trace: a file, a part of an open file, or memory. Files share a pool of open
 * handles, so that hundreds of traces can be merged: a handle is closed when others need its slot,
 * and opened again for the next read. A pool and all its members must be used by one thread at a
 * time.
 */
struct plat_file;

/* A range of an open file, which is borrowed. */
struct etl_part {
    struct plat_file *file;
    uint64_t base;
    uint64_t size;
};

struct etl_bytes {
    const char *path;     /* as given by the user; borrowed */
    uint64_t size;        /* when opened; later growth is not seen */
    struct span memory;   /* data is NULL for a file */
    struct etl_part part; /* file is NULL for a separate file */
    struct plat_file *file;
    struct etl_handles *handles;
    struct etl_bytes *newer; /* neighbours in the list of open files, by last use */
    struct etl_bytes *older;
};

enum { ETL_HANDLES_MAX = 64 };

/* Zero-initialise for an empty pool. */
struct etl_handles {
    struct etl_bytes *newest;
    struct etl_bytes *oldest;
    size_t open;
};

/* Open the file ${path}. Both pointers are borrowed for the lifetime of ${bytes}. */
bool etl_bytes_open(
    struct etl_bytes *bytes, const char *path, struct etl_handles *handles, struct error *err);

/* Read from ${memory}, which is borrowed; ${name} replaces the path. */
void etl_bytes_use_memory(struct etl_bytes *bytes, struct span memory, const char *name);

/* Read from ${part}, whose file must stay open; ${name} replaces the path. */
void etl_bytes_use_part(struct etl_bytes *bytes, const struct etl_part *part, const char *name);

/* Like plat_file_next_data, within the trace: its size if there is no more data. */
uint64_t etl_bytes_next_data(struct etl_bytes *bytes, uint64_t offset);

/* Close the handle if it is open; a later read opens it again. */
void etl_bytes_close(struct etl_bytes *bytes);

/* Read up to ${size} bytes at ${offset}; fewer only at the end. Errors name path and offset. */
bool etl_bytes_read(struct etl_bytes *bytes, uint64_t offset, void *data, size_t size,
    size_t *ret_read, struct error *err);

#endif
