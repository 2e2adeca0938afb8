#ifndef ETWSHIP_INPUT_TRACE_SCRATCH_H
#define ETWSHIP_INPUT_TRACE_SCRATCH_H

#include "base/error.h"
#include "base/span.h"

/*
 * Disk space for traces that are not files: a temporary file, created when first needed, which the
 * system removes however the process ends (platform/plat_temp.h). One thread at a time.
 * Zero-initialise.
 */
struct plat_file;

struct trace_scratch {
    struct plat_file *file; /* NULL: nothing added yet */
    uint64_t size;
    uint64_t looked_at; /* `size` at the last check of free space */
    bool looked;
};

/* Append ${bytes}. False if there is no space: a twentieth of the disk stays free, at least 256 MB
 * and at most 4 GB. */
bool trace_scratch_add(struct trace_scratch *scratch, struct span bytes, struct error *err);

/* Release the space used beyond ${size}. */
void trace_scratch_cut(struct trace_scratch *scratch, uint64_t size);

void trace_scratch_fini(struct trace_scratch *scratch);

#endif
