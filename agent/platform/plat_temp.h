#ifndef ETWSHIP_PLATFORM_PLAT_TEMP_H
#define ETWSHIP_PLATFORM_PLAT_TEMP_H

#include "platform/plat_file.h"

/* Data too large for memory, and standard input. Both are struct plat_file. */

/*
 * Create a temporary file that only this process can open. The system removes it when it is closed
 * and when the process ends, even if killed. plat_file_write appends to it, plat_file_read_at reads
 * it, plat_file_truncate truncates it. Linux: in $TMPDIR, or /var/tmp, or /tmp. Windows: in the
 * folder of GetTempPath.
 */
struct plat_file *plat_temp_create(struct error *err);

/* Its disk: bytes that this process may still write, and the size. */
struct plat_temp_room {
    uint64_t free_bytes;
    uint64_t disk_bytes;
};

bool plat_temp_room(struct plat_file *file, struct plat_temp_room *ret_room, struct error *err);

/* Open standard input; closing it leaves the process's own stream open. A terminal is refused. */
struct plat_file *plat_stdin_open(struct error *err);

/* True if standard input is an ordinary file, readable with plat_file_read_at; ${ret_offset}: its
 * position. */
bool plat_stdin_is_file(struct plat_file *file, uint64_t *ret_offset);

/* Wait for the next bytes and read up to ${size}; 0: end. */
bool plat_stdin_read(
    struct plat_file *file, void *data, size_t size, size_t *ret_read, struct error *err);

#endif
