#ifndef ETWSHIP_PLATFORM_PLAT_TEMP_H
#define ETWSHIP_PLATFORM_PLAT_TEMP_H

#include "platform/plat_file.h"

/*
 * Bytes that are too many for memory, and standard input. Both are struct plat_file.
 */

/*
 * A new temporary file that only this process can open. The system removes it when it is closed and
 * when the process ends, also by a kill. plat_file_write appends to it, plat_file_read_at reads it,
 * plat_file_truncate cuts it. Linux: in $TMPDIR, or /var/tmp, or /tmp. Windows: in the folder of
 * GetTempPath.
 */
struct plat_file *plat_temp_create(struct error *err);

/* The disk that it is on: bytes that this process may still write, and its size. */
struct plat_temp_room {
    uint64_t free_bytes;
    uint64_t disk_bytes;
};

bool plat_temp_room(struct plat_file *file, struct plat_temp_room *ret_room, struct error *err);

/* Standard input; to be closed, which leaves the process's own open. A terminal is refused. */
struct plat_file *plat_stdin_open(struct error *err);

/* Is standard input an ordinary file, to be read with plat_file_read_at? ${ret_offset}: from here on. */
bool plat_stdin_is_file(struct plat_file *file, uint64_t *ret_offset);

/* Wait for the next bytes and read up to ${size} of them; 0: there are no more. */
bool plat_stdin_read(
    struct plat_file *file, void *data, size_t size, size_t *ret_read, struct error *err);

#endif
