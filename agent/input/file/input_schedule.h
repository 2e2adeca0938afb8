#ifndef ETWSHIP_INPUT_INPUT_SCHEDULE_H
#define ETWSHIP_INPUT_INPUT_SCHEDULE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"

/*
 * The steps of the input `file`, as far as delivery order depends on them: which file it read
 * first, how far it had read in a growing file before switching to another, when it stopped
 * waiting. Repeating the steps gives the same records in the same order. Not thread-safe.
 */
enum schedule_kind {
    SCHEDULE_WHOLE,  /* a complete file; value 1: merged with the next entry's file */
    SCHEDULE_OPEN,   /* started following a file; value: etl_follow_header_end */
    SCHEDULE_START,  /* start of a circular file; value: oldest buffer available */
    SCHEDULE_READ,   /* etl_follow_read; value: end of the read */
    SCHEDULE_FLUSH,  /* etl_follow_flush */
    SCHEDULE_HEADER, /* etl_follow_grow_header; value: end of the header */
    SCHEDULE_END,    /* no more records of the file; value 1: it ended, 0: it was lost */
    SCHEDULE_SETTLE, /* input_sink.settle; the file delivered what this concerns */
    SCHEDULE_KINDS,
};

struct schedule_entry {
    uint8_t kind;
    uint32_t file; /* index in files */
    uint64_t value;
};

struct schedule_file {
    uint8_t id[16];
    bool done; /* set by input_schedule_settle */
};

/* Generous limits: 16 bytes per entry, about 100 per file. */
enum { SCHEDULE_MAX_ENTRIES = 1 << 20, SCHEDULE_MAX_FILES = 1 << 20 };

struct input_schedule {
    struct schedule_entry *entries; /* [first, first + count) */
    size_t first;
    size_t count;
    size_t capacity;
    struct schedule_file *files;
    size_t file_count;
    size_t file_capacity;
    struct map by_id;
    struct arena ids;
    bool has_base; /* entries were dropped; the last of them ended the file `base` */
    uint8_t base[16];
    uint64_t renumbered_after; /* numbering starts after this number; see input_sink.renumber */
    bool incomplete;           /* an entry was lost because memory was short */
};

void input_schedule_init(struct input_schedule *schedule);
void input_schedule_fini(struct input_schedule *schedule);

/* Add an entry; a reading after another one of the same file extends it. If memory is short,
 * `incomplete` is set for good. */
void input_schedule_add(struct input_schedule *schedule, enum schedule_kind kind,
    const uint8_t file_id[16], uint64_t value);

/* All outputs have settled the file, and it ended: drop entries at the start of the schedule, up to
 * the last such end without open files before it. */
void input_schedule_settle(struct input_schedule *schedule, const uint8_t file_id[16]);

/* Append the schedule to ${out}, which has a maximum. False with ${err} set if that is reached or
 * the schedule is incomplete. */
bool input_schedule_write(
    const struct input_schedule *schedule, struct buf *out, struct error *err);

/* Read a written schedule into an empty one. False (ERR_FORMAT, ERR_MEMORY): it is empty again. */
bool input_schedule_read(struct span bytes, struct input_schedule *schedule, struct error *err);

#endif
