#ifndef ETWSHIP_OUTPUTS_FILE_MARKS_H
#define ETWSHIP_OUTPUTS_FILE_MARKS_H

#include "base/map.h"
#include "platform/plat_file.h"

/*
 * Which files an output has written, so that rotation renames, replaces and removes no others: names alone
 * do not tell. A file called `Sensor.7` may be what `Sensor` was rotated to, the file of a provider
 * `Sensor.7`, or somebody else's. So each file is marked before it gets its name or is written to: with its
 * path, its identity, and which path it was rotated from, if any.
 *
 * The marks lie in a file of lines, which is added to, and made anew when most of it is out of date. So they
 * survive a kill. A line that a kill cut off counts as not written. One output at a time has it open (a lock).
 *
 * One thread at a time.
 */
struct file_mark;

struct file_marks {
    char *path;             /* of the file of lines; NULL: marks do not outlive the process */
    struct plat_file *file; /* NULL: not written to yet */
    bool syncs;             /* force each line to the disk */
    bool is_other; /* the file of lines is another version's, or cut off at its beginning */
    size_t max;    /* so many files are remembered, the last ones */
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
    FILE_MARKS_WITHOUT_KEEP = 20000, /* where none is removed but to take a batch back */
};

/* ${max}: at most FILE_MARKS_MAX. */
void file_marks_init(struct file_marks *marks, size_t max, bool syncs);

/* Closes the file of lines. NULL members are fine. */
void file_marks_fini(struct file_marks *marks);

/*
 * Read what runs before left in ${folder}, which is made when something is written there, for the template or
 * path ${name}; the file's name begins with ${prefix}. No such file is no failure, nor is one that somebody
 * else may have written: such a one is not believed. False with ${err} set if it cannot be read. To be called
 * once; without it marks do not outlive the process.
 */
bool file_marks_load(struct file_marks *marks, const char *folder, const char *prefix,
    const char *name, struct error *err);

/* Let go of the file of lines until something is added again. */
void file_marks_close(struct file_marks *marks);

/*
 * Say that the file ${path} is ours and has ${id}. Its first ${base_size} bytes are the path that it was
 * rotated from; all of them: it is no rotated file. When this returns true a kill cannot take it back.
 * ERR_STOPPED: another output has the file of lines.
 */
bool file_marks_add(struct file_marks *marks, struct span path, size_t base_size,
    const struct plat_file_id *id, struct error *err);

/* Was that said, of the file that has ${id}? */
bool file_marks_has(const struct file_marks *marks, struct span path, size_t base_size,
    const struct plat_file_id *id);

/* The same of what is at ${path} now. A link there is not ours. */
bool file_marks_has_at(const struct file_marks *marks, const char *path, size_t base_size);

/* Is there an ordinary file at ${path}, and no link to one? */
bool file_marks_is_file(const char *path);

/* The file is gone, or somebody else's. Nothing is written. */
void file_marks_forget(struct file_marks *marks, struct span path);

#endif
