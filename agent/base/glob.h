#ifndef ETWSHIP_BASE_GLOB_H
#define ETWSHIP_BASE_GLOB_H

#include "base/error.h"
#include "base/span.h"

/*
 * File patterns, without the file system: `*` and `?` (one character) inside a component, `**` for
 * any number of folders, also none; as the last component it means every file below. The platform
 * layer says what is where. Contract for users: plat_glob in platform/plat_file.h.
 */
enum glob_kind {
    GLOB_NONE,
    GLOB_FILE,
    GLOB_DIR,
    GLOB_DIR_LINK, /* a symbolic link to a folder: `**` does not go there */
};

/* One entry of a folder. False to stop listing. */
typedef bool glob_entry_fn(void *self, const char *name, enum glob_kind kind);

struct glob_fs {
    const char *separators; /* between components; the first one joins */
    bool fold_case;         /* of ASCII letters */
    enum glob_kind (*kind)(const char *path);
    /* Call ${entry} for everything in ${folder} but "." and "..". False if it cannot be read. */
    bool (*list)(const char *folder, glob_entry_fn *entry, void *self, struct error *err);
};

/* False to stop. */
typedef bool glob_each_fn(void *self, const char *path);

/* What plat_glob does, on ${fs}. At most a million files, patterns of 60 components. */
bool glob_run(const char *pattern, const struct glob_fs *fs, glob_each_fn *each, void *self,
    struct error *err);

/* Does one component of a pattern match a whole name? UTF-8. */
bool glob_match(struct span pattern, struct span name, bool fold_case);

/* Does a whole pattern match a whole path, as glob_run would find it? Without the file system. */
bool glob_match_path(struct span pattern, struct span path, const char *separators, bool fold_case);

#endif
