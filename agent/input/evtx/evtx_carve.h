#ifndef ETWSHIP_INPUT_EVTX_CARVE_H
#define ETWSHIP_INPUT_EVTX_CARVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Leftovers: records that are still in a log's file, but no longer in the log. The first pass notes
 * the records of the log, and then takes each leftover that is not one of them. The second pass
 * asks which leftovers were taken. Not thread-safe.
 */
struct evtx_carve;

/* A record is identified by its number and its time (FILETIME). Maximum number of noted records;
 * beyond it every record counts as new. */
enum { EVTX_CARVE_MAX_RECORDS = 8 * 1024 * 1024 };

struct evtx_carve *evtx_carve_create(void);        /* NULL: out of memory */
void evtx_carve_destroy(struct evtx_carve *carve); /* NULL is fine */

/* Begin a first pass. */
void evtx_carve_reset(struct evtx_carve *carve);

/* Note a record. True if it was not known yet. */
bool evtx_carve_note(struct evtx_carve *carve, uint64_t id, uint64_t time);

/* Take the leftover at ${offset} of the file, which must be higher than the offset taken before.
 * False: out of memory. */
bool evtx_carve_take(struct evtx_carve *carve, uint64_t offset);

/* True if the leftover at ${offset} was taken. */
bool evtx_carve_has(const struct evtx_carve *carve, uint64_t offset);

#endif
