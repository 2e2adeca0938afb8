#ifndef ETWSHIP_PROCESS_VOLUME_MAP_H
#define ETWSHIP_PROCESS_VOLUME_MAP_H

#include "base/buf.h"

/*
 * Maps device paths to drives: `\Device\HarddiskVolume3` is `C:`. Few entries, used once per
 * process. Not locked.
 */
enum { VOLUME_MAP_MAX = 128, VOLUME_MAP_MAX_PATH = 520 };

struct volume_map {
    struct volume *list;
    size_t count;
};

void volume_map_fini(struct volume_map *map); /* Zero-initialised is empty. */

/* Paths of ${machine} that begin with ${device} begin with ${drive}, both UTF-8, with or without a
 * trailing backslash. A later entry for a device replaces the earlier one. False: nothing new, or
 * no room. */
bool volume_map_add(
    struct volume_map *map, uint64_t machine, struct span device, struct span drive);

/* Append ${path} as a program would open it, or unchanged if its device is unknown. */
void volume_map_translate(
    const struct volume_map *map, uint64_t machine, struct span path, struct buf *out);

#endif
