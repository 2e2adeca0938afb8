#ifndef ETWSHIP_INPUT_ETL_FOLLOW_H
#define ETWSHIP_INPUT_ETL_FOLLOW_H

#include "input/etl_file.h"

/*
 * A trace that is still being written. Its records are given in an order that depends on the
 * file's bytes and on the calls below, not on when they were made: the same calls with the same
 * arguments give the same records again, however far the file has grown since. Whoever notes the
 * calls can go on after a restart exactly where it was (input_schedule.h). One thread at a time.
 */
struct etl_follow;

/* All calls come from inside the functions below; `record` false stops them. */
struct etl_follow_events {
    void *self;
    void (*metadata)(void *self, const struct event_record *record); /* see etl_follow_teach */
    bool (*record)(void *self, const struct event_record *record);
    void (*damage)(void *self, const struct trace_info *trace, uint64_t offset, const char *what);
    /* ${buffers} were overwritten before they could be read (circular traces). */
    void (*overwritten)(void *self, const struct trace_info *trace, uint64_t buffers);
    /* What was read reaches to ${to}: an argument for etl_follow_read, before the records that this
     * brings. False stops. */
    bool (*reads)(void *self, uint64_t to);
    /* All that was written so far has come: what was read last ended a flush of all processors. */
    void (*flushed)(void *self);    /* may be NULL */
    bool (*is_stopped)(void *self); /* asked while nothing else is called; may be NULL */
};

/*
 * Open ${path}, for which etl_probe_path did not say WAIT. What records refer to is allocated from
 * ${arena}, as with etl_file_open. ${header_end}: the header buffer's records were taken up to this
 * byte when the file was opened for the first time; 0: this is the first time. ${events} is copied.
 */
struct etl_follow *etl_follow_open(const char *path, const struct trace_naming *naming,
    struct arena *arena, uint32_t header_end, const struct etl_follow_events *events,
    struct error *err);
void etl_follow_destroy(struct etl_follow *follow); /* NULL is fine */

/* Identity, headers; its trace_info lives in the arena. */
const struct etl_file *etl_follow_file(const struct etl_follow *follow);

/* Let it be known by another identity, and its records by theirs; before the first is given. */
void etl_follow_set_id(struct etl_follow *follow, const uint8_t id[16], const uint8_t records[16]);

/* How far the header buffer's records are taken: the argument for opening it again. */
uint32_t etl_follow_header_end(const struct etl_follow *follow);

/* How the file is doing. */
struct etl_follow_look {
    bool closed;         /* its session was closed, and all of its buffers are read */
    bool replaced;       /* other bytes stand where its own were: it cannot be read any more */
    bool moved;          /* ${path} names another file, or none; this one can still be read */
    uint32_t header_end; /* how far the header buffer's records reach now; more than taken: grown */
};

/* Look at it: size, header and name. ${path}: where it should be. */
bool etl_follow_look(struct etl_follow *follow, const char *path, struct etl_follow_look *ret_look,
    struct error *err);

enum etl_follow_end {
    ETL_FOLLOW_DONE,
    ETL_FOLLOW_STOPPED, /* a callback said so */
    ETL_FOLLOW_FAILED,
};

/* Go over what is there now and hand its records to events.metadata. */
enum etl_follow_end etl_follow_teach(struct etl_follow *follow, struct error *err);

/*
 * Read on: to ${to}, which events.reads told in an earlier run, or with UINT64_MAX as far as there
 * are whole buffers. Records whose turn has come are given: those up to the time that all
 * processors have reached, or older than the last buffer's flush by more than 1.5 s, or all if that
 * buffer ended a flush. Later ones of slow processors pass as they come.
 */
enum etl_follow_end etl_follow_read(struct etl_follow *follow, uint64_t to, struct error *err);

/* The header buffer has grown: take its records up to byte ${end}, too. */
enum etl_follow_end etl_follow_grow_header(
    struct etl_follow *follow, uint32_t end, struct error *err);

/* Give all records that wait for others: nobody came for long enough. */
enum etl_follow_end etl_follow_flush(struct etl_follow *follow, struct error *err);

/* Does ${path} name the file that is being followed? */
bool etl_follow_is_at(const struct etl_follow *follow, const char *path);

/* Do records wait? */
bool etl_follow_is_waiting(const struct etl_follow *follow);

#endif
