#ifndef ETWSHIP_OUTPUTS_FILE_MARKS_H
#define ETWSHIP_OUTPUTS_FILE_MARKS_H

#include "base/map.h"
#include "platform/plat_file.h"

/*
 * Marks of the files that an output has written, so that rotation renames, replaces and removes no
 * others. Names alone are ambiguous: `Sensor.7` may be the rotated file of `Sensor`, the file of a
 * provider `Sensor.7`, or a file of another program. So each file is marked before it gets its name
 * or is written: with its path, its identity, and the path that it was rotated from, if any.
 *
 * The marks are lines appended to a file, which is rewritten when most of it is out of date. So
 * they survive a kill. A line cut off by a kill counts as not written. One output at a time has it
 * open (a lock).
 *
 * One thread at a time.
 */
struct file_mark;

struct file_marks {
    char *path;             /* of the file of lines; NULL: marks do not outlive the process */
    struct plat_file *file; /* NULL: not written to yet */
    bool syncs;             /* force each line to the disk */
    bool is_other; /* the file of lines is another version's, or cut off at its beginning */
    size_t max;    /* at most this many files are remembered, the last ones */
    struct file_mark **list;
    size_t count;
    size_t capacity;
    size_t dead; /* of them: marks of files that are gone */
    size_t lines;
    struct map by_path;
};

enum {
    FILE_MARKS_MAX = 1000000,
    FILE_MARKS_MAX_BYTES = 256 * 1024 * 1024,
    FILE_MARKS_WITHOUT_KEEP = 20000, /* limit if files are removed only to undo a batch */
};

/* ${max}: at most FILE_MARKS_MAX. */
void file_marks_init(struct file_marks *marks, size_t max, bool syncs);

/* Closes the file of lines. NULL members are fine. */
void file_marks_fini(struct file_marks *marks);

/*
 * Read the marks of earlier runs for the template or path ${name} from ${folder}, which is created
 * on the first write; the file's name begins with ${prefix}. A missing file is no failure, and
 * neither is one that others may write: that is ignored. False with ${err} set if it cannot be
 * read. Call once; without it marks do not outlive the process.
 */
bool file_marks_load(struct file_marks *marks, const char *folder, const char *prefix,
    const char *name, struct error *err);

/* Close the file of lines until a mark is added. */
void file_marks_close(struct file_marks *marks);

/*
 * Mark the file ${path} with identity ${id}. Its first ${base_size} bytes are the path that it was
 * rotated from; all of them: not a rotated file. After true the mark survives a kill. ERR_STOPPED:
 * another output has the file of lines.
 */
bool file_marks_add(struct file_marks *marks, struct span path, size_t base_size,
    const struct plat_file_id *id, struct error *err);

/* True if the file is marked with identity ${id}. */
bool file_marks_has(const struct file_marks *marks, struct span path, size_t base_size,
    const struct plat_file_id *id);

/* True if the file at ${path} now is marked. A link never is. */
bool file_marks_has_at(const struct file_marks *marks, const char *path, size_t base_size);

/* True if ${path} is a regular file, not a link. */
bool file_marks_is_file(const char *path);

/* Forget the mark in memory: the file is gone or replaced. Nothing is written. */
void file_marks_remove(struct file_marks *marks, struct span path);

#endif
