#ifndef ETWSHIP_INPUT_TRACE_SCRATCH_H
#define ETWSHIP_INPUT_TRACE_SCRATCH_H

#include "base/error.h"
#include "base/span.h"

/*
 * Room on a disk for traces that are not there as files: a temporary file, made when it is first needed,
 * which the system removes however the process ends (platform/plat_temp.h). One thread at a time.
 * Zero-initialised is empty.
 */
struct plat_file;

struct trace_scratch {
    struct plat_file *file; /* NULL: nothing was added yet */
    uint64_t size;
    uint64_t looked_at; /* the size when free space was last asked for */
    bool looked;
};

/* Append ${bytes}. False if there is no room: a twentieth of the disk stays free for others, 256 MB at least and 4 GB
 * at most. */
bool trace_scratch_add(struct trace_scratch *scratch, struct span bytes, struct error *err);

/* Give the room back that was used beyond ${size}. */
void trace_scratch_cut(struct trace_scratch *scratch, uint64_t size);

void trace_scratch_fini(struct trace_scratch *scratch);

#endif
