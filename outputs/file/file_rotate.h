#ifndef ETWSHIP_OUTPUTS_FILE_ROTATE_H
#define ETWSHIP_OUTPUTS_FILE_ROTATE_H

#include "event/write/event_template.h"
#include "outputs/file/file_gzip.h"
#include "outputs/file/file_set.h"

/*
 * Rotation: PATH becomes PATH.1, PATH.2, … (the number grows; the highest is the newest), and what
 * is to be done with rotated files afterwards, in small steps: compress, remove the oldest. Only files that
 * are marked as ours (file_marks.h) are compressed or removed, and none is renamed over another.
 */
struct file_rotation {
    uint64_t size_bytes; /* 0: any */
    uint64_t age_ns;     /* 0: any */
    int64_t keep;        /* finished files of one family; 0: all */
    bool gzip;
};

struct chore;

struct file_rotator {
    struct file_rotation rules;
    struct file_set *set;
    const struct event_template *template; /* of the paths; NULL: there is one path */
    void (*warn)(void *self, const char *text);
    void *warn_self;

    /* Renamed since the output's checkpoint was stored: its owner resets it. Chores make for good
     * what undoing might need until then. */
    bool renamed;

    struct chore *first;
    struct chore **last;
    size_t count;
    struct file_gzip *job; /* of `first` */
    uint64_t not_before;   /* monotonic: after a failure */
};

/* ${set} has marks wherever ${rules} ask for anything. */
void file_rotator_init(struct file_rotator *rotator, const struct file_rotation *rules,
    struct file_set *set, const struct event_template *template);
void file_rotator_fini(struct file_rotator *rotator);

/* Would ${more} bytes take the file beyond its size, or is it too old? Never of an empty one. */
bool file_rotator_is_due(
    const struct file_rotator *rotator, const struct file_entry *entry, uint64_t more);

/* How long until the file may be too old, at most a minute, as the clock may be set; UINT64_MAX: it never
 * is. */
uint64_t file_rotator_age_left_ns(
    const struct file_rotator *rotator, const struct file_entry *entry);

/* Bytes that fit into the file before it is too big. */
uint64_t file_rotator_room(const struct file_rotator *rotator, const struct file_entry *entry);

/* Set the file aside. On failure it stays open where it is, and is not due for a second. */
bool file_rotator_rotate(struct file_rotator *rotator, struct file_entry *entry, struct error *err);

/* A file of a new time was begun: older ones of its family may be too many. */
void file_rotator_began(struct file_rotator *rotator, const struct file_entry *entry);

/* Is there something to do, now? */
bool file_rotator_has_chores(const struct file_rotator *rotator);

/* Do some of it: compress about ${bytes}, or remove old files of one family. Failures are warned
 * of and tried again later. */
void file_rotator_step(struct file_rotator *rotator, size_t bytes);

/* Chores as part of a checkpoint: { size of path u16, path, number u64 } and a 0. */
void file_rotator_save(const struct file_rotator *rotator, size_t max_bytes, struct buf *out);
bool file_rotator_load(struct file_rotator *rotator, struct reader *in,
    bool (*accept)(void *self, struct span path), void *self, struct error *err);

#endif
