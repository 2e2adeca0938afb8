#include "input/file/trace_scratch.h"

#include <inttypes.h>

#include "platform/plat_temp.h"

enum { MB = 1024 * 1024, LOOK_EVERY_BYTES = 16 * MB };

/* Space that stays free: more than the 1 GB that a spool on the same disk needs by default
 * (spool.min_free_disk), because a trace that waits for the spool keeps its unpacked data. */
static uint64_t kept_free(uint64_t disk_bytes)
{
    const uint64_t least = (uint64_t)256 * MB;
    const uint64_t most = (uint64_t)4096 * MB;
    uint64_t share = disk_bytes / 20;
    return share < least ? least : share < most ? share : most;
}

static bool has_room(struct trace_scratch *scratch, struct error *err)
{
    struct plat_temp_room room;
    if (scratch->looked && scratch->size - scratch->looked_at < LOOK_EVERY_BYTES) {
        return true;
    }
    if (!plat_temp_room(scratch->file, &room, err)) {
        return false;
    }
    scratch->looked = true;
    scratch->looked_at = scratch->size;
    uint64_t kept = kept_free(room.disk_bytes);
    return room.free_bytes >= kept + LOOK_EVERY_BYTES ||
           error_set(err, ERR_FULL,
               "no room to unpack: %" PRIu64
               " MB of the disk for temporary files must stay free. free some, or name a folder "
               "with room in TMPDIR (on Windows in TMP)",
               kept / MB);
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
        /* a partial write is not counted, so it must not stay */
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
