#ifndef ETWSHIP_INPUT_EVTX_HOSTS_H
#define ETWSHIP_INPUT_EVTX_HOSTS_H

#include "base/arena.h"
#include "base/map.h"
#include "event/model/record.h"

/*
 * The machines whose records are in one event log: forwarded records come from other machines. Each
 * machine has its own trace_info, which lives as long as the arena.
 */
struct evtx_hosts {
    struct map by_name;
    struct arena *arena;
    bool is_named; /* the user named the machine */
};

void evtx_hosts_init(struct evtx_hosts *hosts, struct arena *arena, bool is_named);
void evtx_hosts_fini(struct evtx_hosts *hosts);

/* The trace for records of ${computer}: ${base} with that name; ${base} itself if there are too
 * many machines, or the name is empty. */
const struct trace_info *evtx_hosts_trace(
    struct evtx_hosts *hosts, const struct trace_info *base, struct span computer);

/* All traces that were made: start with *cursor = 0; NULL at the end. */
const struct trace_info *evtx_hosts_next(const struct evtx_hosts *hosts, size_t *cursor);

#endif
