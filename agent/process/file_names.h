#ifndef ETWSHIP_PROCESS_FILE_NAMES_H
#define ETWSHIP_PROCESS_FILE_NAMES_H

#include <stdatomic.h>

#include "base/span.h"
#include "process/volume_map.h"

/*
 * Which file an address in the kernel stood for at a time: file keys and file objects, whose
 * addresses are reused. For each address a set of statements is kept, ordered by time: a name, a
 * time, and whether the name held before, after or around that time. The answer for a moment
 * follows from its two neighbours, so the order and repetition of statements do not matter:
 *
 *   - The last statement before it names it, unless that is an end.
 *   - The next statement after it names it, unless that is a beginning or has no name.
 *   - If both apply and differ, the time of the change is unknown and the moment has no name.
 *     Only the times of the two statements have theirs.
 *
 * lifetimes.h does not work here: it merges each statement into a life at once. An end without a
 * name (a closed file object) that arrives early would join another file's life.
 *
 * Not locked; the owner locks (process_table.c). Readers compare stamps without a lock.
 */
enum { FILE_STAMPS = 256 };

/* A path, UTF-8. Immutable; threads share it. */
struct file_path {
    atomic_uint users;
    uint32_t size;
    /* Guarded by the owner's lock: */
    uint32_t uses;           /* by the table */
    uint32_t shown_of;       /* generation of the volumes from which `shown` was made */
    struct file_path *shown; /* path with the drive letter; NULL: like the path */
    uint8_t text[];
};

/* A path with ${text} and one user. NULL: no memory. */
struct file_path *file_path_make(struct span text);
void file_path_drop(struct file_path *path); /* Release one use. Thread-safe; NULL is fine. */

struct file_key {
    uint64_t machine; /* machine and boot in which addresses are unique at a time */
    uint64_t address;
};

enum file_told {
    FILE_BEGINS, /* the name holds from then on */
    FILE_HOLDS,  /* the name holds then and before */
    FILE_ENDS,   /* the name held until then; without a name: any name ended */
};

struct file_names_settings {
    size_t max_bytes;
    /* A name is valid from its record on, never before, so answers do not depend on how far ahead
     * of the events names are read. The end of an object without a name has no effect. */
    bool forward;
};

struct file_entry;

struct file_link {
    struct file_link *before;
    struct file_link *behind;
};

struct file_names {
    struct file_names_settings settings;
    struct file_entry **slots;
    size_t mask;
    size_t count; /* number of addresses */
    size_t bytes;
    uint64_t evicted;       /* addresses evicted while events may still use them */
    struct file_link ended; /* by time of the last statement */
    struct file_link going;
    uint8_t *gaps;    /* bitmap by hash: a statement about such an address was evicted */
    bool has_gaps;    /* a bit of `gaps` is set */
    uint64_t machine; /* of the last statement */
    uint32_t generation;
    atomic_bool knows_any;
    atomic_uint stamps[FILE_STAMPS];
};

/* False: no memory; file_names_fini is allowed. */
bool file_names_init(struct file_names *names, const struct file_names_settings *settings);
void file_names_fini(struct file_names *names); /* Zero-initialised is fine. */

/* Add a statement. ${path}: UTF-8; may be empty with FILE_ENDS. Dropped if memory is short. */
void file_names_tell(struct file_names *names, const struct file_key *key, enum file_told what,
    uint64_t time, struct span path);

/* The mapping of volumes changed, so paths are shown differently. */
void file_names_volumes_changed(struct file_names *names);

/* The file of an address at a time, the interval in which this is the answer, and its stamp. */
struct file_answer {
    struct file_path *path; /* owned by the caller; NULL: unknown */
    uint64_t from;
    uint64_t to;
    unsigned stamp;
};

void file_names_find(struct file_names *names, const struct file_key *key, uint64_t time,
    const struct volume_map *volumes, struct file_answer *ret_answer);

/* ${path} with the drive letter if ${volumes} knows it, with one user. NULL: no memory. */
struct file_path *file_names_translate(
    const struct volume_map *volumes, uint64_t machine, struct span path);

static inline uint64_t file_names_hash(const struct file_key *key)
{
    return (key->machine ^ key->address) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline bool file_names_is_current(
    const struct file_names *names, const struct file_key *key, unsigned stamp)
{
    const atomic_uint *at = &names->stamps[file_names_hash(key) >> 56];
    return atomic_load_explicit(at, memory_order_acquire) == stamp;
}

#endif
