#ifndef ETWSHIP_PROCESS_FILE_NAMES_H
#define ETWSHIP_PROCESS_FILE_NAMES_H

#include <stdatomic.h>

#include "base/span.h"
#include "process/volume_map.h"

/*
 * Which file an address of the kernel's stood for, and when: file keys and file objects, whose addresses
 * are used again. What is kept of an address is the set of what was told of it (a name, a time, and whether
 * the name held before, after or around that time), ordered by time. The answer for a moment follows from
 * the two neighbours of that moment, so the order in which the set was told does not matter, nor how often
 * something was told:
 *
 *   - What was told last before it names it, unless that is an end.
 *   - What is told next after it names it, unless that is a beginning, or tells no name.
 *   - If both do and differ, it is not known when the name changed: the moment has none. Only the times
 *     at which the two names were told have them.
 *
 * lifetimes.h does not serve for this: it merges each piece of news into a life at once. An end without a
 * name (a closed file object) that is told early would become part of another file's life.
 *
 * No lock: the owner's (process_table.c). Readers compare stamps without one.
 */
enum { FILE_STAMPS = 256 };

/* A path, UTF-8. Never changed; threads share it. */
struct file_path {
    atomic_uint users;
    uint32_t size;
    /* Under the owner's lock: */
    uint32_t told;           /* how often a table has it */
    uint32_t shown_of;       /* the volumes' generation that `shown` was made of */
    struct file_path *shown; /* with the drive; NULL: as it is */
    uint8_t text[];
};

/* ${text} as it is, with one user. NULL: no memory. */
struct file_path *file_path_make(struct span text);
void file_path_drop(struct file_path *path); /* by one user, any thread; NULL is fine */

struct file_key {
    uint64_t machine; /* what addresses are unique in, at a time */
    uint64_t address;
};

enum file_told {
    FILE_BEGINS, /* the name holds from then on */
    FILE_HOLDS,  /* and before */
    FILE_ENDS,   /* the name held up to then; without a name: some name ended */
};

struct file_names_settings {
    size_t max_bytes;
    /* Names hold from when they are told on, never before: so answers do not depend on how far ahead of
     * the events the telling is. An end of what has no name is nothing then. */
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
    size_t count; /* addresses */
    size_t bytes;
    uint64_t forgotten;     /* addresses that events may still use, for want of room */
    struct file_link ended; /* in the order in which it was heard of them */
    struct file_link going;
    uint8_t *gaps;    /* bits, by hash: something of such an address was forgotten … */
    bool has_gaps;    /* … and one of them is set */
    uint64_t machine; /* that was told of last */
    uint32_t generation;
    atomic_bool knows_any;
    atomic_uint stamps[FILE_STAMPS];
};

/* False: no memory, and fini is allowed. */
bool file_names_init(struct file_names *names, const struct file_names_settings *settings);
void file_names_fini(struct file_names *names); /* zero-initialised is fine */

/* ${path}: UTF-8; may be empty with FILE_ENDS. What finds no memory is forgotten. */
void file_names_tell(struct file_names *names, const struct file_key *key, enum file_told what,
    uint64_t time, struct span path);

/* Paths look different from now on. */
void file_names_volumes_changed(struct file_names *names);

/* What an address stood for at a time, for how long that is the answer, and under which stamp. */
struct file_answer {
    struct file_path *path; /* the caller's to drop; NULL: unknown */
    uint64_t from;
    uint64_t to;
    unsigned stamp;
};

void file_names_find(struct file_names *names, const struct file_key *key, uint64_t time,
    const struct volume_map *volumes, struct file_answer *ret_answer);

/* ${path} with the drive where ${volumes} knows it, with one user. NULL: no memory. */
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
