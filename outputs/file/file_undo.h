#ifndef ETWSHIP_OUTPUTS_FILE_UNDO_H
#define ETWSHIP_OUTPUTS_FILE_UNDO_H

#include "outputs/file/file_marks.h"

/* What a batch that was broken off has done to a file is taken back: file_set.c says when and why. Each may
 * be tried again after a failure. */

/* How the last delivered batch left the file. */
struct file_undo_left {
    const char *path;
    struct plat_file_id id;
    uint64_t bytes;
    bool syncs;
};

/*
 * The file ${left} is not at its path. If it was rotated, remove what was begun and rotated later, as far as
 * ${marks} (may be NULL) say that it is ours, and give it its name back: ${ret_back}. Where somebody else's
 * file has that name by now it keeps its number and is cut there.
 */
bool file_undo_rotation(
    struct file_marks *marks, const struct file_undo_left *left, bool *ret_back, struct error *err);

/* Cut ${path} to ${bytes}, unless it is shorter; ${ret_had} is what it had. */
bool file_undo_cut(
    const char *path, uint64_t bytes, bool syncs, uint64_t *ret_had, struct error *err);

#endif
