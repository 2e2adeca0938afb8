#ifndef ETWSHIP_INPUT_EVTX_HOSTS_H
#define ETWSHIP_INPUT_EVTX_HOSTS_H

#include "base/arena.h"
#include "base/map.h"
#include "event/model/record.h"

/*
 * The machines whose records one event log holds: what was forwarded comes from others. Each has a trace_info of
 * its own, which lives as long as the arena.
 */
struct evtx_hosts {
    struct map by_name;
    struct arena *arena;
    bool is_named; /* the user said which machine it is */
};

void evtx_hosts_init(struct evtx_hosts *hosts, struct arena *arena, bool is_named);
void evtx_hosts_fini(struct evtx_hosts *hosts);

/* What the records of ${computer} have as their trace: ${base} with its name; ${base} itself if there are too
 * many, or it has none. */
const struct trace_info *evtx_hosts_trace(
    struct evtx_hosts *hosts, const struct trace_info *base, struct span computer);

/* All that were made: start with *cursor = 0; NULL at the end. */
const struct trace_info *evtx_hosts_next(const struct evtx_hosts *hosts, size_t *cursor);

#endif
