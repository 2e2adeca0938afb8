#ifndef ETWSHIP_BASE_GLOB_H
#define ETWSHIP_BASE_GLOB_H

#include "base/error.h"
#include "base/span.h"

/*
 * File patterns, independent of the file system: `*` and `?` (one character) match inside a
 * component, `**` any number of folders including none; as the last component it means every file
 * below. The platform layer provides the file system. plat_glob in platform/plat_file.h has the
 * contract for users.
 */
enum glob_kind {
    GLOB_NONE,
    GLOB_FILE,
    GLOB_DIR,
    GLOB_DIR_LINK, /* a symbolic link to a folder: `**` does not follow it */
};

/* One entry of a folder. Returns false to stop listing. */
typedef bool glob_entry_fn(void *self, const char *name, enum glob_kind kind);

struct glob_fs {
    const char *separators; /* between components; the first one joins */
    bool fold_case;         /* for ASCII letters */
    enum glob_kind (*kind)(const char *path);
    /* Call ${entry} for everything in ${folder} except "." and "..". False if it is unreadable. */
    bool (*list)(const char *folder, glob_entry_fn *entry, void *self, struct error *err);
};

/* Returns false to stop. */
typedef bool glob_each_fn(void *self, const char *path);

/* Implements plat_glob on ${fs}. At most a million files, and patterns of 60 components. */
bool glob_run(const char *pattern, const struct glob_fs *fs, glob_each_fn *each, void *self,
    struct error *err);

/* True if one component of a pattern matches a whole name. UTF-8. */
bool glob_match(struct span pattern, struct span name, bool fold_case);

/* True if a whole pattern matches a whole path, as in glob_run, without a file system. */
bool glob_match_path(struct span pattern, struct span path, const char *separators, bool fold_case);

#endif
