#include "input/evtx/evtx_hosts.h"

enum { MAX_HOSTS = 65536 };

void evtx_hosts_init(struct evtx_hosts *hosts, struct arena *arena, bool is_named)
{
    map_init(&hosts->by_name, MAX_HOSTS);
    hosts->arena = arena;
    hosts->is_named = is_named;
}

void evtx_hosts_fini(struct evtx_hosts *hosts)
{
    map_fini(&hosts->by_name);
}

const struct trace_info *evtx_hosts_trace(
    struct evtx_hosts *hosts, const struct trace_info *base, struct span computer)
{
    if (hosts->is_named || computer.size == 0) {
        return base;
    }
    const struct trace_info *known = map_get(&hosts->by_name, computer);
    if (known) {
        return known;
    }
    bool is_full = hosts->by_name.count == MAX_HOSTS;
    struct trace_info *trace = is_full ? NULL : arena_alloc(hosts->arena, sizeof(*trace));
    struct span name;
    if (!trace || !arena_copy(hosts->arena, computer, &name)) {
        return base;
    }
    *trace = *base;
    trace->host_name = name;
    return map_put(&hosts->by_name, name, trace) ? trace : base;
}

const struct trace_info *evtx_hosts_next(const struct evtx_hosts *hosts, size_t *cursor)
{
    const struct map_slot *slot = map_next(&hosts->by_name, cursor);
    return slot ? slot->value : NULL;
}
