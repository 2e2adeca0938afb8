#ifndef ETWSHIP_OUTPUTS_FILE_ROTATE_H
#define ETWSHIP_OUTPUTS_FILE_ROTATE_H

#include "event/select/event_template.h"
#include "outputs/file/file_gzip.h"
#include "outputs/file/file_set.h"

/*
 * Rotation: PATH becomes PATH.1, PATH.2, … (the number grows; the highest is the newest), and
 * chores with rotated files, in small steps: compress, remove the oldest. Only marked files
 * (file_marks.h) are compressed or removed, and none is renamed over another.
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
    const struct event_template *template; /* template of the paths; NULL: one path */
    void (*warn)(void *self, const char *text);
    void *warn_self;

    /* A file was renamed since the output's checkpoint was stored; the owner resets it. Chores must
     * wait until then, as undoing may need the files. */
    bool renamed;

    struct chore *first;
    struct chore **last;
    size_t count;
    struct file_gzip *job; /* of `first` */
    uint64_t not_before;   /* monotonic: after a failure */
};

/* ${set} has marks if ${rules} enable anything. */
void file_rotator_init(struct file_rotator *rotator, const struct file_rotation *rules,
    struct file_set *set, const struct event_template *template);
void file_rotator_fini(struct file_rotator *rotator);

/* True if ${more} bytes would exceed the file's maximum size, or it is too old. False for an empty
 * file. */
bool file_rotator_is_due(
    const struct file_rotator *rotator, const struct file_entry *entry, uint64_t more);

/* Time until the file may be too old, at most a minute, as the clock may be changed; UINT64_MAX:
 * never. */
uint64_t file_rotator_age_left_ns(
    const struct file_rotator *rotator, const struct file_entry *entry);

/* Bytes that fit into the file before it is due for rotation. */
uint64_t file_rotator_room(const struct file_rotator *rotator, const struct file_entry *entry);

/* Rotate the file. After a failure it stays open at its path, and is not due for a second. */
bool file_rotator_rotate(struct file_rotator *rotator, struct file_entry *entry, struct error *err);

/* A file of a new time was begun: its family may have too many files. */
void file_rotator_began(struct file_rotator *rotator, const struct file_entry *entry);

/* True if a chore is due now. */
bool file_rotator_has_chores(const struct file_rotator *rotator);

/* Do one step: compress about ${bytes}, or remove old files of one family. Failures give a warning
 * and are tried again later. */
void file_rotator_step(struct file_rotator *rotator, size_t bytes);

/* Chores as part of a checkpoint: { size of path u16, path, number u64 } and a 0. */
void file_rotator_save(const struct file_rotator *rotator, size_t max_bytes, struct buf *out);
bool file_rotator_load(struct file_rotator *rotator, struct reader *in,
    bool (*accept)(void *self, struct span path), void *self, struct error *err);

#endif
