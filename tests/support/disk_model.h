#ifndef ETWSHIP_TESTS_SUPPORT_DISK_MODEL_H
#define ETWSHIP_TESTS_SUPPORT_DISK_MODEL_H

#include "store/disk/disk.h"

/*
 * A disk in memory behind store/disk/disk.h that is full, fails, or loses power when a test wants
 * it to. Equal seeds and operations give equal disks. Any thread.
 *
 * It knows the content in the system's memory, which all programs read, and the content on the
 * disk. Between them lie the changes that are not forced to the disk yet: writes and cuts of a
 * file, in sectors of 512 bytes, until it is synced; names that were made, given and removed,
 * until their folder is synced. So a file that was synced in a folder that was not may have no
 * name after a loss of power. Folders themselves are on the disk as soon as they are made.
 */
struct disk_model;

struct disk_model *disk_model_create(uint64_t seed);
void disk_model_destroy(struct disk_model *model); /* with the files that are still open */
struct disk *disk_model_disk(struct disk_model *model);

/* ---- loss of power ---- */

/* What changes: for counting, and for making them fail. */
enum {
    DISK_MODEL_OPEN = 1 << 0, /* for reading */
    DISK_MODEL_MAKE = 1 << 1, /* opening for appending */
    DISK_MODEL_READ = 1 << 2,
    DISK_MODEL_APPEND = 1 << 3, /* and disk_model_write_at */
    DISK_MODEL_TRUNCATE = 1 << 4,
    DISK_MODEL_SYNC = 1 << 5,
    DISK_MODEL_FIND = 1 << 6,
    DISK_MODEL_UNLINK = 1 << 7,
    DISK_MODEL_RENAME = 1 << 8,
    DISK_MODEL_LIST = 1 << 9,
    DISK_MODEL_MAKE_FOLDER = 1 << 10,
    DISK_MODEL_SYNC_FOLDER = 1 << 11,
    DISK_MODEL_FREE_BYTES = 1 << 12,
    /* A disk that may only be read any more. */
    DISK_MODEL_CHANGES = DISK_MODEL_MAKE | DISK_MODEL_APPEND | DISK_MODEL_TRUNCATE |
                         DISK_MODEL_SYNC | DISK_MODEL_UNLINK | DISK_MODEL_RENAME |
                         DISK_MODEL_MAKE_FOLDER | DISK_MODEL_SYNC_FOLDER,
};

/* How many changes were asked for so far. */
uint64_t disk_model_changes(struct disk_model *model);

/* The power fails during change number ${change}, counted from 0 at the creation: of a write some
 * part may have been done, of others nothing or all. UINT64_MAX: never. From then on everything
 * fails with ERR_IO. */
void disk_model_power_off_at(struct disk_model *model, uint64_t change);
bool disk_model_is_off(struct disk_model *model);

enum disk_model_loss {
    DISK_MODEL_KEEP_ALL,  /* a killed process: the system writes what it has */
    DISK_MODEL_LOSE_ALL,  /* exactly what was synced */
    DISK_MODEL_LOSE_SOME, /* and any part of what was not: sectors in any order, sizes without their
                             bytes (zeros, or what lay there before), names one without the other */
};

/* Power off, if it is not, and on again. Files that are open are dead: all that can be done with
 * them is to close them. */
void disk_model_restart(struct disk_model *model, enum disk_model_loss loss);

/* ---- faults ---- */

/* Bytes that all files together may have; UINT64_MAX at first. An append that does not fit writes
 * what fits and fails with ERR_FULL. */
void disk_model_set_capacity(struct disk_model *model, uint64_t bytes);

/*
 * Let operations (DISK_MODEL_…, or several) fail whose path has ${part} in it (NULL: all), after
 * ${skip} that still succeed, ${times} times (0: for ever). A sync that fails loses what it should
 * have written, or any part of it, as systems do: it stays readable until the power fails, and a
 * later sync does not write it. Reads return too little instead, where ${short_reads}. At most 16
 * at once.
 */
struct disk_model_fault {
    unsigned operations;
    const char *part; /* not copied */
    uint64_t skip;
    uint64_t times;
    bool short_reads;
};

void disk_model_fail(struct disk_model *model, const struct disk_model_fault *fault);
void disk_model_heal(struct disk_model *model); /* no faults any more; the capacity stays */

/*
 * From now on what is appended to a file waits in memory until it is a megabyte, the file is
 * synced, or closed, as plat_append.h has it: no program can read it before, and a failure of the
 * write, such as a full disk, is reported only then. What could not be written keeps waiting, until
 * it is cut off. Writes are counted when they are done.
 */
void disk_model_hold_back(struct disk_model *model, bool holds_back);

/* ---- from outside ---- */

/* The content of a file that programs read now; valid until it changes. Empty if there is no such
 * file. */
struct span disk_model_content(struct disk_model *model, const char *path);

/* Another program removes a file, or writes one, durably. */
bool disk_model_remove(struct disk_model *model, const char *path);
void disk_model_put(struct disk_model *model, const char *path, struct span content);

/* Change bits of a byte, on the disk and in memory. */
bool disk_model_flip(struct disk_model *model, const char *path, uint64_t offset, uint8_t bits);

/* The whole file system is gone (true) and back (false), as one that is unmounted. */
void disk_model_hide(struct disk_model *model, bool hidden);

/* Files that are open: 0 where nothing was left. */
size_t disk_model_open_files(struct disk_model *model);

/* For what does not only append: a write anywhere in a file that was opened for appending. */
bool disk_model_write_at(struct disk *disk, struct disk_file *file, uint64_t offset,
    struct span bytes, struct error *err);

#endif
