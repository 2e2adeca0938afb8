#include "input/trace_scratch.h"

#include "platform/plat_temp.h"

enum { LOOK_EVERY_BYTES = 16 * 1024 * 1024, KEPT_FREE_BYTES = 256 * 1024 * 1024 };

static bool has_room(struct trace_scratch *scratch, struct error *err)
{
    uint64_t free_bytes;
    if (scratch->looked && scratch->size - scratch->looked_at < LOOK_EVERY_BYTES) {
        return true;
    }
    if (!plat_temp_free(scratch->file, &free_bytes, err)) {
        return false;
    }
    scratch->looked = true;
    scratch->looked_at = scratch->size;
    return free_bytes >= KEPT_FREE_BYTES + LOOK_EVERY_BYTES ||
           error_set(err, ERR_FULL,
               "no room for what is unpacked: %d MB of the disk for temporary files stay free. "
               "free some, "
               "or name a folder with room in %s",
               KEPT_FREE_BYTES >> 20,
#ifdef _WIN32
               "TMP"
#else
               "TMPDIR"
#endif
           );
}

bool trace_scratch_add(struct trace_scratch *scratch, struct span bytes, struct error *err)
{
    if (!scratch->file) {
        scratch->file = plat_temp_create(err);
    }
    if (!scratch->file || !has_room(scratch, err)) {
        return false;
    }
    if (!plat_file_write(scratch->file, bytes, err)) {
        /* What was written of it is not counted, so it must not stay. */
        plat_file_truncate(scratch->file, scratch->size, NULL);
        return false;
    }
    scratch->size += bytes.size;
    return true;
}

void trace_scratch_cut(struct trace_scratch *scratch, uint64_t size)
{
    if (scratch->file && scratch->size > size && plat_file_truncate(scratch->file, size, NULL)) {
        scratch->size = size;
        scratch->looked = false;
    }
}

void trace_scratch_fini(struct trace_scratch *scratch)
{
    plat_file_close(scratch->file);
    *scratch = (struct trace_scratch){.file = NULL};
}
