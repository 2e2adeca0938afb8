#ifndef ETWSHIP_OUTPUTS_FILE_UNDO_H
#define ETWSHIP_OUTPUTS_FILE_UNDO_H

#include "outputs/file/file_marks.h"

/* Undoes an interrupted batch in a file; file_set.c describes when and why. Each function may be
 * repeated after a failure. */

/* State of the file after the last delivered batch. */
struct file_undo_left {
    const char *path;
    struct plat_file_id id;
    uint64_t bytes;
    bool syncs;
};

/*
 * The file ${left} is not at its path. If it was rotated, remove newer files that are in ${marks}
 * (may be NULL), and rename it back: ${ret_back}. If a file of another program has that name, it
 * keeps its number and is truncated there.
 */
bool file_undo_rotation(
    struct file_marks *marks, const struct file_undo_left *left, bool *ret_back, struct error *err);

/* Truncate ${path} to ${bytes}, unless it is shorter; ${ret_bytes} is its previous size. */
bool file_undo_cut(
    const char *path, uint64_t bytes, bool syncs, uint64_t *ret_bytes, struct error *err);

#endif
