#ifndef ETWSHIP_INPUT_ETL_FOLLOW_H
#define ETWSHIP_INPUT_ETL_FOLLOW_H

#include "input/etl/etl_file.h"

/*
 * Reads a trace while it is being written. The order of its records depends on the file's bytes and
 * on the calls below, not on their timing: repeating the calls with equal arguments reproduces the
 * records, however much the file has grown. A caller that records its calls can resume exactly
 * after a restart (input_schedule.h). Not thread-safe.
 */
struct etl_follow;

/* Callbacks, called only inside the functions below. `record` returns false to stop. */
struct etl_follow_events {
    void *self;
    void (*metadata)(void *self, const struct event_record *record); /* see etl_follow_teach */
    bool (*record)(void *self, const struct event_record *record);
    void (*damage)(void *self, const struct trace_info *trace, uint64_t offset, const char *what);
    /* ${count} buffers of a circular trace, or events of an event log, were overwritten before they
     * were read. */
    void (*overwritten)(
        void *self, const struct trace_info *trace, uint64_t count, const char *unit);
    /* Buffers up to ${to} have been read. ${to} is the argument for etl_follow_read that reproduces
     * this. Called before their records. False stops. */
    bool (*reads)(void *self, uint64_t to);
    /* Everything written so far was read: the last buffer completed a flush of all processors. */
    void (*flushed)(void *self);    /* may be NULL */
    bool (*is_stopped)(void *self); /* polled while nothing else is called; may be NULL */
};

/*
 * Open ${path}, for which etl_probe_path must not have returned WAIT. What records refer to is
 * allocated from ${arena}, as in etl_file_open. ${header_end}: how far the header buffer's records
 * were used when the file was first opened; 0: first time. ${events} is copied.
 */
struct etl_follow *etl_follow_open(const char *path, const struct trace_naming *naming,
    struct arena *arena, uint32_t header_end, const struct etl_follow_events *events,
    struct error *err);
void etl_follow_destroy(struct etl_follow *follow); /* NULL is fine */

/* Identity and headers; its trace_info lives in the arena. */
const struct etl_file *etl_follow_file(const struct etl_follow *follow);

/* Set other identities for the file and for its records. Call before the first record is
 * delivered. */
void etl_follow_set_id(struct etl_follow *follow, const uint8_t id[16], const uint8_t records[16]);

/* How far the header buffer's records are used: the argument for opening the file again. */
uint32_t etl_follow_header_end(const struct etl_follow *follow);

/* State of the file. */
struct etl_follow_look {
    bool closed;   /* its session was closed, and all buffers were read */
    bool replaced; /* its bytes were replaced; it cannot be read any more */
    bool moved;    /* ${path} names another file or none; this one is still readable */
    /* end of the header buffer's records now; larger than the used end: it has grown */
    uint32_t header_end;
};

/* Check size, header and name. ${path}: where the file should be. */
bool etl_follow_look(struct etl_follow *follow, const char *path, struct etl_follow_look *ret_look,
    struct error *err);

enum etl_follow_end {
    ETL_FOLLOW_DONE,
    ETL_FOLLOW_STOPPED, /* a callback returned false */
    ETL_FOLLOW_FAILED,
};

/* Walk over the present content and pass its records to events.metadata. */
enum etl_follow_end etl_follow_teach(struct etl_follow *follow, struct error *err);

/*
 * Continue reading up to ${to}, a value that events.reads reported in an earlier run, or with
 * UINT64_MAX as far as there are whole buffers. Delivers records up to the time that all processors
 * have reached, records more than 1.5 s older than the last buffer's flush, or all records if that
 * buffer completed a flush. Later records of slow processors are delivered when they arrive.
 */
enum etl_follow_end etl_follow_read(struct etl_follow *follow, uint64_t to, struct error *err);

/* The header buffer has grown: use its records up to byte ${end}. */
enum etl_follow_end etl_follow_grow_header(
    struct etl_follow *follow, uint32_t end, struct error *err);

/* Deliver all records that wait for others, after nothing arrived for long. */
enum etl_follow_end etl_follow_flush(struct etl_follow *follow, struct error *err);

/* True if ${path} names the followed file. */
bool etl_follow_is_at(const struct etl_follow *follow, const char *path);

/* True if records wait. */
bool etl_follow_is_waiting(const struct etl_follow *follow);

#endif
