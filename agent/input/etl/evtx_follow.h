#ifndef ETWSHIP_INPUT_EVTX_FOLLOW_H
#define ETWSHIP_INPUT_EVTX_FOLLOW_H

#include "input/etl/etl_follow.h"

/* Reads an event log while it is being written; like etl_follow.h for traces. events.reads reports
 * its marks (evtx_tail.h). */
struct evtx_follow;

/* ${file} is borrowed and was opened with naming.follows. NULL if memory is short. */
struct evtx_follow *evtx_follow_create(struct etl_file *file, struct error *err);
void evtx_follow_destroy(struct evtx_follow *follow); /* NULL is fine */

/* Like etl_follow_look. A log that Windows has closed is `closed`; one that was cleared is
 * `replaced`. */
bool evtx_follow_look(struct evtx_follow *follow, const char *path,
    struct etl_follow_look *ret_look, struct error *err);

/* Like etl_follow_read, in the order of the log's records. */
enum etl_follow_end evtx_follow_read(struct evtx_follow *follow,
    const struct etl_follow_events *events, uint64_t to, struct error *err);

#endif
