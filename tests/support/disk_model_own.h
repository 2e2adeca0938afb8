#ifndef ETWSHIP_TESTS_SUPPORT_DISK_MODEL_OWN_H
#define ETWSHIP_TESTS_SUPPORT_DISK_MODEL_OWN_H

#include <stdlib.h>

#include "base/buf.h"
#include "platform/plat_thread.h"
#include "support/disk_model.h"

/* What disk_model.c and disk_model_power.c share. */

enum {
    DISK_MODEL_SECTOR = 512,
    DISK_MODEL_FAULTS = 16,
    DISK_MODEL_MAX_FILE = 1 << 30,
    DISK_MODEL_HELD_BYTES = 1 << 20,
};

/* A write at an offset, or a cut to a size, that is not on the disk yet. */
struct model_change {
    struct model_change *next;
    bool cut;
    uint64_t offset; /* of a cut: the size */
    size_t size;
    uint8_t data[];
};

struct model_file {
    struct model_file *next;
    struct buf cached; /* the content that all programs read */
    struct buf stable; /* what is on the disk */
    struct model_change *changes;
    struct model_change **last_change;
};

/* The names of the files. */
struct model_name {
    struct model_name *next;
    char *path;
    struct model_file *file;
};

/* A name that was given (file) or removed (NULL), which its folder does not say yet. Renaming is
 * both, in one: `also` is the name that goes with it. */
struct model_naming {
    struct model_naming *next;
    char *path;
    char *also;
    struct model_file *file;
};

struct disk_file {
    struct disk_file *next;
    struct model_file *file;
    char *path;      /* that it was opened by */
    struct buf held; /* appended, and not written */
    bool appends;
    bool dead;
};

struct model_fault {
    struct disk_model_fault fault;
    uint64_t seen;
};

struct disk_model {
    struct disk disk; /* first */
    struct plat_mutex lock;
    uint64_t random;
    struct model_file *files;
    struct model_name *cached;
    struct model_name *stable;
    struct model_naming *namings;
    struct model_naming **last_naming;
    struct disk_file *open;
    char *folders[16];
    size_t folder_count;
    struct buf grave; /* what lay on the disk before */
    struct model_fault faults[DISK_MODEL_FAULTS];
    size_t fault_count;
    uint64_t capacity;
    uint64_t changes;
    uint64_t power_off_at;
    bool off;
    bool hidden;
    bool holds_back;
};

uint64_t model_random(struct disk_model *model);

/* Out of memory, or out of the model's own limits: a test cannot go on. */
static inline void model_check(bool good)
{
    if (!good) {
        abort();
    }
}

struct disk_model *model_enter(struct disk *disk);
bool model_leave(struct disk_model *model, bool good); /* gives ${good} back */
char *model_copy_text(const char *text);

extern const struct disk_ops model_ops;

struct model_file *model_named(const struct model_name *names, const char *path);
void model_give_name(struct model_name **names, const char *path, struct model_file *file);
void model_take_name(struct model_name **names, const char *path);
bool model_is_in(const char *path, const char *folder);

/* Do what a change says to ${content}; only the bytes from ${from} to ${to} of it. */
void model_apply(struct buf *content, const struct model_change *change, size_t from, size_t to);
void model_drop_changes(struct model_file *file);
void model_copy(struct buf *to, const struct buf *from);

struct model_file *model_add_file(struct disk_model *model);

/* Now for everybody, on the disk when the file, or the folder, is synced. */
void model_change_file(struct model_file *file, bool cut, uint64_t offset, struct span bytes);
void model_change_name(
    struct disk_model *model, const char *path, struct model_file *file, const char *also);

/* Some of the changes reach the disk, or none. */
void model_write_some(struct disk_model *model, struct model_file *file);

void model_apply_naming(struct model_name **names, const struct model_naming *naming);
void model_free_naming(struct model_naming *naming);
void model_free_names(struct model_name **names);
void model_forget_unused(struct disk_model *model);

#endif
