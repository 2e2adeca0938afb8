#ifndef ETWSHIP_INPUT_INPUT_SCHEDULE_H
#define ETWSHIP_INPUT_INPUT_SCHEDULE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"

/*
 * What an input of files did, in order, as far as its order of delivery depends on anything but the
 * files: which it took first, how far it had read in a growing one before it went to another, when
 * it stopped waiting. Doing the same again gives the same records in the same order. One thread at
 * a time.
 */
enum schedule_kind {
    SCHEDULE_WHOLE,  /* a whole file; value 1: merged with the next entry's file */
    SCHEDULE_OPEN,   /* began to follow a file; value: etl_follow_header_end */
    SCHEDULE_START,  /* of a circular file; value: the first buffer that was there to be read */
    SCHEDULE_READ,   /* etl_follow_read; value: up to where */
    SCHEDULE_FLUSH,  /* etl_follow_flush */
    SCHEDULE_HEADER, /* etl_follow_grow_header; value: the end */
    SCHEDULE_END,    /* nothing more comes from the file; value 1: it ended, 0: it was lost */
    SCHEDULE_SETTLE, /* input_sink.settle; the file is one that had given what it concerns */
    SCHEDULE_KINDS,
};

struct schedule_entry {
    uint8_t kind;
    uint32_t file; /* index in files */
    uint64_t value;
};

struct schedule_file {
    uint8_t id[16];
    bool done; /* input_schedule_forget */
};

/* More than anybody needs: 16 bytes an entry, some 100 a file. */
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
    bool has_base; /* entries were dropped; the last of them ended this file */
    uint8_t base[16];
    uint64_t behind; /* what is given first is numbered behind this: input_sink.renumber */
    bool incomplete; /* there was no room for an entry */
};

void input_schedule_init(struct input_schedule *schedule);
void input_schedule_fini(struct input_schedule *schedule);

/* Add an entry; reading on where the entry before was a reading of the same file extends it. Without
 * room, `incomplete` is set and stays. */
void input_schedule_add(struct input_schedule *schedule, enum schedule_kind kind,
    const uint8_t file_id[16], uint64_t value);

/* The file was taken by everybody, and ended: the entries at the start of the schedule are dropped
 * up to the last such end before which there are no others. */
void input_schedule_forget(struct input_schedule *schedule, const uint8_t file_id[16]);

/* Append the schedule to ${out}, which fails at its maximum. False if it is incomplete. */
bool input_schedule_write(
    const struct input_schedule *schedule, struct buf *out, struct error *err);

/* Read what was written into a schedule that is empty. False (ERR_FORMAT, ERR_MEMORY): then it is
 * empty again. */
bool input_schedule_read(struct span bytes, struct input_schedule *schedule, struct error *err);

#endif
